//! Calls, results, events and arguments as types.
//!
//! [`ClientBuilder`] connects a client that says who it is and has the callbacks that it is given.
//! [`Client::call_tool`](crate::Client::call_tool) takes any type that is written as a JSON object, and tells a tool
//! that failed from a connection that did. [`CallToolResult::parts`](crate::types::CallToolResult::parts) and
//! [`CallToolResult::data`](crate::types::CallToolResult::data) read what a tool returned.

mod argument;
mod arguments_macro;
mod client_answers;
mod client_builder;
mod content_part;
mod definitions;
mod event;
mod field;
#[doc(hidden)]
pub mod macro_support;
mod tool_call;

pub use argument::{Argument, Arguments, Mismatch, schema_of};
pub use client_builder::ClientBuilder;
pub use content_part::{Annotations, Media, Part, PartError};
pub use definitions::Definitions;
pub use event::{Event, LogMessage};
pub use tool_call::{Call, CallError, DataError};
