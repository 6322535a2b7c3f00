//! `session/prompt`: runs a turn, sends its events as updates, and answers its questions.

use super::ConnectionState;
use super::client_tools;
use super::session_methods::START_LIMIT;
use super::session_workspace::SessionWorkspace;
use crate::agent::{Compaction, Error, Event, EventSink, TurnInput, TurnReport, TurnStop};
use crate::builtin::Workspace;
use crate::conversation::{
    Content, Message, NotificationType, Outcome, Role, TokenState, ToolRequest, ToolResponse,
};
use crate::error_objects::{error_object, model_error};
use crate::file_diffs::FileText;
use crate::mcp::jsonrpc::{ErrorObject, RawJson};
use crate::open_session::{OpenSession, ShownCall};
use crate::prompt_content;
use crate::provider;
use crate::sys::cancel::Cancel;
use crate::terminal_output;
use crate::tool_call_display::{self, Display, SHELL, TEXT_EDITOR};
use crate::updates::{self, Speaker, Status};
use crate::{file_diffs, plan};
use gosling_shared::ClientWorkspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

/// The largest file that a link in a prompt embeds, in bytes.
const MAX_LINKED_FILE: usize = 200_000;
/// How many links of a prompt are read, and how much text they embed in all, in bytes.
const MAX_LINKED_FILES: usize = 100;
const MAX_LINKED_BYTES: usize = 1 << 20;

/// What a prompt to a session whose turn is running gets.
pub(crate) const BUSY: &str = "A turn of this session is running; cancel it or wait for its end";

/// The parameters of `session/prompt`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    /// Content blocks.
    prompt: Vec<RawJson>,
}

impl ConnectionState {
    /// Runs the turn of a prompt, which [`OpenSession::begin_turn`] has begun with `cancel`. Returns the result of the
    /// request when every update is sent.
    ///
    /// # Errors
    /// When the prompt is not valid, the model fails, or the turn cannot run.
    pub(crate) fn run_prompt(
        self: &Arc<Self>,
        session: &Arc<OpenSession>,
        prompt: Prompt,
        cancel: &Cancel,
    ) -> Result<Value, ErrorObject> {
        let workspace = Arc::new(SessionWorkspace {
            connection: self.clone(),
            session: session.clone(),
            turn: cancel.clone(),
        });
        // Otherwise a session that another client deletes could not be told from one that does not exist.
        self.stored(&session.id)?;
        let (files, bytes) = (Cell::new(MAX_LINKED_FILES), Cell::new(MAX_LINKED_BYTES));
        let read = |path: &Path| {
            if files.get() == 0 || cancel.is_cancelled() {
                return None;
            }
            files.set(files.get() - 1);
            match workspace.shown_file(path, cancel) {
                FileText::Text(text) if text.len() <= MAX_LINKED_FILE.min(bytes.get()) => {
                    bytes.set(bytes.get() - text.len());
                    Some(text)
                }
                _ => None,
            }
        };
        let contents = prompt_content::contents("session/prompt", prompt.prompt, &read)?;
        let mut turn = TurnUpdates::new(self, session, cancel);
        for (title, list) in self.untold_failures(session, Some(START_LIMIT), cancel) {
            turn.text(Speaker::Agent, None, &format!("{title}:\n\n{list}\n"));
        }
        turn.flush();
        if cancel.is_cancelled() {
            return Ok(json!({"stopReason": "cancelled"}));
        }
        let offered = self.client().has_workspace();
        let own: Arc<dyn ClientWorkspace> = workspace.clone();
        let offered = offered.then(|| own.offered());
        if self.client().is_goose {
            let live = &self.live;
            let Some(mut turns) = live.begin(&session.id, Some(turn), cancel, &contents) else {
                return Ok(self.refuse_busy(&session.id));
            };
            let outcome = self.reply(&session.id, contents, offered, &mut turns, cancel);
            drop(turns);
            return self.result(outcome, None, cancel);
        }
        let outcome = self.reply(&session.id, contents, offered, &mut turn, cancel);
        turn.end();
        self.result(outcome, turn.model_error.take(), cancel)
    }

    fn reply(
        &self,
        id: &str,
        contents: Vec<Content>,
        workspace: Option<Workspace>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let input = TurnInput {
            workspace,
            start_limit: Some(START_LIMIT),
            ..TurnInput::new(Message::new(Role::User, contents))
        };
        self.registry.reply(id, input, events, cancel)
    }

