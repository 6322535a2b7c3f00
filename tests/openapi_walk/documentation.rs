//! What people read in the document that the server serves: each operation has a summary, one tag and, if it takes a
//! body, an example, and each example fits its schema.

use crate::support::client::{Answer, KEY};
use crate::support::server::Server;
use gosling::store::settings::{HOST, PORT};
use gosling_json_schema::Schema;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../src/manual/openapi.json");

/// The longest summary, in characters.
const MAX_SUMMARY: usize = 60;

/// The session of the examples.
const SESSION: &str = "20261127_1";

fn document() -> Value {
    serde_json::from_str(DOCUMENT).expect("the document is JSON")
}

#[test]
fn the_document_is_complete_and_its_examples_fit_their_schemas() {
    let faults = faults(&document());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_kind_of_fault_is_found() {
    for (place, value, fault) in [
        ("/info/version", json!("1.24.0"), "version"),
        ("/servers/0/url", json!("http://0.0.0.0:1"), "first server"),
        (
            "/servers/1/url",
            json!("http://{place}"),
            "`place` has no default",
        ),
        ("/tags/0/description", json!(""), "no description"),
        ("/tags/0/name", json!("Unused"), "no operation"),
        (
            "/paths/~1status/get/summary",
            json!(null),
            "GET /status: its summary",
        ),
        (
            "/paths/~1status/get/summary",
            json!("x".repeat(61)),
            "GET /status: its summary",
        ),
        (
            "/paths/~1status/get/summary",
            json!("It runs."),
            "GET /status: its summary",
        ),
        (
            "/paths/~1status/get/tags",
            json!([]),
            "GET /status: it needs one of the tags",
        ),
        (
            "/paths/~1status/get/tags",
            json!(["Other"]),
            "GET /status: it needs one of the tags",
        ),
        (
            "/paths/~1status/get/operationId",
            json!("reply"),
            "`reply` is the name of two",
        ),
        (
            "/paths/~1status/get/responses/200/content/text~1plain/example",
            json!(1),
            "GET /status 200: its example",
        ),
        (
            "/paths/~1reply/post/requestBody/content/application~1json/example",
            json!(null),
            "POST /reply: its body needs an example",
        ),
        (
            "/paths/~1reply/post/requestBody/content/application~1json/example/user_message/content/0/text",
            json!(1),
            "POST /reply: its example",
        ),
        (
            "/paths/~1reply/post/requestBody/content/application~1json/example/sesion_id",
            json!("misspelled"),
            "POST /reply: its example",
        ),
        (
            "/paths/~1agent~1start/post/requestBody/content/application~1json/example/extension_overrides/0/comand",
            json!("misspelled"),
            "POST /agent/start: its example",
        ),
        (
            "/components/responses/Error/content/application~1json/example",
            json!({}),
            "Error: its example",
        ),
    ] {
        let mut document = document();
        let (parent, name) = place.rsplit_once('/').expect("a place in an object");
        let parent = document.pointer_mut(parent).expect(place);
        match parent {
            Value::Object(members) => drop(members.insert(name.replace("~1", "/"), value)),
            _ => panic!("{place} is not in an object"),
        }
        let found = faults(&document);
        assert!(
            found.iter().any(|it| it.contains(fault)),
            "{place}: {found:?}"
        );
    }
}

#[test]
fn the_server_takes_the_bodies_of_the_examples() {
    let server =
        Server::scripted(json!({"repeat": true, "turns": [{"steps": [{"text": "hello"}]}]}));
    let server = server.start();
    let session = server.begin_session([]).id;
    let work = server.work().to_string_lossy().into_owned();
    let mut asked = 0;
    for (name, operation) in operations(&document()) {
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        if example.is_null() {
            continue;
        }
        let body = example.to_string().replace(SESSION, &session);
        let body = body.replace("/home/me/project", &work);
        let (method, path) = name.split_once(' ').expect("a method and a path");
        let path = path
            .replace("{session_id}", &session)
            .replace("{name}", "system.md")
            .replace("{id}", "nightly");
        let answer: Answer = server.ask(method, &path, Some(KEY), Some(&body));
        // What does not have the form of a request is answered with 422.
        assert_ne!(answer.status, 422, "{name} {body}: {}", answer.text);
        asked += 1;
    }
    assert!(asked > 40, "only {asked} requests");
}

/// Each operation with its method and path.
fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods");
        methods
            .iter()
            .map(move |(method, it)| (format!("{} {path}", method.to_uppercase()), it.clone()))
    });
    all.collect()
}

