//! Text files by way of the client, which knows unsaved changes, or on the disk where the client does not offer
//! that. The rules of `.gooseignore`, of symbolic links and of sizes are checked on the disk in any case.

use super::Developer;
use super::text_files::{self, Content, FileState};
use crate::ClientWorkspace;
use crate::sys::cancel::Cancel;
use std::path::Path;
use std::sync::Arc;

/// The access to text files during one call.
pub(super) struct Files<'c> {
    client: Option<Arc<dyn ClientWorkspace>>,
    cancel: &'c Cancel,
    /// Whether an edit is taken back, which is done also after the call was cancelled.
    restores: bool,
}

impl Developer {
    pub(super) fn files<'c>(&self, cancel: &'c Cancel) -> Files<'c> {
        Files {
            client: <dyn ClientWorkspace>::of(&*self.data),
            cancel,
            restores: false,
        }
    }
}

#[cfg(test)]
impl Files<'static> {
    /// Files on the disk.
    pub(super) fn on_disk() -> Self {
        static NEVER: std::sync::LazyLock<Cancel> = std::sync::LazyLock::new(Cancel::new);
        Files {
            client: None,
            cancel: &NEVER,
            restores: false,
        }
    }
}

impl Files<'_> {
    /// The content of a file. Only the text of a file is asked for, and only if it is a text on the disk, too, or
    /// does not exist there.
    ///
    /// # Errors
    /// As [`text_files::content`], and when the client does not answer.
    pub(super) fn content(&self, path: &Path) -> Result<Content, String> {
        let on_disk = text_files::content(path);
        let is_asked_for = match &on_disk {
            Ok(Content::Text(_)) => true,
            Ok(Content::Other(_)) => false,
            Err(_) => !path.exists(),
        };
        if !is_asked_for {
            return on_disk;
        }
        let Some(text) = self.text_of_client(path).transpose()? else {
            return on_disk;
        };
        let is_same = match &on_disk {
            // Some clients leave out the last line break.
            Ok(Content::Text(saved)) => saved.strip_suffix('\n') == Some(&text),
            // Some clients have an empty text for a file that does not exist.
            _ => text.is_empty(),
        };
        if is_same {
            on_disk
        } else {
            Ok(Content::of_text(text))
        }
    }

    /// Reads a text file.
    ///
    /// # Errors
    /// When it does not exist, is too large, is not a regular file, or is not text.
    pub(super) fn read(&self, path: &Path) -> Result<String, String> {
        text_files::text_in(path, self.content(path)?)
    }

    /// The current state of a file, to be compared with the result of an edit.
    pub(super) fn current_state(&self, canonical: &Path) -> FileState {
        let on_disk = text_files::current_state(canonical);
        match on_disk {
            FileState::Content(_) => match self.text_of_client(canonical) {
                Some(Ok(text)) => FileState::of(Some(&text)),
                _ => on_disk,
            },
            on_disk => on_disk,
        }
    }

    /// Whether the client has written the text; if not, the caller writes it.
    ///
    /// # Errors
    /// When it is not known whether the client has written it or still will, or the call was cancelled.
    pub(super) fn has_written(&self, real: &Path, text: &str) -> Result<bool, String> {
        let client = self.client.as_ref();
        match client.and_then(|client| client.write_text(real, text, self.cancel)) {
            Some(Ok(())) => Ok(true),
            // Some clients do not answer, but have written it.
            Some(Err(_)) if has_text(real, text) => Ok(true),
            // If the client still writes it, it is the same text.
            Some(Err(_)) if self.restores => Ok(false),
            Some(Err(why)) => Err(why),
            None => self.check_not_cancelled().map(|()| false),
        }
    }

    /// # Errors
    /// When the call was cancelled: no file is changed from then on.
    pub(super) fn check_not_cancelled(&self) -> Result<(), String> {
        if self.cancel.is_cancelled() && !self.restores {
            return Err("the call was cancelled before the file was changed".to_owned());
        }
        Ok(())
    }

    /// The same access for restoring what an edit has changed, also after the call was cancelled.
    pub(super) fn for_restoring(&self) -> Self {
        Files {
            client: self.client.clone(),
            restores: true,
            ..*self
        }
    }

    fn text_of_client(&self, path: &Path) -> Option<Result<String, String>> {
        self.client.as_ref()?.read_text(path, self.cancel)
    }
}

/// Whether the file on the disk has this text.
fn has_text(path: &Path, text: &str) -> bool {
    matches!(text_files::content(path), Ok(Content::Text(saved)) if saved == text)
}
