//! The tool with which a model gives the final output of a recipe with `response.json_schema`. The arguments of
//! its call are the output; they are validated, and faults go back to the model.

use crate::agent::recipes::AfterAnswer;
use crate::mcp::types::CallToolResult;
use crate::sys::lock;
use gosling_json_schema::Schema;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Mutex;

/// The tool's name, as in Goose.
pub(super) const NAME: &str = "recipe__final_output";
/// How many times a model that does not call the tool is reminded.
const MAX_REMINDERS: usize = 3;

const DESCRIPTION: &str = "Takes the final output of this session. Call it once, when all work is done, with \
                           the result as its arguments; they must fit its schema. Text is not taken as the \
                           final output. If the arguments do not fit, correct them and call it again.";
pub(super) const INSTRUCTIONS: &str = "The result of this session is what you give to the tool \
                                       `recipe__final_output`. Call it when all work is done.";
const REMINDER: &str = "You have not given the final output yet. Call the tool `recipe__final_output` with it; \
                        text is not taken as the final output.";

/// The tool for one turn.
pub(super) struct FinalOutput {
    schema: Schema,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    output: Option<String>,
    reminders: usize,
    /// The faults of the last call.
    faults: String,
}

impl FinalOutput {
    /// The tool for a schema.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let invalid = |reason: &dyn std::fmt::Display| {
            format!("`response.json_schema` of the recipe is not valid: {reason}")
        };
        let schema = Schema::new(schema.clone()).map_err(|fault| invalid(&fault))?;
        if !schema.is_for_arguments() {
            return Err(invalid(
                &"the arguments of a tool are an object, so it must allow one (`type: object`)",
            ));
        }
        if !schema.unchecked().is_empty() {
            let places = schema.unchecked().join(", ");
            log::warn!("keywords of a recipe's response schema are not checked places={places}");
        }
        Ok(FinalOutput {
            schema,
            state: Mutex::default(),
        })
    }

    /// The tool as MCP describes it.
    pub(super) fn tool(&self) -> Value {
        let mut schema = self.schema.as_value().clone();
        // Providers require it.
        schema["type"] = "object".into();
        json!({"name": NAME, "description": DESCRIPTION, "inputSchema": schema})
    }

    /// Takes the arguments of a call.
    pub(super) fn take(&self, arguments: &RawValue) -> CallToolResult {
        let mut state = lock(&self.state);
        let value: Value = match crate::json::from_str(arguments.get()) {
            Ok(value) => value,
            Err(error) => {
                return CallToolResult::text(format!("The arguments cannot be read: {error}"))
                    .failed();
            }
        };
        let faults = self.schema.faults(&value);
        if faults.is_empty() {
            state.output = Some(value.to_string());
            return CallToolResult::text("The final output was taken.");
        }
        state.faults.clear();
        for fault in faults {
            let _ = write!(state.faults, "\n- {fault}");
        }
        CallToolResult::text(format!(
            "The final output does not fit the schema:{}\nCorrect it and call the tool again.",
            state.faults
        ))
        .failed()
    }

    /// The output as compact JSON, once it was given.
    pub(super) fn output(&self) -> Option<String> {
        lock(&self.state).output.clone()
    }

    /// What follows an answer without tool calls, while there is no output.
    pub(super) fn after_answer(&self) -> AfterAnswer {
        let mut state = lock(&self.state);
        if state.reminders < MAX_REMINDERS {
            state.reminders += 1;
            return AfterAnswer::Remind(REMINDER);
        }
        let faults = match state.faults.as_str() {
            "" => String::new(),
            faults => format!("; what it gave does not fit the schema:{faults}"),
        };
        AfterAnswer::Fail(format!(
            "The model did not give the final output that the recipe asks for, although it was reminded \
             {MAX_REMINDERS} times{faults}"
        ))
    }

    /// Forgets the output, for a retry.
    pub(super) fn reset(&self) {
        *lock(&self.state) = State::default();
    }
}

#[cfg(test)]
mod tests;
