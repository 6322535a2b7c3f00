//! The folders of recipes, the same as those of Goose.

use super::{Error, Recipe};
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::{self, files};
use crate::sys::paths::path_text::is_device;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The largest recipe file, in bytes. Parsing hostile YAML takes time that grows with the square of its size.
pub const MAX_FILE: usize = 256 << 10;

/// The longest text of a recipe that clients may send, in bytes.
pub const MAX_TEXT: usize = 64 << 10;

/// The longest name of a new file, in characters.
const MAX_NAME: usize = 80;

/// How many files of one folder are read.
const MAX_FILES: usize = 1_000;

/// Folders with recipes.
#[derive(Clone, Debug)]
pub struct Library {
    folders: Vec<PathBuf>,
}

/// A recipe file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its id; see [`id`].
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// When the file last changed.
    pub modified: SystemTime,
    /// The recipe.
    pub recipe: Recipe,
}

impl Library {
    /// The folders of the user: `recipes` in the configuration folder, and those that the variable
    /// `GOOSE_RECIPE_PATH` lists.
    pub fn of_user(config: &Path) -> Self {
        let listed = std::env::var_os("GOOSE_RECIPE_PATH").unwrap_or_default();
        let more: Vec<PathBuf> = std::env::split_paths(&listed).collect();
        let mut folders = vec![config.join("recipes")];
        folders.extend(more.into_iter().filter(|path| !path.as_os_str().is_empty()));
        Library { folders }
    }

    /// The folder of a project: `.goose/recipes` in the working directory.
    pub fn of_project(working_dir: &Path) -> Self {
        Library {
            folders: vec![working_dir.join(".goose").join("recipes")],
        }
    }

    /// The folders of a server: those of the user, and that of the project in the directory in which the server
    /// was started.
    pub fn of_server(config: &Path) -> Self {
        let mut library = Library::of_user(config);
        if let Ok(dir) = std::env::current_dir() {
            library.folders.extend(Library::of_project(&dir).folders);
        }
        library
    }

    /// Every recipe, by folder and name. A file without a valid recipe is left out and logged.
    pub fn list(&self) -> Vec<Entry> {
        let entries = self.files().into_iter().filter_map(|path| {
            let read = read(&path);
            let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
            match (read, modified) {
                (Ok(recipe), Ok(modified)) => Some(Entry {
                    id: id(&path),
                    path,
                    modified,
                    recipe,
                }),
                (Err(error), _) => {
                    log::warn!("recipe left out: {error}");
                    None
                }
                (Ok(_), Err(_)) => None,
            }
        });
        entries.collect()
    }

    /// The recipe with this id, and its file; `None` if no file has it.
    ///
    /// # Errors
    /// [`Error::File`] when its file does not contain a valid recipe.
    pub fn find(&self, wanted: &str) -> Result<Option<(PathBuf, Recipe)>, Error> {
        match self.path(wanted) {
            Some(path) => load(&path).map(|recipe| Some((path, recipe))),
            None => Ok(None),
        }
    }

    /// The file with this id; `None` if there is none.
    pub fn path(&self, wanted: &str) -> Option<PathBuf> {
        self.files().into_iter().find(|path| id(path) == wanted)
    }

    /// Writes the recipe into the file with the id `to`, or into a new file of the first folder, which gets its
    /// name from the title. Returns the file's id. A symbolic link is replaced, not followed.
    ///
    /// # Errors
    /// The recipe is not valid, or [`Error::Unknown`] when no file has the id, [`Error::TooLarge`],
    /// [`Error::Yaml`], [`Error::Store`]. The files are unchanged then.
    pub fn save(&self, to: Option<&str>, recipe: &Recipe) -> Result<String, Error> {
        let first = self.folders.first();
        let path = match to {
            Some(wanted) => self.path(wanted).ok_or_else(|| unknown(wanted))?,
            None => first
                .ok_or_else(|| unknown("without a folder"))?
                .join("x.yaml"),
        };
        let text = text_for(&path, recipe)?;
        let folder = files::parent(&path);
        recipe.clone().with_includes(folder)?.check()?;
        files::ensure_dir(folder)?;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let _lock = FileLock::acquire(&folder.join(".lock"), LOCK_TIMEOUT)?;
        let path = match to {
            Some(wanted) if !path.is_file() => return Err(unknown(wanted)),
            Some(_) => path,
            None => unused_path(&folder, &recipe.fields().title),
        };
        files::write_atomic(&path, text.as_bytes())?;
        Ok(id(&path))
    }

