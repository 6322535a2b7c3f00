//! The prompts that the user can change: templates that files in the folder `prompts` of the configuration
//! replace. Goose keeps them there, too, and most have its names.

use crate::agent::Mode;
use crate::agent::prompt::prompt_kind::{COMPACTION, PromptKind, SESSION_NAME, SYSTEM};
use crate::agent::prompt::system_prompt::{self, Parts};
use crate::agent::recipes::Recipes;
use crate::agent::session::session_recipes;
use crate::part;
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::store::{self, files};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The largest template, in bytes.
pub const MAX_SIZE: usize = 64 << 10;

/// The value of `messages` in the template for summaries, which Goose's templates use.
const MESSAGES: &str = "(The conversation is in the next message.)";

/// All prompts, in the order of lists: those of the core, then those of the parts of the program.
fn all() -> impl Iterator<Item = &'static PromptKind> {
    let own = [&SYSTEM, &COMPACTION, &SESSION_NAME];
    own.into_iter()
        .chain(part::all().iter().flat_map(|part| part.prompts))
}

/// A prompt as clients see it (`Template` of Goose's OpenAPI document).
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// The name of its file.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The text that gosling uses unless the user has changed it.
    pub default_content: String,
    /// The text of the user's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_content: Option<String>,
    /// Whether there is such a file.
    pub is_customized: bool,
}

/// Why a prompt cannot be read or changed.
#[derive(Debug)]
pub enum PromptError {
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
    /// The build has no templates.
    LeftOut,
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
            Self::LeftOut => {
                let hint = crate::features::hint("recipes");
                write!(f, "prompts cannot be changed{hint}")
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
#[derive(Debug)]
pub struct Prompts {
    folder: PathBuf,
}

impl Prompts {
    /// The folder `prompts` in the configuration folder `config`. Does no I/O.
    pub fn new(config: &Path) -> Self {
        Prompts {
            folder: config.join("prompts"),
        }
    }

    /// All prompts.
    pub fn list(&self) -> Vec<Prompt> {
        all().map(|kind| self.describe(kind)).collect()
    }

    /// The prompt whose file has this name.
    ///
    /// # Errors
    /// [`PromptError::Unknown`].
    pub fn get(&self, name: &str) -> Result<Prompt, PromptError> {
        known(name).map(|kind| self.describe(kind))
    }

    /// Replaces the prompt by this template.
    ///
    /// # Errors
    /// [`PromptError`]; the prompt stays as it is then.
    pub fn save(&self, name: &str, content: &str) -> Result<(), PromptError> {
        let kind = known(name)?;
        check(kind, content)?;
        files::ensure_dir(&self.folder)?;
        let _lock = self.lock()?;
        let path = files::follow_links(&self.path(kind))?;
        Ok(files::write_atomic(&path, content.as_bytes())?)
    }

    /// Removes the user's template, so that the default is used again.
    ///
    /// # Errors
    /// [`PromptError::Unknown`], [`PromptError::Store`].
    pub fn reset(&self, name: &str) -> Result<(), PromptError> {
        let path = self.path(known(name)?);
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(());
        }
        let _lock = self.lock()?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store::Error::io("remove", &path)(error).into())
            }
            _ => Ok(files::sync_names(&self.folder)?),
        }
    }

    /// The system prompt of a session.
    pub fn system(&self, parts: &Parts<'_>) -> String {
        let own = self.own(&SYSTEM, || system_prompt::values(parts));
        system_prompt::system(own, parts)
    }

    /// The system prompt of a request for a summary.
    pub fn compaction(&self) -> String {
        self.text(&COMPACTION, json!({ "messages": MESSAGES }))
    }

    /// The system prompt of a request for a session's name.
    pub fn session_name(&self) -> String {
        self.text(&SESSION_NAME, Value::Null)
    }

    /// The prompt with these values: that of the user, if it can be used.
    pub fn text(&self, kind: &PromptKind, values: Value) -> String {
        let own = self.own(kind, || values);
        own.unwrap_or_else(kind.default_text)
    }

    fn path(&self, kind: &PromptKind) -> PathBuf {
        self.folder.join(kind.file)
    }

    fn lock(&self) -> store::Result<FileLock> {
        FileLock::acquire(&self.folder.join(".lock"), LOCK_TIMEOUT)
    }

    fn describe(&self, kind: &'static PromptKind) -> Prompt {
        let user_content = self.read(kind).ok().flatten();
        Prompt {
            name: kind.file,
            description: kind.description,
            default_content: (kind.default_text)(),
            is_customized: user_content.is_some(),
            user_content,
        }
    }

    /// The text of the user's file, if there is one.
    fn read(&self, kind: &PromptKind) -> store::Result<Option<String>> {
        let path = self.path(kind);
        let Some((content, _)) = files::read_file(&path, MAX_SIZE as u64)? else {
            return Ok(None);
        };
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
        let text = String::from_utf8(content).map_err(invalid);
        text.map(Some).map_err(store::Error::io("read", &path))
    }

    /// The user's prompt with these values; `None` if there is none, or if it cannot be used, which is logged.
    fn own(&self, kind: &PromptKind, values: impl FnOnce() -> Value) -> Option<String> {
        let path = self.path(kind);
        let made = match session_recipes::find() {
            // Without templates, files of the user are not used.
            None if path.exists() => Err(PromptError::LeftOut.to_string()),
            None => return None,
            Some(recipes) => match self.read(kind) {
                Ok(None) => return None,
                Ok(Some(text)) => {
                    render(recipes, kind, &text, &values()).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            },
        };
        let path = path.display();
        made.inspect_err(|error| {
            log::warn!("prompt not used, but the default path={path} reason={error}")
        })
        .ok()
    }
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
    let recipes = session_recipes::find().ok_or(PromptError::LeftOut)?;
    if kind.file != SYSTEM.file {
        let values = json!({ "messages": MESSAGES });
        return render(recipes, kind, content, &values).map(drop);
    }
    let extensions = [("files", "Read before you write."), ("clock", "")];
    for mode in Mode::ALL {
        for extensions in [&extensions[..], &[]] {
            let values = system_prompt::values(&Parts {
                extensions,
                mode,
                ..Parts::default()
            });
            render(recipes, kind, content, &values)?;
        }
    }
    Ok(())
}

fn render(
    recipes: &dyn Recipes,
    kind: &PromptKind,
    text: &str,
    values: &Value,
) -> Result<String, PromptError> {
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
    let made = recipes.render_prompt(text, &variables, values);
    let made = made.map_err(|fault| invalid(fault.line, fault.reason))?;
    match made.trim() {
        "" => Err(invalid(None, "it makes no text".to_owned())),
        made => Ok(made.to_owned()),
    }
}
