//! A client with types: who it is, what it declares, its calls, and what it hears.

mod support;

use gosling::mcp::client::NotificationHandler;
use gosling::mcp::server::memory::{self, Outbox};
use gosling::mcp::server::{Context, InProcess, Level, Server, Tool, ToolError};
use gosling::mcp::typed::{Call, CallError, ClientBuilder, DataError, Event, Part};
use gosling::mcp::types::{CallToolResult, Content, CreateMessageResult, ElicitResult};
use gosling::mcp::{Cancel, Client, Error};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use support::{TEST_TIMEOUT, until};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sum {
    sum: i64,
}

fn failed(error: impl ToString) -> ToolError {
    ToolError::Failed(error.to_string())
}

fn calculator() -> Server {
    let add = |of: Numbers, context: &Context| {
        context.progress(0.5, Some(1.0), Some("half"));
        context.log(Level::Warning, json!({"a": of.a}));
        let sum = of.a.checked_add(of.b).ok_or_else(|| failed("too large"))?;
        CallToolResult::structured(&Sum { sum })
    };
    let ask = |_: IgnoredAny, context: &Context| {
        let answer = context.elicit("Who?", &json!({"type": "object", "properties": {}}));
        let roots = context.roots().map_err(failed)?;
        let sampled = context.sample(
            &serde_json::from_value(json!({"messages": [], "maxTokens": 1})).map_err(failed)?,
        );
        Ok(CallToolResult::text(format!(
            "{:?} {} {}",
            answer.map_err(failed)?.action,
            roots[0].uri,
            sampled
                .err()
                .map_or_else(String::new, |error| error.to_string())
        )))
    };
    Server::new("calculator", "1")
        .logging()
        .tool(Tool::new("add", "", add))
        .tool(Tool::new("ask", "", ask))
}

fn builder() -> ClientBuilder {
    Client::builder("mcp-typed", "2.1").server_name("peer")
}

