//! The extensions of a session, used through the library with scripted servers.

mod support;

use gosling::builtin::SessionData;
use gosling::extension::{
    Containers, Context, ExtensionConfig, Limits, Manager, RequestHandlers, resource_tools,
};
use gosling::mcp::client::{CallOptions, RequestHandler};
use gosling::mcp::jsonrpc::{ErrorObject, RawJson};
use gosling::mcp::types::{
    CallToolResult, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams,
    ElicitResult,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use support::scripted::{Action, Script};
use support::server::{as_argument, scripted_mcp};

struct NoData;

impl SessionData for NoData {
    fn get(&self, _: &str) -> Result<Option<Value>, String> {
        Ok(None)
    }

    fn set(&self, _: &str, _: Value) -> Result<(), String> {
        Ok(())
    }
}

/// Declines every request and records its origin.
struct DecliningHandler {
    extension: String,
    notes: Arc<Mutex<Vec<String>>>,
}

impl DecliningHandler {
    fn note(&self, caller: Option<&str>, what: &str) {
        let caller = caller.unwrap_or("nobody");
        let note = format!("{}/{caller}: {what}", self.extension);
        self.notes.lock().unwrap().push(note);
    }
}

impl RequestHandler for DecliningHandler {
    fn sample(
        &self,
        caller: Option<&str>,
        _: CreateMessageParams,
        _: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        self.note(caller, "sampling");
        Err(ErrorObject::new(-1, "no model"))
    }

    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        _: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        self.note(caller, &params.message);
        Ok(ElicitResult {
            action: ElicitAction::Decline,
            content: None,
        })
    }
}

fn manager(request_handlers: Option<Arc<RequestHandlers>>) -> Manager {
    Manager::new(Context {
        session_id: "s".to_owned(),
        working_dir: std::env::temp_dir(),
        secrets: Arc::new(|_| Ok(None)),
        paths: Arc::new(Paths::under(&std::env::temp_dir())),
        data: Arc::new(NoData),
        servers: Default::default(),
        offline: true,
        limits: Limits::default(),
        roots: false,
        more_roots: Vec::new(),
        user_interfaces: false,
        log_level: None,
        containers: Containers::default(),
        sandboxing: Default::default(),
        inherited: Default::default(),
        inline_python: Default::default(),
        screening: Default::default(),
        pinning: Default::default(),
        activity: Default::default(),
        request_handlers,
    })
}

fn add(manager: &Manager, config: Value) {
    let config = ExtensionConfig::from_value(config).unwrap();
    manager.add(&config, &Cancel::new()).unwrap();
}

fn scripted(name: &str, script: &Script) -> Value {
    let args = [as_argument(script)];
    json!({"type": "stdio", "name": name, "cmd": scripted_mcp(), "args": args})
}

fn raw(value: Value) -> RawJson {
    serde_json::value::to_raw_value(&value).unwrap()
}

