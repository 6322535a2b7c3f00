//! The categories of one scope: a folder with a file for each, shared with Goose and other processes.

use super::entry_format::{self, Entry};
use crate::store::{Error, file_lock, files};
use crate::text::printable;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// How large a category's file may be, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// How many categories there may be.
const MAX_CATEGORIES: usize = 500;
/// How many entries of the folder are looked at for them.
const MAX_LISTED: usize = 20_000;
/// How long the name of one may be, in characters and in bytes.
const MAX_NAME: usize = 100;
const MAX_NAME_BYTES: usize = 200;
/// How large one thing to remember may be, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// How many tags it may have, and how long they may be together, in bytes.
const MAX_TAGS: usize = 32;
const MAX_TAGS_BYTES: usize = 1_000;
/// How often a change starts over because another program saved in between.
const ATTEMPTS: usize = 8;

/// The name of a category: a file's name without its ending, never a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Category(String);

impl Category {
    /// # Errors
    /// When it cannot be a category's name, and what can.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let name = name.trim();
        let odd = |c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c);
        let why = if name.is_empty() {
            "is empty"
        } else if name.contains(odd) {
            "has characters that file names cannot have everywhere"
        } else if name.starts_with('.') || name.ends_with('.') {
            "begins or ends with a dot"
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
    /// Where their files are.
    dir: PathBuf,
    /// The working directory, which nothing may lead out of: a project comes from others.
    project: Option<PathBuf>,
}

/// What a change leaves of a file: another content, or the same one.
type Changed<R> = (Option<Vec<u8>>, R);

impl CategoryFolder {
    /// What is remembered of a project.
    pub(super) fn local(working_dir: &Path) -> Self {
        CategoryFolder {
            dir: working_dir.join(".goose").join("memory"),
            project: Some(working_dir.to_owned()),
        }
    }

    /// What is remembered everywhere; `config` is the user's configuration folder.
    pub(super) fn global(config: &Path) -> Self {
        CategoryFolder {
            dir: config.join("memory"),
            project: None,
        }
    }