#[test]
fn a_call_takes_and_returns_types() {
    let client = builder().connect(InProcess::new(calculator())).unwrap();
    let result = client.call_tool("add", &Numbers { a: 2, b: 3 }).unwrap();
    assert_eq!(result.data::<Sum>().unwrap(), Sum { sum: 5 });
    assert_eq!(result.all_text(), r#"{"sum":5}"#);
    let by_map = client.call_tool("add", &BTreeMap::from([("a", 1), ("b", 1)]));
    assert_eq!(by_map.unwrap().data::<Sum>().unwrap(), Sum { sum: 2 });
    match result.data::<Numbers>() {
        Err(DataError::Mismatch(why)) => assert!(why.contains("missing field `a`"), "{why}"),
        other => panic!("{other:?}"),
    }

    // A tool that failed, arguments that it refuses, and a tool that is unknown are three things.
    let tool = client.call_tool("add", &Numbers { a: i64::MAX, b: 1 });
    let tool = tool.unwrap_err();
    assert_eq!(tool.to_string(), "the tool failed: too large");
    assert!(matches!(tool, CallError::Tool(result) if result.all_text() == "too large"));
    let unknown = client.call_tool("nosuch", &json!({})).unwrap_err();
    assert!(
        matches!(unknown, CallError::Client(Error::Rpc { .. })),
        "{unknown}"
    );
    for (arguments, kind) in [
        (json!([1, 2]), "an array"),
        (json!("a"), "a string"),
        (json!(null), "null"),
    ] {
        let refused = client.call_tool("add", &arguments).unwrap_err();
        let expected = format!("the arguments are not a JSON object: they are {kind}");
        assert_eq!(refused.to_string(), expected);
        assert!(matches!(refused, CallError::Arguments(_)));
    }
    let no_key = BTreeMap::from([([1_u8], 1)]);
    let refused = client.call_tool("add", &no_key).unwrap_err();
    assert!(matches!(refused, CallError::Arguments(_)), "{refused}");
    client.close();
    let late = client
        .call_tool("add", &Numbers { a: 1, b: 1 })
        .unwrap_err();
    assert!(
        matches!(late, CallError::Client(Error::Unsent(_))),
        "{late}"
    );
}

/// A server that answers `initialize` and lets the test say the rest.
struct Peer {
    outbox: Outbox,
    heard: Receiver<Value>,
}

impl Peer {
    fn connect(builder: ClientBuilder) -> (Client, Peer) {
        let (transport, end) = memory::pair();
        let outbox = end.outbox();
        let (sender, heard) = channel();
        let answers = outbox.clone();
        thread::spawn(move || {
            while let Some(message) = end.recv() {
                let message: Value = serde_json::from_slice(&message).unwrap();
                if message["method"] == "initialize" {
                    let result = json!({
                        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "peer", "version": "1"},
                    });
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                    answers.send(answer.to_string().as_bytes());
                }
                let _ = sender.send(message);
            }
        });
        let client = builder.connect(transport).unwrap();
        (client, Peer { outbox, heard })
    }

    fn next(&self) -> Value {
        self.heard.recv_timeout(TEST_TIMEOUT).expect("a message")
    }

    fn say(&self, message: Value) {
        self.outbox.send(message.to_string().as_bytes());
    }

    fn notify(&self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
}

#[test]
fn a_client_says_who_it_is_and_declares_what_it_was_given() {
    let declared = |builder: ClientBuilder| {
        let (_client, peer) = Peer::connect(builder);
        let params = peer.next()["params"].take();
        let own = json!({"name": "mcp-typed", "version": "2.1"});
        assert_eq!(params["clientInfo"], own);
        params["capabilities"].clone()
    };
    let form = |_, _: &Cancel| Ok(ElicitResult::decline());
    let no_model = |_, _: &Cancel| Err(gosling::mcp::jsonrpc::ErrorObject::new(-1, "no"));
    let elicitation = json!({"form": {}, "url": {}});
    assert_eq!(declared(builder()), json!({}));
    assert_eq!(
        declared(builder().on_elicit(form)),
        json!({"elicitation": elicitation})
    );
    assert_eq!(
        declared(builder().on_sample(no_model)),
        json!({"sampling": {}})
    );
    assert_eq!(
        declared(builder().on_sample(no_model).on_elicit(form).roots([])),
        json!({"sampling": {}, "elicitation": elicitation, "roots": {}})
    );
}

/// Elicitation alone: what was not declared is refused, even to a server that asks all the same.
#[test]
fn a_client_without_a_model_answers_forms() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = asked.clone();
    let with_form = |roots: bool| {
        let notes = notes.clone();
        let builder = builder().on_elicit(move |params, _| {
            notes.lock().unwrap().push(params.message);
            Ok(ElicitResult::accept([("name", "Ann")]))
        });
        let here = serde_json::from_value(json!({"uri": "file:///here"})).unwrap();
        if roots {
            builder.roots([here])
        } else {
            builder
        }
    };
    let client = with_form(true)
        .connect(InProcess::new(calculator()))
        .unwrap();
    let said = client.call_tool("ask", &json!({})).unwrap().all_text();
    assert_eq!(said, "Accept file:///here the client has no sampling");

    let (_client, peer) = Peer::connect(with_form(false));
    let ask = |id: i64, method: &str, params: Value| {
        peer.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = until("the answer comes", || {
            Some(peer.next()).filter(|message| message["id"] == id)
        });
        answer["error"]["code"].clone()
    };
    let sampling = json!({"messages": [], "maxTokens": 1});
    assert_eq!(ask(70, "sampling/createMessage", sampling), -32601);
    assert_eq!(ask(71, "roots/list", json!({})), -32601);
    let form = json!({"message": "Again?", "requestedSchema": {"type": "object"}});
    assert_eq!(ask(72, "elicitation/create", form), Value::Null);
    assert_eq!(*asked.lock().unwrap(), ["Who?", "Again?"]);
}