    /// Removes the file with this id and returns its path.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no file has the id, [`Error::Store`].
    pub fn delete(&self, wanted: &str) -> Result<PathBuf, Error> {
        let path = self.path(wanted).ok_or_else(|| unknown(wanted))?;
        let removed = files::if_exists(fs::remove_file(&path));
        let removed = removed.map_err(store::Error::io("remove", &path))?;
        removed.ok_or_else(|| unknown(wanted))?;
        files::sync_names(files::parent(&path))?;
        Ok(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for folder in &self.folders {
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            if seen.insert(folder.clone()) {
                files.extend(files_in(&folder));
            }
        }
        files
    }
}

/// The id of a recipe: the 64-bit FNV-1a hash of its path, as 16 hexadecimal digits. It changes only when the
/// file is moved or renamed.
pub fn id(path: &Path) -> String {
    let hash = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// The recipe in the file `path`, with the files that it includes.
///
/// # Errors
/// As [`read`]; [`Error::Template`] when a file cannot be included.
pub fn load(path: &Path) -> Result<Recipe, Error> {
    read(path)?.with_includes(files::parent(path))
}

/// The recipe in the file `path`, as it is written: in YAML or JSON by its extension, optionally under a key
/// `recipe`.
///
/// # Errors
/// [`Error::File`] when it does not contain a recipe or is larger than [`MAX_FILE`].
pub fn read(path: &Path) -> Result<Recipe, Error> {
    let failed = |reason: String| Error::File {
        path: path.to_owned(),
        reason,
    };
    let content = gosling_shared::read_object(path, MAX_FILE as u64);
    let mut object = content
        .map_err(|error| {
            failed(match error {
                store::Error::Broken {
                    line: 0, reason, ..
                } => reason,
                store::Error::Broken { line, reason, .. } => format!("line {line}: {reason}"),
                error => error.to_string(),
            })
        })?
        .ok_or_else(|| failed("there is no such file".to_owned()))?;
    from_object(&mut object).map_err(|error| failed(error.into_reason()))
}

/// The recipe in a text of a client, in JSON if it begins with `{`, else in YAML; optionally under a key `recipe`.
///
/// # Errors
/// [`Error::LongText`], [`Error::Shape`].
pub fn parse(text: &str) -> Result<Recipe, Error> {
    if text.len() > MAX_TEXT {
        return Err(Error::LongText);
    }
    let object: Result<Map<String, Value>, String> = if text.trim_start().starts_with('{') {
        crate::json::from_str(&crate::json::sanitize(text)).map_err(|error| error.to_string())
    } else {
        gosling_shared::parse_yaml_object(text)
    };
    from_object(&mut object.map_err(Error::Shape)?)
}

/// The YAML text of a recipe.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Yaml`].
pub fn to_yaml(recipe: &Recipe) -> Result<String, Error> {
    // The text is parsed again, to be sure of it. As JSON it is about as long, and quickly made.
    if recipe.to_string().len() > MAX_FILE {
        return Err(Error::TooLarge);
    }
    let text = gosling_shared::render_yaml_object(&recipe.given);
    text.map_err(Error::Yaml)
}

fn from_object(object: &mut Map<String, Value>) -> Result<Recipe, Error> {
    let mut given = match object.get_mut("recipe") {
        Some(Value::Object(inner)) => std::mem::take(inner),
        _ => std::mem::take(object),
    };
    accept_numbers(&mut given);
    Recipe::from_object(given)
}

/// Makes a title or description that YAML reads as a whole number, such as 2026, the text that it was. The text of any
/// other number is lost: 4.10 is 4.1.
pub(super) fn accept_numbers(given: &mut Map<String, Value>) {
    for field in ["title", "description"] {
        if let Some(value @ Value::Number(_)) = given.get_mut(field)
            && !value.is_f64()
        {
            *value = value.to_string().into();
        }
    }
}

/// The text of the recipe for the file `path`: JSON or YAML, by its extension.
fn text_for(path: &Path, recipe: &Recipe) -> Result<String, Error> {
    let text = if path.extension().is_some_and(|it| it == "json") {
        format!("{recipe:#}\n")
    } else {
        to_yaml(recipe)?
    };
    match text.len() {
        0..=MAX_FILE => Ok(text),
        _ => Err(Error::TooLarge),
    }
}

/// A file in `folder` that does not exist, named after the title: its letters and digits, in lower case, with
/// hyphens between the words.
fn unused_path(folder: &Path, title: &str) -> PathBuf {
    let title = title.to_lowercase();
    let words = title.split(|c: char| c.is_whitespace() || c == '-' || c == '_');
    let words = words.map(|word| word.chars().filter(|c| c.is_alphanumeric()).collect());
    let words: Vec<String> = words.filter(|word: &String| !word.is_empty()).collect();
    let mut name: String = words.join("-").chars().take(MAX_NAME).collect();
    if name.is_empty() {
        name.push_str("untitled-recipe");
    }
    // On Windows it would be no file.
    if is_device(&name) {
        name.push_str("-recipe");
    }
    let names = (2..).map(|number| format!("{name}-{number}.yaml"));
    let paths = iter::once(format!("{name}.yaml"))
        .chain(names)
        .map(|it| folder.join(it));
    let mut unused = paths.filter(|path| fs::symlink_metadata(path).is_err());
    unused
        .next()
        .unwrap_or_else(|| folder.join("untitled-recipe.yaml"))
}

fn unknown(id: &str) -> Error {
    Error::Unknown(id.to_owned())
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .take(MAX_FILES)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_recipe_file(path) && path.is_file())
        .collect();
    files.sort();
    files
}

fn is_recipe_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

#[cfg(test)]
mod tests;
