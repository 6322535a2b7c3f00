//! Running a recipe without a client: a session of its own, one turn, and its outcome.
//!
//! The mode is that of the configuration, as in every turn. Nobody answers questions in an unattended run: what
//! would ask the user is refused at once, with a reason that the model sees.

mod final_output;
mod sub_recipes;
mod success_checks;
pub(crate) mod turn_recipe;

use crate::agent::recipes::{MakeTurnRecipe, SessionRecipe};
use crate::agent::{Error, Event, EventSink, RecipeSource, Registry, Start, TurnInput};
use crate::conversation::{MAX_NAME, Message, Role, Session, SessionType, TokenState};
use crate::extension::sandbox::Level;
use crate::recipe::{self, Recipe, library};
use crate::sys::cancel::Cancel;
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turn_recipe::RecipeInTurn;

/// A recipe to run, and the session for it.
pub struct RecipeRun {
    /// The recipe.
    pub recipe: Recipe,
    /// Where it comes from.
    pub source: RecipeSource,
    /// The folder of its file, where paths in it start.
    pub folder: Option<PathBuf>,
    /// The values of its parameters.
    pub values: Map<String, Value>,
    /// The working directory; empty for the home directory.
    pub working_dir: PathBuf,
    /// What starts the run.
    pub session_type: SessionType,
    /// The least that walls around its extensions keep out.
    pub sandbox: Level,
    /// The schedule that starts it.
    pub schedule_id: Option<String>,
    /// The session's name; the recipe's title if absent.
    pub name: Option<String>,
    /// The extensions to use, unless the recipe names them; if absent, those that the configuration enables.
    pub extensions: Option<Vec<Value>>,
}

/// How a recipe runs.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The first message, in place of the recipe's prompt.
    pub message: Option<String>,
    /// Text that is added to the first message.
    pub addition: Option<String>,
    /// Whether the event sink's owner answers questions, as a client does. If not, they are refused.
    pub attended: bool,
}

/// Ignores all events of a run, whose session has the messages.
pub(crate) struct NoEvents;

impl EventSink for NoEvents {
    fn event(&mut self, _: Event<'_>) {}
    fn flush(&mut self) {}
}

/// Runs within runs.
#[derive(Clone, Default)]
struct Nesting {
    /// How deep this run is within others.
    depth: usize,
    /// How many runs there were within the outermost one.
    runs: Arc<AtomicUsize>,
    /// How many tool calls were refused in them because no user or client could be asked.
    refused_calls: Arc<AtomicUsize>,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct RecipeOutcome {
    /// The session.
    pub session_id: String,
    /// The text of the last message, or why there is none.
    pub result: Result<String, RunError>,
    /// How many tools were called.
    pub tool_calls: usize,
    /// How many of them, and of those of its sub-recipes, were refused because no user or client could be asked.
    pub refused_calls: usize,
    /// The token counts of the session.
    pub tokens: TokenState,
}

/// Why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// The run was cancelled.
    Cancelled,
    /// The model could not do its task; the reason.
    Unfinished(String),
    /// The run could not begin, or a file could not be read or written.
    Failed(Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Cancelled => f.write_str("the run was cancelled"),
            RunError::Unfinished(reason) => f.write_str(reason),
            RunError::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => RunError::Cancelled,
            error => RunError::Failed(error),
        }
    }
}

impl RecipeRun {
    /// A run of the recipe of a user, in this working directory.
    pub fn new(recipe: Recipe, working_dir: PathBuf) -> Self {
        RecipeRun {
            recipe,
            source: RecipeSource::User,
            folder: None,
            values: Map::new(),
            working_dir,
            session_type: SessionType::User,
            sandbox: Level::Off,
            schedule_id: None,
            name: None,
            extensions: None,
        }
    }

    /// As [`new`](Self::new), with the recipe in the file `path`.
    ///
    /// # Errors
    /// When the file does not contain a recipe.
    pub fn from_file(path: &Path, working_dir: PathBuf) -> Result<Self, Error> {
        let recipe = library::load(path)?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(RecipeRun {
            folder: path.parent().map(Path::to_owned),
            ..RecipeRun::new(recipe, working_dir)
        })
    }

