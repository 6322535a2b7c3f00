//! The folders of recipes, the same as those of Goose.

use super::{Error, Recipe};
use crate::store;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The largest recipe file, in bytes. Parsing hostile YAML takes time that grows with the square of its size.
pub const MAX_FILE: usize = 256 << 10;

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

    /// These folders.
    pub fn of(folders: Vec<PathBuf>) -> Self {
        Library { folders }
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

    /// The recipe with this id; `None` if no file has it.
    ///
    /// # Errors
    /// [`Error::File`] when its file does not contain a valid recipe.
    pub fn find(&self, wanted: &str) -> Result<Option<Recipe>, Error> {
        Ok(self.find_file(wanted)?.map(|(_, recipe)| recipe))
    }

    /// As [`find`](Self::find), with the recipe's file.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_file(&self, wanted: &str) -> Result<Option<(PathBuf, Recipe)>, Error> {
        match self.files().into_iter().find(|path| id(path) == wanted) {
            Some(path) => read(&path).map(|recipe| Some((path, recipe))),
            None => Ok(None),
        }
    }

    /// The file of the recipe with this id, which may not contain a valid recipe.
    pub fn path(&self, wanted: &str) -> Option<PathBuf> {
        self.files().into_iter().find(|path| id(path) == wanted)
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

/// The recipe in the file `path`, in YAML or JSON by its extension, optionally under a key `recipe`.
///
/// # Errors
/// [`Error::File`] when it does not contain a recipe or is larger than [`MAX_FILE`].
pub fn read(path: &Path) -> Result<Recipe, Error> {
    let failed = |reason: String| Error::File {
        path: path.to_owned(),
        reason,
    };
    let content = store::read_object(path, MAX_FILE as u64);
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
    if let Some(Value::Object(inner)) = object.get_mut("recipe") {
        object = std::mem::take(inner);
    }
    Recipe::from_object(object).map_err(|error| {
        failed(match error {
            Error::Shape { reason } => reason,
            error => error.to_string(),
        })
    })
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
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn folder(name: &str) -> Folder {
        let name = format!("gosling-library-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(fs::canonicalize(path).unwrap())
    }

    #[test]
    fn recipes_are_found_by_where_they_are() {
        let folder = folder("found");
        let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).unwrap();
        write("a.yaml", "title: A\ndescription: D\nprompt: go\n");
        write(
            "b.json",
            r#"{"title": "B", "description": "D", "prompt": "go"}"#,
        );
        write(
            "c.yml",
            "recipe:\n  title: C\n  description: D\n  prompt: go\n",
        );
        write("broken.yaml", "title: [");
        write("other.yaml", "name: no recipe\n");
        write("notes.txt", "title: T\ndescription: D\n");
        let library = Library::of(vec![
            folder.0.clone(),
            folder.0.join("absent"),
            folder.0.clone(),
        ]);
        let listed = library.list();
        let titles: Vec<_> = listed
            .iter()
            .map(|it| it.recipe.fields().title.as_str())
            .collect();
        assert_eq!(titles, ["A", "B", "C"]);
        for entry in &listed {
            assert_eq!(entry.id.len(), 16);
            let found = library.find(&entry.id).unwrap();
            assert_eq!(found.as_ref(), Some(&entry.recipe));
        }
        assert_eq!(library.find("0000000000000000"), Ok(None));
        let broken = library.find(&id(&folder.0.join("broken.yaml")));
        assert!(matches!(broken, Err(Error::File { .. })), "{broken:?}");
    }

    #[test]
    fn ids_stay_the_same() {
        assert_eq!(
            id(Path::new("/recipes/a.yaml")),
            id(Path::new("/recipes/a.yaml"))
        );
        assert_ne!(
            id(Path::new("/recipes/a.yaml")),
            id(Path::new("/recipes/b.yaml"))
        );
        assert_eq!(id(Path::new("")), "cbf29ce484222325");
    }

    #[test]
    fn large_and_hostile_files_are_refused_at_once() {
        let folder = folder("hostile");
        let aliases: String = (1..40)
            .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1))
            .collect();
        for (name, text) in [
            (
                "large.yaml",
                format!("title: T\ndescription: {}\n", "x".repeat(MAX_FILE)),
            ),
            ("aliases.yaml", format!("a0: &a0 [x, x]\n{aliases}")),
            ("deep.yaml", format!("a: {}", "[".repeat(100_000))),
            ("deep.json", format!("{{\"a\": {}", "[".repeat(100_000))),
        ] {
            let path = folder.0.join(name);
            fs::write(&path, text).unwrap();
            let start = std::time::Instant::now();
            let error = read(&path).unwrap_err();
            assert!(matches!(error, Error::File { .. }), "{name}: {error}");
            assert!(start.elapsed().as_secs() < 10, "{name}");
        }
    }
}
