//! Text files by way of the client, which knows unsaved changes, or on the disk where the client does not offer
//! that. The rules of `.gooseignore`, of symbolic links and of sizes are checked on the disk in any case.

use super::Developer;
use super::text_files::{self, Content, FileState};
use crate::builtin::ClientWorkspace;
use crate::sys::cancel::Cancel;
use std::path::Path;
use std::sync::Arc;

/// The access to text files during one call.
pub(super) struct Files<'c> {
    client: Option<Arc<dyn ClientWorkspace>>,
    cancel: &'c Cancel,
}

impl Developer {
    pub(super) fn files<'c>(&self, cancel: &'c Cancel) -> Files<'c> {
        Files {
            client: self.data.client(),
            cancel,
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
        }
    }
}

impl Files<'_> {
    /// The content of a file. Only the text of a file is asked for, and only if it is a text on the disk, too, or
    /// does not exist there.
    ///
    /// # Errors
    /// As [`text_files::content`].
    pub(super) fn content(&self, path: &Path) -> Result<Content, String> {
        let on_disk = text_files::content(path);
        if let Ok(Content::Other(_)) = on_disk {
            return on_disk;
        }
        if on_disk.is_err() && path.exists() {
            return on_disk;
        }
        match self.text_of_client(path) {
            Some(text) => Ok(Content::of_text(text)),
            None => on_disk,
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
                Some(text) => FileState::of(Some(&text)),
                None => on_disk,
            },
            on_disk => on_disk,
        }
    }

    /// Whether the client has written the text.
    pub(super) fn has_written(&self, real: &Path, text: &str) -> bool {
        let client = self.client.as_ref();
        client.is_some_and(|client| client.write_text(real, text, self.cancel))
    }

    fn text_of_client(&self, path: &Path) -> Option<String> {
        self.client.as_ref()?.read_text(path, self.cancel)
    }
}
