//! The agents of sessions: their life cycle, their extensions, the turns of their conversations.

mod agent_table;
pub mod checklist;
mod client_extensions;
mod compaction;
mod conversation_digest;
mod error;
mod event;
mod event_writer;
mod extension_trial;
#[cfg(feature = "recipes")]
mod final_output;
pub mod hints;
mod housekeeper;
mod model_history;
mod model_request;
mod model_selection;
mod name_observers;
mod parallel;
mod pending_questions;
mod permission_mode;
pub mod prompt_templates;
#[cfg(feature = "recipes")]
mod recipe_creation;
#[cfg(feature = "recipes")]
mod recipe_run;
mod recipe_settings;
#[cfg(feature = "recipes")]
mod recipe_tools;
#[cfg(not(feature = "recipes"))]
#[path = "recipe_tools_disabled.rs"]
mod recipe_tools;
mod refused_images;
mod registry;
mod server_requests;
mod session_agent;
mod session_naming;
mod session_observers;
mod session_operations;
mod settings;
mod short_answer;
mod shown_settings;
mod slash_commands;
mod stored_session_data;
#[cfg(feature = "recipes")]
mod sub_recipes;
#[cfg(feature = "recipes")]
mod success_checks;
pub mod system_prompt;
mod token_estimate;
mod tool_calls;
mod turn;
mod turn_channel;
mod turn_output;
mod turn_start;
mod turn_state_lru;

pub use error::Error;
pub use event::{Compaction, Event, EventSink, NoEvents};
pub use event_writer::EventWriter;
pub use extension_trial::ExtensionTrial;
pub use model_selection::ModelChoice;
pub use name_observers::NameObserver;
pub use permission_mode::{Confirmation, Mode};
#[cfg(feature = "recipes")]
pub use recipe_creation::RecipeAuthor;
#[cfg(feature = "recipes")]
pub use recipe_run::{RecipeOutcome, RecipeRun, RunError, RunOptions};
pub use registry::{RecipeSource, Registry, Start, Stores};
pub use session_agent::{Agent, ExtensionResult};
pub use session_naming::has_topic;
pub use session_observers::SessionObserver;
pub use session_operations::{ExportedSession, Fork};
pub use shown_settings::ShownSetting;
pub use turn::{TurnReport, TurnStop};
