//! Tool calls with arguments and results of the caller's own types.

use super::event::LogMessage;
use crate::client::{CallObserver, CallOptions, Client, NotificationHandler};
use crate::error::Error;
use crate::types::{CallToolResult, Progress};
use gosling_sys::cancel::Cancel;
use gosling_text::json;
use gosling_text::printable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;
use std::sync::Arc;

/// The longest quotation of a server's text, in characters.
const QUOTED: usize = 500;

/// What goes with one tool call beside its arguments.
///
/// The callbacks run in the thread that reads the connection, which may be the caller's own, so they must not block.
/// They are not called after the call has returned.
#[derive(Clone, Default)]
pub struct Call {
    cancel: Cancel,
    label: Option<String>,
    on_progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    on_log: Option<Arc<dyn Fn(LogMessage) + Send + Sync>>,
}

impl Call {
    /// A call that nothing cancels and nobody observes.
    pub fn new() -> Self {
        Call::default()
    }

    /// Sets the token that cancels the call.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Sets the label that the server's requests during this call carry, see
    /// [`RequestHandler`](crate::client::RequestHandler).
    pub fn label(mut self, label: &str) -> Self {
        self.label = Some(label.to_owned());
        self
    }

    /// Sets what gets the progress of this call. MCP 2025-11-25, basic/utilities/progress.
    pub fn on_progress(mut self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(callback));
        self
    }

    /// Sets what gets the log messages that come on the call's own stream or, on a shared stream, while this is the
    /// oldest running call. Without it they are [events](super::Event).
    pub fn on_log(mut self, callback: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Arc::new(callback));
        self
    }

    /// `others` gets what no callback is for.
    fn observer(&self, others: Arc<dyn NotificationHandler>) -> Option<CallObserver> {
        let (on_progress, on_log) = (self.on_progress.clone(), self.on_log.clone());
        if on_progress.is_none() && on_log.is_none() {
            return None;
        }
        Some(Arc::new(move |method: &str, params: Option<&RawValue>| {
            let text = params.map_or("{}", RawValue::get);
            if let Some(callback) = &on_progress
                && method == "notifications/progress"
                && let Ok(progress) = json::from_str(text)
            {
                callback(progress);
            } else if let Some(callback) = &on_log
                && method == "notifications/message"
                && let Ok(message) = json::from_str(text)
            {
                callback(message);
            } else {
                others.notification(method, params, None);
            }
        }))
    }
}

/// Why a tool call has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The arguments are not written as a JSON object. Nothing was sent.
    Arguments(String),
    /// The tool ran and failed (`isError`); this is what it says.
    Tool(Box<CallToolResult>),
    /// The tool has not answered: it is unknown, the server refused the call, or the connection failed.
    Client(Error),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        CallError::Client(error)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Arguments(why) => write!(f, "the arguments are not a JSON object: {why}"),
            CallError::Tool(result) => {
                write!(
                    f,
                    "the tool failed: {}",
                    printable(&result.all_text(), QUOTED)
                )
            }
            CallError::Client(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Client(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a result cannot be read as data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataError {
    /// The result has no structured content.
    Missing,
    /// The structured content does not fit the type: where and why.
    Mismatch(String),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Missing => f.write_str("the result has no structured content"),
            DataError::Mismatch(why) => write!(f, "the structured content does not fit: {why}"),
        }
    }
}

impl std::error::Error for DataError {}

impl Client {
    /// Calls a tool with arguments of any type that is written as a JSON object, and waits for its result.
    ///
    /// # Errors
    /// The arguments are not an object, the tool failed, or it has not answered: see [`CallError`].
    pub fn call_tool<A>(&self, name: &str, arguments: &A) -> Result<CallToolResult, CallError>
    where
        A: Serialize + ?Sized,
    {
        self.call_tool_with(name, arguments, Call::new())
    }

    /// As [`call_tool`](Self::call_tool), with a token to cancel the call, or callbacks for what it reports.
    ///
    /// # Errors
    /// As `call_tool`.
    pub fn call_tool_with<A>(
        &self,
        name: &str,
        arguments: &A,
        call: Call,
    ) -> Result<CallToolResult, CallError>
    where
        A: Serialize + ?Sized,
    {
        let arguments = object(arguments)?;
        let options = CallOptions {
            observer: call.observer(self.notification_handler()),
            label: call.label.as_deref(),
            ..CallOptions::default()
        };
        let result = self.call_tool_raw(name, &arguments, options, &call.cancel)?;
        if result.is_error == Some(true) {
            return Err(CallError::Tool(Box::new(result)));
        }
        Ok(result)
    }
}

/// The JSON text of arguments.
fn object(arguments: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, CallError> {
    let text = to_raw_value(arguments).map_err(|error| CallError::Arguments(error.to_string()))?;
    if crate::jsonrpc::begins_with(text.get(), '{') {
        return Ok(text);
    }
    let kind = json::from_str(text.get()).map_or("something else", |value| json::kind_of(&value));
    Err(CallError::Arguments(format!("they are {kind}")))
}

impl CallToolResult {
    /// The structured content.
    ///
    /// # Errors
    /// There is none, or it does not fit the type.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        let data = self.structured_content.as_ref().ok_or(DataError::Missing)?;
        json::from_str(data.get()).map_err(|error| {
            let place = json::place_of(&error, data.get());
            let why = if place.is_empty() {
                error.to_string()
            } else {
                format!("`{place}`: {error}")
            };
            DataError::Mismatch(printable(&why, QUOTED))
        })
    }

    /// The texts of the result, one below the other.
    pub fn all_text(&self) -> String {
        let texts = self.parts().filter_map(|part| match part {
            Ok(super::Part::Text(text)) => Some(text),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