    /// The categories that can be read, by name.
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
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names.truncate(MAX_CATEGORIES);
        Ok(names)
    }

    /// A category's file as text, or nothing if there is none.
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

    /// What is in a category, the oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn entries(&self, category: &Category) -> Result<Vec<Entry>, String> {
        let content = self.content(category)?.unwrap_or_default();
        let entries = entry_format::parse(&content).into_iter();
        Ok(entries.map(|(entry, _)| entry).collect())
    }

    /// Adds an entry; tells whether the category is new. What is there already is not added again.
    ///
    /// # Errors
    /// When it is too large, there is too much already, or the file cannot be written.
    pub(super) fn add(&self, category: &Category, entry: &Entry) -> Result<bool, String> {
        let tags: usize = entry.tags.iter().map(String::len).sum();
        if entry.text.is_empty() {
            return Err("There is nothing in `data` to remember".to_owned());
        }
        if entry.text.len() > MAX_TEXT {
            return Err(format!(
                "`data` has {} bytes, more than {MAX_TEXT}; remember what matters of it, or the name of \
                 a file that has it",
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

    /// Takes out the one entry with this text, or that has it as a part; tells which it was and whether
    /// the category has none any more.
    ///
    /// # Errors
    /// When there is none, or several have it as a part, or the file cannot be written.
    pub(super) fn remove(&self, category: &Category, text: &str) -> Result<(Entry, bool), String> {
        let wanted = Entry::new(text, &[]).text;
        if wanted.is_empty() {
            return Err("`memory_content` is empty; give the text of what to remove".to_owned());
        }
        self.edit(category, |before| {
            let name = category.name();
            let content = std::str::from_utf8(before.unwrap_or_default())
                .map_err(|_| format!("The file of the category {name:?} is not all text"))?;
            let all = entry_format::parse(content);
            let mut fitting: Vec<_> = all.iter().filter(|(e, _)| e.text == wanted).collect();
            if fitting.is_empty() {
                // As it was shown, or as it stands in the file.
                let wanted = normalized(text);
                let is_it = |e: &Entry| {
                    [super::item(e), e.render()]
                        .map(|e| normalized(&e))
                        .contains(&wanted)
                };
                fitting = all.iter().filter(|(e, _)| is_it(e)).collect();
            }
            if fitting.is_empty() {
                let wanted = normalized(&wanted);
                fitting = all
                    .iter()
                    .filter(|(e, _)| normalized(&e.text).contains(&wanted))
                    .collect();
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

    /// Removes a category; tells whether there was one.
    ///
    /// # Errors
    /// When that is not allowed.
    pub(super) fn clear(&self, category: &Category) -> Result<bool, String> {
        self.edit(category, |before| {
            Ok((before.map(|_| Vec::new()), before.is_some()))
        })
    }

    /// Reads, changes and rewrites a category's file while no other process of ours can. A file of
    /// which nothing is left is removed. Goose knows no lock, so it is looked at again right before.
    fn edit<R>(
        &self,
        category: &Category,
        change: impl Fn(Option<&[u8]>) -> Result<Changed<R>, String>,
    ) -> Result<R, String> {
        let told = |error: Error| error.to_string();
        if !self.exists()? {
            // Where nothing comes of it, no folder is made.
            if let (None, result) = change(None)? {
                return Ok(result);
            }
            let above = files::parent(&self.dir);
            if above.exists() {
                self.check_inside_project(above)?;
            }
            files::ensure_dir(&self.dir).map_err(told)?;
            self.exists()?;
        }
        let path = self.dir.join(".lock");
        // What a link leads to would be made, and a pipe would be waited for.
        if fs::symlink_metadata(&path).is_ok_and(|lock| !lock.is_file()) {
            return Err(format!("{} is no regular file; remove it", path.display()));
        }
        let _lock = file_lock::FileLock::acquire(&path, file_lock::LOCK_TIMEOUT).map_err(told)?;
        for _ in 0..ATTEMPTS {
            let path = self.file(category)?;
            let stamp = files::stamp(&path).map_err(told)?;
            let before = read(&path).map_err(told)?;
            let (after, result) = change(before.as_deref())?;
            let Some(after) = after else {
                return Ok(result);
            };
            let changing = || Error::Changing { path: path.clone() };
            let check = || {
                if files::stamp(&path)? == stamp {
                    Ok(())
                } else {
                    Err(changing())
                }
            };
            let written = if after.iter().all(u8::is_ascii_whitespace) {
                check().and_then(|()| remove(&path))
            } else {
                files::replace(&path, &after, check)
            };
            match written.and_then(|()| files::sync_names(files::parent(&path))) {
                Err(Error::Changing { .. }) => continue,
                written => return written.map(|()| result).map_err(told),
            }
        }
        Err(format!(
            "Another program keeps changing the category {:?}; try again later",
            category.name()
        ))
    }

    /// Whether there is such a folder.
    ///
    /// # Errors
    /// When it is none, or leads out of where it should be.
    fn exists(&self) -> Result<bool, String> {
        match fs::metadata(&self.dir) {
            Ok(folder) if !folder.is_dir() => return Err(self.wrong("it is no folder")),
            Ok(_) => {}
            Err(_) if fs::symlink_metadata(&self.dir).is_err() => return Ok(false),
            Err(error) => return Err(self.wrong(&error.to_string())),
        }
        self.check_inside_project(&self.dir)?;
        Ok(true)
    }

    /// # Errors
    /// When `path`, which exists, leads out of the project.
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

    /// A category's file, which need not exist.
    ///
    /// # Errors
    /// When something is in its place that is no file of bearable size.
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
            Ok(false) => return refuse("is no regular file"),
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
    match files::open(path)? {
        None => Ok(None),
        Some(mut file) => Ok(Some(files::read(&mut file, path, MAX_FILE)?.0)),
    }
}

/// A text without the bullet of a list and without blanks at the ends of lines.
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
mod tests {
    use super::*;

    #[test]
    fn a_category_is_a_name_and_never_a_path() {
        for name in ["a", "two words", "a.b", "C++", "naïve", " trimmed "] {
            assert_eq!(Category::named(name).unwrap().name(), name.trim());
        }
        let long = "x".repeat(MAX_NAME + 1);
        let wide = "𝔵".repeat(60);
        for name in [
            "",
            " ",
            ".",
            "..",
            ".hidden",
            "a.",
            "a/b",
            "/etc/passwd",
            "..\\x",
            "c:x",
            "*",
            "a\0",
            "a\nb",
            &long,
            &wide,
        ] {
            let error = Category::named(name).unwrap_err();
            assert!(error.starts_with("The category"), "{error}");
        }
    }
}
