//! What handlers ask of their client: requests in the other direction. MCP 2025-11-25, client/elicitation,
//! client/sampling and client/roots.

use super::Context;
use super::reply::ReplySink;
use crate::jsonrpc::{self, ErrorObject, Id, RawJson};
use crate::types::{CreateMessageParams, CreateMessageResult, ElicitResult, Root};
use crossbeam_channel::{Sender, bounded};
use gosling_sys::cancel::{Cancel, NoMessage};
use gosling_sys::lock;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// How long a handler waits for an answer, which may come from a person.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Why a handler has no answer from its client.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The client has not declared this capability.
    NotOffered(&'static str),
    /// The handler is [`quick`](super::Tool::quick): it holds up the thread that would read the answer.
    Quick,
    /// The call was cancelled, or the client has left.
    Cancelled,
    /// There was no answer for an hour.
    TimedOut,
    /// The client has refused, for example because the user did.
    Refused(ErrorObject),
    /// The answer is not what MCP says; why.
    Malformed(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered(capability) => write!(f, "the client has no {capability}"),
            Self::Quick => f.write_str("a quick handler cannot wait for the client"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::TimedOut => f.write_str("the client has not answered"),
            Self::Refused(error) => write!(f, "the client refused: {}", error.message),
            Self::Malformed(why) => write!(f, "the client's answer makes no sense: {why}"),
        }
    }
}

impl std::error::Error for AskError {}

/// The requests to one client that are not answered yet.
#[derive(Default)]
pub(super) struct ClientQuestions(Mutex<State>);

#[derive(Default)]
struct State {
    /// The capabilities that the client has declared.
    declared: Map<String, Value>,
    last: i64,
    waiting: BTreeMap<i64, Sender<Answer>>,
}

type Answer = Result<RawJson, ErrorObject>;

impl ClientQuestions {
    /// The client has declared these capabilities.
    pub(super) fn declared(&self, capabilities: Map<String, Value>) {
        lock(&self.0).declared = capabilities;
    }

    /// Passes a response on to the handler that waits for it. One that none waits for is dropped.
    pub(super) fn answered(&self, id: Option<&Id>, answer: Answer) {
        if let Some(Id::Number(id)) = id
            && let Some(waiting) = lock(&self.0).waiting.remove(id)
        {
            let _ = waiting.send(answer);
        }
    }

    /// Asks the client and waits for its answer, until the call is cancelled.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        capability: &'static str,
        method: &str,
        params: Option<&impl Serialize>,
        sink: &ReplySink,
        cancel: &Cancel,
    ) -> Result<T, AskError> {
        let (sender, inbox) = bounded(1);
        let number = {
            let mut state = lock(&self.0);
            if !state.declared.get(capability).is_some_and(Value::is_object) {
                return Err(AskError::NotOffered(capability));
            }
            state.last += 1;
            let number = state.last;
            state.waiting.insert(number, sender);
            number
        };
        let request = jsonrpc::request(&Id::Number(number), method, params);
        let answer = match request {
            Ok(request) if !cancel.is_cancelled() => {
                sink(request);
                cancel.receive(&inbox, PATIENCE)
            }
            _ => Err(NoMessage::Cancelled),
        };
        let forgotten = lock(&self.0).waiting.remove(&number);
        if let (Err(_), Some(_)) = (&answer, forgotten) {
            // The client may show a form that nobody needs any more.
            let params = json!({"requestId": number});
            if let Ok(message) = jsonrpc::notification("notifications/cancelled", Some(&params)) {
                sink(message);
            }
        }
        let answer = answer.map_err(|none| match none {
            NoMessage::TimedOut => AskError::TimedOut,
            _ => AskError::Cancelled,
        })?;
        let result = answer.map_err(AskError::Refused)?;
        let read = gosling_text::json::from_str(result.get());
        read.map_err(|error| AskError::Malformed(error.to_string()))
    }
}

/// Requests to the client. Each waits for the answer, an hour at most, and not longer than the call is wanted; not for
/// handlers that are [`quick`](super::Tool::quick).
impl Context {
    /// Asks the user to fill in a form: `schema` is an object with properties of simple types only. The user may
    /// decline, or dismiss the form; what is filled in was not checked here. Not for passwords or keys. MCP 2025-11-25,
    /// client/elicitation.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn elicit(&self, message: &str, schema: &Value) -> Result<ElicitResult, AskError> {
        let params = json!({"message": message, "requestedSchema": schema});
        self.ask("elicitation", "elicitation/create", Some(&params))
    }

    /// Asks the client's model. The user may see and change what is asked and answered. MCP 2025-11-25, client/sampling.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn sample(&self, params: &CreateMessageParams) -> Result<CreateMessageResult, AskError> {
        self.ask("sampling", "sampling/createMessage", Some(params))
    }

    /// The folders that the client works in. MCP 2025-11-25, client/roots.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn roots(&self) -> Result<Vec<Root>, AskError> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        let Roots { roots } = self.ask("roots", "roots/list", None::<&()>)?;
        Ok(roots)
    }
}