fn faults(document: &Value) -> Vec<String> {
    let mut faults = faults_of_head(document);
    let listed = document["tags"].as_array().into_iter().flatten();
    let tags: BTreeSet<&str> = listed.filter_map(|tag| tag["name"].as_str()).collect();
    let mut used = BTreeSet::new();
    let mut names = BTreeSet::new();
    let operations = operations(document);
    for (name, operation) in &operations {
        let mut fault = |what: String| faults.push(format!("{name}: {what}"));
        let id = operation["operationId"].as_str().unwrap_or_default();
        if !names.insert(id) {
            fault(format!("`{id}` is the name of two"));
        }
        let summary = operation["summary"].as_str().unwrap_or_default();
        let length = summary.chars().count();
        if !(1..=MAX_SUMMARY).contains(&length) || summary.ends_with('.') {
            fault(format!("its summary {summary:?} is not one short phrase"));
        }
        match operation["tags"].as_array().map(Vec::as_slice) {
            Some([Value::String(tag)]) if tags.contains(&**tag) => drop(used.insert(&**tag)),
            other => fault(format!("it needs one of the tags, and has {other:?}")),
        }
        let body = &operation["requestBody"];
        if body.is_object() && body["content"]["application/json"]["example"].is_null() {
            fault("its body needs an example".to_owned());
        }
        faults.extend(faults_of_examples(document, name, body));
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            let name = format!("{name} {status}");
            faults.extend(faults_of_examples(document, &name, response));
        }
    }
    let unused = tags.difference(&used);
    faults.extend(unused.map(|tag| format!("no operation has the tag {tag}")));
    let error = &document["components"]["responses"]["Error"];
    faults.extend(faults_of_examples(document, "Error", error));
    faults
}

/// The version, the servers and the descriptions of the tags.
fn faults_of_head(document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    if document["info"]["version"] != version {
        faults.push(format!("its version is not {version}, that of Cargo.toml"));
    }
    let address = format!("http://{}:{}", HOST.default, PORT.default);
    if document["servers"][0]["url"] != address {
        faults.push(format!("the first server is not {address}"));
    }
    for server in document["servers"].as_array().into_iter().flatten() {
        let url = server["url"].as_str().unwrap_or_default();
        let names = url.split('{').skip(1).filter_map(|it| it.split('}').next());
        let missing = names.filter(|name| !server["variables"][name]["default"].is_string());
        faults.extend(missing.map(|name| format!("`{name}` has no default")));
    }
    for tag in document["tags"].as_array().into_iter().flatten() {
        if tag["description"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("the tag {} has no description", tag["name"]));
        }
    }
    faults
}

/// The faults of the examples of a body.
fn faults_of_examples(document: &Value, name: &str, body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for content in body["content"].as_object().into_iter().flatten() {
        let (schema, example) = (&content.1["schema"], &content.1["example"]);
        if example.is_null() {
            continue;
        }
        let mut root = strict(document, schema, true);
        root["components"]["schemas"] = components(document);
        let schema = Schema::new(root).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(schema.unchecked(), [""; 0], "{name}");
        let found = schema.faults(example);
        faults.extend(found.iter().map(|it| format!("{name}: its example: {it}")));
    }
    faults
}

fn components(document: &Value) -> Value {
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    let strict =
        |(name, schema): (&String, &Value)| (name.clone(), strict(document, schema, false));
    schemas.iter().map(strict).collect()
}

/// A schema of OpenAPI 3.0 as one of JSON Schema 2020-12. The schema of a value (not a part of one) allows only the
/// members that it names, so that a misspelled one is found.
fn strict(document: &Value, schema: &Value, is_of_value: bool) -> Value {
    let Some(members) = schema.as_object() else {
        return schema.clone();
    };
    let each = |of: &Value, are_of_values: bool| -> Value {
        match of {
            Value::Object(all) => {
                let all = all.iter();
                all.map(|(name, it)| (name.clone(), strict(document, it, are_of_values)))
                    .collect()
            }
            Value::Array(all) => {
                let all = all.iter();
                all.map(|it| strict(document, it, are_of_values)).collect()
            }
            other => other.clone(),
        }
    };
    let mut out = Map::new();
    for (name, value) in members {
        let (name, value) = match name.as_str() {
            "nullable" => continue,
            "properties" => ("properties", each(value, true)),
            "items" | "additionalProperties" => (name.as_str(), strict(document, value, true)),
            "allOf" | "anyOf" => (name.as_str(), each(value, false)),
            // Some alternatives of Goose's document are alike.
            "oneOf" => ("anyOf", each(value, false)),
            _ => (name.as_str(), value.clone()),
        };
        out.insert(name.to_owned(), value);
    }
    if is_of_value && names_members(document, schema) {
        out.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    if schema["nullable"] == true {
        json!({"anyOf": [out, {"type": "null"}]})
    } else {
        out.into()
    }
}

/// Whether a schema says which members an object has.
fn names_members(document: &Value, schema: &Value) -> bool {
    let target = schema["$ref"].as_str();
    // Goose's document leaves out the `type` of what MCP servers answer.
    let target = target.filter(|path| !path.ends_with("/Content"));
    let target = target.and_then(|path| document.pointer(path.trim_start_matches('#')));
    let parts = ["allOf", "anyOf", "oneOf"].map(|name| schema[name].as_array());
    let mut parts = parts.into_iter().flatten().flatten().chain(target);
    schema["properties"].is_object() || parts.any(|part| names_members(document, part))
}
