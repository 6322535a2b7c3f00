//! `/reply`, and the routes by which clients answer questions of a running turn. CORE §7.4.

use super::with;
use crate::agent::{Confirmation, Event, EventSink, EventWriter, Registry, TurnInput};
use crate::conversation::{Message, Outcome};
use crate::http::{Access::Keyed, Error, EventStream, Request, Response, Router};
use crate::mcp::types::CallToolResult;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The event that keeps an idle stream alive.
const PING: &str = "data: {\"type\":\"Ping\"}\n\n";

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let for_reply = Arc::clone(registry);
    router
        .post("/reply", Keyed, move |request| reply(&for_reply, request))
        .post(
            "/action-required/tool-confirmation",
            Keyed,
            with(registry, confirm),
        )
        .post("/tool_result", Keyed, with(registry, tool_result))
}

#[derive(Deserialize)]
struct ReplyRequest {
    session_id: String,
    user_message: Message,
    conversation_so_far: Option<Vec<Message>>,
}

#[derive(Deserialize)]
struct ConfirmRequest {
    id: String,
    action: Confirmation,
    #[serde(rename = "sessionId")]
    session_id: String,
}

#[derive(Deserialize)]
struct ToolResultRequest {
    session_id: String,
    id: String,
    result: Outcome<CallToolResult>,
}

/// The errors of a well-formed request become events of the stream, because clients repeat a refused request
/// without end.
fn reply(registry: &Arc<Registry>, request: &Request) -> Result<Response, Error> {
    let body: ReplyRequest = request.json()?;
    let registry = Arc::clone(registry);
    Ok(Response::events(PING, move |stream| {
        let cancel = registry.cancel().child();
        let _link = stream.gone().on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let input = TurnInput {
            so_far: body.conversation_so_far,
            ..TurnInput::new(body.user_message)
        };
        let mut events = StreamEvents {
            stream,
            writer: EventWriter::default(),
        };
        // The last event tells an error.
        let _ = registry.reply(&body.session_id, input, &mut events, &cancel);
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

/// Ignores an answer to a question that is not pending.
fn confirm(registry: &Registry, request: &Request) -> Result<Response, Error> {
    #[derive(Serialize)]
    struct Empty {}
    let body: ConfirmRequest = request.json()?;
    registry
        .questions(&body.session_id)
        .confirm(&body.id, body.action);
    Ok(Response::json(&Empty {}))
}

fn tool_result(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: ToolResultRequest = request.json()?;
    let questions = registry.questions(&body.session_id);
    if questions.tool_result(&body.id, body.result) {
        Ok(Response::empty(200))
    } else {
        Err(Error::not_found(format!(
            "no call with the id {:?} waits for a result in this session",
            body.id
        )))
    }
}
