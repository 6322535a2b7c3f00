//! The turn of the demonstration: the script, the request, and a summary of the events. No I/O.

use serde_json::{Value as Json, json};

/// The script of the model: it makes this call and repeats the result.
pub(super) fn script(call: Option<&(String, Json)>) -> Json {
    let steps = match call {
        Some((name, arguments)) => json!([
            {"text": "I will ask a tool. ", "chunks": 4},
            {"call": {"name": name, "arguments": arguments}},
            {"text": "It says: {{last_result}}", "chunks": 4},
        ]),
        None => json!([{"text": "There is no tool that I could ask."}]),
    };
    json!({"name": "Demonstration", "turns": [{"steps": steps}]})
}

/// The body of `POST /reply`.
pub(super) fn question(session: &str, text: &str, created: i64) -> Json {
    json!({
        "session_id": session,
        "user_message": {
            "role": "user",
            "created": created,
            "content": [{"type": "text", "text": text}],
            "metadata": {"userVisible": true, "agentVisible": true},
        },
    })
}

/// The summary of a turn's events.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TurnSummary {
    /// One line for each text, call and result; the chunks of a text are joined.
    pub(super) lines: Vec<String>,
    /// The number of tool responses.
    pub(super) results: usize,
    /// Whether the turn has finished.
    pub(super) finished: bool,
}

pub(super) fn summarize(events: &[Json]) -> TurnSummary {
    let mut summary = TurnSummary::default();
    let mut text = String::new();
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "Message" => {
                let parts = event["message"]["content"].as_array();
                for part in parts.into_iter().flatten() {
                    summary.part(part, &mut text);
                }
            }
            "Error" => {
                summary.end_text(&mut text);
                let line = format!("error: {}", quoted(&event["error"]));
                summary.lines.push(line);
            }
            "Finish" => summary.finished = true,
            _ => {}
        }
    }
    summary.end_text(&mut text);
    summary
}

impl TurnSummary {
    fn part(&mut self, part: &Json, text: &mut String) {
        match part["type"].as_str().unwrap_or_default() {
            "text" => text.push_str(part["text"].as_str().unwrap_or_default()),
            "toolRequest" => {
                self.end_text(text);
                let call = &part["toolCall"]["value"];
                let name = quoted(&call["name"]);
                let arguments = &call["arguments"];
                self.lines
                    .push(format!("the model calls {name} {arguments}"));
            }
            "toolResponse" => {
                self.end_text(text);
                self.results += 1;
                let result = &part["toolResult"];
                let first = &result["value"]["content"][0];
                let answer = match (first["text"].as_str(), result["error"].as_str()) {
                    (Some(text), _) => text.to_owned(),
                    (None, Some(error)) => format!("error: {error}"),
                    (None, None) => first.to_string(),
                };
                self.lines.push(format!("the tool answers {answer}"));
            }
            _ => {}
        }
    }

    fn end_text(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.lines.push(format!("the model says {}", text.trim()));
            text.clear();
        }
    }
}

fn quoted(text: &Json) -> String {
    text.as_str().map_or(text.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
