//! The categories of one scope: a folder with one file for each, which Goose and other processes use, too.

use super::entry_format::{self, Entry};
use crate::store::{Error, file_lock, files};
use gosling_core::sys::paths::is_device;
use gosling_core::text::printable;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// The largest file of a category, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The most categories.
const MAX_CATEGORIES: usize = 500;
/// The most directory entries that are listed.
const MAX_LISTED: usize = 20_000;
/// The longest name, in characters and in bytes.
const MAX_NAME: usize = 100;
const MAX_NAME_BYTES: usize = 200;
/// The longest text of an entry, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// The most tags of an entry, and their longest total length in bytes.
const MAX_TAGS: usize = 32;
const MAX_TAGS_BYTES: usize = 1_000;
/// How often a change is retried because another program has written the file.
const ATTEMPTS: usize = 8;

/// The name of a category: a file name without its extension, never a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Category(String);

impl Category {
    /// Checks a name.
    ///
    /// # Errors
    /// Why this cannot be the name of a category, and what can.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let name = name.trim();
        let odd = |c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c);
        let why = if name.is_empty() {
            "is empty"
        } else if name.contains(odd) {
            "has characters that file names cannot have everywhere"
        } else if name.starts_with('.') || name.ends_with('.') {
            "begins or ends with a dot"
        } else if is_device(name) {
            "has the name of a device"
        } else if name.chars().count() > MAX_NAME || name.len() > MAX_NAME_BYTES {
            "is too long"
        } else {
            return Ok(Category(name.to_owned()));
        };
        Err(format!(
            "The category {:?} {why}; use a short name such as `development` or `team-habits`",
            printable(name, 60)
        ))
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

/// The categories of one scope.
pub(super) struct CategoryFolder {
    /// The folder with their files.
    dir: PathBuf,
    /// The working directory, for the local scope. No path may lead out of it, because a project may be
    /// hostile.
    project: Option<PathBuf>,
}

/// The new content of a file (`None` to keep the old one), and the result of the change.
type Changed<R> = (Option<Vec<u8>>, R);

impl CategoryFolder {
    /// The categories of the project in the working directory.
    pub(super) fn local(working_dir: &Path) -> Self {
        CategoryFolder {
            dir: working_dir.join(".goose").join("memory"),
            project: Some(working_dir.to_owned()),
        }
    }

    /// The global categories; `config` is the user's configuration folder.
    pub(super) fn global(config: &Path) -> Self {
        CategoryFolder {
            dir: config.join("memory"),
            project: None,
        }
    }

