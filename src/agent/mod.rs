//! Sessions at work: which agents are live, what they have activated, how they answer, and how they end.

mod callbacks;
mod commands;
mod compaction;
mod context;
mod desk;
mod error;
mod event;
mod floor;
pub mod hints;
mod history;
mod housekeeper;
mod kept;
mod live;
mod mode;
mod models;
mod naming;
pub mod prompt;
mod recent;
mod refused_images;
mod registry;
mod sessions;
mod settings;
mod side_by_side;
mod table;
mod tools;
mod turn;
mod voice;

pub use error::Error;
pub use event::{Event, Events};
pub use live::{Agent, ExtensionResult};
pub use mode::{Confirmation, Mode};
pub use models::ModelChoice;
pub use registry::{RecipeSource, Registry, Start, Stores};
pub use sessions::Fork;
