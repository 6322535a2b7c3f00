//! Replaces `recipe_tools` in a build without the feature `recipes`: no session has a recipe.

use super::turn::{End, Turn};
use super::{Error, Registry};
use crate::conversation::Session;
use crate::mcp::types::{CallToolResult, Tool};
use crate::sys::cancel::Cancel;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Stands for the number of runs within runs.
#[derive(Clone, Default)]
pub(super) struct Nesting {
    /// How many tool calls were refused because no user or client could be asked.
    pub(super) refused_calls: Arc<AtomicUsize>,
}

/// Adds nothing to a turn.
#[derive(Default)]
pub(super) struct RecipeTools;

/// What follows an answer without tool calls.
pub(super) enum AfterAnswer {
    Finished,
    #[expect(dead_code, reason = "recipes remind the model")]
    Remind(&'static str),
    #[expect(dead_code, reason = "recipes require a final output")]
    Fail(String),
}

impl RecipeTools {
    pub(super) fn of(session: &Session, _: &Nesting) -> Result<Self, Error> {
        if let Err(error) = crate::recipe::of_session(session) {
            log::warn!("recipe not applied session={} reason={error}", session.id);
        }
        Ok(RecipeTools)
    }

    pub(super) fn check(_: &crate::recipe::Recipe) -> Result<(), Error> {
        Ok(())
    }

    pub(super) fn instructions(&self) -> Option<String> {
        None
    }

    pub(super) fn max_turns(&self) -> Option<u64> {
        None
    }

    pub(super) fn tools(&self, _: bool) -> Vec<Tool> {
        Vec::new()
    }

    pub(super) fn is_output(&self, _: &str) -> bool {
        false
    }

    pub(super) fn owns(&self, _: &str) -> bool {
        false
    }

    pub(super) fn call(&self, _: &str, _: &RawValue, _: &Registry, _: &Cancel) -> CallToolResult {
        CallToolResult::default()
    }

    pub(super) fn output(&self) -> Option<String> {
        None
    }

    pub(super) fn after_answer(&self) -> AfterAnswer {
        AfterAnswer::Finished
    }
}

impl Turn<'_> {
    pub(super) fn run_with_checks(&mut self) -> Result<End, Error> {
        self.ask_and_call()
    }
}
