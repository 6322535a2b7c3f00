//! The types that the API, the store and the providers share.

mod session;

pub use session::{ExtensionData, Session, SessionType};