    /// The result of the request, after the turn.
    fn result(
        &self,
        outcome: Result<TurnReport, Error>,
        model_error: Option<ErrorObject>,
        cancel: &Cancel,
    ) -> Result<Value, ErrorObject> {
        // Another client may have closed or deleted the session.
        let is_over = matches!(outcome, Err(Error::Cancelled | Error::NoSession));
        if cancel.is_cancelled() || is_over {
            return Ok(json!({"stopReason": "cancelled"}));
        }
        if let Some(error) = model_error {
            return Err(error);
        }
        let stop = match outcome.map_err(error_object)?.stop {
            TurnStop::Finished => "end_turn",
            TurnStop::MaxTokens => "max_tokens",
            TurnStop::MaxRequests => "max_turn_requests",
            TurnStop::Filtered => "refusal",
        };
        Ok(json!({ "stopReason": stop }))
    }

    /// Tells a client that shows errors badly that the session is busy, and returns the result of its request.
    pub(crate) fn refuse_busy(&self, id: &str) -> Value {
        let block = updates::text_block(BUSY);
        self.send_update(id, &updates::chunk(Speaker::Agent, None, block, None));
        json!({"stopReason": "end_turn"})
    }
}

/// Sends the events of one turn as updates.
pub(crate) struct TurnUpdates {
    pub(crate) connection: Arc<ConnectionState>,
    pub(crate) session: Arc<OpenSession>,
    workspace: SessionWorkspace,
    pub(crate) cancel: Cancel,
    /// Messages that are not sent yet.
    queue: Vec<Vec<u8>>,
    /// The text that deltas have added since the last update.
    text: Option<PendingText>,
    /// Why the model failed.
    model_error: Option<ErrorObject>,
    /// The token counts that were sent last.
    tokens: Option<TokenState>,
    /// How many compactions have begun.
    compactions: usize,
    /// The summary of the last one, until it is told.
    summary: Option<String>,
    /// Pending requests to the client, by the ids of the questions.
    pub(crate) questions: Vec<(String, i64)>,
    /// The ids of messages that the client was shown when it joined the turn.
    pub(crate) shown: Vec<String>,
}

struct PendingText {
    speaker: Speaker,
    message: Option<String>,
    text: String,
}

impl EventSink for TurnUpdates {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Message {
                message,
                token_state,
            } => {
                if message.metadata.user_visible {
                    self.message(message);
                }
                self.count(token_state);
            }
            Event::Notification {
                request_id,
                message,
            } => self.notification(request_id, message),
            Event::ModelChange { model, mode } if self.connection.client().notices => {
                let title = format!("{model} answers from now on ({mode})");
                self.update(&updates::notice("info", &title, None));
            }
            Event::Finish { token_state, .. } => self.count(token_state),
            // The client has shown the messages of `UpdateConversation`; the error is the result of the request.
            _ => {}
        }
    }

    fn flush(&mut self) {
        self.take_text();
        let messages = std::mem::take(&mut self.queue);
        if !messages.is_empty()
            && !self
                .connection
                .outbox
                .send_when_room(messages, &self.cancel)
        {
            self.cancel.cancel();
        }
    }

    fn model_failed(&mut self, error: &provider::Error, has_begun: bool) {
        if self.connection.client().hides_errors {
            return;
        }
        self.model_error = Some(model_error(error, has_begun));
    }

    fn call_begins(&mut self, request: &str) {
        self.set_status(request, Status::InProgress);
    }

    fn compaction(&mut self, stage: Compaction) {
        if !self.connection.client().compaction {
            return;
        }
        if stage == Compaction::Begun {
            self.compactions += 1;
        }
        let status = match stage {
            Compaction::Begun => "in_progress",
            Compaction::Completed => "completed",
            Compaction::Failed if self.cancel.is_cancelled() => "cancelled",
            Compaction::Failed => "failed",
        };
        let mut update = json!({
            "sessionUpdate": "compaction_update",
            "compactionId": self.compaction_id(),
            "status": status,
        });
        if let Some(summary) = self.summary.take().filter(|_| status == "completed") {
            update["summary"] = json!([updates::text_block(&summary)]);
        }
        self.update(&update);
    }

    fn summary(&mut self, text: &str, is_whole: bool) {
        if !self.connection.client().compaction {
            return;
        }
        if is_whole {
            self.summary = Some(text.to_owned());
            return;
        }
        self.update(&json!({
            "sessionUpdate": "compaction_summary_chunk",
            "compactionId": self.compaction_id(),
            "content": updates::text_block(text),
        }));
    }
}

