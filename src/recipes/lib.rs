//! Recipes: their files, links and templates, what they add to sessions and turns, runs without a client, and the
//! schedules of such runs.
//!
//! [`recipe`] knows a recipe and nothing of sessions; [`recipe_run`] runs one in a session, and has what it adds to
//! turns; [`schedule`] starts runs at set times. The core calls these through [`Recipes`](agent::recipes::Recipes),
//! which `core_hook` implements.
//!
//! A recipe runs without a client in a turn like any other: [`recipe_run`] creates its session and runs the turn in the
//! calling thread. The session's recipe may add tools of gosling itself: one that takes the final output, validated by
//! `json_schema`, and one that runs sub-recipes, each in a turn of its own in the thread of the call. Success checks run
//! after the turn, in a shell of the server `developer`.
#![forbid(unsafe_code)]

mod core_hook;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod prompt_endpoints;
pub mod recipe;
mod recipe_command;
mod recipe_creation;
mod recipe_endpoints;
#[cfg(test)]
mod recipe_link_memory_ratio;
pub mod recipe_run;
#[cfg(feature = "schedules")]
pub mod schedule;
mod user_prompts;

pub use recipe_creation::{RecipeAuthor, create_recipe};

use gosling_core::part::Part;
use gosling_core::store::Paths;
use gosling_core::{
    agent, api, builtin, command_line, conversation, extension, features, http, json, mcp, store,
    sys, text,
};
use std::path::PathBuf;

/// Reads the files of the recipes that are scheduled, with their cron lines.
type CronLines = fn(&Paths) -> store::Result<Vec<(PathBuf, String)>>;

/// What reads the cron lines; nothing does in a build without schedules.
const CRON_LINES: &[CronLines] = &[
    #[cfg(feature = "schedules")]
    schedule::cron_lines,
];

/// What recipes add to gosling.
pub const PART: Part = Part {
    commands: &[recipe_command::COMMAND],
    routes: Some(recipe_endpoints::routes),
    recipes: Some(&core_hook::Hook),
    prompts: &[recipe_creation::PROMPT],
    ..Part::new("recipes")
};
