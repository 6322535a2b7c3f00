//! The file with the pins of one extension: `data/tool_pins/KEY.json`. Several sessions and processes share it.

use crate::store;
use crate::store::file_lock::FileLock;
use crate::store::files;
use crate::sys::fs::Stamp;
use crate::tool_differences::{AcceptError, Change, Pinned, Report};
use crate::tool_hashes::Pins;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes: more than is ever written.
const MAX_FILE: u64 = 32 << 20;

/// How many launches of one extension have pins.
const MAX_LAUNCHES: usize = 4;

/// The longest key that is a file name.
const MAX_KEY: usize = 100;

/// The pins of one extension.
pub(super) struct PinFile {
    path: PathBuf,
}

/// The content of the file.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct Content {
    /// What is pinned, for each launch; the last was accepted last.
    accepted: Vec<Pins>,
    /// What differed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<Pins>,
}

/// The file.
#[derive(Serialize)]
struct Stored<'a> {
    gosling_format: u64,
    #[serde(flatten)]
    content: &'a Content,
}

impl PinFile {
    /// The pins of the extension with this key.
    pub(super) fn new(folder: &Path, key: &str) -> Self {
        // Keys have only letters, digits, `_` and `-`. Long ones may share a file, and are then pinned together.
        let name = key.get(..MAX_KEY).unwrap_or(key);
        PinFile {
            path: folder.join(format!("{name}.json")),
        }
    }

    /// The state of the file, if there is one.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        files::stamp(&self.path).ok().flatten()
    }

    /// Compares with what is pinned, and keeps what differs for [`accept`](Self::accept); pins everything if
    /// nothing is. Also returns the state of the file that was compared.
    pub(super) fn compare(&self, now: &Pins) -> store::Result<(Option<Report>, Option<Stamp>)> {
        // Usually nothing differs, and nothing is written.
        let (mut content, stamp) = self.read()?;
        let (found, has_changed) = content.note(now);
        if !has_changed {
            return Ok((found, stamp));
        }
        let _lock = self.lock()?;
        let (mut content, stamp) = self.read()?;
        let is_of_earlier_version = content.is_of_earlier_version(now);
        let (found, has_changed) = content.note(now);
        if !has_changed {
            return Ok((found, stamp));
        }
        self.write(&content)?;
        if is_of_earlier_version {
            log::info!(
                "completed the pins of an earlier version file={:?}",
                self.path
            );
        }
        Ok((found, self.stamp()))
    }

    /// Accepts what differed last; returns how it differed from what was pinned.
    ///
    /// # Errors
    /// There are no pins, or they cannot be read or written.
    pub(super) fn accept(&self) -> Result<Vec<Change>, AcceptError> {
        let _lock = match self.stamp() {
            Some(_) => self.lock()?,
            None => return Err(AcceptError::Unknown),
        };
        let (mut content, _) = self.read()?;
        let Some(seen) = content.seen.take() else {
            return if content.accepted.is_empty() {
                Err(AcceptError::Unknown)
            } else {
                Ok(Vec::new())
            };
        };
        let found = content.compare(&seen).unwrap_or_default();
        content.accepted.retain(|it| !it.has_launch_of(&seen));
        content.accepted.push(seen);
        let more = content.accepted.len().saturating_sub(MAX_LAUNCHES);
        content.accepted.drain(..more);
        self.write(&content)?;
        Ok(found.changes)
    }

    /// How many tools are pinned for the launch of `now`, or else for the one that was accepted last, and how what the
    /// extension listed last differs; `None` if nothing is pinned.
    pub(super) fn pinned(&self, now: &Pins) -> store::Result<Option<Pinned>> {
        let (content, _) = self.read()?;
        let of_launch = content.accepted.iter().find(|it| it.has_launch_of(now));
        let Some(accepted) = of_launch.or(content.accepted.last()) else {
            return Ok(None);
        };
        let seen = content.seen.as_ref();
        let found = seen.and_then(|seen| content.compare(seen));
        Ok(Some(Pinned {
            tools: accepted.tools.len(),
            launch_changed: of_launch.is_none(),
            changes: found.unwrap_or_default().changes,
        }))
    }

    fn lock(&self) -> store::Result<FileLock> {
        files::ensure_dir(files::parent(&self.path))?;
        FileLock::beside(&self.path)
    }

    fn read(&self) -> store::Result<(Content, Option<Stamp>)> {
        let Some((text, stamp)) = files::read_file(&self.path, MAX_FILE)? else {
            return Ok((Content::default(), None));
        };
        files::check_json_format(&self.path, &text)?;
        let content = crate::json::from_slice(&text).map_err(|error| {
            let place = (error.line(), error.column());
            let reason =
                "the pinned tools cannot be read; delete the file to pin what the server lists then";
            store::Error::broken_at(&self.path, place, reason)
        })?;
        Ok((content, Some(stamp)))
    }

    fn write(&self, content: &Content) -> store::Result<()> {
        let text = serde_json::to_vec(&Stored {
            gosling_format: 1,
            content,
        });
        let text = text.map_err(|error| store::Error::unwritable(&self.path, error.to_string()))?;
        files::write_atomic(&self.path, &text)
    }
}

impl Content {
    /// Pins these if nothing is pinned, or keeps them for later if they differ. Returns how they differ, and
    /// whether the content has changed.
    fn note(&mut self, now: &Pins) -> (Option<Report>, bool) {
        if self.accepted.is_empty() {
            self.accepted.push(now.clone());
            return (None, true);
        }
        let found = self.compare(now);
        let seen = match &found {
            Some(_) => Some(now.clone()),
            // What another launch differs in may still be accepted.
            None => self.seen.clone().filter(|seen| !seen.has_launch_of(now)),
        };
        let mut of_launch = self.accepted.iter_mut();
        let of_launch = of_launch.find(|it| it.has_launch_of(now));
        let has_more = of_launch.is_some_and(|it| it.complete(now));
        let has_changed = has_more || seen != self.seen;
        self.seen = seen;
        (found, has_changed)
    }

    /// Whether the pins of this launch lack what earlier versions did not pin.
    fn is_of_earlier_version(&self, now: &Pins) -> bool {
        let mut accepted = self.accepted.iter();
        let of_launch = accepted.find(|it| it.has_launch_of(now));
        of_launch.is_some_and(|it| it.surroundings.is_none())
    }

    /// How these differ from what is pinned for their launch, or else from what was accepted last.
    fn compare(&self, now: &Pins) -> Option<Report> {
        let of_launch = self.accepted.iter().find(|it| it.has_launch_of(now));
        let found = of_launch.or(self.accepted.last())?.compare(now);
        (found.launch_changed || !found.changes.is_empty()).then_some(found)
    }
}

/// Reads a file of pins, and compares each of them with the first.
#[cfg(any(test, fuzzing))]
pub(super) fn fuzz(text: &str) {
    let Ok(mut content) = crate::json::from_str::<Content>(text) else {
        return;
    };
    let written = serde_json::to_string(&content).expect("pins can be written");
    assert!(crate::json::from_str::<Content>(&written).is_ok_and(|read| read == content));
    for now in content.accepted.clone().iter().chain(&content.seen.clone()) {
        let (found, _) = content.note(now);
        assert_eq!(found, content.compare(now));
        assert_eq!(content.note(now), (found, false));
    }
}

#[cfg(test)]
mod tests;
