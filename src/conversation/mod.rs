//! The types that the API, the store and the providers share.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod import;
mod imported;
mod message;
mod session;
mod tokens;

pub use import::{Export, ImportError, MAX_NAME};
pub use imported::{Imported, SwitchedOff};
pub use message::{
    Action, ActionRequired, Content, FrontendToolRequest, Image, Message, Metadata,
    NotificationType, Outcome, Reasoning, RedactedThinking, Role, SystemNotification, Text,
    Thinking, ToolCall, ToolRequest, ToolResponse,
};
pub use session::{ExtensionData, Session, SessionType};
pub use tokens::TokenState;
