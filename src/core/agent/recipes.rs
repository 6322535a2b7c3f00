//! What sessions and their turns get from recipes. The part of the program that has recipes implements these traits;
//! for everything else a session's recipe is JSON without a meaning.

use crate::agent::prompt::prompt_kind::PromptKind;
use crate::agent::{Error, Registry};
use crate::conversation::{RecipeOrigin, Session};
use crate::mcp::types::{CallToolResult, Tool};
use crate::sys::cancel::Cancel;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Recipes, for the whole program.
pub trait Recipes: Sync {
    /// Reads the fields of a recipe that a client sends.
    ///
    /// # Errors
    /// What is missing or has another type.
    fn read(&self, given: Map<String, Value>) -> Result<Box<dyn StartRecipe>, String>;

    /// Reads a recipe link.
    ///
    /// # Errors
    /// When it does not contain a recipe.
    fn read_link(&self, link: &str) -> Result<Box<dyn StartRecipe>, Error>;

    /// The recipe with this id: of the configuration folder `config`, else of the working directory.
    ///
    /// # Errors
    /// When there is none, or its file does not contain one.
    fn find(&self, id: &str, config: &Path, working_dir: &Path) -> Result<SessionRecipe, Error>;

    /// Checks the recipe of an imported session.
    ///
    /// # Errors
    /// Why it must not be used.
    fn check_imported(&self, given: &Value) -> Result<(), Error>;

    /// The session's recipe for clients: rendered, or unrendered if values are missing; `None` if it has none.
    ///
    /// # Errors
    /// When the recipe is not valid, or a value does not fit.
    fn apply(&self, session: &Session) -> Result<Option<Value>, Error>;

    /// The settings of the session's recipe, rendered if they contain a template.
    fn settings(&self, session: &Session) -> Value;

    /// What the session's recipe adds to a turn. Its sub-recipes have sessions of the registry.
    ///
    /// # Errors
    /// When the turn cannot begin with it.
    fn for_turn<'r>(
        &self,
        session: &Session,
        registry: &'r Registry,
    ) -> Result<Box<dyn TurnRecipe + 'r>, Error>;

    /// The help text of a slash command that uses the recipe in this file; `None` if the file has no recipe.
    fn command_help(&self, file: &Path) -> Option<String>;

    /// The message for the model in place of a slash command that uses the recipe in this file. `words` follow the
    /// command.
    ///
    /// # Errors
    /// When the file has no recipe, or the words do not fit its parameters.
    fn command_message(
        &self,
        file: &Path,
        words: Vec<String>,
        working_dir: &Path,
    ) -> Result<String, Error>;

    /// The user's prompt in this file, with these values; `None` if there is no such file.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn own_prompt(
        &self,
        file: &Path,
        kind: &PromptKind,
        values: &dyn Fn() -> Value,
    ) -> Result<Option<String>, String>;
}

/// A recipe with which a session starts.
pub trait StartRecipe: Send {
    /// Its title.
    fn title(&self) -> &str;

    /// Checks it and what it adds to turns.
    ///
    /// # Errors
    /// Why no session can start with it.
    fn check_for_start(&self) -> Result<(), Error>;

    /// The configurations of its extensions; `None` if it names none.
    fn extensions(&self) -> Option<&[Value]>;

    /// Whether it matters where the recipe comes from, because it runs commands or names files.
    fn uses_origin(&self) -> bool;

    /// The recipe as it was given.
    fn into_value(self: Box<Self>) -> Value;
}

/// A recipe for a session, and where it comes from.
pub struct SessionRecipe {
    /// The recipe.
    pub recipe: Box<dyn StartRecipe>,
    /// Where it comes from.
    pub source: RecipeSource,
    /// The folder of its file.
    pub folder: Option<PathBuf>,
}

impl SessionRecipe {
    /// A recipe without a file.
    pub fn new(recipe: Box<dyn StartRecipe>, source: RecipeSource) -> Self {
        SessionRecipe {
            recipe,
            source,
            folder: None,
        }
    }

