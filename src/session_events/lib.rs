//! Turns that do not end with the client's connection, for newer versions of Goose Desktop.
//!
//! A client posts a message to `/sessions/{id}/reply`, which returns at once. Its turn runs in a thread of its own
//! (`background_turn`) and appends its events to the session's log (`event_log`). Each stream of
//! `/sessions/{id}/events` reads the log at a position of its own. So the turn waits for no client and outlives them
//! all; `/sessions/{id}/cancel` ends it.
#![forbid(unsafe_code)]

mod background_turn;
mod event_log;
mod turn_endpoints;

use gosling_core::part::Part;
use gosling_core::{agent, api, conversation, http, sys};

/// What these routes add to gosling.
pub const PART: Part = Part {
    routes: Some(turn_endpoints::routes),
    ..Part::new("session-events")
};
