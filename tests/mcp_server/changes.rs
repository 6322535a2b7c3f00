//! Lists that change while clients are connected.

use crate::client::*;
use gosling::mcp::server::{
    ChangeError, Connection, Contents, Context, Listing, Prompt, Resource, Server, Tool, memory,
    serve_memory, serve_stdio,
};
use gosling::mcp::typed::Event;
use gosling::mcp::types::{CallToolResult, GetPromptResult};
use gosling::mcp::{Cancel, Client as McpClient};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::io::{BufReader, pipe};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

fn tool(name: &str) -> Tool {
    let name = name.to_owned();
    let answer = name.clone();
    Tool::new(&name, "", move |_: IgnoredAny, _: &Context| {
        Ok(CallToolResult::text(&answer))
    })
}

fn resource(uri: &str) -> Resource {
    Resource::fixed(uri, "a", "text/plain", Contents::Text(String::new()))
}

fn prompt(name: &str) -> Prompt {
    let get = |_: Map<String, Value>, _: &Context| Ok(GetPromptResult::default());
    Prompt::new(name, "", get)
}

const ALL: [Listing; 3] = [Listing::Tools, Listing::Resources, Listing::Prompts];

/// A server whose tool `grow` adds another one.
fn growing() -> Server {
    let grow = |_: IgnoredAny, context: &Context| {
        let added = context.server().add_tool(tool("grown"));
        Ok(CallToolResult::text(match added {
            Ok(()) => "grown".to_owned(),
            Err(why) => why.to_string(),
        }))
    };
    Server::new("growing", "1").tool(Tool::new("grow", "", grow))
}

fn connect(server: &Arc<Server>) -> Client {
    let mut client = Client::new(Server::new("unused", "1"));
    client.connection =
        Connection::new(server.clone(), &Cancel::new()).notifying(client.sink.clone());
    client
}

fn names(client: &Client, list: &str, member: &str) -> Vec<String> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": format!("{list}/list")});
    let answer = client.ask(&request.to_string());
    let all = answer["result"][list].as_array().expect("a list").clone();
    let name = |item: Value| item[member].as_str().expect("a name").to_owned();
    all.into_iter().map(name).collect()
}

fn changed(list: &str) -> Value {
    let method = format!("notifications/{list}/list_changed");
    json!({"jsonrpc": "2.0", "method": method, "params": {}})
}

#[test]
fn clients_hear_of_changes_once_they_are_ready() {
    let server = Arc::new(growing().changing(&ALL));
    let (early, ready, gone) = (connect(&server), connect(&server), connect(&server));
    drop(gone);
    let initialized = ready.ask(INITIALIZE);
    let changes = json!({"listChanged": true});
    assert_eq!(
        initialized["result"]["capabilities"],
        json!({"tools": changes, "resources": changes, "prompts": changes})
    );
    ready.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.add_tool(tool("more")).unwrap();
    assert_eq!(ready.next(), changed("tools"));
    assert_eq!(names(&ready, "tools", "name"), ["grow", "more"]);
    let call = |name: &str| {
        let params = json!({"name": name});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        request.to_string()
    };
    assert_eq!(ready.ask(&call("more")), text(1, "more"));
    server.remove_tool("more").unwrap();
    assert_eq!(ready.next(), changed("tools"));
    assert_eq!(
        ready.ask(&call("more")),
        error(1, -32602, "Unknown tool: more")
    );
    // A handler changes its own server.
    ready.send(&call("grow"));
    assert_eq!(ready.next(), changed("tools"));
    assert_eq!(ready.next(), text(1, "grown"));
    let again = "the server has two of the tool \"grown\"";
    assert_eq!(ready.ask(&call("grow")), text(1, again));

    server.add_resource(resource("a://b")).unwrap();
    assert_eq!(ready.next(), changed("resources"));
    assert_eq!(names(&ready, "resources", "uri"), ["a://b"]);
    server.remove_resource("a://b").unwrap();
    assert_eq!(ready.next(), changed("resources"));
    assert!(names(&ready, "resources", "uri").is_empty());
    server.add_prompt(prompt("greet")).unwrap();
    assert_eq!(ready.next(), changed("prompts"));
    assert_eq!(names(&ready, "prompts", "name"), ["greet"]);
    server.remove_prompt("greet").unwrap();
    assert_eq!(ready.next(), changed("prompts"));
    server.announce(Listing::Resources).unwrap();
    assert_eq!(ready.next(), changed("resources"));
    // The other client has heard nothing, and finds the list as it is.
    early.is_silent();
    early.ask(INITIALIZE);
    assert_eq!(names(&early, "tools", "name"), ["grow", "grown"]);
}

