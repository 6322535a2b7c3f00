//! The agents of sessions: their life cycle, their extensions, the turns of their conversations.
//!
//! - `registry` has the live agents; `session` starts, changes and ends sessions.
//! - `turn` is one turn of a conversation: the requests to the model, the calls of tools, the history.
//! - `prompt` makes what the model is told besides the conversation.
//! - `questions` decides which calls run, and asks the user.
//! - `commands` has the slash commands; `recipes` the hook for the part that has recipes.

mod commands;
mod error;
mod event;
mod event_json;
mod prompt;
mod questions;
#[doc(hidden)]
pub mod recipes;
mod registry;
mod session;
mod stores;
mod turn;

pub use error::{Error, RecipeFault};
pub use event::{Compaction, Event, EventSink};
pub use questions::permission_mode::{Confirmation, Mode};
pub use questions::question_answers::Questions;
pub use recipes::{RecipeSource, SessionRecipe};
pub use registry::{Registry, Start};
pub use session::export_copy_import::{ExportedSession, SessionFiles};
pub use session::extension_setup::ExtensionSetup;
pub use session::model_selection::{ModelChoice, Models};
pub use session::observers::SessionObserver;
pub use session::session_agent::{Agent, ExtensionResult};
pub use stores::Stores;
pub use turn::turn_channel::Model;
pub use turn::turn_start::TurnInput;
pub use turn::{TurnReport, TurnStop};

// For the other members of gosling, with which they change.
#[doc(hidden)]
pub use {
    commands::command_list,
    event_json::EventWriter,
    prompt::conversation_digest::digest,
    prompt::short_answer::{ask, without_reasoning},
    prompt::{checklist, hints, prompt_kind, prompt_templates, system_prompt},
    session::session_extensions::enabled_extensions,
    session::session_naming::{SESSION_NAME, has_topic},
    session::session_recipes,
    session::shown_settings::ShownSetting,
    turn::compaction::COMPACTION,
};
