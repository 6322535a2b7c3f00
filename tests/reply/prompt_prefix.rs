//! What goes back to the model begins as it was sent before: providers cache it, and some refuse their own reasoning
//! behind anything that changed.

use crate::model_server::{ModelServer, Reply, says};
use crate::support::client::KEY;
use crate::support::scripted::Script;
use crate::support::server::{Extension, Server};
use serde_json::{Value, json};
use std::fs;

const TURNS: usize = 30;

/// A provider of gosling, and how its protocol looks.
struct Wire {
    provider: &'static str,
    host: &'static str,
    model: &'static str,
    /// The fields of a request that a provider caches, in the order in which it reads them.
    parts: &'static [&'static str],
    /// A response with a call of `todo_write` with this list, and one with a text.
    call: fn(&str) -> Reply,
    text: fn() -> Reply,
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn events(all: &[Value]) -> Reply {
    Reply::stream(all.iter().map(event).collect::<String>())
}

const WIRES: &[Wire] = &[
    Wire {
        provider: "openai",
        host: "OPENAI_HOST",
        model: "m",
        parts: &["/tools", "/messages"],
        call: chat_call,
        text: || Reply::stream(says(&["Fine."])),
    },
    Wire {
        provider: "openrouter",
        host: "OPENROUTER_HOST",
        model: "anthropic/claude-sonnet-5",
        parts: &["/tools", "/messages"],
        call: chat_call,
        text: || Reply::stream(says(&["Fine."])),
    },
    #[cfg(feature = "anthropic")]
    Wire {
        provider: "anthropic",
        host: "ANTHROPIC_HOST",
        model: "claude-sonnet-5",
        parts: &["/tools", "/system", "/messages"],
        call: |list| {
            let call = json!({"type": "tool_use", "id": "c", "name": "todo__todo_write", "input": {"content": list}});
            claude(&[
                json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}),
                call,
            ])
        },
        text: || claude(&[json!({"type": "text", "text": "Fine."})]),
    },
    #[cfg(feature = "google")]
    Wire {
        provider: "google",
        host: "GOOGLE_HOST",
        model: "gemini-2.5-pro",
        parts: &["/systemInstruction", "/tools", "/contents"],
        call: |list| {
            gemini(
                &json!({"functionCall": {"name": "todo__todo_write", "args": {"content": list}}}),
            )
        },
        text: || gemini(&json!({"text": "Fine."})),
    },
    #[cfg(feature = "ollama")]
    Wire {
        provider: "ollama",
        host: "OLLAMA_HOST",
        model: "qwen3",
        parts: &["/tools", "/messages"],
        call: |list| {
            let call =
                json!([{"function": {"name": "todo__todo_write", "arguments": {"content": list}}}]);
            line(&json!({"message": {"content": "", "tool_calls": call}, "done": true}))
        },
        text: || line(&json!({"message": {"content": "Fine."}, "done": true})),
    },
    Wire {
        provider: "openai",
        host: "OPENAI_HOST",
        model: "responses",
        parts: &["/tools", "/instructions", "/input"],
        call: |list| {
            let arguments = json!({"content": list}).to_string();
            response(&json!({"type": "function_call", "id": "i", "call_id": "c",
                "name": "todo__todo_write", "arguments": arguments}))
        },
        text: || {
            response(&json!({"type": "message", "id": "i", "role": "assistant",
                "content": [{"type": "output_text", "text": "Fine."}]}))
        },
    },
];

fn chat_call(list: &str) -> Reply {
    let arguments = json!({"content": list}).to_string();
    let call = json!([{"index": 0, "id": "c", "type": "function",
        "function": {"name": "todo__todo_write", "arguments": arguments}}]);
    events(&[json!({"choices": [{"delta": {"tool_calls": call}, "finish_reason": "tool_calls"}]})])
}

#[cfg(feature = "anthropic")]
fn claude(blocks: &[Value]) -> Reply {
    let mut all = vec![json!({"type": "message_start", "message": {"id": "m"}})];
    for (index, block) in blocks.iter().enumerate() {
        all.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
    }
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    all.push(json!({"type": "message_stop"}));
    events(&all)
}

#[cfg(feature = "google")]
fn gemini(part: &Value) -> Reply {
    events(&[json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})])
}

#[cfg(feature = "ollama")]
fn line(message: &Value) -> Reply {
    Reply::json("200 OK", &format!("{message}\n"))
}

fn response(item: &Value) -> Reply {
    events(&[
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}}),
    ])
}

