//! What a session's recipe adds to a turn: instructions, the tool for the final output, the tool that runs
//! sub-recipes, and success checks.

use super::final_output::{self, FinalOutput, Next};
use super::recipe_run::Nesting;
use super::recipe_settings::recipe_settings;
use super::sub_recipes::{self, SubRecipes};
use super::{Error, Registry};
use crate::conversation::Session;
use crate::mcp::types::{CallToolResult, Tool};
use crate::recipe::{self, Recipe, Retry};
use crate::sys::cancel::Cancel;
use serde_json::value::RawValue;

/// The recipe of a session, rendered, for one turn.
#[derive(Default)]
pub(super) struct RecipeTools {
    instructions: Option<String>,
    final_output: Option<FinalOutput>,
    sub_recipes: Option<SubRecipes>,
    retry: Option<Retry>,
    max_turns: Option<u64>,
}

/// What follows an answer without tool calls.
pub(super) enum AfterAnswer {
    /// The turn is over.
    Finished,
    /// The model gets this message.
    Remind(&'static str),
    /// The turn failed for this reason.
    Fail(String),
}

impl RecipeTools {
    /// The recipe of the session. Without values for its parameters it adds only the limit of requests.
    ///
    /// # Errors
    /// When the schema of the final output is not valid.
    pub(super) fn of(session: &Session, nesting: &Nesting) -> Result<Self, Error> {
        let max_turns = recipe_settings(session)["max_turns"].as_u64();
        let rendered = recipe::of_session(session).unwrap_or_else(|error| {
            log::warn!("recipe not applied session={} reason={error}", session.id);
            None
        });
        let Some(rendered) = rendered else {
            return Ok(RecipeTools {
                max_turns,
                ..RecipeTools::default()
            });
        };
        let fields = rendered.recipe.fields();
        let schema = fields.response.as_ref();
        let schema = schema.and_then(|response| response.json_schema.as_ref());
        let final_output = schema.map(FinalOutput::new).transpose();
        Ok(RecipeTools {
            final_output: final_output.map_err(|reason| Error::Config { reason })?,
            sub_recipes: SubRecipes::of(session, &fields.sub_recipes, nesting),
            retry: fields.retry.clone(),
            max_turns,
            instructions: rendered.instructions,
        })
    }

    /// Checks what a recipe adds, before a session starts with it. A schema with templates is checked only when
    /// it is rendered.
    ///
    /// # Errors
    /// When the schema of the final output is not valid.
    pub(super) fn check(recipe: &Recipe) -> Result<(), Error> {
        let response = recipe.fields().response.as_ref();
        let schema = response.and_then(|response| response.json_schema.as_ref());
        match schema {
            Some(schema) if !schema.to_string().contains("{{") => FinalOutput::new(schema)
                .map(drop)
                .map_err(|reason| Error::Config { reason }),
            _ => Ok(()),
        }
    }

    /// The instructions for the system prompt.
    pub(super) fn instructions(&self) -> Option<String> {
        let about_output = (self.final_output.is_some()).then_some(final_output::INSTRUCTIONS);
        let parts = [self.instructions.as_deref(), about_output];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// The limit of requests to the model in one turn.
    pub(super) fn max_turns(&self) -> Option<u64> {
        self.max_turns
    }

    /// What to do after the turn.
    pub(super) fn retry(&self) -> Option<&Retry> {
        self.retry.as_ref()
    }

    /// The tools. In chat mode only the one for the final output, which has no effect.
    pub(super) fn tools(&self, is_chat: bool) -> Vec<Tool> {
        let output = self.final_output.as_ref().map(FinalOutput::tool);
        let sub = self.sub_recipes.as_ref().filter(|_| !is_chat);
        let tools = output.into_iter().chain(sub.map(SubRecipes::tool));
        tools
            .filter_map(|tool| crate::json::from_value(&tool).ok())
            .collect()
    }

    /// Whether this is the tool for the final output, which needs no approval.
    pub(super) fn is_output(&self, name: &str) -> bool {
        name == final_output::NAME && self.final_output.is_some()
    }

    /// Whether this is one of the tools.
    pub(super) fn owns(&self, name: &str) -> bool {
        self.is_output(name) || (name == sub_recipes::NAME && self.sub_recipes.is_some())
    }

    /// Runs one of the tools.
    pub(super) fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        registry: &Registry,
        cancel: &Cancel,
    ) -> CallToolResult {
        match (&self.final_output, &self.sub_recipes) {
            (Some(output), _) if name == final_output::NAME => output.take(arguments),
            (_, Some(sub)) if name == sub_recipes::NAME => sub.call(arguments, registry, cancel),
            _ => CallToolResult::text("There is no such tool.").failed(),
        }
    }

    /// The final output, once the model gave it.
    pub(super) fn output(&self) -> Option<String> {
        self.final_output.as_ref()?.output()
    }

    /// What follows an answer without tool calls.
    pub(super) fn after_answer(&self) -> AfterAnswer {
        match self.final_output.as_ref().map(FinalOutput::next) {
            None => AfterAnswer::Finished,
            Some(Next::Remind(message)) => AfterAnswer::Remind(message),
            Some(Next::Fail(reason)) => AfterAnswer::Fail(reason),
        }
    }

    /// Forgets the final output, for a retry.
    pub(super) fn reset(&self) {
        if let Some(output) = &self.final_output {
            output.reset();
        }
    }
}
