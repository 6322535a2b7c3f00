//! Displays a turn as text on a terminal or a pipe, and asks its questions.

use super::stdin_lines::StdinLines;
use super::{argument_rows, elicitation_form};
use crate::agent::{Confirmation, Event, EventSink, Registry};
use crate::conversation::{
    Action, Content, Message, NotificationType, Outcome, Role, ToolResponse,
};
use crate::escaped_text::escape_invisible;
use crate::mcp::jsonrpc::RawJson;
use crate::provider;
use crate::sys::cancel::Cancel;
use crate::text::{printable, strip_invisible};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// The longest line about a tool call, in characters.
const WIDTH: usize = 100;
/// The longest message of a server or a provider, in characters.
const MAX_SENTENCE: usize = 1_000;
/// How much of a call is shown on one page, in rows and in characters.
const MAX_PAGE: (usize, usize) = (100, 10_000);

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Takes the user's answers. The display calls it once for each question.
pub(crate) trait AnswerSink {
    fn confirm(&self, request: &str, answer: Confirmation) -> bool;
    fn answer(&self, request: &str, data: Option<Value>) -> bool;
    /// Refuses to run a frontend tool, which this client does not have.
    fn refuse(&self, request: &str) -> bool;
}

/// Sends the answers to a session of the registry.
pub(crate) struct SessionAnswers<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) id: &'a str,
}

impl AnswerSink for SessionAnswers<'_> {
    fn confirm(&self, request: &str, answer: Confirmation) -> bool {
        self.registry.questions(self.id).confirm(request, answer)
    }

    fn answer(&self, request: &str, data: Option<Value>) -> bool {
        self.registry.questions(self.id).answer(request, data)
    }

    fn refuse(&self, request: &str) -> bool {
        let error = "the tool runs in another client, which is not connected".to_owned();
        let result = Outcome::Error { error };
        self.registry
            .questions(self.id)
            .tool_result(request, result)
    }
}

/// Displays one turn. Control characters in texts of models and servers are removed or escaped.
pub(crate) struct TurnDisplay<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
    /// Whether `out` is a terminal that supports escape sequences.
    pub(crate) terminal: bool,
    pub(crate) answers: &'a dyn AnswerSink,
    pub(crate) input: &'a mut StdinLines,
    /// Cancels the turn if the output cannot be written.
    pub(crate) cancel: &'a Cancel,
    pub(crate) state: DisplayState,
}

/// The user stopped reading, and perhaps gave this answer instead.
struct Declined<T>(Option<T>);

/// The state of the display.
#[derive(Default)]
pub(crate) struct DisplayState {
    /// Whether the turn ended with an error.
    pub(crate) failed: bool,
    /// How many tool calls were refused because no user or client could be asked.
    pub(crate) refused_calls: usize,
    /// Why the output cannot be written.
    pub(crate) unprinted: Option<io::Error>,
    /// Whether calls and failures go to stderr, so that stdout has only the answer.
    pub(crate) beside: bool,
    column: Column,
    /// The id of the message that is displayed.
    message: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Column {
    #[default]
    First,
    InText,
    InThought,
}

impl EventSink for TurnDisplay<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Message { message, .. } if message.metadata.user_visible => {
                self.message(message);
            }
            Event::Message { .. } => {}
            // The user has cancelled the turn.
            Event::Error { .. } if self.cancel.is_cancelled() => {}
            Event::Error { error } => {
                self.state.failed = true;
                self.note(&format!("error: {}", printable(error, MAX_SENTENCE)));
            }
            Event::Finish { reason, .. } => {
                self.begin_line();
                if reason != "stop" {
                    self.note(&format!("(ended: {})", printable(reason, WIDTH)));
                }
            }
            Event::ModelChange { model, mode } => {
                let line = format!("({mode} model {model} from here)");
                self.note(&printable(&line, WIDTH));
            }
            Event::Notification { message, .. } => {
                if let Some(line) = notification(message) {
                    self.note(&line);
                }
            }
            Event::UpdateConversation { conversation } => {
                let count = conversation.len();
                self.note(&format!("(the conversation has {count} messages now)"));
            }
            _ => {}
        }
    }

    fn flush(&mut self) {
        let flushed = self.out.flush();
        self.check(flushed);
    }

    fn model_failed(&mut self, _: &provider::Error, _: bool) {
        self.state.failed = true;
    }

    fn turn_failed(&mut self) {
        self.state.failed |= self.state.beside;
    }
}

