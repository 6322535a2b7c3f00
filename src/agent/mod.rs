//! Sessions at work: which agents are live, what they have activated, and how they end.

mod context;
mod desk;
mod error;
mod event;
mod history;
pub mod hints;
mod live;
pub mod prompt;
mod registry;
mod schema;

pub use error::Error;
pub use event::{Event, Events};
pub use live::{Agent, ExtensionResult};
pub use registry::{Registry, Start, Stores};
