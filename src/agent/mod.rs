//! Sessions at work: which agents are live, what they have activated, and how they end.

mod error;
mod event;
mod live;
mod registry;

pub use error::Error;
pub use event::{Event, Events};
pub use live::{Agent, ExtensionResult};
pub use registry::{Registry, Start, Stores};