#[test]
fn a_client_with_a_model_answers_for_it() {
    let builder = builder().on_sample(|params, _| {
        assert_eq!(params.max_tokens, 1);
        Ok(CreateMessageResult::text("m", "Ho"))
    });
    let (_client, peer) = Peer::connect(builder);
    let params = json!({"messages": [], "maxTokens": 1});
    peer.say(
        json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": params}),
    );
    let answer = until("the answer comes", || {
        Some(peer.next()).filter(|message| message["id"] == 7)
    });
    let text = json!({"type": "text", "text": "Ho"});
    assert_eq!(
        answer["result"],
        json!({"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"})
    );
    let dismissed = serde_json::to_value(ElicitResult::dismiss()).unwrap();
    assert_eq!(dismissed, json!({"action": "cancel"}));
}

#[test]
fn progress_and_logs_of_a_call_come_as_types() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let of_server = events.clone();
    let builder = builder().on_event(move |event| of_server.lock().unwrap().push(event));
    let client = builder.connect(InProcess::new(calculator())).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = heard.clone();
    let call = Call::new().on_progress(move |progress| {
        notes
            .lock()
            .unwrap()
            .push((progress.progress, progress.message));
    });
    let numbers = Numbers { a: 1, b: 2 };
    client
        .call_tool_with("add", &numbers, call.clone())
        .unwrap();
    assert_eq!(*heard.lock().unwrap(), [(0.5, Some("half".to_owned()))]);
    // The log has no callback in this call, so it is an event.
    match &events.lock().unwrap()[..] {
        [Event::Log(log)] => assert_eq!(
            (log.level.as_str(), log.data.get()),
            ("warning", r#"{"a":1}"#)
        ),
        other => panic!("{other:?}"),
    }
    let logs = Arc::new(Mutex::new(Vec::new()));
    let notes = logs.clone();
    let call = call.on_log(move |log| notes.lock().unwrap().push(log.logger));
    client.call_tool_with("add", &numbers, call).unwrap();
    assert_eq!(*logs.lock().unwrap(), [Some("add".to_owned())]);
    assert_eq!(events.lock().unwrap().len(), 1);

    let gone = Cancel::new();
    gone.cancel();
    let cancelled = client.call_tool_with("add", &numbers, Call::new().cancel(&gone));
    let cancelled = cancelled.unwrap_err();
    assert!(
        matches!(cancelled, CallError::Client(Error::Cancelled { .. })),
        "{cancelled}"
    );
}

#[test]
fn changes_of_lists_are_events() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = events.clone();
    let builder = builder().on_event(move |event| {
        let said = match event {
            Event::ToolsChanged => "tools".to_owned(),
            Event::ResourcesChanged => "resources".to_owned(),
            Event::PromptsChanged => "prompts".to_owned(),
            Event::ResourceUpdated(uri) => uri,
            Event::Log(log) => log.data.get().to_owned(),
            Event::Other { method, .. } => method,
            _ => "unknown".to_owned(),
        };
        heard.lock().unwrap().push(said);
    });
    let (_client, peer) = Peer::connect(builder);
    for kind in ["tools", "resources", "prompts"] {
        peer.notify(&format!("notifications/{kind}/list_changed"), json!({}));
    }
    peer.notify("notifications/resources/updated", json!({"uri": "a://b"}));
    peer.notify("notifications/resources/updated", json!({"uri": 1}));
    peer.notify(
        "notifications/message",
        json!({"level": "info", "data": [1]}),
    );
    peer.notify("notifications/message", json!({"level": 7}));
    peer.notify("notifications/own", json!({}));
    assert_eq!(
        *events.lock().unwrap(),
        [
            "tools",
            "resources",
            "prompts",
            "a://b",
            "notifications/resources/updated",
            "[1]",
            "notifications/message",
            "notifications/own",
        ]
    );
    // A handler by hand reads the same.
    struct ByHand(Mutex<bool>);
    impl NotificationHandler for ByHand {
        fn notification(
            &self,
            method: &str,
            params: Option<&serde_json::value::RawValue>,
            _: Option<i64>,
        ) {
            *self.0.lock().unwrap() = matches!(Event::read(method, params), Event::ToolsChanged);
        }
    }
    let by_hand = ByHand(Mutex::new(false));
    by_hand.notification("notifications/tools/list_changed", None, None);
    assert!(*by_hand.0.lock().unwrap());
}

