//! Tools that a model may call. MCP 2025-11-25, server/tools.

use super::{Context, check_argument, raw, reason};
use crate::jsonrpc::{ErrorObject, INVALID_PARAMS};
use crate::schema;
use crate::types::{self, CallToolResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;

/// Reads the text of the arguments and runs the tool; the outer error says why the arguments cannot be read.
type Handler = Box<dyn Fn(&str, &Context) -> Result<Outcome, serde_json::Error> + Send + Sync>;

pub(super) type Outcome = Result<CallToolResult, ToolError>;

/// A tool and its handler.
pub struct Tool {
    pub(super) wire: types::Tool,
    pub(super) quick: bool,
    handler: Handler,
}

/// Why a tool returns no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool did nothing: the call names something that does not exist, is invalid or is not allowed. The
    /// client gets a result with `isError`, as for [`Failed`](ToolError::Failed); a session in this process
    /// gets error -32602 (see [`Connection::refusing`](super::Connection::refusing)).
    Refused(String),
    /// The tool failed: a result with `isError`. The model reads the text, so it should say what to do
    /// instead.
    Failed(String),
}

impl Tool {
    /// A tool without arguments; see [`input`](Tool::input). The arguments of a call are deserialized into
    /// `A`; a mismatch is a failed result that explains it.
    ///
    /// # Panics
    /// `A` is a type that no object can be read as, such as a number or a list.
    pub fn new<A, F>(name: &str, description: &str, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, &Context) -> Result<CallToolResult, ToolError> + Send + Sync + 'static,
    {
        let wire = json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": {}},
        });
        Self::described(&wire.to_string(), handler)
    }

    /// A tool with its description as `tools/list` has it, a JSON text that is part of the program.
    ///
    /// # Panics
    /// The text does not describe a tool, or its schema is not of type `object`; or as [`new`](Tool::new).
    pub fn described<A, F>(description: &str, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, &Context) -> Result<CallToolResult, ToolError> + Send + Sync + 'static,
    {
        let tool = Self::with_reader(description, move |arguments, context| {
            gosling_text::json::from_str(arguments).map(|arguments| handler(arguments, context))
        });
        check_argument::<A>(&tool.wire.name);
        tool
    }

    /// A tool whose handler reads the text of the arguments.
    pub(super) fn with_reader(
        description: &str,
        handler: impl Fn(&str, &Context) -> Result<Outcome, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        // Schemas are sent as they are read here: without white space.
        let wire = gosling_text::json::from_str::<Value>(description)
            .and_then(|description| gosling_text::json::from_str(&description.to_string()));
        let wire: types::Tool = wire.expect("the program's own description of a tool is right");
        check_schema(&wire.name, wire.input_schema.get());
        Tool {
            wire,
            quick: false,
            handler: Box::new(handler),
        }
    }

    /// As [`described`](Tool::described), with a handler that works on what it shares with others.
    pub fn sharing<S, A>(
        shared: &Arc<S>,
        description: &str,
        handler: fn(&S, &A, &Context) -> Result<CallToolResult, ToolError>,
    ) -> Self
    where
        S: Send + Sync + 'static,
        A: DeserializeOwned + 'static,
    {
        let shared = shared.clone();
        Self::described(description, move |arguments: A, context| {
            handler(&shared, &arguments, context)
        })
    }

    /// Sets the JSON Schema of the arguments.
    ///
    /// # Panics
    /// The schema is not a JSON object with the type `object`, which MCP requires.
    pub fn input(mut self, schema: Value) -> Self {
        self.wire.input_schema = raw(&schema);
        check_schema(&self.wire.name, self.wire.input_schema.get());
        self
    }

    /// Runs the tool in the thread that received the message. For tools that never block and take at most a
    /// millisecond, because no other message is received at the same time.
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// `arguments` is the text of a JSON object. `refusing`: a refusal of the tool is an error.
    pub(super) fn call(
        &self,
        arguments: &str,
        context: &Context,
        refusing: bool,
    ) -> Result<CallToolResult, ErrorObject> {
        let whole;
        let (arguments, done) = match (self.handler)(arguments, context) {
            // The tool has not run if its arguments could not be read.
            Err(error) => match whole_numbers(arguments) {
                Some(numbers) => {
                    whole = numbers;
                    (&*whole, (self.handler)(&whole, context))
                }
                None => (arguments, Err(error)),
            },
            done => (arguments, done),
        };
        match done {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ToolError::Refused(text))) if refusing => {
                Err(ErrorObject::new(INVALID_PARAMS, text))
            }
            Ok(Err(ToolError::Refused(text) | ToolError::Failed(text))) => {
                Ok(CallToolResult::text(text).failed())
            }
            Err(error) => {
                let why = self.argument_error(arguments, &error);
                Ok(CallToolResult::text(format!("The arguments do not fit: {why}.")).failed())
            }
        }
    }

    /// The error for invalid arguments: derived from the schema, which knows their names, if it shows a
    /// mismatch. What is null counts as absent, which is how it is read.
    fn argument_error(&self, arguments: &str, error: &serde_json::Error) -> String {
        let schema: Value =
            gosling_text::json::from_str(self.wire.input_schema.get()).unwrap_or_default();
        let mut arguments: Map<String, Value> =
            gosling_text::json::from_str(arguments).unwrap_or_default();
        arguments.retain(|_, value| !value.is_null());
        let wrong = schema::mismatches(&schema, &arguments);
        if wrong.is_empty() {
            reason(error)
        } else {
            wrong.join("; ")
        }
    }
}

/// Panics if a schema is not one of an object.
fn check_schema(tool: &str, schema: &str) {
    let schema: Value = gosling_text::json::from_str(schema).unwrap_or_default();
    assert!(
        schema["type"] == "object",
        "the input schema of the tool {tool:?} is not of type `object`"
    );
}

/// The arguments with `3` in place of `3.0`; `None` if there are no such numbers. JSON Schema accepts both as
/// an integer, and some models and clients write only the latter.
fn whole_numbers(arguments: &str) -> Option<String> {
    fn mend(value: &mut Value) -> bool {
        match value {
            Value::Number(number) if number.is_f64() => {
                let is_whole = |n: &f64| n.fract() == 0.0 && n.abs() < 9e15;
                let whole = number.as_f64().filter(is_whole);
                let Some(whole) = whole else { return false };
                *value = Value::from(whole as i64);
                true
            }
            Value::Array(items) => items.iter_mut().fold(false, |any, item| mend(item) | any),
            Value::Object(map) => map.values_mut().fold(false, |any, item| mend(item) | any),
            _ => false,
        }
    }
    let mut value: Value = gosling_text::json::from_str(arguments).ok()?;
    mend(&mut value).then(|| value.to_string())
}

impl CallToolResult {
    /// A result as data, and as the same JSON in a text for clients without structured content.
    ///
    /// # Errors
    /// `data` is not written as a JSON object, the only shape that MCP allows here.
    pub fn structured(data: &impl Serialize) -> Result<Self, ToolError> {
        let json = raw(data);
        if !json.get().starts_with('{') {
            let text = "The tool returned structured content that is not an object; this is a bug of the tool.";
            return Err(ToolError::Failed(text.to_owned()));
        }
        Ok(CallToolResult {
            structured_content: Some(json.clone()),
            ..Self::text(json.get())
        })
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::Refused(text) | ToolError::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}
