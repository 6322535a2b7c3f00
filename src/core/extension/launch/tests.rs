use super::*;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn config(fields: Value) -> ExtensionConfig {
    let mut value = json!({"type": "stdio", "name": "one", "description": "", "cmd": "x-mcp"});
    let fields = fields.as_object().expect("an object").clone();
    value.as_object_mut().expect("an object").extend(fields);
    ExtensionConfig::from_value(value).unwrap()
}

/// A folder with some files, deleted when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("gosling-launch-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir_all(folder.0.join("dist")).unwrap();
        for file in ["server.py", "dist/main.js", "a file"] {
            fs::write(folder.0.join(file), "").unwrap();
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_folder_counts_where_another_one_could_have_another_program() {
    let folder = Folder::new();
    let counts = |words: &[&str], more: Value, is_inside| {
        let mut fields = json!({"cmd": words[0], "args": words[1..]});
        let more = more.as_object().expect("an object").clone();
        fields.as_object_mut().expect("an object").extend(more);
        depends_on_folder(&config(fields), &folder.0, is_inside)
    };
    for words in [
        &["./x"][..],
        &["bin/x", "/srv/y"],
        &["python3", "server.py"],
        &["python3", "-u", "./server.py"],
        &["uvx", "--with", "mcp", "python", "server.py"],
        &["node", "dist/main"],
        &["node", "dist"],
        &["node", "."],
        &["x-mcp", "--config=server.py"],
        &["x-mcp", "-cserver.py"],
        &["x-mcp", "--server.py"],
        &["x-mcp", "a file"],
        &["env", "A=1", "/bin/sh", "-c", "exec $0", "x"],
        &["x-mcp", "../"],
    ] {
        assert!(counts(words, json!({}), false), "{words:?}");
    }
    for words in [
        &["x-mcp"][..],
        &["x-mcp", "stdio", "", "-", "--", "-é"],
        &["uvx", "mcp-server-time", "--local-timezone=UTC"],
        &["docker", "run", "-i", "--rm", "mcp/time"],
        &["/usr/bin/python3", "/srv/server.py"],
        &["~/bin/x", "https://h/server.py"],
        &["npx", "-y", "x", "dist"],
    ] {
        assert!(!counts(words, json!({}), false), "{words:?}");
    }
    let session = json!({"cwd": "session"});
    assert!(counts(&["npx", "-y", "x"], session.clone(), false));
    assert!(!counts(&["x-mcp"], session.clone(), false));
    assert!(!counts(
        &["x-mcp", "server.py"],
        json!({"cwd": "own"}),
        false
    ));
    assert!(counts(&["./x"], json!({"cwd": "own"}), false));
    assert!(
        counts(&["npx", "-y", "x"], json!({}), true),
        "inside, it starts there"
    );
    let python = |cwd| {
        let fields = json!({"type": "inline_python", "code": "1", "cwd": cwd});
        depends_on_folder(&config(fields), &folder.0, false)
    };
    assert!(python(json!("session")) && !python(json!("own")) && !python(Value::Null));
}

#[test]
fn values_count_and_are_not_kept_and_those_of_secrets_do_not_count() {
    let launch = |fields: Value| launch(&config(fields), None, None);
    let some = launch(json!({"envs": {"A": "sesame", "B": "2"}, "env_keys": ["C"]}));
    assert!(!some.contains("sesame"));
    assert_eq!(
        some,
        launch(json!({"env_keys": ["C"], "envs": {"B": "2", "A": "sesame"}}))
    );
    for other in [
        json!({"envs": {"A": "other", "B": "2"}, "env_keys": ["C"]}),
        json!({"envs": {"A": "2", "B": "sesame"}, "env_keys": ["C"]}),
        json!({"env_keys": ["A", "B", "C"]}),
    ] {
        assert_ne!(some, launch(other));
    }
    let http = |name: &str, value: &str| {
        launch(json!({"type": "streamable_http", "uri": "https://h", "headers": {name: value}}))
    };
    assert_eq!(http("A", "1"), http("A", "1"));
    assert_ne!(http("A", "1"), http("A", "2"));
    assert_ne!(http("A", "1"), http("B", "1"));
}

#[test]
fn the_folder_and_the_container_of_the_session_are_in_it() {
    let launch = |fields: Value, folder: Option<&str>, container| {
        launch(&config(fields), folder.map(Path::new), container)
    };
    let [a, b, none] = [Some("/a"), Some("/b"), None].map(|it| launch(json!({}), it, None));
    assert!(a != b && a != none && b != none);
    let [host, inside] = [None, Some("box")].map(|it| launch(json!({}), None, it));
    assert_ne!(host, inside);
    let own = || json!({"container": "own"});
    assert_eq!(launch(own(), None, None), launch(own(), None, Some("box")));
}

#[test]
fn what_earlier_versions_knew_whole_stays_as_it_was() {
    let fields = json!({"args": ["a"], "env_keys": ["C"], "timeout": 5});
    assert_eq!(
        launch(&config(fields), None, None),
        r#"{"type":"stdio","cmd":"x-mcp","args":["a"],"variables":["C"]}"#
    );
}
