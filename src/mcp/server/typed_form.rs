//! Forms whose schema comes from the type of their answer.

use super::{AskError, Context};
use crate::typed::{Arguments, schema_of};
use crate::types::ElicitAction;
use serde_json::Value;

/// What a user did with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filled<T> {
    /// The user has filled it in.
    Accepted(T),
    /// The user refuses.
    Declined,
    /// The user has closed the form without an answer.
    Dismissed,
}

impl Context {
    /// Asks the user to fill in the members of `T`, which MCP allows to be texts, numbers, booleans and enums only.
    /// See [`elicit`](Context::elicit).
    ///
    /// # Errors
    /// Why there is no answer, also if it does not fit `T`.
    pub fn elicit_form<T: Arguments>(&self, message: &str) -> Result<Filled<T>, AskError> {
        let answer = self.elicit(message, &schema_of::<T>())?;
        match answer.action {
            ElicitAction::Accept => {
                let filled = T::read(Value::Object(answer.content.unwrap_or_default()));
                let filled = filled.map_err(|wrong| AskError::Malformed(wrong.to_string()))?;
                Ok(Filled::Accepted(filled))
            }
            ElicitAction::Decline => Ok(Filled::Declined),
            ElicitAction::Cancel => Ok(Filled::Dismissed),
        }
    }
}
