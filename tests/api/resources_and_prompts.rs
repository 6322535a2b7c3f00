//! Resources, resource templates and prompts of the servers of a session.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Server};
use serde_json::json;

fn library() -> Script {
    Script::new()
        .offers(
            "resources",
            json!({"resources": [{"uri": "a://1", "name": "one", "mimeType": "text/plain"}]}),
        )
        .on(
            "resources/templates/list",
            [Action::Result(json!({
                "resourceTemplates": [{"uriTemplate": "a://{x}", "name": "any"}],
            }))],
        )
        .offers(
            "prompts",
            json!({"prompts": [{
                "name": "ask", "description": "d", "arguments": [{"name": "x", "required": true}],
            }]}),
        )
}

#[test]
fn resources_and_prompts_of_all_extensions_are_listed() {
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("Libra Ry", &library()),
        Extension::scripted("plain", &Script::new()),
    ]);
    let id = &session.id;
    let resources = server
        .get(&format!("/agent/resources?session_id={id}"))
        .is(200);
    resources.gives(json!({
        "resources": [{
            "extension_name": "library", "uri": "a://1", "name": "one", "mime_type": "text/plain",
        }],
        "templates": [{"extension_name": "library", "uri_template": "a://{x}", "name": "any"}],
        "errors": [],
    }));
    server
        .get(&format!("/agent/prompts?session_id={id}"))
        .is(200)
        .gives(json!({
            "prompts": [{
                "extension_name": "library", "name": "ask", "description": "d",
                "arguments": [{"name": "x", "required": true}],
            }],
            "errors": [],
        }));
    server
        .get(&format!(
            "/agent/resources?session_id={id}&extension_name=plain"
        ))
        .is(200)
        .gives(json!({"resources": [], "templates": [], "errors": []}));
}

#[test]
fn an_extension_that_fails_leaves_the_others_alone() {
    let broken = Script::new()
        .offers("resources", json!({"resources": 5}))
        .on("prompts/list", [Action::Error(-32603, "no".to_owned())])
        .offers("prompts", json!({}));
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("library", &library()),
        Extension::scripted("broken", &broken),
    ]);
    for what in ["resources", "prompts"] {
        let path = format!("/agent/{what}?session_id={}", session.id);
        let answer = server.get(&path).is(200);
        assert_eq!(answer.body[what].as_array().unwrap().len(), 1, "{what}");
        let errors = answer.body["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0]["extension_name"], "broken");
        let message = errors[0]["message"].as_str().unwrap();
        assert!(message.contains(&format!("{what}/list")), "{message}");
    }
    let path = format!(
        "/agent/prompts?session_id={}&extension_name=none",
        session.id
    );
    let answer = server.get(&path).is(200);
    assert_eq!(answer.body["errors"][0]["extension_name"], "none");
}

#[test]
fn a_session_that_is_not_there_offers_nothing() {
    let server = Server::new().start();
    let tools = server.get("/agent/tools?session_id=20990101_1").status;
    for what in ["resources", "prompts"] {
        let answer = server.get(&format!("/agent/{what}?session_id=20990101_1"));
        assert_eq!(answer.status, tools);
        server.get(&format!("/agent/{what}")).is(400);
    }
}