impl TurnUpdates {
    /// The updates of a turn that `cancel` ends.
    pub(crate) fn new(
        connection: &Arc<ConnectionState>,
        session: &Arc<OpenSession>,
        cancel: &Cancel,
    ) -> Self {
        TurnUpdates {
            workspace: SessionWorkspace {
                connection: connection.clone(),
                session: session.clone(),
                turn: cancel.clone(),
            },
            connection: connection.clone(),
            session: session.clone(),
            cancel: cancel.clone(),
            queue: Vec::new(),
            text: None,
            model_error: None,
            tokens: None,
            compactions: 0,
            summary: None,
            questions: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// The id of the compaction that has begun last.
    fn compaction_id(&self) -> String {
        format!("{}-{}", self.connection.prefix, self.compactions)
    }

    /// Sends what is queued; false if the client is gone or does not read.
    pub(crate) fn flush_or_leave(&mut self) -> bool {
        self.take_text();
        let messages = std::mem::take(&mut self.queue);
        let gone = &self.connection.cancel;
        !gone.is_cancelled()
            && (messages.is_empty() || self.connection.outbox.send_when_room(messages, gone))
    }

    /// Keeps in mind a call that the client is shown in another way.
    pub(crate) fn know(&mut self, request: &ToolRequest, status: Status) {
        let mut call = shown_call(request);
        call.status = status;
        self.session.calls().insert(request.id.clone(), call);
    }

    /// Withdraws all questions.
    pub(crate) fn withdraw_all(&mut self) {
        for (_, question) in std::mem::take(&mut self.questions) {
            self.connection.requests.withdraw(question);
        }
    }

    /// Withdraws a question that another client has answered; its call has this status from then on.
    pub(crate) fn withdraw(&mut self, id: &str, status: Option<Status>) {
        let asked = self.questions.iter().filter(|(question, _)| question == id);
        for (_, request) in asked {
            self.connection.requests.withdraw(*request);
        }
        self.questions.retain(|(question, _)| question != id);
        if let Some(call) = self.session.calls().get_mut(id) {
            call.question = None;
        }
        if let Some(status) = status {
            self.set_status(id, status);
        }
    }

    /// Tells Goose's clients which run of the session is active.
    pub(crate) fn tell_run(&mut self, run: Option<&str>) {
        if self.connection.client().is_goose {
            self.update(&json!({
                "sessionUpdate": "session_info_update",
                "_meta": {"goose": {"activeRunId": run}},
            }));
        }
    }

    pub(crate) fn message(&mut self, message: &Message) {
        let speaker = Speaker::of(message.role);
        let id = message.id.as_deref();
        let is_shown = id.is_some_and(|id| self.shown.iter().any(|shown| shown == id));
        for part in &message.content {
            match part {
                // It was shown with the stored messages.
                Content::Text(_) | Content::Thinking(_) | Content::ToolRequest(_) if is_shown => {}
                // The result of the request says why the model failed.
                Content::Text(_) if self.model_error.is_some() => {}
                Content::Text(_) | Content::Image(_) | Content::Audio(_)
                    if message.metadata.steer =>
                {
                    let meta = self.connection.client().is_goose;
                    let meta = meta.then(|| updates::goose_meta(message));
                    if let Some(block) = updates::block(part) {
                        self.update(&updates::chunk(speaker, id, block, meta.as_ref()));
                    }
                }
                Content::Text(text) => self.text(speaker, id, &text.text),
                Content::Thinking(thinking) => self.text(Speaker::Thought, id, &thinking.thinking),
                Content::Reasoning(reasoning) => self.text(Speaker::Thought, id, &reasoning.text),
                Content::Image(_) | Content::Audio(_) => {
                    if let Some(block) = updates::block(part) {
                        self.update(&updates::chunk(speaker, id, block, None));
                    }
                }
                Content::ToolRequest(request) => self.announce(request),
                Content::ToolResponse(response) => self.respond(response),
                Content::ActionRequired(question) => self.ask(&question.data),
                // What all windows follow is run once, for all.
                Content::FrontendToolRequest(_) if self.connection.client().is_goose => {}
                Content::FrontendToolRequest(request) => {
                    let ConnectionState { live, registry, .. } = &*self.connection;
                    if !live.tools.run(&self.session.id, request, &self.cancel) {
                        client_tools::refuse(registry, &self.session.id, request);
                    }
                }
                Content::SystemNotification(told) => self.tell(told.notification_type, &told.msg),
                _ => {}
            }
        }
    }

    /// Adds text to the pending update if it continues the same message.
    fn text(&mut self, speaker: Speaker, message: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        match &mut self.text {
            Some(pending)
                if pending.speaker == speaker && pending.message.as_deref() == message =>
            {
                pending.text.push_str(text);
            }
            _ => {
                self.take_text();
                self.text = Some(PendingText {
                    speaker,
                    message: message.map(str::to_owned),
                    text: text.to_owned(),
                });
            }
        }
    }

    fn take_text(&mut self) {
        if let Some(pending) = self.text.take() {
            let id = pending.message.as_deref();
            let block = updates::text_block(&pending.text);
            let chunk = updates::chunk(pending.speaker, id, block, None);
            self.queue
                .push(updates::notification(&self.session.id, &chunk));
        }
    }

    /// Queues an update, after the pending text.
    pub(crate) fn update(&mut self, update: &impl Serialize) {
        self.take_text();
        self.queue
            .push(updates::notification(&self.session.id, update));
    }

    /// Tells the user something that is not part of the conversation.
    pub(crate) fn tell(&mut self, kind: NotificationType, text: &str) {
        if self.connection.client().notices {
            self.update(&updates::notice(updates::severity(kind), text, None));
            return;
        }
        if self.connection.client().goose_updates
            && let Some(status) = updates::status_message(kind, text)
        {
            self.goose_update(&status);
            return;
        }
        let speaker = match kind {
            NotificationType::ThinkingMessage => Speaker::Thought,
            _ if self.model_error.is_some() => return,
            _ => Speaker::Agent,
        };
        self.take_text();
        self.update(&updates::chunk(
            speaker,
            None,
            updates::text_block(text),
            None,
        ));
    }

    fn announce(&mut self, request: &ToolRequest) {
        let (name, arguments) = name_and_arguments(request);
        let dir = &self.session.working_dir();
        let display = Display::new(&name, &arguments, dir);
        let mut update = display.announcement(&request.id, &arguments);
        let mut before = None;
        if name == TEXT_EDITOR {
            let (diff, file) = file_diffs::proposed(&arguments, dir, &|path| self.file(path));
            if let Some(diff) = diff {
                update["content"] = json!([diff]);
            }
            before = file;
        }
        if self.connection.client().is_goose {
            update["_meta"] = tool_call_display::goose_meta(&name);
        }
        if name == SHELL && self.connection.client().takes_output() {
            update["content"] = json!([{"type": "terminal", "terminalId": request.id}]);
            update["_meta"] = json!({"terminal_info": {"terminal_id": request.id, "cwd": dir}});
        }
        let mut call = shown_call(request);
        call.before = before;
        self.session.calls().insert(request.id.clone(), call);
        self.update(&update);
    }

    /// The text of a file as the user sees it.
    pub(crate) fn file(&self, path: &Path) -> FileText {
        self.workspace.shown_file(path, &self.cancel)
    }

    fn set_status(&mut self, call: &str, status: Status) {
        let is_known = match self.session.calls().get_mut(call) {
            Some(shown) => {
                shown.status = status;
                true
            }
            None => false,
        };
        if is_known {
            self.update(&status_update(call, status));
        }
    }

    /// Shows the result of a call.
    fn respond(&mut self, response: &ToolResponse) {
        let Some(call) = self.session.calls().remove(&response.id) else {
            return;
        };
        if let Some(question) = call.question {
            self.connection.requests.withdraw(question);
        }
        let update = self.result_update(&call, response);
        self.update(&update);
        if let Some(list) = call.checklist
            && updates::status_of(response) == Status::Completed
        {
            self.update(&plan::update(&list));
        }
    }

    fn result_update(&self, call: &ShownCall, response: &ToolResponse) -> Value {
        let status = updates::status_of(response);
        let mut update = status_update(&response.id, status);
        if self.connection.client().is_goose
            && let Some(app) = &call.app
        {
            update["_meta"] = json!({"goose": {"mcpApp": app}});
        }
        let diff = call.before.as_ref().filter(|_| status == Status::Completed);
        let diff = diff.and_then(|before| file_diffs::made(before, &|path| self.file(path)));
        let in_meta = call.name == SHELL && self.connection.client().takes_output();
        match (&response.tool_result, diff) {
            // Goose's clients do not show diffs.
            (_, Some(diff)) if !self.connection.client().is_goose => {
                update["content"] = json!([diff]);
            }
            // The client shows its terminal.
            _ if call.has_terminal => {}
            (result, _) if in_meta => {
                update["_meta"] = call.output.end_in_meta(&response.id, result);
            }
            (Outcome::Success { value }, _) => {
                let mut contents = call.output.shown_without_end(value);
                let is_block = call.name == SHELL && !self.connection.client().is_goose;
                contents.extend(updates::result_contents(value, is_block));
                update["content"] = contents.into();
            }
            (Outcome::Error { error }, _) => {
                update["content"] = with_output(call, error);
            }
        }
        update["rawOutput"] = match &response.tool_result {
            Outcome::Success { value } => updates::raw_output(value),
            Outcome::Error { error } => json!({ "error": error }),
        };
        update
    }

    /// Shows what a server tells while its tool runs: its progress and messages to Goose's clients, lines of output to
    /// others.
    fn notification(&mut self, call: &str, message: &RawJson) {
        if self.connection.client().is_goose {
            if self.session.calls().contains_key(call)
                && let Some(update) = updates::tool_notification(call, message)
            {
                self.update(&update);
            }
            return;
        }
        let Some(line) = terminal_output::line_in(message) else {
            return;
        };
        let in_meta = self.connection.client().takes_output();
        let update = (self.session.calls().get_mut(call))
            .and_then(|shown| shown.output.add(call, &line, in_meta));
        if let Some(update) = update {
            self.update(&update);
        }
    }

    /// Sends the token counts if they have changed.
    fn count(&mut self, tokens: TokenState) {
        if tokens.total_tokens == 0 || self.tokens == Some(tokens) {
            return;
        }
        self.tokens = Some(tokens);
        let size = self.connection.context_limit(&self.session.id);
        let Some(size) = size else { return };
        self.update(&updates::usage(&tokens, size));
        if self.connection.client().goose_updates {
            self.goose_update(&updates::goose_usage(&tokens, size));
        }
    }

    /// Queues an update of Goose's own, after the pending text.
    fn goose_update(&mut self, update: &Value) {
        self.take_text();
        let session = &self.session.id;
        let message = updates::notification_of(updates::GOOSE_UPDATE, session, update);
        self.queue.push(message);
    }

    /// Ends calls that have no result, withdraws open questions, and sends what is queued.
    pub(crate) fn end(&mut self) {
        self.withdraw_all();
        let open: Vec<_> = self.session.calls().drain().collect();
        for (id, call) in open {
            let error = "The call did not end.".to_owned();
            let response = ToolResponse {
                id,
                tool_result: Outcome::Error { error },
                metadata: None,
            };
            let update = self.result_update(&call, &response);
            self.update(&update);
        }
        self.take_text();
        for message in std::mem::take(&mut self.queue) {
            self.connection.outbox.send(message);
        }
    }
}

impl ConnectionState {
    /// The context limit of the session's model, in tokens.
    fn context_limit(&self, id: &str) -> Option<u64> {
        let session = self.registry.files().session(id).ok()?;
        session.model_config?["context_limit"].as_u64()
    }
}

/// The name and the arguments of a call.
fn name_and_arguments(request: &ToolRequest) -> (String, RawJson) {
    match &request.tool_call {
        Outcome::Success { value } => (value.name.clone(), value.arguments.clone()),
        Outcome::Error { .. } => {
            let name = request
                .metadata
                .as_ref()
                .and_then(|data| data["name"].as_str());
            (
                name.unwrap_or("malformed call").to_owned(),
                RawJson::default(),
            )
        }
    }
}

/// A call as it is kept while it is shown, pending.
fn shown_call(request: &ToolRequest) -> ShownCall {
    let (name, arguments) = name_and_arguments(request);
    let mut call = ShownCall::new(&name);
    call.app = tool_call_display::mcp_app(request);
    if name == plan::TOOL {
        call.checklist = plan::list_in(&arguments);
    }
    if name == SHELL {
        call.command = tool_call_display::command_in(&arguments);
    }
    call
}

pub(crate) fn status_update(call: &str, status: Status) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status})
}

/// Why a call failed, behind the output that it had until then.
fn with_output(call: &ShownCall, why: &str) -> Value {
    let mut contents = call.output.shown();
    contents.push(updates::text_content(why));
    contents.into()
}
