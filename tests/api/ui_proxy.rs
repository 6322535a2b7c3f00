//! The page for UIs of MCP servers: who gets it, and the policy in its head. `tests/interop/browser` tries the
//! page itself.

use crate::support::client::KEY;
use crate::support::scripted::{Action, Script};
use crate::support::server::{
    Extension, Record, RunningServer, Server, as_argument, gosling, scripted_mcp,
};
use serde_json::{Value, json};

const PAGES: [&str; 2] = ["/mcp-ui-proxy", "/mcp-app-proxy"];

/// The key as it is in a query.
const QUERY_KEY: &str = "open+sesame";

fn policy(server: &RunningServer, query: &str) -> String {
    policy_of(server, &format!("/mcp-app-proxy?secret={QUERY_KEY}{query}"))
}

fn policy_of(server: &RunningServer, path: &str) -> String {
    let answer = server.ask("GET", path, None, None).is(200);
    let policy = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Security-Policy: "));
    policy.expect("a policy").to_owned()
}

#[test]
fn only_the_secret_in_the_query_gets_the_page() {
    let server = Server::new().start();
    for page in PAGES {
        for query in [
            "",
            "?secret=",
            "?secret=no",
            "?secret=open+sesam",
            "?secret=open+sesame+",
            "?secret=no&secret=open+sesame",
            "?Secret=open+sesame",
            "?url=http://a.b",
        ] {
            for key in [None, Some(KEY)] {
                server
                    .ask("GET", &format!("{page}{query}"), key, None)
                    .is(401)
                    .says("`secret` in the query")
                    .never_says("<html");
            }
        }
        for secret in [QUERY_KEY, "open%20sesame"] {
            let path = format!("{page}?secret={secret}&contentType=rawhtml");
            server
                .ask("GET", &path, None, None)
                .is(200)
                .says("<!doctype html>");
            let head = server.ask("HEAD", &path, None, None).is(200);
            assert_eq!(head.text, "");
        }
        server
            .ask("POST", &format!("{page}?secret={QUERY_KEY}"), None, None)
            .is(405);
        server
            .ask(
                "GET",
                &format!("{page}?secret={QUERY_KEY}"),
                None,
                Some("{}"),
            )
            .is(413);
    }
    server.get(&format!("/config?secret={QUERY_KEY}")).is(200);
    server
        .ask("GET", &format!("/config?secret={QUERY_KEY}"), None, None)
        .is(401);
    server.never_logs("sesame");
}

#[test]
fn the_head_keeps_the_secret_from_caches_and_other_sites() {
    let server = Server::new().start();
    for page in PAGES {
        let path = format!("{page}?secret={QUERY_KEY}");
        let answer = server.ask("GET", &path, None, None).is(200);
        for field in [
            "Content-Type: text/html; charset=utf-8",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Access-Control-Allow-Origin: *",
        ] {
            assert!(
                answer.head.lines().any(|line| line == field),
                "{field}: {}",
                answer.head
            );
        }
        assert!(
            answer
                .head
                .contains("Content-Security-Policy: default-src ")
        );
        answer.never_says("sesame");
    }
}

#[test]
fn a_domain_of_the_query_adds_no_directive() {
    let server = Server::new().start();
    let closed = policy(&server, "");
    assert!(closed.contains("frame-src 'self';"), "{closed}");
    for hostile in [
        "https://a.b;script-src%20*",
        "https://a.b%0d%0aSet-Cookie:%20a=b",
        "'unsafe-eval'",
        "*",
        "http:",
        "https://a.b%20https://c.d",
        "%00",
        "%c3%a9.org",
        ",,,%20,",
    ] {
        for list in [
            "connect_domains",
            "resource_domains",
            "script_domains",
            "frame_domains",
            "base_uri_domains",
        ] {
            assert_eq!(
                policy(&server, &format!("&{list}={hostile}")),
                closed,
                "{list}={hostile}"
            );
        }
    }
    let mixed = policy(
        &server,
        "&connect_domains=https://a.b,%20wss://c.d:1%20,'none'&frame_domains=https://e.f",
    );
    assert!(
        mixed.contains("connect-src blob: data: https://a.b wss://c.d:1;"),
        "{mixed}"
    );
    assert!(mixed.contains("frame-src https://e.f 'self';"), "{mixed}");
    assert_eq!(mixed.matches("'none'").count(), 3, "{mixed}");
}