impl TurnDisplay<'_> {
    /// Ends the display after the last event.
    pub(crate) fn end(&mut self) {
        self.begin_line();
        self.flush();
        if self.cancel.is_cancelled() && self.state.unprinted.is_none() {
            self.note("(cancelled)");
        }
    }

    fn message(&mut self, message: &Message) {
        if message.id != self.state.message {
            self.begin_line();
            self.state.message.clone_from(&message.id);
        }
        for part in &message.content {
            match part {
                // A message of a prompt that the user has chosen.
                Content::Text(text) if message.role == Role::User => {
                    self.note(&format!("> {}", strip_invisible(&text.text)));
                }
                // After an error, the text is an error message and not an answer.
                Content::Text(text) if self.state.failed => self.note(&strip_invisible(&text.text)),
                Content::Text(text) => self.stream(&text.text, Column::InText),
                Content::Reasoning(reasoning) => self.stream(&reasoning.text, Column::InThought),
                Content::Thinking(thinking) => self.stream(&thinking.thinking, Column::InThought),
                Content::RedactedThinking(_) => {}
                Content::Image(image) | Content::Audio(image) => {
                    let size = image.data.len() / 4 * 3;
                    self.line(&format!("[{}, about {size} bytes]", image.mime_type));
                }
                Content::ToolRequest(request) => self.call(&request.tool_call),
                Content::FrontendToolRequest(request) => {
                    self.call(&request.tool_call);
                    self.note("this tool runs in another client, which is not connected");
                    self.state.refused_calls += 1;
                    self.answers.refuse(&request.id);
                }
                Content::ToolResponse(response) => self.line(&result(response)),
                Content::ActionRequired(action) => self.action(&action.data),
                Content::SystemNotification(word) => {
                    let passing = word.notification_type == NotificationType::ThinkingMessage;
                    if !passing || self.terminal {
                        self.note(&printable(&word.msg, MAX_SENTENCE));
                    }
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &Outcome<crate::conversation::ToolCall>) {
        match call {
            Outcome::Success { value } => {
                self.line(&format!("→ {} {}", value.name, value.arguments));
            }
            Outcome::Error { error } => self.line(&format!("→ no call: {error}")),
        }
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::ToolConfirmation {
                id,
                tool_name,
                arguments,
                prompt,
            } => {
                // A cancelled turn does not wait for an answer.
                if let Some(answer) = self.approve(tool_name, arguments.get(), prompt.as_deref()) {
                    if !self.answers.confirm(id, answer) {
                        self.note("the answer came too late");
                    }
                    if answer == Confirmation::Cancel {
                        self.cancel.cancel();
                    }
                }
            }
            Action::Elicitation {
                id,
                message,
                requested_schema,
            } => {
                let data = self.fill_in(message, requested_schema.get());
                if data.is_none() && !self.cancel.is_cancelled() {
                    self.note("declined");
                }
                if !self.answers.answer(id, data) && !self.cancel.is_cancelled() {
                    self.note("the answer came too late");
                }
            }
            Action::ElicitationResponse { .. } => {}
        }
    }

    /// Shows a whole call and asks for approval. `None` if the turn was cancelled.
    fn approve(
        &mut self,
        tool: &str,
        arguments: &str,
        prompt: Option<&str>,
    ) -> Option<Confirmation> {
        let tool = escape_invisible(tool);
        if !self.input.is_terminal() {
            self.state.refused_calls += 1;
            self.note(&format!(
                "denied {tool}: it needs approval and there is no terminal to ask at; \
                 GOOSE_MODE=auto asks for none"
            ));
            return Some(Confirmation::DenyOnce);
        }
        let mut rows = prompt.map(argument_rows::text).unwrap_or_default();
        rows.extend(argument_rows::arguments(arguments));
        let refusal = |answer: &str| confirmation(answer).filter(|answer| !answer.is_allowed());
        if let Err(Declined(answer)) = self.show_all(&rows, "[n]o, ne[v]er, [c]ancel", refusal) {
            let cancelled = self.cancel.is_cancelled();
            return answer.or((!cancelled).then_some(Confirmation::Cancel));
        }
        loop {
            let question =
                "[y]es once, [n]o; for good, in every session: [a]lways, ne[v]er; [c]ancel";
            match self.ask(&format!("call {tool}? {question}: ")) {
                None if self.cancel.is_cancelled() => return None,
                None => return Some(Confirmation::Cancel),
                Some(answer) => {
                    if let Some(answer) = confirmation(answer.trim()) {
                        return Some(answer);
                    }
                }
            }
        }
    }

    /// Asks for the fields of an elicitation; `None` if the user declines.
    fn fill_in(&mut self, message: &str, schema: &str) -> Option<Value> {
        if !self.input.is_terminal() {
            self.note(&printable(message, MAX_SENTENCE));
            self.note("there is no terminal to ask at");
            return None;
        }
        if message.contains('\n') || message.len() > MAX_SENTENCE {
            self.show(&argument_rows::text(message)).ok()?;
        } else {
            self.note(&escape_invisible(message));
        }
        let fields = elicitation_form::fields(schema);
        if fields.is_empty() {
            let agreed = matches!(self.ask("agree? [y]es or [n]o: ")?.trim(), "y" | "yes");
            return agreed.then(|| Value::Object(Map::new()));
        }
        self.note("(an empty line takes what is in brackets; ! declines)");
        let mut data = Map::new();
        for field in fields {
            loop {
                let question = field.question();
                let answer = if question.len() > MAX_SENTENCE {
                    self.show(&argument_rows::text(&question)).ok()?;
                    self.ask("answer: ")?
                } else {
                    // Marked as the server's, as the rows of a long one are.
                    self.ask(&format!("> {question}"))?
                };
                if answer.trim() == "!" {
                    return None;
                }
                match field.read(&answer) {
                    Ok(value) => {
                        data.extend(value.map(|value| (field.name().to_owned(), value)));
                        break;
                    }
                    Err(reason) => self.note(&reason),
                }
            }
        }
        Some(Value::Object(data))
    }

    /// Shows all rows of an elicitation.
    fn show(&mut self, rows: &[String]) -> Result<(), Declined<()>> {
        self.show_all(rows, "! declines", |answer| (answer == "!").then_some(()))
    }

    /// Shows all rows, page by page. Between pages the user may give an answer that `refusal` accepts;
    /// `choices` names these answers.
    ///
    /// # Errors
    /// That answer, or `None` if there is none.
    fn show_all<T>(
        &mut self,
        rows: &[String],
        choices: &str,
        refusal: impl Fn(&str) -> Option<T>,
    ) -> Result<(), Declined<T>> {
        let mut on_page = 0;
        let mut size = 0;
        let mut paged = true;
        for (n, row) in rows.iter().enumerate() {
            let length = row.chars().count();
            if paged && on_page > 0 && (on_page == MAX_PAGE.0 || size + length > MAX_PAGE.1) {
                let shown = format!("{n} of {} rows", rows.len());
                let question = format!("{shown}: Enter shows more, [w]hole the rest; {choices}: ");
                loop {
                    let answer = self.ask(&question).ok_or(Declined(None))?;
                    match answer.trim() {
                        "" => break,
                        "w" | "W" | "whole" => {
                            paged = false;
                            break;
                        }
                        answer => match refusal(answer) {
                            Some(answer) => return Err(Declined(Some(answer))),
                            None => self.note("the rest has not been shown yet"),
                        },
                    }
                }
                (on_page, size) = (0, 0);
            }
            self.note(row);
            on_page += 1;
            size += length;
        }
        Ok(())
    }

    /// Displays text or thoughts as they arrive.
    fn stream(&mut self, text: &str, column: Column) {
        let thought = column == Column::InThought;
        if self.state.column != column {
            self.begin_line();
            if thought && self.terminal {
                self.write(DIM);
            }
        }
        let text = strip_invisible(text);
        if text.is_empty() {
            return;
        }
        // In a pipe, stdout gets only the answer itself.
        if thought && !self.terminal {
            let _ = self.err.write_all(text.as_bytes());
        } else {
            self.write(&text);
        }
        self.state.column = if text.ends_with('\n') && !thought {
            Column::First
        } else {
            column
        };
    }

    /// Ends the current line, and the thought on it.
    fn begin_line(&mut self) {
        match std::mem::take(&mut self.state.column) {
            Column::First => {}
            Column::InText => self.write("\n"),
            Column::InThought if self.terminal => self.write(&format!("{RESET}\n")),
            Column::InThought => {
                let _ = self.err.write_all(b"\n");
            }
        }
    }

    /// Displays one line of the conversation.
    fn line(&mut self, text: &str) {
        if self.state.beside {
            return self.note(&shorten(text));
        }
        self.begin_line();
        self.write(&format!("{}\n", shorten(text)));
    }

    /// Displays one line beside the conversation; the text is printable already.
    fn note(&mut self, text: &str) {
        self.begin_line();
        self.flush();
        // A closed stderr is not an error.
        let _ = writeln!(self.err, "{text}");
    }

    /// Asks the user; `None` if there is no answer.
    fn ask(&mut self, text: &str) -> Option<String> {
        self.begin_line();
        self.flush();
        let _ = self.err.write_all(text.as_bytes());
        let _ = self.err.flush();
        let answer = self.input.answer(self.cancel);
        if answer.is_none() {
            let _ = self.err.write_all(b"\n");
        }
        answer
    }

    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        self.check(written);
    }

    /// Cancels the turn if the output cannot be written.
    fn check(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.state.unprinted.get_or_insert(error);
            self.cancel.cancel();
        }
    }
}