    /// The readable categories, sorted by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(super) fn categories(&self) -> Result<Vec<Category>, String> {
        if !self.exists()? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.dir).map_err(|error| self.wrong(&error.to_string()))?;
        let names = entries.take(MAX_LISTED).filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let category = Category::named(name.to_str()?.strip_suffix(".txt")?).ok()?;
            self.file(&category).is_ok().then_some(category)
        });
        let mut names: Vec<Category> = names.collect();
        gosling_core::sorting::sort_by(&mut names, |a, b| a.0.cmp(&b.0));
        names.truncate(MAX_CATEGORIES);
        Ok(names)
    }

    /// The file of a category as text; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn content(&self, category: &Category) -> Result<Option<String>, String> {
        if !self.exists()? {
            return Ok(None);
        }
        let read = read(&self.file(category)?).map_err(|error| error.to_string())?;
        Ok(read.map(|content| String::from_utf8_lossy(&content).into_owned()))
    }

    /// The entries of a category, the oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn entries(&self, category: &Category) -> Result<Vec<Entry>, String> {
        let content = self.content(category)?.unwrap_or_default();
        let entries = entry_format::parse(&content).into_iter();
        Ok(entries.map(|(entry, _)| entry).collect())
    }

    /// Adds an entry, unless an equal one exists. Returns whether the category is new.
    ///
    /// # Errors
    /// When the entry or the category would be too large, or the file cannot be written.
    pub(super) fn add(&self, category: &Category, entry: &Entry) -> Result<bool, String> {
        let tags: usize = entry.tags.iter().map(String::len).sum();
        if entry.text.is_empty() {
            return Err("`data` is empty; give the text to remember".to_owned());
        }
        if entry.text.len() > MAX_TEXT {
            return Err(format!(
                "`data` has {} bytes, more than {MAX_TEXT}; remember the important part of it, or the name \
                 of a file that contains it",
                entry.text.len()
            ));
        }
        if entry.tags.len() > MAX_TAGS || tags > MAX_TAGS_BYTES {
            return Err(format!(
                "These are more than {MAX_TAGS} tags or {MAX_TAGS_BYTES} bytes of them; use fewer"
            ));
        }
        self.edit(category, |before| {
            let Some(before) = before else {
                if self.categories()?.len() >= MAX_CATEGORIES {
                    return Err(format!(
                        "There are {MAX_CATEGORIES} categories already; use one of them, or remove some"
                    ));
                }
                return Ok((Some(entry.render().into_bytes()), true));
            };
            let known = String::from_utf8_lossy(before);
            if entry_format::parse(&known).iter().any(|(known, _)| known == entry) {
                return Ok((None, false));
            }
            let mut content = before.to_vec();
            while !(content.is_empty() || content.ends_with(b"\n\n")) {
                content.push(b'\n');
            }
            content.extend_from_slice(entry.render().as_bytes());
            if content.len() as u64 > MAX_FILE {
                return Err(format!(
                    "The category {:?} is full; use another one, or remove what is outdated",
                    category.name()
                ));
            }
            Ok((Some(content), false))
        })
    }

    /// Removes the entry with this text, or the only one that contains it. Returns the entry and whether it
    /// was the last one.
    ///
    /// # Errors
    /// When no entry matches, several entries contain the text, or the file cannot be written.
    pub(super) fn remove(&self, category: &Category, text: &str) -> Result<(Entry, bool), String> {
        let wanted = Entry::new(text, &[]).text;
        if wanted.is_empty() {
            return Err("`memory_content` is empty; give the text of what to remove".to_owned());
        }
        self.edit(category, |before| {
            let name = category.name();
            let content = std::str::from_utf8(before.unwrap_or_default())
                .map_err(|_| format!("The file of the category {name:?} is not valid UTF-8"))?;
            let all = entry_format::parse(content);
            let mut fitting: Vec<_> = all.iter().filter(|(e, _)| e.text == wanted).collect();
            if fitting.is_empty() {
                // The text may be copied from a result or from the file.
                let wanted = normalized(text);
                let forms = |e: &Entry| [super::item(e), e.render()].map(|e| normalized(&e));
                fitting = all
                    .iter()
                    .filter(|(e, _)| forms(e).contains(&wanted))
                    .collect();
            }
            if fitting.is_empty() {
                let wanted = normalized(&wanted);
                let has_it = |e: &Entry| normalized(&e.text).contains(&wanted);
                fitting = all.iter().filter(|(e, _)| has_it(e)).collect();
                if fitting.len() > 1 {
                    return Err(format!(
                        "{} memories in {name:?} contain that; give the whole text of one",
                        fitting.len()
                    ));
                }
            }
            let Some((entry, _)) = fitting.first() else {
                return Err(format!(
                    "Nothing in {name:?} contains that; `retrieve_memories` shows what is there"
                ));
            };
            let places: Vec<_> = fitting.iter().map(|(_, place)| place.clone()).collect();
            let left = entry_format::without(content, &places).into_bytes();
            let last = places.len() == all.len();
            Ok((Some(left), (entry.clone(), last)))
        })
    }

    /// Removes a category. Returns whether it existed.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub(super) fn clear(&self, category: &Category) -> Result<bool, String> {
        self.edit(category, |before| {
            Ok((before.map(|_| Vec::new()), before.is_some()))
        })
    }

    /// Changes the file of a category under a lock that other gosling processes respect. A file without
    /// entries is removed. Goose does not use the lock, so the file is checked again right before the write.
    fn edit<R>(
        &self,
        category: &Category,
        change: impl Fn(Option<&[u8]>) -> Result<Changed<R>, String>,
    ) -> Result<R, String> {
        let message_of = |error: Error| error.to_string();
        if !self.exists()? {
            // A change without effect does not create the folder.
            if let (None, result) = change(None)? {
                return Ok(result);
            }
            let above = files::parent(&self.dir);
            if above.exists() {
                self.check_inside_project(above)?;
            }
            files::ensure_dir(&self.dir).map_err(message_of)?;
            self.exists()?;
        }
        let path = self.dir.join(".lock");
        // A lock file that is a link would create its target, and a pipe would block.
        if fs::symlink_metadata(&path).is_ok_and(|lock| !lock.is_file()) {
            return Err(format!(
                "{} is not a regular file; remove it",
                path.display()
            ));
        }
        let _lock =
            file_lock::FileLock::acquire(&path, file_lock::LOCK_TIMEOUT).map_err(message_of)?;
        for _ in 0..ATTEMPTS {
            let path = self.file(category)?;
            let stamp = files::stamp(&path).map_err(message_of)?;
            let before = read(&path).map_err(message_of)?;
            let (after, result) = change(before.as_deref())?;
            let Some(after) = after else {
                return Ok(result);
            };
            let check = || {
                if files::stamp(&path)? == stamp {
                    Ok(())
                } else {
                    Err(Error::Changing { path: path.clone() })
                }
            };
            let written = if after.iter().all(u8::is_ascii_whitespace) {
                check().and_then(|()| remove(&path))
            } else {
                files::replace(&path, &after, check)
            };
            match written.and_then(|()| files::sync_names(files::parent(&path))) {
                Err(Error::Changing { .. }) => continue,
                written => return written.map(|()| result).map_err(message_of),
            }
        }
        Err(format!(
            "Another program keeps changing the category {:?}; try again later",
            category.name()
        ))
    }

    /// Whether the folder exists.
    ///
    /// # Errors
    /// When it is not a folder, or leads out of the project.
    fn exists(&self) -> Result<bool, String> {
        // In this order, because another process may make the folder between the two.
        if fs::symlink_metadata(&self.dir).is_err() {
            return Ok(false);
        }
        match fs::metadata(&self.dir) {
            Ok(folder) if !folder.is_dir() => return Err(self.wrong("it is not a folder")),
            Ok(_) => {}
            Err(error) => return Err(self.wrong(&error.to_string())),
        }
        self.check_inside_project(&self.dir)?;
        Ok(true)
    }

    /// Checks that an existing path is inside the project.
    ///
    /// # Errors
    /// When it leads out of the project.
    fn check_inside_project(&self, path: &Path) -> Result<(), String> {
        let real =
            |path: &Path| fs::canonicalize(path).map_err(|error| self.wrong(&error.to_string()));
        match &self.project {
            Some(project) if !real(path)?.starts_with(real(project)?) => {
                Err(self.wrong("it leads out of the working directory"))
            }
            _ => Ok(()),
        }
    }

    /// The path of a category's file, which need not exist.
    ///
    /// # Errors
    /// When the path is not that of a regular file of at most [`MAX_FILE`] bytes.
    fn file(&self, category: &Category) -> Result<PathBuf, String> {
        let mut path = self.dir.join(format!("{}.txt", category.name()));
        let refuse = |why: &str| Err(format!("{} {why}", path.display()));
        match fs::symlink_metadata(&path) {
            Err(_) => return Ok(path),
            Ok(link) if link.is_symlink() && self.project.is_some() => {
                return refuse("is a link, which is not followed in a project");
            }
            Ok(_) => {}
        }
        match fs::metadata(&path).as_ref().map(Metadata::is_file) {
            Ok(false) => return refuse("is not a regular file"),
            Ok(true) if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_FILE) => {
                return refuse("is larger than the 1 MiB that a category may have");
            }
            _ => {}
        }
        if self.project.is_none() {
            path = files::follow_links(&path).map_err(|error| error.to_string())?;
        }
        Ok(path)
    }

    fn wrong(&self, why: &str) -> String {
        format!("The folder {} cannot be used: {why}", self.dir.display())
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let read = files::read_file(path, MAX_FILE)?;
    Ok(read.map(|(content, _)| content))
}

/// The text without the bullet of a list item and without blanks at the ends of lines.
fn normalized(text: &str) -> String {
    let text = text.trim();
    let lines = text.strip_prefix("- ").unwrap_or(text).lines();
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(|source| Error::Io {
        action: "remove",
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
