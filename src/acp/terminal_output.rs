//! The output of a running command, as updates of its tool call.

use super::updates::text_content;
use crate::mcp::jsonrpc::RawJson;
use crate::text::{fenced_block, strip_invisible};
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
    sent: Option<Instant>,
}

/// A line that `shell` sends while the command runs.
#[derive(Deserialize)]
struct Notification {
    method: String,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "type")]
    kind: String,
    output: String,
}

/// The line of output in a notification of a tool call, if it is one.
pub(super) fn line_in(notification: &RawJson) -> Option<String> {
    let notification: Notification = crate::json::from_str(notification.get()).ok()?;
    let Data { kind, output } = notification.params.data;
    (notification.method == "notifications/message" && kind == "shell_output").then_some(output)
}

impl TerminalOutput {
    /// Adds a line. Returns the update, if one is due: for a client that shows terminals in `_meta` the line,
    /// for others the end of the output.
    pub(super) fn add(&mut self, call: &str, line: &str, in_meta: bool) -> Option<Value> {
        let line = format!("{}\n", strip_invisible(line.trim_end_matches(['\r', '\n'])));
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
        let from = self
            .tail
            .ceil_char_boundary(self.tail.len().saturating_sub(SHOWN));
        let shown = fenced_block("console", &self.tail[from..]);
        Some(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "content": [text_content(&shown)],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_show_the_end_of_the_output_at_intervals() {
        let mut output = TerminalOutput::default();
        let first = output.add("1", "a\u{1b}[1m\r", false).unwrap();
        let text = first["content"][0]["content"]["text"].as_str().unwrap();
        assert_eq!(text, "```console\na[1m\n```\n");
        assert_eq!(output.add("1", "b", false), None);
        for _ in 0..10_000 {
            output.add("1", "é", false);
        }
        assert!(output.tail.len() <= 2 * SHOWN);
        let line = output.add("1", "c", true).unwrap();
        assert_eq!(line["_meta"]["terminal_output"]["data"], "c\n");
    }
}