/// What a provider reads of a request, in its order, without the marks for its cache. A text that has one stands in a
/// list of parts, and is the same text.
fn read(wire: &Wire, body: &Value) -> String {
    let mut read = String::new();
    for part in wire.parts {
        let mut part = body.pointer(part).cloned().unwrap_or_default();
        without_cache_control(&mut part);
        read += &part.to_string();
    }
    // The next request goes on here.
    read.strip_suffix(']').unwrap_or(&read).to_owned()
}

fn without_cache_control(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_cache_control);
            fields.remove("cache_control");
            let only = fields
                .get("content")
                .and_then(|content| content.pointer("/0/text"));
            if let Some(Value::String(text)) = only
                && fields["content"]
                    .as_array()
                    .is_some_and(|parts| parts.len() == 1)
            {
                fields["content"] = text.clone().into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_cache_control),
        _ => {}
    }
}

#[test]
fn each_request_begins_with_the_one_before_it() {
    println!("protocol, requests, bytes, of them the next one's prefix, breaks");
    for wire in WIRES {
        let (call, text) = (wire.call, wire.text);
        // The model calls once for each message that wants it.
        let model = ModelServer::with(move |seen| {
            let count = |text: &str| seen.body.matches(text).count();
            match (count("write it"), count("[ ] step")) {
                (wanted, called) if wanted > called => call(&format!("- [ ] step {wanted}")),
                _ => text(),
            }
        });
        let mut server = Server::new()
            .env("GOOSE_PROVIDER", wire.provider)
            .env("GOOSE_MODEL", wire.model)
            .env("GOOSE_AUTO_COMPACT_THRESHOLD", "0")
            .env(wire.host, &model.url);
        if wire.model == "responses" {
            server = server.env("OPENAI_BASE_PATH", "v1/responses");
        }
        for key in [
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "ANTHROPIC_API_KEY",
            "GOOGLE_API_KEY",
        ] {
            server = server.env(key, KEY);
        }
        let server = server.start();
        fs::write(server.work().join("AGENTS.md"), "Use tabs.").unwrap();
        let session = server.session([Extension::builtin("todo")]);
        for turn in 0..TURNS {
            match turn {
                5 => fs::write(server.work().join("AGENTS.md"), "Use spaces.").unwrap(),
                10 | 13 => {
                    let mode = if turn == 10 { "approve" } else { "auto" };
                    let mode = json!({"goose_mode": mode});
                    session.post("/agent/update_session", mode).is(200);
                }
                15 => {
                    let another = Extension::scripted("another", &Script::new());
                    session.add(another).is(200);
                }
                20 => {
                    let list = json!({"content": "- [ ] by another client"});
                    session.call("todo__todo_write", list).is(200);
                }
                _ => {}
            }
            let text = if turn % 5 == 4 { "write it" } else { "go on" };
            session.say(text).finishes();
        }
        // The request for the session's name has no tools.
        let mut bodies = model.bodies();
        bodies.retain(|body| body["tools"].is_array());
        assert!(bodies.len() > TURNS, "{}", bodies.len());
        let marked = bodies
            .iter()
            .filter(|body| body.to_string().contains("cache_control"));
        let is_marked = wire.model.contains("claude");
        assert_eq!(marked.count(), if is_marked { bodies.len() } else { 0 });
        let all: Vec<String> = bodies.iter().map(|body| read(wire, body)).collect();
        let (mut bytes, mut prefix, mut breaks) = (0, 0, Vec::new());
        for (n, pair) in all.windows(2).enumerate() {
            let [before, next] = pair else { continue };
            let same = (before.bytes().zip(next.bytes()))
                .take_while(|(a, b)| a == b)
                .count();
            bytes += before.len();
            prefix += same;
            if same < before.len() {
                breaks.push(n + 1);
            }
        }
        println!(
            "{} {}, {}, {bytes}, {prefix}, {breaks:?}",
            wire.provider,
            wire.model,
            all.len()
        );
        // The extension that was added.
        assert_eq!(
            breaks.len(),
            1,
            "{} {}: {breaks:?}",
            wire.provider,
            wire.model
        );
        let last = all.last().unwrap();
        for told in ["Use spaces.", "asked before each call", "by another client"] {
            assert!(last.contains(told), "{} is not told {told}", wire.provider);
        }
        if wire.provider == "anthropic" {
            // The thinking behind the extension that was added.
            assert_eq!(last.matches("Hm.").count(), 3);
        }
    }
}
