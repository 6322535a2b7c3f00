//! A YAML file that threads, processes and a user with an editor share.

use super::file_lock::FileLock;
use super::{Error, Result, files, yaml_text};
use crate::activity::{Activity, Entry};
use crate::sys::fs::{Stamp, make_private, read_start, rename};
use crate::sys::lock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use yaml_serde::{Mapping, Value as Yaml};

/// Larger files are not read.
pub const MAX_SIZE: u64 = 10 << 20;

/// Maximum number of times that a rewrite starts over because another program saved the file.
const ATTEMPTS: usize = 5;

/// Number of older backups besides the newest, `.bak.1` to `.bak.3`.
pub const OLDER_BACKUPS: usize = 3;

/// A YAML file with a mapping at its root.
#[derive(Debug)]
pub struct YamlFile {
    path: PathBuf,
    secret: bool,
    cache: files::Cached<Mapping>,
    /// Gets the content whenever the file was read for [`load`](Self::load), to report what is odd in it.
    report: fn(&Path, &Mapping),
    /// The state of the file that this process wrote last. Any other content is backed up before it is
    /// rewritten.
    written: Mutex<Option<Stamp>>,
    /// Where changes are recorded.
    activity: OnceLock<Activity>,
}

/// The content and state of a file.
struct Snapshot {
    content: Vec<u8>,
    stamp: Stamp,
    mapping: Mapping,
}

