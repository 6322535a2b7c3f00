//! The prompts that the user can change: templates that files in the folder `prompts` of the configuration
//! replace. Goose keeps them there, too, and most have its names.

use crate::agent::prompt_kind::{MESSAGES, PromptKind};
use crate::agent::system_prompt::{self, Parts, SYSTEM};
use crate::agent::{COMPACTION, Mode, SESSION_NAME};
use crate::recipe::prompt_template;
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::{self, files};
use gosling_core::part;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The largest template, in bytes.
const MAX_SIZE: usize = 64 << 10;

/// A prompt as clients see it (`Template` of Goose's OpenAPI document).
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prompt {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) description: &'static str,
    /// The text that gosling uses unless the user has changed it.
    pub(crate) default_content: String,
    /// The text of the user's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_content: Option<String>,
    /// Whether there is such a file.
    pub(crate) is_customized: bool,
}

/// Why a prompt cannot be read or changed.
#[derive(Debug)]
pub(crate) enum PromptError {
    /// gosling uses no prompt of this name.
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The template does not render.
    Invalid {
        /// The name of the prompt.
        name: &'static str,
        /// The line, from 1, if it is known.
        line: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be read or written.
    Store(store::Error),
}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names = all().map(|it| it.file);
                let names = names.collect::<Vec<_>>().join(", ");
                write!(f, "there is no prompt '{name}'; there are {names}")
            }
            Self::Invalid { name, line, reason } => {
                write!(f, "`content` is no template for {name}: ")?;
                match line {
                    Some(line) => write!(f, "line {line}: {reason}"),
                    None => f.write_str(reason),
                }
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PromptError {}

impl From<store::Error> for PromptError {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

/// The folder with the files of the user. They are read for every use, so a change takes effect at once.
pub(crate) struct UserPrompts<'a>(pub(crate) &'a Path);

impl UserPrompts<'_> {
    /// All prompts.
    pub(crate) fn list(&self) -> Vec<Prompt> {
        all().map(|kind| self.describe(kind)).collect()
    }

    /// The prompt whose file has this name.
    ///
    /// # Errors
    /// [`PromptError::Unknown`].
    pub(crate) fn get(&self, name: &str) -> Result<Prompt, PromptError> {
        known(name).map(|kind| self.describe(kind))
    }

    /// Replaces the prompt by this template.
    ///
    /// # Errors
    /// [`PromptError`]; the prompt stays as it is then.
    pub(crate) fn save(&self, name: &str, content: &str) -> Result<(), PromptError> {
        let kind = known(name)?;
        check(kind, content)?;
        files::ensure_dir(self.0)?;
        let _lock = self.lock()?;
        let path = files::follow_links(&self.path(kind))?;
        Ok(files::write_atomic(&path, content.as_bytes())?)
    }

    /// Removes the user's template, so that the default is used again.
    ///
    /// # Errors
    /// [`PromptError::Unknown`], [`PromptError::Store`].
    pub(crate) fn reset(&self, name: &str) -> Result<(), PromptError> {
        let path = self.path(known(name)?);
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(());
        }
        let _lock = self.lock()?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store::Error::io("remove", &path)(error).into())
            }
            _ => Ok(files::sync_names(self.0)?),
        }
    }

    fn path(&self, kind: &PromptKind) -> PathBuf {
        self.0.join(kind.file)
    }

    fn lock(&self) -> store::Result<FileLock> {
        FileLock::acquire(&self.0.join(".lock"), LOCK_TIMEOUT)
    }

    fn describe(&self, kind: &'static PromptKind) -> Prompt {
        let user_content = read(&self.path(kind)).ok().flatten();
        Prompt {
            name: kind.file,
            description: kind.description,
            default_content: (kind.default_text)(),
            is_customized: user_content.is_some(),
            user_content,
        }
    }
}

/// The user's prompt in this file with these values, as [`Recipes`](crate::agent::recipes::Recipes) has it.
pub(crate) fn own(
    file: &Path,
    kind: &PromptKind,
    values: &dyn Fn() -> Value,
) -> Result<Option<String>, String> {
    let said = |error: &dyn fmt::Display| error.to_string();
    let Some(text) = read(file).map_err(|error| said(&error))? else {
        return Ok(None);
    };
    let made = render(kind, &text, &values());
    made.map(Some).map_err(|error| said(&error))
}

/// The text of the user's file, if there is one.
fn read(path: &Path) -> store::Result<Option<String>> {
    let Some((content, _)) = files::read_file(path, MAX_SIZE as u64)? else {
        return Ok(None);
    };
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    let text = String::from_utf8(content).map_err(invalid);
    text.map(Some).map_err(store::Error::io("read", path))
}

/// All prompts, in the order of lists: those of the core, then those of the parts of the program.
fn all() -> impl Iterator<Item = &'static PromptKind> {
    let own = [&SYSTEM, &COMPACTION, &SESSION_NAME];
    own.into_iter()
        .chain(part::all().iter().flat_map(|part| part.prompts))
}

fn known(name: &str) -> Result<&'static PromptKind, PromptError> {
    all()
        .find(|kind| kind.file == name)
        .ok_or_else(|| PromptError::Unknown {
            name: name.to_owned(),
        })
}

/// Refuses a template that could not be used in every session.
fn check(kind: &'static PromptKind, content: &str) -> Result<(), PromptError> {
    if kind.file != SYSTEM.file {
        let values = json!({ "messages": MESSAGES });
        return render(kind, content, &values).map(drop);
    }
    let extensions = [("files", "Read before you write."), ("clock", "")];
    for mode in Mode::ALL {
        for extensions in [&extensions[..], &[]] {
            let values = system_prompt::values(&Parts {
                extensions,
                mode,
                ..Parts::default()
            });
            render(kind, content, &values)?;
        }
    }
    Ok(())
}

fn render(kind: &PromptKind, text: &str, values: &Value) -> Result<String, PromptError> {
    let invalid = |line: Option<usize>, reason: String| PromptError::Invalid {
        name: kind.file,
        line,
        reason,
    };
    if text.len() > MAX_SIZE {
        return Err(invalid(
            None,
            format!("it is larger than {} KiB", MAX_SIZE >> 10),
        ));
    }
    let variables: Vec<&str> = kind.variables.split_whitespace().collect();
    let made = prompt_template::render(text, &variables, values);
    let made = made.map_err(|fault| invalid(fault.line, fault.reason))?;
    match made.trim() {
        "" => Err(invalid(None, "it makes no text".to_owned())),
        made => Ok(made.to_owned()),
    }
}

#[cfg(test)]
mod tests;
