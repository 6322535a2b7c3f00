//! The output of a running command, as updates of its tool call.

use super::updates::{self, text_content};
use crate::conversation::Outcome;
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::CallToolResult;
use crate::text::strip_invisible;
use gosling_shared::fenced_block;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How much of the output an update shows, in bytes.
const SHOWN: usize = 8 << 10;
/// The least time between two updates of one command, since each has all that is shown.
const INTERVAL: Duration = Duration::from_millis(200);

/// The end of a command's output so far.
#[derive(Default)]
pub(super) struct TerminalOutput {
    tail: String,
    /// The length of the lines that were sent in `_meta`, in bytes.
    sent_bytes: usize,
    sent: Option<Instant>,
}

/// The structured content of a result of `shell`.
#[derive(Default, Deserialize)]
struct CommandEnd {
    exit_code: Option<i32>,
    signal: Option<Value>,
    #[serde(default)]
    truncated: bool,
}

/// The line of output in a notification of a tool call, if it is one.
pub(super) fn line_in(notification: &RawJson) -> Option<String> {
    let notification: Value = crate::json::from_str(notification.get()).ok()?;
    let data = &notification["params"]["data"];
    let is_line =
        notification["method"] == "notifications/message" && data["type"] == "shell_output";
    data["output"]
        .as_str()
        .filter(|_| is_line)
        .map(str::to_owned)
}

impl TerminalOutput {
    /// Adds a line. Returns the update, if one is due: for a client that shows terminals in `_meta` the line,
    /// for others the end of the output.
    pub(super) fn add(&mut self, call: &str, line: &str, in_meta: bool) -> Option<Value> {
        let line = line.trim_end_matches(['\r', '\n']);
        self.sent_bytes += line.len();
        let line = format!("{}\n", strip_invisible(line));
        if in_meta {
            return Some(json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": call,
                "_meta": {"terminal_output": {"terminal_id": call, "data": line}},
            }));
        }
        self.tail.push_str(&line);
        if self.tail.len() > 2 * SHOWN {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - SHOWN);
            self.tail.drain(..cut);
        }
        if self.sent.is_some_and(|sent| sent.elapsed() < INTERVAL) {
            return None;
        }
        self.sent = Some(Instant::now());
        Some(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "content": self.shown(),
        }))
    }

    /// The end of the output so far, as contents of a tool call.
    pub(super) fn shown(&self) -> Vec<Value> {
        if self.tail.is_empty() {
            return Vec::new();
        }
        let from = self.tail.len().saturating_sub(SHOWN);
        let from = self.tail.ceil_char_boundary(from);
        vec![text_content(&fenced_block("console", &self.tail[from..]))]
    }

    /// The same if the result has no output: the command was cancelled.
    pub(super) fn shown_without_end(&self, result: &CallToolResult) -> Vec<Value> {
        if result.structured_content.is_none() && result.is_error == Some(true) {
            self.shown()
        } else {
            Vec::new()
        }
    }

    /// The end of the command in the `_meta` of an update, with the end of the output if not all of it was sent
    /// before, or the reason why the call failed.
    pub(super) fn end_in_meta(&self, call: &str, result: &Outcome<CallToolResult>) -> Value {
        let end = result.value().and_then(|it| it.structured_content.as_ref());
        let end: Option<CommandEnd> = end.and_then(|end| crate::json::from_str(end.get()).ok());
        let rest = match (result, &end) {
            (Outcome::Success { value }, Some(end)) => {
                let text = updates::text_for("assistant", value);
                let mut lines: Vec<&str> = text.lines().collect();
                if end.exit_code != Some(0) {
                    // It tells how the command failed.
                    lines.pop();
                }
                let bytes: usize = lines.iter().map(|line| line.len()).sum();
                let is_whole = self.sent_bytes >= bytes && !end.truncated;
                (!is_whole).then(|| updates::text_for("user", value))
            }
            (Outcome::Success { value }, None) => Some(updates::text_for("user", value)),
            (Outcome::Error { error }, _) => Some(error.clone()),
        };
        let CommandEnd {
            exit_code, signal, ..
        } = end.unwrap_or_default();
        let signal = signal.map(|signal| match signal {
            Value::String(name) => name,
            number => number.to_string(),
        });
        let mut meta = json!({"terminal_exit": {
            "terminal_id": call, "exit_code": exit_code, "signal": signal,
        }});
        if let Some(rest) = rest {
            let data = format!("\n{}\n", strip_invisible(rest.trim_end()));
            meta["terminal_output"] = json!({"terminal_id": call, "data": data});
        }
        meta
    }
}

#[cfg(test)]
mod tests;