impl YamlFile {
    /// The file `path`. It is backed up before this process rewrites content that it did not write.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            secret: false,
            cache: files::Cached::default(),
            report: |_, _| {},
            written: Mutex::new(None),
            activity: OnceLock::new(),
        }
    }

    /// The file `path` with secrets: errors do not quote it, its mode is corrected, and it has no backups,
    /// because a removed secret must not remain in one.
    pub fn secret(path: PathBuf) -> Self {
        Self {
            secret: true,
            ..Self::new(path)
        }
    }

    /// The file, whose content `report` gets whenever [`load`](Self::load) has read it.
    pub fn reporting(self, report: fn(&Path, &Mapping)) -> Self {
        Self { report, ..self }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file; empty if it does not exist. Costs one `stat` while the file is unchanged.
    pub fn load(&self) -> Result<Arc<Mapping>> {
        self.cache.load(&self.path, || {
            let Some(Snapshot { stamp, mapping, .. }) = self.read()? else {
                return Ok(None);
            };
            (self.report)(&self.path, &mapping);
            Ok(Some((mapping, stamp)))
        })
    }

    /// Reads, changes and rewrites the file under the lock between processes.
    ///
    /// Writes nothing if `change` fails or changes nothing. If another program saves the file in the meantime,
    /// `change` runs again on its content.
    pub fn edit<R>(&self, mut change: impl FnMut(&mut Mapping) -> Result<R>) -> Result<R> {
        files::ensure_dir(files::parent(&self.path))?;
        let target = files::follow_links(&self.path)?;
        let _lock = FileLock::beside(&target)?;
        for _ in 0..ATTEMPTS {
            let before = self.read()?;
            let empty = Mapping::new();
            let known = before.as_ref().map_or(&empty, |it| &it.mapping);
            let mut mapping = known.clone();
            let result = change(&mut mapping)?;
            if known.iter().eq(mapping.iter()) {
                return Ok(result);
            }
            self.record_changes("", known, &mapping)?;
            let replaced = self.replace(&target, before.as_ref(), &mapping);
            if replaced.is_err() {
                let _ = self.record_change("", &Yaml::Null, "failed");
            }
            match replaced {
                Err(Error::Changing { .. }) => continue,
                replaced => return replaced.map(|()| result),
            }
        }
        Err(Error::Changing {
            path: self.path.clone(),
        })
    }

    /// Copies the file to `.bak`, after moving older copies to `.bak.1` … `.bak.3`; returns the path, or `None`
    /// if there is no file. Makes no copy equal to the newest.
    ///
    /// # Errors
    /// As [`Config::edit`](super::Config::edit); a file that does not parse is not copied.
    pub fn back_up(&self) -> Result<Option<PathBuf>> {
        let target = files::follow_links(&self.path)?;
        if files::stamp(&self.path)?.is_none() {
            return Ok(None);
        }
        let _lock = FileLock::beside(&target)?;
        let kept = self.read()?.map(|snapshot| self.keep(&snapshot.content));
        kept.transpose()
    }

    /// Records from now on what this process changes.
    pub fn record(&self, activity: &Activity) {
        let _ = self.activity.set(activity.clone());
    }

    /// Records what is about to change: `prefix` and the names of the settings, of those in a mapping apart, with their
    /// new values unless they are secrets; of a list what is added and removed.
    fn record_changes(&self, prefix: &str, before: &Mapping, after: &Mapping) -> Result<()> {
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        for name in after.keys().chain(gone) {
            let (was, now) = (before.get(name), after.get(name));
            let name = format!("{prefix}{}", name.as_str().unwrap_or_default());
            match (was, now) {
                (was, now) if was == now => {}
                (None | Some(Yaml::Mapping(_)), Some(Yaml::Mapping(now))) if prefix.is_empty() => {
                    let was = was.and_then(Yaml::as_mapping).cloned().unwrap_or_default();
                    self.record_changes(&format!("{name}."), &was, now)?;
                }
                (was, Some(Yaml::Sequence(now))) => {
                    let was = was
                        .and_then(Yaml::as_sequence)
                        .map_or(&[][..], Vec::as_slice);
                    let named = |item: &Yaml| format!("{name} {}", item.as_str().unwrap_or("?"));
                    for item in now.iter().filter(|item| !was.contains(item)) {
                        self.record_change(&named(item), item, "added")?;
                    }
                    for item in was.iter().filter(|item| !now.contains(item)) {
                        self.record_change(&named(item), item, "removed")?;
                    }
                }
                (_, Some(now)) => self.record_change(&name, now, "set")?,
                (_, None) => self.record_change(&name, &Yaml::Null, "removed")?,
            }
        }
        Ok(())
    }

    fn record_change(&self, name: &str, value: &Yaml, outcome: &str) -> Result<()> {
        let Some(activity) = self.activity.get() else {
            return Ok(());
        };
        let value = Some(value).filter(|value| !self.secret && !value.is_null());
        let value = value.map(|value| yaml_text::to_json(value).to_string());
        let recorded = activity.record(&Entry {
            extension: &self.path.file_name().unwrap_or_default().to_string_lossy(),
            subject: name,
            arguments: value.unwrap_or_default().as_bytes(),
            outcome,
            ..Entry::new("setting", "")
        });
        recorded.map(drop)
    }

    fn replace(&self, target: &Path, before: Option<&Snapshot>, mapping: &Mapping) -> Result<()> {
        let text = yaml_text::render(mapping).map_err(|reason| {
            let no_form = "it has no faithful form in YAML";
            Error::unwritable(&self.path, if self.secret { no_form } else { &reason })
        })?;
        if text.len() as u64 > MAX_SIZE {
            let reason = format!("the file would be larger than {} MiB", MAX_SIZE >> 20);
            return Err(Error::unwritable(&self.path, reason));
        }
        if before.is_some_and(|it| yaml_text::has_anchors(&it.content)) {
            let path = self.path.clone();
            return Err(Error::Anchors { path });
        }
        if let Some(before) = before
            && !self.secret
            && *lock(&self.written) != Some(before.stamp)
        {
            self.keep(&before.content)?;
        }
        let expected = before.map(|it| it.stamp);
        files::replace(target, text.as_bytes(), || {
            if files::stamp(&self.path)? == expected {
                Ok(())
            } else {
                Err(Error::Changing {
                    path: self.path.clone(),
                })
            }
        })?;
        *lock(&self.written) = files::stamp(&self.path)?;
        files::sync_names(files::parent(target))
    }

    fn keep(&self, content: &[u8]) -> Result<PathBuf> {
        let newest = files::beside(&self.path, "", ".bak");
        let kept = read_start(&newest, content.len() as u64 + 1);
        if kept.is_ok_and(|kept| kept == content) {
            return Ok(newest);
        }
        let older = |n: usize| files::beside(&self.path, "", &format!(".bak.{n}"));
        for n in (1..OLDER_BACKUPS).rev() {
            rename_if_exists(&older(n), &older(n + 1))?;
        }
        rename_if_exists(&newest, &older(1))?;
        files::write_atomic(&newest, content)?;
        Ok(newest)
    }

    fn read(&self) -> Result<Option<Snapshot>> {
        let Some(mut file) = files::open(&self.path)? else {
            return Ok(None);
        };
        if self.secret {
            // Fails for a readable file of another user, which is acceptable.
            let _ = make_private(&file);
        }
        let (content, stamp) = files::read(&mut file, &self.path, MAX_SIZE)?;
        let mapping = yaml_text::parse(&content).map_err(|mut flaw| {
            if self.secret {
                flaw.reason = "it is not valid YAML".to_owned();
            }
            Error::broken_at(&self.path, flaw.place, flaw.reason)
        })?;
        files::check_format(
            &self.path,
            mapping.get(files::FORMAT).and_then(Yaml::as_u64),
        )?;
        Ok(Some(Snapshot {
            content,
            stamp,
            mapping,
        }))
    }
}

fn rename_if_exists(from: &Path, to: &Path) -> Result<()> {
    let renamed = files::if_exists(rename(from, to)).map(drop);
    renamed.map_err(Error::io("keep the backup", from))
}
