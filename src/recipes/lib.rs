//! Recipes: their files, their routes, and the schedules that run them.
#![forbid(unsafe_code)]

mod command;
mod endpoint;
#[cfg(feature = "schedules")]
pub mod schedule;

use gosling_core::part::Part;
use gosling_core::{
    agent, api, command_line, conversation, http, json, recipe, sorting, store, sys, text,
};

/// What recipes add to gosling.
pub const PART: Part = Part {
    commands: &[command::COMMAND],
    routes: Some(endpoint::routes),
    ..Part::new("recipes")
};