#[test]
fn the_document_of_an_app_needs_no_key_and_has_an_opaque_origin_and_the_policy_of_its_page() {
    let server = Server::new().start();
    for query in ["", "connect_domains=https://a.b&frame_domains=https://e.f"] {
        let view = policy_of(&server, &format!("/mcp-app-view?{query}"));
        let (of_view, sandbox) = view.split_once("; sandbox ").expect("a sandbox");
        assert!(!sandbox.contains("allow-same-origin") && !sandbox.contains("top-navigation"));
        assert!(!of_view.contains("'self'"), "{of_view}");
        let page = policy(&server, &format!("&{query}"));
        let expected = page.replace("frame-src 'self'", "frame-src 'none'");
        assert_eq!(of_view, expected.replace(" 'self'", ""));
    }
    let path = "/mcp-app-view?connect_domains=https://a.b;script-src%20*";
    let closed = policy_of(&server, "/mcp-app-view");
    assert_eq!(policy_of(&server, path), closed);
    let key = format!("/mcp-app-view?secret={QUERY_KEY}");
    server
        .ask("GET", &key, None, None)
        .is(200)
        .never_says("sesame");
}

#[test]
fn only_pages_of_the_server_show_the_document_of_an_app() {
    let server = Server::new().start();
    for (site, status) in [
        ("same-origin", 200),
        ("none", 200),
        ("same-site", 403),
        ("cross-site", 403),
        ("", 403),
    ] {
        let key = format!("{QUERY_KEY}\r\nSec-Fetch-Site: {site}");
        let answer = server.ask("GET", "/mcp-app-view", Some(&key), None);
        let answer = answer.is(status);
        // Nor does the document take an app from a page with another origin.
        assert_eq!(
            answer.text.contains("origin !== location.origin"),
            status == 200
        );
    }
}

#[test]
fn the_domains_may_be_one_json_object() {
    let server = Server::new().start();
    let lists = policy(
        &server,
        "&connect_domains=https://a.b&resource_domains=https://c.d",
    );
    let json = r#"{%22connectDomains%22:[%22https://a.b%22,%22'self'%22],%22resourceDomains%22:[%22https://c.d%22]}"#;
    assert_eq!(policy(&server, &format!("&csp={json}")), lists);
    for bad in [
        "x",
        "[]",
        "{%22connectDomains%22:%22https://a.b%22}",
        "{%22connectDomains%22:[1]}",
    ] {
        let path = format!("/mcp-app-proxy?secret={QUERY_KEY}&csp={bad}");
        server.ask("GET", &path, None, None).is(400).says("`csp`");
    }
}

/// What servers learn of the client: the extensions among its capabilities.
fn declared(server: Server) -> Value {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = server.start();
    let _session = server.session([Extension::scripted("one", &script)]);
    record.wait_for_message("initialize")["params"]["capabilities"]["extensions"].clone()
}

#[test]
fn servers_learn_that_the_client_shows_their_interfaces() {
    let expected =
        json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}});
    assert_eq!(declared(Server::new()), expected);
    assert_eq!(declared(Server::new().env("GOOSE_MCP_UI", "1")), expected);
    assert_eq!(
        declared(Server::new().setting("GOOSE_MCP_UI", true)),
        expected
    );
    assert_eq!(
        declared(Server::new().env("GOOSE_MCP_UI", "0")),
        Value::Null
    );
    assert_eq!(
        declared(Server::new().setting("GOOSE_MCP_UI", false)),
        Value::Null
    );
}

#[cfg(feature = "chat")]
#[test]
fn clients_in_a_terminal_declare_no_interfaces() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let root = Server::new();
    let command = format!("'{}' '{}'", scripted_mcp(), as_argument(&script));
    let output = gosling()
        .env("GOOSE_PATH_ROOT", root.root())
        .args(["call", "--server", &command])
        .output();
    assert!(output.unwrap().status.success());
    let capabilities = &record.wait_for_message("initialize")["params"]["capabilities"];
    assert!(capabilities.get("extensions").is_none(), "{capabilities}");
}

#[test]
fn a_tool_for_interfaces_only_is_called_by_the_client() {
    let tools = json!({"tools": [
        {"name": "refresh", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": ["app"]}}},
    ]});
    let script = Script::new()
        .on("tools/list", [Action::Result(tools)])
        .tool("refresh", [Action::text("fresh")]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    assert_eq!(session.tools(), ["one__refresh"]);
    session
        .call("one__refresh", json!({}))
        .is(200)
        .says("fresh");
}