fn content(parts: Value) -> CallToolResult {
    let content: Vec<Content> = serde_json::from_value(parts).unwrap();
    CallToolResult {
        content,
        ..CallToolResult::default()
    }
}

#[test]
fn content_comes_as_types() {
    let result = content(json!([
        {"type": "text", "text": "a", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "AAEC", "mimeType": "image/png"},
        {"type": "audio", "data": "/w==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///x", "name": "x"},
        {"type": "resource", "resource": {"uri": "file:///y", "text": "in it"}},
        {"type": "resource", "resource": {"uri": "file:///z", "blob": "AA=="}},
        {"type": "hologram", "data": 1},
        {"type": "text", "text": "b"},
    ]));
    let parts: Vec<Part> = result.parts().map(Result::unwrap).collect();
    match &parts[..] {
        [
            Part::Text(a),
            Part::Image(image),
            Part::Audio(audio),
            Part::ResourceLink(link),
            Part::Resource(text),
            Part::Resource(blob),
            Part::Other(kind),
            Part::Text(_),
        ] => {
            assert_eq!((a.as_str(), kind.as_str()), ("a", "hologram"));
            assert_eq!(image.bytes().unwrap(), [0, 1, 2]);
            assert_eq!(
                (audio.bytes().unwrap(), audio.mime_type.as_str()),
                (vec![255], "audio/wav")
            );
            assert_eq!(link.uri, "file:///x");
            assert_eq!(text.bytes().unwrap(), b"in it");
            assert_eq!(blob.bytes().unwrap(), [0]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(result.all_text(), "a\nb");
    let annotations = result.content[0].annotations();
    assert_eq!(
        (annotations.audience.concat(), annotations.priority),
        ("user".to_owned(), Some(0.5))
    );
    assert_eq!(result.content[1].annotations().audience.len(), 0);
}

#[test]
fn content_that_lacks_what_its_type_has_is_an_error() {
    let wrong = content(json!([
        {"type": "text"},
        {"type": "image", "data": "AAEC"},
        {"type": "audio", "data": 1, "mimeType": "audio/wav"},
        {"type": "resource_link", "name": "no address"},
        {"type": "resource", "resource": "x"},
    ]));
    for (part, kind) in wrong
        .parts()
        .zip(["text", "image", "audio", "resource_link", "resource"])
    {
        let said = part.unwrap_err().to_string();
        let begin = format!("a part of the content is wrong: {kind}: ");
        assert!(said.starts_with(&begin), "{said}");
    }
    assert_eq!(wrong.all_text(), "");
    let odd = content(json!([
        {"type": "image", "data": "not base64", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://b", "blob": "*"}},
        {"type": "resource", "resource": {"uri": "a://b"}},
        {"type": "text", "text": "t", "annotations": {"audience": "everyone"}},
    ]));
    let told: Vec<String> = odd
        .parts()
        .filter_map(|part| match part.unwrap() {
            Part::Image(media) => Some(media.bytes().unwrap_err().to_string()),
            Part::Resource(contents) => Some(contents.bytes().unwrap_err().to_string()),
            _ => None,
        })
        .collect();
    assert!(told[0].contains("`data` is not base64"), "{told:?}");
    assert!(told[1].contains("`blob` is not base64"), "{told:?}");
    assert!(told[2].contains("neither `text` nor `blob`"), "{told:?}");
    assert_eq!(odd.content[3].annotations().audience.len(), 0);
    assert_eq!(
        content(json!([])).data::<Value>().unwrap_err(),
        DataError::Missing
    );
}
