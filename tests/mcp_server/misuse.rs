//! What can never work is a panic where the program says it, with the name of the culprit.

use gosling::mcp::server::{Contents, Context, Prompt, Resource, ResourceTemplate, Server, Tool};
use gosling::mcp::types::{CallToolResult, GetPromptResult};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why it panics; `None` if it does not.
fn panics<T>(build: impl FnOnce() -> T) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(build)).err()?;
    Some(*payload.downcast::<String>().expect("a reason"))
}

fn tool<A: DeserializeOwned>(name: &str) -> Tool {
    Tool::new(name, "", |_: A, _: &Context| {
        Ok(CallToolResult::text("done"))
    })
}

fn any_tool(name: &str) -> Tool {
    tool::<IgnoredAny>(name)
}

fn server() -> Server {
    Server::new("mine", "1")
}

#[derive(Deserialize)]
struct Struct {
    #[serde(rename = "a")]
    _a: Option<u8>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Untagged {
    One(#[serde(rename = "a")] IgnoredAny),
}

#[derive(Deserialize)]
enum Tagged {
    One(IgnoredAny),
}

#[derive(Deserialize)]
struct Wrapper<T>(T);

#[derive(Deserialize)]
struct Pair(#[allow(dead_code)] u8, #[allow(dead_code)] u8);

#[test]
fn names_are_unique() {
    let twice = || server().tool(any_tool("add")).tool(any_tool("add"));
    assert_eq!(
        panics(twice).as_deref(),
        Some(r#"the server has two of the tool "add""#)
    );
    let unnamed = panics(|| server().tool(any_tool("")));
    assert_eq!(unnamed.as_deref(), Some("a tool of the server has no name"));
    assert_eq!(
        panics(|| server().tool(any_tool("add")).tool(any_tool("Add"))).map(drop),
        None
    );

    let resource = |uri| Resource::fixed(uri, "a", "text/plain", Contents::Text(String::new()));
    let twice = || {
        server()
            .resource(resource("a://1"))
            .resource(resource("a://1"))
    };
    assert!(panics(twice).is_some_and(|why| why.contains(r#"resource "a://1""#)));
    let template = || {
        let read = |_: Map<String, Value>, _: &Context| Ok(Contents::Text(String::new()));
        ResourceTemplate::new("a://{b}", "a", "text/plain", read)
    };
    let twice = || server().template(template()).template(template());
    assert!(panics(twice).is_some_and(|why| why.contains(r#"template "a://{b}""#)));
    let prompt = || {
        let get = |_: Map<String, Value>, _: &Context| Ok(GetPromptResult::default());
        Prompt::new("greet", "", get).required("name", "")
    };
    let twice = || server().prompt(prompt()).prompt(prompt());
    assert!(panics(twice).is_some_and(|why| why.contains(r#"prompt "greet""#)));
    let argument = panics(|| prompt().optional("name", ""));
    assert!(argument.is_some_and(|why| why.contains(r#"argument "name""#)));
}

#[test]
fn the_schema_of_a_tool_is_one_of_an_object() {
    for wrong in [
        json!(null),
        json!(true),
        json!("object"),
        json!([]),
        json!({}),
        json!({"type": "array"}),
        json!({"type": ["object", "null"]}),
    ] {
        let why = panics(|| any_tool("add").input(wrong.clone()));
        let told = r#"the input schema of the tool "add" is not of type `object`"#;
        assert_eq!(why.as_deref(), Some(told), "{wrong}");
        let described = json!({"name": "add", "inputSchema": wrong}).to_string();
        let handler = |_: IgnoredAny, _: &Context| Ok(CallToolResult::text(""));
        assert!(
            panics(|| Tool::described(&described, handler)).is_some(),
            "{wrong}"
        );
    }
    let right = json!({"type": "object", "properties": {"a": true}});
    assert_eq!(panics(|| any_tool("add").input(right)).map(drop), None);
}

#[test]
fn the_argument_of_a_handler_can_be_read_from_an_object() {
    fn is_refused<A: DeserializeOwned>() -> bool {
        panics(|| tool::<A>("add")).is_some()
    }
    for refused in [
        is_refused::<()>(),
        is_refused::<bool>(),
        is_refused::<u8>(),
        is_refused::<f64>(),
        is_refused::<String>(),
        is_refused::<Vec<Value>>(),
        is_refused::<(Value, Value)>(),
        is_refused::<Pair>(),
        is_refused::<Option<String>>(),
        is_refused::<Wrapper<Vec<u8>>>(),
    ] {
        assert!(refused);
    }
    for refused in [
        is_refused::<Value>(),
        is_refused::<IgnoredAny>(),
        is_refused::<Map<String, Value>>(),
        is_refused::<HashMap<String, u8>>(),
        is_refused::<Box<RawValue>>(),
        is_refused::<Struct>(),
        is_refused::<Option<Struct>>(),
        is_refused::<Wrapper<Struct>>(),
        is_refused::<Untagged>(),
        is_refused::<Tagged>(),
    ] {
        assert!(!refused);
    }
    let why = panics(|| tool::<Vec<String>>("add")).expect("it panics");
    assert!(
        why.contains("\"add\"") && why.contains("Vec<alloc::string::String>"),
        "{why}"
    );
    let prompt = || {
        Prompt::new("greet", "", |_: u8, _: &Context| {
            Ok(GetPromptResult::default())
        })
    };
    assert!(panics(prompt).is_some_and(|why| why.contains("greet")));
}

#[test]
fn the_braces_of_a_template_are_around_names() {
    for (template, is_right) in [
        ("a://b", true),
        ("a://{b}", true),
        ("a://{b}/{c}.txt", true),
        ("a://{b", false),
        ("a://{}", false),
        ("a://{b}/{", false),
    ] {
        let made = panics(|| {
            let read = |_: Map<String, Value>, _: &Context| Ok(Contents::Text(String::new()));
            ResourceTemplate::new(template, "a", "text/plain", read)
        });
        assert_eq!(made.is_none(), is_right, "{template}: {made:?}");
    }
}
