//! The working directory of a call is the one that the client names, or the call fails.

use crate::stdio_server::StdioServer;
use crate::support::server::{Extension, Server, gosling};
use crate::support::temp_dir;
use serde_json::{Value, json};
use std::fs;

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn metadata_counts_in_any_letter_case_and_an_unusable_directory_is_an_error() {
    let mut server = StdioServer::start();
    let mut pwd = |meta: &Value| {
        let arguments = json!({"command": "pwd; echo \"id=$AGENT_SESSION_ID\""});
        let params = json!({"name": "shell", "arguments": arguments, "_meta": meta});
        server.send(json!({"id": 1, "method": "tools/call", "params": params}));
        let result = server.next()["result"].take();
        let text = result["content"][0]["text"].as_str().map(str::to_owned);
        (text.expect("a text"), result["isError"] == true)
    };
    let folder = temp_dir();
    let here = folder.path().canonicalize().unwrap();
    let meta = json!({"Agent-Working-DIR": here, "AGENT-SESSION-ID": "s-1"});
    assert_eq!(pwd(&meta), (format!("{}\nid=s-1\n", here.display()), false));
    let own = std::env::current_dir().unwrap();
    for unnamed in [
        json!({}),
        json!({"agent-working-dir": null, "agent-session-id": ["x"]}),
    ] {
        assert_eq!(pwd(&unnamed), (format!("{}\nid=\n", own.display()), false));
    }
    let file = here.join("file");
    fs::write(&file, "").unwrap();
    for (unusable, named) in [
        (json!(5), "`agent-working-dir` is 5"),
        (json!(""), "`agent-working-dir` is \"\""),
        (json!("src"), "`agent-working-dir` is \"src\""),
        (json!("/no/such/place"), "\"/no/such/place\" cannot be used"),
        (json!(file), "/file\" cannot be used"),
    ] {
        let (text, is_error) = pwd(&json!({ "agent-working-dir": unusable }));
        assert!(is_error && text.contains(named), "{unusable}: {text}");
    }
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn without_its_directory_a_session_does_nothing_elsewhere() {
    let server = Server::new().start();
    let folder = server.work().join("project");
    fs::create_dir(&folder).unwrap();
    let session = server.start(json!({
        "working_dir": folder,
        "extension_overrides": [Extension::builtin("developer").0],
    }));
    session.resume();
    let ran = server.root().join("ran");
    let run = json!({"command": format!("touch {}", ran.display())});
    fs::remove_dir(&folder).unwrap();
    for (tool, arguments) in [
        ("shell", run.clone()),
        (
            "text_editor",
            json!({"command": "write", "path": "a.txt", "file_text": "a"}),
        ),
        ("text_editor", json!({"command": "view", "path": ran})),
        #[cfg(feature = "analyze")]
        ("analyze", json!({"path": "."})),
        #[cfg(feature = "image")]
        ("image_processor", json!({"path": "a.png"})),
    ] {
        let failed = session
            .call(&format!("developer__{tool}"), arguments)
            .is(500);
        failed
            .says("working directory")
            .says("project")
            .says("create it again");
    }
    assert!(!ran.exists() && !folder.exists());
    fs::create_dir(&folder).unwrap();
    session.call("developer__shell", run).is(200);
    assert!(ran.exists());
}

#[test]
#[cfg(unix)] // A folder that is used cannot be removed on Windows.
fn a_server_whose_own_directory_is_gone_uses_no_other() {
    let folder = temp_dir();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let mut command = gosling();
    command.current_dir(&own);
    let mut server = StdioServer::start_by(command);
    fs::remove_dir(&own).unwrap();
    server.shell(1, "pwd");
    let result = server.next()["result"].take();
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(result["isError"], true, "{text}");
    assert!(text.contains("`agent-working-dir`"), "{text}");
}