fn confirmation(answer: &str) -> Option<Confirmation> {
    match answer {
        "y" | "Y" | "yes" => Some(Confirmation::AllowOnce),
        "a" | "A" | "always" => Some(Confirmation::AlwaysAllow),
        "n" | "N" | "no" => Some(Confirmation::DenyOnce),
        "v" | "V" | "never" => Some(Confirmation::AlwaysDeny),
        "c" | "C" | "cancel" => Some(Confirmation::Cancel),
        _ => None,
    }
}

/// One line of at most [`WIDTH`] characters.
fn shorten(text: &str) -> String {
    let line = printable(text, WIDTH);
    match line.char_indices().nth(WIDTH) {
        None => line,
        Some(_) => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

fn result(response: &ToolResponse) -> String {
    let value = match &response.tool_result {
        Outcome::Error { error } => return format!("← error {error}"),
        Outcome::Success { value } => value,
    };
    let parts = value.content.iter().map(|part| {
        let part: Value = crate::json::from_str(part.as_json()).unwrap_or_default();
        part["text"].as_str().map(str::to_owned)
    });
    let (texts, others): (Vec<_>, Vec<_>) = parts.partition(Option::is_some);
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    if value.is_error == Some(true) {
        return format!("← error {}", texts.join(" "));
    }
    let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
    match others.len() {
        0 => format!("← ok {characters} chars"),
        n => format!("← ok {characters} chars and {n} other parts"),
    }
}

/// One line for a notification of a running call.
fn notification(message: &RawJson) -> Option<String> {
    let message: Value = crate::json::from_str(message.get()).ok()?;
    let params = &message["params"];
    let line = match message["method"].as_str()? {
        "notifications/progress" => {
            let text = params["message"].as_str().unwrap_or_default();
            match &params["total"] {
                Value::Null => format!("{} {text}", params["progress"]),
                total => format!("{}/{total} {text}", params["progress"]),
            }
        }
        "notifications/message" => {
            let level = params["level"].as_str().unwrap_or("info");
            let data = &params["data"];
            let text = data.as_str().map_or(data.to_string(), str::to_owned);
            format!("{level}: {text}")
        }
        other => other.to_owned(),
    };
    Some(format!("· {}", shorten(line.trim_end())))
}

#[cfg(test)]
mod tests;