    /// What a session in this working directory stores of its recipe's origin.
    pub(in crate::agent) fn origin(&self, working_dir: &Path) -> Option<RecipeOrigin> {
        let folder = self.folder.clone().or_else(|| {
            let is_project = self.source == RecipeSource::Project;
            is_project.then(|| working_dir.join(".goose").join("recipes"))
        });
        (self.recipe.uses_origin() || folder.is_some()).then(|| RecipeOrigin {
            folder,
            trusted: self.source.untrusted().is_none(),
        })
    }
}

/// Where a recipe comes from. This decides whether its extensions run.
///
/// A recipe that the client sends is trusted: Goose Desktop scans it and asks the user first. So is a recipe
/// in a folder of the configuration. A link reaches the server without a check, and a recipe in the working
/// directory may belong to a checkout: of these recipes, only the extensions run that the user has configured
/// (see [`classify_imported`](crate::extension::classify_imported)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecipeSource {
    /// The client, or a folder of the configuration.
    #[default]
    User,
    /// A recipe link.
    Link,
    /// A folder in the working directory.
    Project,
}

impl RecipeSource {
    /// A name for an untrusted source; `None` for a trusted one.
    pub(in crate::agent) fn untrusted(self) -> Option<&'static str> {
        match self {
            RecipeSource::User => None,
            RecipeSource::Link => Some("a recipe link"),
            RecipeSource::Project => Some("a recipe of the working directory"),
        }
    }
}

/// What the recipe of a session adds to one turn; nothing, unless a function says otherwise.
pub trait TurnRecipe: Send + Sync {
    /// The instructions for the system prompt.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// The limit of requests to the model.
    fn max_turns(&self) -> Option<u64> {
        None
    }

    /// The tools. In chat mode only those without an effect.
    fn tools(&self, _is_chat: bool) -> Vec<Tool> {
        Vec::new()
    }

    /// Whether this is the tool for the final output, which needs no approval.
    fn is_output(&self, _tool: &str) -> bool {
        false
    }

    /// Whether this is one of the tools.
    fn owns(&self, _tool: &str) -> bool {
        false
    }

    /// Runs one of the tools.
    fn call(&self, _tool: &str, _arguments: &RawValue, _cancel: &Cancel) -> CallToolResult {
        CallToolResult::text("There is no such tool.").failed()
    }

    /// Takes note of a call that was refused because no user or client could be asked.
    fn call_refused(&self) {}

    /// The final output, once the model gave it. It ends the turn.
    fn output(&self) -> Option<String> {
        None
    }

    /// What follows an answer without tool calls.
    fn after_answer(&self) -> AfterAnswer {
        AfterAnswer::Finished
    }

    /// Whether the outcome of the turn is checked.
    fn success_checks(&self) -> SuccessChecks {
        SuccessChecks::None
    }

    /// Checks the outcome of the turn; `attempt` counts from 0. [`CheckedTurn::Again`] forgets what this attempt gave.
    fn check_success(&self, _attempt: u32, _cancel: &Cancel) -> CheckedTurn {
        CheckedTurn::Passed
    }
}

/// What follows an answer without tool calls.
pub enum AfterAnswer {
    /// The turn is over.
    Finished,
    /// The model gets this message.
    Remind(&'static str),
    /// The turn failed for this reason.
    Fail(String),
}

/// Whether the outcome of a turn is checked.
pub enum SuccessChecks {
    /// There are no checks.
    None,
    /// The checks are not made; the user is told why.
    NotRun(&'static str),
    /// The checks are made.
    Run,
}

/// What follows a turn with success checks.
pub enum CheckedTurn {
    /// All checks passed.
    Passed,
    /// A check failed, and the turn is repeated. The user is told this.
    Again(String),
    /// The turn failed for this reason.
    Failed(String),
}

/// Reads the session's recipe at the beginning of a turn: what it adds.
pub type MakeTurnRecipe<'r> =
    Box<dyn FnOnce(&Session) -> Result<Box<dyn TurnRecipe + 'r>, Error> + 'r>;
