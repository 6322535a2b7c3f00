//! The questions of a turn to the user: whether a tool may be called, and the forms of MCP servers.

use super::prompt_turn::{TurnUpdates, status_update};
use crate::agent::{Confirmation, EventSink};
use crate::client_connection::ConnectionState;
use crate::conversation::{Action, NotificationType};
use crate::error_objects::MAX_SENTENCE;
use crate::file_diffs;
use crate::mcp::jsonrpc::RawJson;
use crate::open_session::{OpenSession, ShownCall};
use crate::text::printable;
use crate::tool_call_display::{self, Display, TEXT_EDITOR};
use crate::updates::{self, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long the turn goes on after a question was dismissed: a client whose user ends the turn dismisses its
/// questions first.
const DISMISSAL_PAUSE: Duration = Duration::from_millis(250);

impl TurnUpdates {
    /// Asks the client a question of the turn.
    pub(crate) fn ask(&mut self, question: &Action) {
        match question {
            Action::ToolConfirmation {
                id,
                tool_name,
                arguments,
                prompt,
            } => self.ask_permission(id, tool_name, arguments, prompt.as_deref()),
            Action::Elicitation {
                id,
                message,
                requested_schema,
            } => self.elicit(id, message, requested_schema),
            Action::ElicitationResponse { .. } => {}
        }
    }

    /// Asks the client whether a tool may be called. The answer goes to the waiting call.
    fn ask_permission(&mut self, id: &str, tool: &str, arguments: &RawJson, prompt: Option<&str>) {
        let is_known = self.session.calls().contains_key(id);
        let dir = &self.session.working_dir();
        let display = Display::new(tool, arguments, dir);
        let mut shown = display.announcement(id, arguments);
        if self.connection.client().is_goose {
            shown["_meta"] = tool_call_display::goose_meta(tool);
        }
        if let Some(prompt) = prompt {
            shown["content"] = json!([updates::text_content(prompt)]);
        } else if tool == TEXT_EDITOR {
            let (diff, _) = file_diffs::proposed(arguments, dir, &|path| self.file(path));
            shown["content"] = diff.into_iter().collect();
        }
        if !is_known {
            // A request of an MCP server to the model, which is no call of the model.
            let call = ShownCall::new(tool);
            self.session.calls().insert(id.to_owned(), call);
            self.update(&shown);
        }
        if let Some(fields) = shown.as_object_mut() {
            fields.shift_remove("sessionUpdate");
        }
        // The client has to know the call before it is asked about it.
        self.flush();
        let (connection, session) = (self.connection.clone(), self.session.clone());
        let (call, cancel) = (id.to_owned(), self.cancel.clone());
        let params = json!({
            "sessionId": self.session.id,
            "toolCall": shown,
            "options": permission_options(),
        });
        let request =
            self.connection
                .requests
                .send("session/request_permission", &params, move |answer| {
                    if connection.leaves_turns() {
                        return;
                    }
                    let confirmation = confirmation_in(answer.ok().as_ref());
                    let confirm = {
                        let connection = connection.clone();
                        Arc::new(move || {
                            connection.confirm(&session, &call, confirmation, is_known);
                        })
                    };
                    if confirmation != Confirmation::Cancel {
                        return confirm();
                    }
                    let later = confirm.clone();
                    let spawned = connection.spawn("acp dismissal", move || {
                        if !cancel.wait_timeout(DISMISSAL_PAUSE) {
                            later();
                        }
                    });
                    if spawned.is_err() {
                        confirm();
                    }
                });
        self.questions.push((id.to_owned(), request));
        if let Some(call) = self.session.calls().get_mut(id) {
            call.question = Some(request);
        }
    }

    /// Passes the question of an MCP server to the client, or declines it if the client shows no forms.
    fn elicit(&mut self, id: &str, message: &str, schema: &RawJson) {
        let registry = &self.connection.registry;
        if !self.connection.client().elicitation_form {
            registry.questions(&self.session.id).answer(id, None);
            let text = format!(
                "{}\nThis client cannot show its form, so it was told no.",
                printable(message, MAX_SENTENCE)
            );
            self.tell(NotificationType::InlineMessage, &text);
            return;
        }
        self.flush();
        let (connection, session) = (self.connection.clone(), self.session.id.clone());
        let question = id.to_owned();
        let params = json!({
            "mode": "form",
            "sessionId": self.session.id,
            "message": message,
            "requestedSchema": schema,
        });
        let answered = move |answer: crate::client_requests::Answer| {
            if connection.leaves_turns() {
                return;
            }
            if let Some(turn) = connection.live.of(&session) {
                turn.answered(&question, None, &connection);
            }
            let data = answer.ok().and_then(|answer| elicitation_data(&answer));
            let questions = connection.registry.questions(&session);
            questions.answer(&question, data);
        };
        let requests = &self.connection.requests;
        let request = requests.send("elicitation/create", &params, answered);
        self.questions.push((id.to_owned(), request));
    }
}

impl ConnectionState {
    /// Passes the user's answer to the waiting call, and shows a permitted call as running.
    fn confirm(
        self: &Arc<Self>,
        session: &OpenSession,
        call: &str,
        answer: Confirmation,
        is_call: bool,
    ) {
        let status = match (answer.is_allowed(), is_call) {
            (true, true) => Status::InProgress,
            (true, false) => Status::Completed,
            // The result of the call says that it was denied.
            (false, true) => Status::Pending,
            (false, false) => Status::Failed,
        };
        let is_shown = {
            let mut calls = session.calls();
            match calls.get_mut(call) {
                Some(shown) => {
                    shown.question = None;
                    shown.status = status;
                    if !is_call {
                        calls.remove(call);
                    }
                    true
                }
                None => false,
            }
        };
        if is_shown && status != Status::Pending {
            self.send_update(&session.id, &status_update(call, status));
        }
        if let Some(turn) = self.live.of(&session.id) {
            let status = Some(status).filter(|status| *status != Status::Pending);
            turn.answered(call, status, self);
        }
        self.registry.questions(&session.id).confirm(call, answer);
    }
}

/// What a user can choose: the id, the name, and what it means.
const OPTIONS: [(&str, &str, Confirmation); 4] = [
    ("allow_once", "Allow", Confirmation::AllowOnce),
    ("allow_always", "Always allow", Confirmation::AlwaysAllow),
    ("reject_once", "Reject", Confirmation::DenyOnce),
    ("reject_always", "Always reject", Confirmation::AlwaysDeny),
];

fn permission_options() -> Value {
    OPTIONS
        .iter()
        .map(|(id, name, _)| json!({"optionId": id, "name": name, "kind": id}))
        .collect()
}

/// The user's answer. An error, and an option that was not offered, count as a dismissed question.
fn confirmation_in(answer: Option<&RawJson>) -> Confirmation {
    let read = |answer: &RawJson| crate::json::from_str::<Value>(answer.get()).ok();
    let outcome = &answer.and_then(read).unwrap_or_default()["outcome"];
    let mut chosen = OPTIONS.iter().filter(|(id, ..)| outcome["optionId"] == *id);
    match chosen.next() {
        Some((.., meaning)) if outcome["outcome"] == "selected" => *meaning,
        _ => Confirmation::Cancel,
    }
}

/// The data for the waiting elicitation; `None` declines it.
fn elicitation_data(answer: &RawJson) -> Option<Value> {
    let answer: Value = crate::json::from_str(answer.get()).ok()?;
    match answer["action"].as_str()? {
        "accept" => {
            let content = answer.get("content").cloned();
            Some(json!({"action": "accept", "content": content.unwrap_or_else(|| json!({}))}))
        }
        "cancel" => Some(json!({"action": "cancel"})),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
