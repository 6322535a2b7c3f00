//! Tools whose schema comes from the type of their arguments.

use super::{Context, Tool, ToolError};
use crate::typed::{Arguments, schema_of};
use crate::types::{CallToolResult, ToolAnnotations};
use serde::de::Error;
use serde_json::{Value, json};

/// What the handler of a typed tool returns.
pub trait Reply {
    /// The schema of the structured content, if there is some.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result for the client.
    ///
    /// # Errors
    /// It cannot be written.
    fn into_result(self) -> Result<CallToolResult, ToolError>;
}

impl Reply for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

/// A text.
impl Reply for String {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

/// A text.
impl Reply for &'static str {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

/// A result as data, whose schema the tool tells. See [`CallToolResult::structured`].
#[derive(Clone, Debug)]
pub struct Structured<T>(pub T);

impl<T: Arguments> Reply for Structured<T> {
    fn output_schema() -> Option<Value> {
        Some(schema_of::<T>())
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        CallToolResult::structured(&self.0)
    }
}

impl Tool {
    /// A tool whose input schema is that of `A`, see [`arguments!`](crate::arguments). Arguments that do not fit are a
    /// failed result that explains it. If the handler returns [`Structured`] data, its schema is the output schema.
    ///
    /// ```
    /// use gosling_mcp::arguments;
    /// use gosling_mcp::server::{Context, Structured, Tool};
    ///
    /// arguments! {
    ///     struct Numbers {
    ///         /// The first number
    ///         a: f64,
    ///         /// The second number
    ///         b: f64,
    ///     }
    /// }
    /// arguments! {
    ///     struct Sum { sum: f64 }
    /// }
    ///
    /// Tool::typed("add", "Adds two numbers.", |of: Numbers, _: &Context| {
    ///     Ok(Structured(Sum { sum: of.a + of.b }))
    /// });
    /// ```
    ///
    /// # Panics
    /// A default of `A` is out of its range, or two members of it have one name.
    pub fn typed<A, R, F>(name: &str, description: &str, handler: F) -> Self
    where
        A: Arguments,
        R: Reply,
        F: Fn(A, &Context) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let mut wire = json!({
            "name": name,
            "description": description,
            "inputSchema": schema_of::<A>(),
        });
        if let Some(schema) = R::output_schema() {
            wire["outputSchema"] = schema;
        }
        let read = |arguments: &str| {
            let arguments: Value = gosling_text::json::from_str(arguments)?;
            A::read(arguments).map_err(serde_json::Error::custom)
        };
        Self::with_reader(&wire.to_string(), move |arguments, context| {
            let arguments = read(arguments)?;
            Ok(handler(arguments, context).and_then(Reply::into_result))
        })
    }

    /// Sets the name for users.
    pub fn title(mut self, title: &str) -> Self {
        self.wire.title = Some(title.to_owned());
        self
    }

    /// Sets the hints for the client.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.wire.annotations = Some(annotations);
        self
    }
}

impl ToolAnnotations {
    /// Of a tool that overwrites what there was, and knows only this machine.
    pub const REPLACES: Self = ToolAnnotations {
        title: None,
        read_only_hint: Some(false),
        destructive_hint: Some(true),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    };
}

/// The tool failed, for this reason.
impl From<String> for ToolError {
    fn from(text: String) -> Self {
        ToolError::Failed(text)
    }
}

/// The tool failed, for this reason.
impl From<&str> for ToolError {
    fn from(text: &str) -> Self {
        ToolError::Failed(text.to_owned())
    }
}