fn text(result: &CallToolResult) -> String {
    let part: Value = serde_json::from_str(result.content[0].as_json()).unwrap();
    part["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_a_server_asks_comes_with_its_extension_and_the_call() {
    let form = json!({"message": "name?", "requestedSchema": {"type": "object"}});
    let ask = Action::AskWith("elicitation/create".into(), form);
    let script = Script::new().tool("ask", [ask, Action::LastClientAnswer]);
    let notes = Arc::new(Mutex::new(Vec::new()));
    let of_handlers = notes.clone();
    let manager = manager(Some(Arc::new(move |extension| {
        let notes = of_handlers.clone();
        Arc::new(DecliningHandler { extension, notes })
    })));
    add(&manager, scripted("My Forms", &script));
    let call = CallOptions {
        label: Some("call-1"),
        ..CallOptions::default()
    };
    let result = manager.call("myforms__ask", &raw(json!({})), call, &Cancel::new());
    let told: Value = serde_json::from_str(&text(&result.unwrap())).unwrap();
    assert_eq!(told["result"], json!({"action": "decline"}));
    assert_eq!(*notes.lock().unwrap(), ["myforms/call-1: name?"]);
}

#[test]
fn instructions_come_in_the_order_of_activation() {
    let manager = manager(None);
    let script = Script::new().instructions("be kind");
    add(&manager, scripted("zeta", &script));
    add(&manager, scripted("silent", &Script::new()));
    let front = json!({"type": "frontend", "name": "alpha", "tools": [], "instructions": "ask me"});
    add(&manager, front);
    let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
    assert_eq!(
        manager.instructions(),
        [
            pair("zeta", "be kind"),
            pair("silent", ""),
            pair("alpha", "ask me")
        ]
    );
    assert!(!manager.has_resources());
}

#[test]
fn a_tool_is_found_by_its_full_name() {
    let manager = manager(None);
    let mut config = scripted("one", &Script::new().tool("secret", []));
    config["available_tools"] = json!(["echo"]);
    add(&manager, config);
    let front = json!({"type": "frontend", "name": "front", "tools": [{"name": "pick__one"}]});
    add(&manager, front);
    let found = manager.find("one__echo").unwrap();
    assert_eq!((found.extension.as_str(), found.frontend), ("one", false));
    assert_eq!(found.tool.name, "echo");
    let found = manager.find("pick__one").unwrap();
    assert_eq!((found.extension.as_str(), found.frontend), ("front", true));
    for absent in ["one__secret", "one__none", "echo", "front__pick__one", ""] {
        assert!(manager.find(absent).is_none(), "{absent}");
    }
}

#[test]
fn a_prompt_is_filled_in_by_its_server() {
    let result = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]});
    let script = Script::new()
        .offers("prompts", json!({"prompts": []}))
        .on("prompts/get", [Action::Result(result)]);
    let manager = manager(None);
    add(&manager, scripted("one", &script));
    let ask = |extension: &str| manager.get_prompt(extension, "greet", &Map::new(), &Cancel::new());
    assert_eq!(ask("one").unwrap().messages[0].role, "user");
    assert!(ask("two").is_err_and(|e| e.to_string().contains("not active")));
}

#[test]
fn a_model_reads_resources_with_two_tools() {
    let contents = json!({"contents": [
        {"uri": "a://1", "text": "words"},
        {"uri": "a://2", "blob": "AAAA", "mimeType": "image/png"},
    ]});
    let listed = json!({"resources": [{"uri": "a://1", "name": "one", "description": "first"}]});
    let script = Script::new()
        .offers("resources", listed)
        .on("resources/read", [Action::Result(contents)]);
    let broken = Script::new().offers("resources", json!({"resources": 5}));
    let manager = manager(None);
    add(&manager, scripted("library", &script));
    add(&manager, scripted("broken", &broken));
    assert!(manager.has_resources());
    let tools = resource_tools::tools();
    let run = |n: usize, arguments: Value| {
        resource_tools::run(&manager, &tools[n].name, &raw(arguments), &Cancel::new())
    };
    let list = text(&run(0, json!({})));
    assert!(list.starts_with("library: a://1 (one, first)\n"), "{list}");
    assert_eq!(list.matches("Not listed: extension \"broken\"").count(), 1);

    let read = run(1, json!({"extension_name": "library", "uri": "a://1"}));
    assert_eq!(read.is_error, None);
    assert_eq!(text(&read), "words");
    let image: Value = serde_json::from_str(read.content[1].as_json()).unwrap();
    assert_eq!(image["type"], "image");

    for bad in [
        json!({"uri": "a://1"}),
        json!({"uri": 5, "extension_name": "library"}),
        json!({"uri": "a://1", "extension_name": "absent"}),
    ] {
        let refused = run(1, bad.clone());
        assert_eq!(refused.is_error, Some(true), "{bad}");
    }
}
