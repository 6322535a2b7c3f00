//! `/reply`, and the routes by which clients answer questions of a running turn. CORE §7.4.

use super::{Route, json_body};
use crate::agent::{Confirmation, Event, EventSink, EventWriter, Registry, TurnInput};
use crate::conversation::{Message, Outcome};
use crate::http::Method::Post;
use crate::http::{Error, EventStream, Request, Response};
use crate::mcp::types::CallToolResult;
use serde_json::json;
use std::sync::Arc;

/// The event that keeps an idle stream alive.
const PING: &str = "data: {\"type\":\"Ping\"}\n\n";

pub(super) const ROUTES: &[Route] = &[
    (Post, "/action-required/tool-confirmation", confirm),
    (Post, "/tool_result", tool_result),
    (Post, "/sessions/{session_id}/steer", steer),
];

/// The errors of a well-formed request become events of the stream, because clients repeat a refused request
/// without end; which is right only if the server is about to stop (503).
pub(super) fn reply(registry: &Arc<Registry>, request: &Request) -> Result<Response, Error> {
    json_body!(request => ReplyRequest {
        session_id: String,
        user_message: Message,
        conversation_so_far: Option<Vec<Message>>,
    });
    registry.check_open(&user_message)?;
    let registry = Arc::clone(registry);
    Ok(Response::events(PING, move |stream| {
        let cancel = registry.cancel().child();
        let _link = stream.gone().on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let input = TurnInput {
            so_far: conversation_so_far,
            ..TurnInput::new(user_message)
        };
        let mut events = StreamEvents {
            stream,
            writer: EventWriter::default(),
        };
        // The last event tells an error.
        let _ = registry.reply(&session_id, input, &mut events, &cancel);
    }))
}

struct StreamEvents<'s> {
    stream: &'s mut EventStream,
    writer: EventWriter,
}

impl EventSink for StreamEvents<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.stream.queue(|out| self.writer.write(&event, out));
    }

    fn flush(&mut self) {
        self.stream.flush();
    }
}

/// Adds a message to the running turn of any client; 409 if no turn runs.
fn steer(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => SteerRequest { user_message: Message });
    let id = registry.steer(request.param("session_id"), user_message)?;
    Ok(Response::json(&json!({ "message_id": id })))
}

/// Ignores an answer to a question that is not pending.
fn confirm(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ConfirmRequest {
        id: String,
        action: Confirmation,
        #[serde(rename = "sessionId")]
        session_id: String,
    });
    registry.questions(&session_id).confirm(&id, action);
    Ok(Response::json(&json!({})))
}

fn tool_result(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ToolResultRequest {
        session_id: String,
        id: String,
        result: Outcome<CallToolResult>,
    });
    if registry.questions(&session_id).tool_result(&id, result) {
        Ok(Response::empty(200))
    } else {
        Err(Error::not_found(format!(
            "no call with the id {id:?} waits for a result in this session"
        )))
    }
}
