//! What came for a request.

use crate::findings::{Fault, ShownExchange};
use crate::text::printable;
use serde_json::Value;

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(crate) enum RawAnswer {
    Result(Value),
    Error {
        code: i64,
        message: String,
    },
    /// Not JSON-RPC: the HTTP status refuses the request.
    Refused(String),
    /// There is no answer, and why.
    Silence(String),
}

/// A request with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct ServerReply {
    pub(crate) answer: RawAnswer,
    pub(crate) exchange: ShownExchange,
    /// There is no server at the address.
    pub(crate) is_unreachable: bool,
}

impl ServerReply {
    /// The result, if it is one.
    pub(crate) fn result(&self) -> Option<&Value> {
        match &self.answer {
            RawAnswer::Result(result) => Some(result),
            _ => None,
        }
    }

    /// Whether there is any answer.
    pub(crate) fn is_answered(&self) -> bool {
        !matches!(self.answer, RawAnswer::Silence(_))
    }

    /// Whether it is the error of an unknown method.
    pub(crate) fn is_unknown_method(&self) -> bool {
        matches!(self.answer, RawAnswer::Error { code: -32601, .. })
    }

    /// The outcome as what is wrong: that `what` got it.
    pub(crate) fn fault(&self, what: &str) -> Fault {
        let detail = format!("{what} got {}", self.describe());
        (detail, self.exchange.clone())
    }

    /// The outcome in a few words.
    pub(crate) fn describe(&self) -> String {
        match &self.answer {
            RawAnswer::Result(_) => "a result".to_owned(),
            RawAnswer::Error { code, message } => {
                format!("the error {code} ({})", printable(message, 120))
            }
            RawAnswer::Refused(reason) | RawAnswer::Silence(reason) => reason.clone(),
        }
    }
}