    /// Creates the session of the run and starts to activate its extensions; does not wait for them. [`run`]
    /// follows.
    ///
    /// # Errors
    /// As [`Registry::start`], and when values are missing or do not fit. No session exists then.
    pub fn start(self, registry: &Registry) -> Result<Session, Error> {
        self.recipe.check()?;
        let folder = self.folder.as_ref().unwrap_or(&self.working_dir);
        let rendered = (self.recipe).render_in(folder, &self.values, &self.working_dir)?;
        let title = &rendered.fields().title;
        let name = self.name.unwrap_or_else(|| title.clone());
        let name = name.trim().chars().take(MAX_NAME).collect();
        registry.start(Start {
            additional_dirs: Vec::new(),
            working_dir: self.working_dir,
            recipe: Some(SessionRecipe {
                recipe: Box::new(self.recipe),
                source: self.source,
                folder: self.folder,
            }),
            recipe_values: Some(self.values),
            session_type: self.session_type,
            sandbox: self.sandbox,
            schedule_id: self.schedule_id,
            name: Some(name),
            extension_overrides: self.extensions,
            client_extensions: Vec::new(),
        })
    }
}

/// Runs the recipe of a session that [`RecipeRun::start`] created: one turn, which begins with the recipe's prompt, or
/// else with its instructions. Returns when the turn is over and the session's extensions have ended. The events are
/// those of [`Registry::reply`].
pub fn run(
    registry: &Registry,
    id: &str,
    options: RunOptions,
    events: &mut dyn EventSink,
    cancel: &Cancel,
) -> RecipeOutcome {
    run_nested(registry, id, options, Nesting::default(), events, cancel)
}

/// As [`run`], within other runs.
fn run_nested(
    registry: &Registry,
    id: &str,
    options: RunOptions,
    nesting: Nesting,
    events: &mut dyn EventSink,
    cancel: &Cancel,
) -> RecipeOutcome {
    let mut outcome = RecipeOutcome {
        session_id: id.to_owned(),
        result: Err(RunError::Cancelled),
        tool_calls: 0,
        refused_calls: 0,
        tokens: TokenState::default(),
    };
    let refused_calls = nesting.refused_calls.clone();
    let report = first_message(registry, id, &options).and_then(|user| {
        let recipe: MakeTurnRecipe<'_> = Box::new(move |session| {
            Ok(Box::new(RecipeInTurn::of_run(session, registry, nesting)?))
        });
        let input = TurnInput {
            attended: options.attended,
            recipe: Some(recipe),
            ..TurnInput::new(user)
        };
        registry.reply(id, input, events, cancel)
    });
    registry.stop(id);
    outcome.refused_calls = refused_calls.load(Ordering::Relaxed);
    outcome.result = match report {
        Ok(report) => {
            outcome.tool_calls = report.calls;
            match report.failure {
                Some(failure) => Err(RunError::Unfinished(failure)),
                None => Ok(report.last_text),
            }
        }
        Err(error) => {
            outcome.tool_calls = stored_calls(registry, id);
            Err(error.into())
        }
    };
    if let Ok(session) = registry.files().session(id) {
        outcome.tokens = TokenState::of(&session);
    }
    if let Err(RunError::Unfinished(reason)) = &outcome.result {
        log::warn!("recipe failed session={id} reason={reason:?}");
    }
    outcome
}

/// How many tool calls the stored messages contain.
fn stored_calls(registry: &Registry, id: &str) -> usize {
    let messages = registry.stores().sessions.conversation(id).ok().flatten();
    let messages = messages.iter().flatten();
    messages
        .map(|message| message.tool_requests().count())
        .sum()
}

/// The first message of a run.
fn first_message(registry: &Registry, id: &str, options: &RunOptions) -> Result<Message, Error> {
    let mut text = match &options.message {
        Some(message) => message.clone(),
        None => {
            let rendered = recipe::of_session(&registry.files().session(id)?)?;
            let fields = rendered.as_ref().map(Recipe::fields);
            let texts = fields.map(|it| [&it.prompt, &it.instructions]);
            let mut texts = texts.into_iter().flatten().flatten();
            let text = texts.find(|text| !text.trim().is_empty());
            text.ok_or(recipe::Error::Empty)?.clone()
        }
    };
    if let Some(addition) = &options.addition {
        text = format!("{text}\n\n{addition}");
    }
    Ok(Message::text(Role::User, text))
}