#[test]
fn what_cannot_be_changed_is_an_error() {
    let server = growing().changing(&[Listing::Tools]);
    let undeclared = server.add_resource(resource("a://b")).unwrap_err();
    assert_eq!(undeclared, ChangeError::NotDeclared(Listing::Resources));
    assert_eq!(
        undeclared.to_string(),
        "the server does not declare that its resources change"
    );
    assert!(server.add_prompt(prompt("greet")).is_err());
    assert!(server.announce(Listing::Prompts).is_err());
    let fixed = connect(&Arc::new(growing()));
    let initialized = fixed.ask(INITIALIZE);
    assert_eq!(
        initialized["result"]["capabilities"],
        json!({"tools": {}}),
        "what does not change is not said to"
    );
    let unnamed = server.add_tool(tool("")).unwrap_err();
    assert_eq!(unnamed, ChangeError::Unnamed { what: "tool" });
    let taken = server.add_tool(tool("grow")).unwrap_err().to_string();
    assert_eq!(taken, r#"the server has two of the tool "grow""#);
    let unknown = server.remove_tool("more").unwrap_err().to_string();
    assert_eq!(unknown, r#"the server has no tool "more""#);
}

#[test]
fn changes_are_heard_over_memory_and_pipes() {
    let server = Arc::new(growing().changing(&[Listing::Tools]));
    let (transport, end) = memory::pair();
    let served = server.clone();
    let thread = thread::spawn(move || serve_memory(served, end));
    let (sender, heard) = channel();
    let client = McpClient::builder("test", "1")
        .on_event(move |event| sender.send(event).expect("the test listens"))
        .connect(transport)
        .unwrap();
    // An answer shows that the server has read what came before.
    client.ping(&Cancel::new()).unwrap();
    server.add_tool(tool("more")).unwrap();
    assert!(matches!(
        heard.recv_timeout(DEADLINE),
        Ok(Event::ToolsChanged)
    ));
    assert_eq!(client.list_tools(&Cancel::new()).unwrap().len(), 2);
    client.close();
    thread.join().unwrap();

    let (input, mut to_server) = pipe().unwrap();
    let (from_server, output) = pipe().unwrap();
    let served = server.clone();
    let thread = thread::spawn(move || serve_stdio(served, BufReader::new(input), output));
    use std::io::{BufRead, Write};
    let mut lines = BufReader::new(from_server).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    writeln!(to_server, "{INITIALIZE}\n{initialized}\n{ping}").unwrap();
    assert_eq!(
        (next()["id"].clone(), next()["id"].clone()),
        (json!(0), json!(1))
    );
    server.remove_tool("more").unwrap();
    assert_eq!(next(), changed("tools"));
    drop(to_server);
    thread.join().unwrap().unwrap();
    // The clients are gone, and nothing is said to them.
    server.add_tool(tool("more")).unwrap();
}

#[test]
fn a_client_that_panics_disturbs_neither_its_server_nor_the_others() {
    use gosling::mcp::server::InProcess;
    let server = Arc::new(growing().changing(&[Listing::Tools]));
    let panics = McpClient::builder("panics", "1").on_event(|_| panic!("an event"));
    let panics = panics.connect(InProcess::new(server.clone())).unwrap();
    let (sender, heard) = channel();
    let hears = McpClient::builder("hears", "1");
    let hears = hears.on_event(move |event| sender.send(event).expect("the test listens"));
    let hears = hears.connect(InProcess::new(server.clone())).unwrap();
    server.add_tool(tool("more")).unwrap();
    let event = heard.recv_timeout(DEADLINE);
    assert!(matches!(event, Ok(Event::ToolsChanged)), "{event:?}");
    for client in [panics, hears] {
        assert_eq!(client.list_tools(&Cancel::new()).unwrap().len(), 2);
    }
}
