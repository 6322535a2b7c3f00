//! Refused calls, as any MCP client gets them: results that the model sees.

use crate::stdio_server::StdioServer;
use crate::support::temp_dir;
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_refusal_is_a_result_and_misuse_of_the_protocol_is_an_error() {
    let dir = temp_dir();
    let missing = dir.path().join("missing");
    let kept = dir.path().join(".env");
    fs::write(&kept, "KEY=1\n").unwrap();
    let mut server = StdioServer::start();
    let mut call = |tool: &str, arguments: &Value| {
        server.call(1, tool, arguments.clone());
        server.next()
    };
    for (tool, arguments, says) in [
        (
            "text_editor",
            json!({"command": "view", "path": missing}),
            "there is no file",
        ),
        (
            "text_editor",
            json!({"command": "view", "path": kept}),
            "not accessible to tools",
        ),
        (
            "text_editor",
            json!({"command": "sing", "path": missing}),
            "there is no command",
        ),
        (
            "text_editor",
            json!({"command": "write", "path": missing}),
            "`file_text`",
        ),
        (
            "text_editor",
            json!({"command": "undo_edit", "path": missing}),
            "to undo",
        ),
        (
            "text_editor",
            json!({"command": "str_replace", "path": dir.path(), "diff": "?"}),
            "the diff",
        ),
        ("text_editor", json!({"path": missing}), "`command`"),
        ("shell", json!({"command": " "}), "is empty"),
        (
            "shell",
            json!({"command": "true", "timeout_secs": 0}),
            "`timeout_secs`",
        ),
        (
            "shell",
            json!({"command": format!("cat {}", kept.display())}),
            "not accessible to tools",
        ),
        (
            "shell",
            json!({"command": format!("echo {}", "x".repeat(128 << 10))}),
            "is too long",
        ),
        // Without a limit, both would take all memory.
        (
            "shell",
            json!({"command": "{a,b}".repeat(20_000)}),
            "too complex",
        ),
        (
            "shell",
            json!({"command": "A=x;".to_owned() + &"A=$A$A;".repeat(10_000)}),
            "too complex",
        ),
        ("shell", json!({}), "`command`"),
        #[cfg(feature = "analyze")]
        ("analyze", json!({"path": missing}), "there is no"),
        #[cfg(feature = "analyze")]
        ("analyze", json!({"path": kept}), "not accessible to tools"),
        #[cfg(feature = "image")]
        ("image_processor", json!({"path": missing}), "there is no"),
        #[cfg(feature = "image")]
        (
            "image_processor",
            json!({"path": kept}),
            "not accessible to tools",
        ),
        #[cfg(feature = "screen")]
        (
            "screen_capture",
            json!({"display": 0, "window_title": "x"}),
            "both given",
        ),
    ] {
        let answer = call(tool, &arguments);
        let shown: String = arguments.to_string().chars().take(100).collect();
        assert_eq!(answer["result"]["isError"], true, "{shown}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(says), "{shown}: {text}");
    }
    for (tool, arguments) in [
        ("sing", json!({})),
        ("shell", json!("ls")),
        ("text_editor", json!(["view", missing])),
    ] {
        let answer = call(tool, &arguments);
        assert_eq!(answer["error"]["code"], -32602, "{arguments}: {answer}");
    }
}
