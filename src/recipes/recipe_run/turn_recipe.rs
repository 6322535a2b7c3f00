//! What a session's recipe adds to a turn: instructions, the tool for the final output, the tool that runs
//! sub-recipes, and success checks.

use super::Nesting;
use super::final_output::{self, FinalOutput};
use super::sub_recipes::{self, SubRecipes};
use super::success_checks::Checks;
use crate::agent::recipes::{AfterAnswer, CheckedTurn, SuccessChecks, TurnRecipe};
use crate::agent::{Error, Registry};
use crate::conversation::Session;
use crate::mcp::types::{CallToolResult, Tool};
use crate::recipe::{self, Recipe, RecipeFields};
use crate::sys::cancel::Cancel;
use serde_json::value::RawValue;
use std::sync::atomic::Ordering;

/// The recipe of a session, rendered, for one turn.
pub(crate) struct RecipeInTurn<'r> {
    registry: &'r Registry,
    instructions: Option<String>,
    final_output: Option<FinalOutput>,
    sub_recipes: Option<SubRecipes>,
    checks: Option<Checks>,
    max_turns: Option<u64>,
    nesting: Nesting,
}

impl<'r> RecipeInTurn<'r> {
    /// For the turn of a reply, whose outcome is not checked. See [`of_run`](Self::of_run).
    pub(crate) fn of_reply(session: &Session, registry: &'r Registry) -> Result<Self, Error> {
        let whole = RecipeInTurn::of_run(session, registry, Nesting::default())?;
        Ok(RecipeInTurn {
            checks: None,
            ..whole
        })
    }

    /// For the turn of a run. Without values for its parameters the recipe adds only the limit of requests.
    ///
    /// # Errors
    /// When the schema of the final output is not valid.
    pub(super) fn of_run(
        session: &Session,
        registry: &'r Registry,
        nesting: Nesting,
    ) -> Result<Self, Error> {
        let max_turns = recipe::settings_of(session)["max_turns"].as_u64();
        let rendered = recipe::of_session(session).unwrap_or_else(|error| {
            log::warn!("recipe not applied session={} reason={error}", session.id);
            None
        });
        let fields = rendered.as_ref().map(Recipe::fields);
        let schema = fields.and_then(RecipeFields::output_schema);
        let final_output = schema.map(FinalOutput::new).transpose();
        Ok(RecipeInTurn {
            registry,
            instructions: fields.and_then(|it| it.instructions.clone()),
            final_output: final_output.map_err(|reason| Error::Config { reason })?,
            sub_recipes: fields.and_then(|it| SubRecipes::of(session, &it.sub_recipes, &nesting)),
            checks: fields.and_then(|it| Some(Checks::new(it.retry.as_ref()?, session))),
            max_turns,
            nesting,
        })
    }
}

/// Checks what a recipe adds, before a session starts with it. A schema with templates is checked only when
/// it is rendered.
///
/// # Errors
/// When the schema of the final output is not valid.
pub(crate) fn check(recipe: &Recipe) -> Result<(), Error> {
    match recipe.fields().output_schema() {
        Some(schema) if !schema.to_string().contains("{{") => FinalOutput::new(schema)
            .map(drop)
            .map_err(|reason| Error::Config { reason }),
        _ => Ok(()),
    }
}

impl TurnRecipe for RecipeInTurn<'_> {
    fn instructions(&self) -> Option<String> {
        let about_output = (self.final_output.is_some()).then_some(final_output::INSTRUCTIONS);
        let parts = [self.instructions.as_deref(), about_output];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    fn max_turns(&self) -> Option<u64> {
        self.max_turns
    }

    fn tools(&self, is_chat: bool) -> Vec<Tool> {
        let output = self.final_output.as_ref().map(FinalOutput::tool);
        let sub = self.sub_recipes.as_ref().filter(|_| !is_chat);
        let tools = output.into_iter().chain(sub.map(SubRecipes::tool));
        tools
            .filter_map(|tool| crate::json::from_value(&tool).ok())
            .collect()
    }

    fn is_output(&self, name: &str) -> bool {
        name == final_output::NAME && self.final_output.is_some()
    }

    fn owns(&self, name: &str) -> bool {
        self.is_output(name) || (name == sub_recipes::NAME && self.sub_recipes.is_some())
    }

    fn call(&self, name: &str, arguments: &RawValue, cancel: &Cancel) -> CallToolResult {
        match (&self.final_output, &self.sub_recipes) {
            (Some(output), _) if name == final_output::NAME => output.take(arguments),
            (_, Some(sub)) if name == sub_recipes::NAME => {
                sub.call(arguments, self.registry, cancel)
            }
            _ => CallToolResult::text("There is no such tool.").failed(),
        }
    }

    fn output(&self) -> Option<String> {
        self.final_output.as_ref()?.output()
    }

    fn after_answer(&self) -> AfterAnswer {
        let output = self.final_output.as_ref();
        output.map_or(AfterAnswer::Finished, FinalOutput::after_answer)
    }

    fn call_refused(&self) {
        self.nesting.refused_calls.fetch_add(1, Ordering::Relaxed);
    }

    fn success_checks(&self) -> SuccessChecks {
        self.checks
            .as_ref()
            .map_or(SuccessChecks::None, Checks::kind)
    }

    fn check_success(&self, attempt: u32, cancel: &Cancel) -> CheckedTurn {
        let Some(checks) = &self.checks else {
            return CheckedTurn::Passed;
        };
        let checked = checks.check(attempt, self.registry, cancel);
        if let (CheckedTurn::Again(_), Some(output)) = (&checked, &self.final_output) {
            output.reset();
        }
        checked
    }
}
