//! Sessions and messages: the types that the API, the store and the providers share.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod import_report;
mod message;
mod news;
mod session;
mod session_import;
mod token_state;

pub use import_report::{DisabledExtension, ImportReport};
pub use message::{
    Action, ActionRequired, Content, FrontendToolRequest, Image, Message, Metadata,
    NotificationType, Outcome, Reasoning, RedactedThinking, Role, SystemNotification, Text,
    Thinking, ToolCall, ToolRequest, ToolResponse,
};
pub use session::{ExtensionData, RecipeOrigin, Session, SessionType};
pub use session_import::{Export, ImportError, MAX_NAME};
pub use token_state::TokenState;
