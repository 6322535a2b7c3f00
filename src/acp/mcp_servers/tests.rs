use super::*;

#[test]
fn servers_become_extensions_and_a_bad_one_stops_no_other() {
    let servers = json!([
        {"name": "files", "command": "/bin/files", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
        {"type": "sse", "name": "old", "url": "http://localhost/sse", "headers": []},
        {"type": "http", "name": "web", "url": "http://localhost/mcp", "headers": [{"name": "X", "value": "y"}]},
        {"name": "none"},
    ]);
    let (extensions, failures) = extensions(serde_json::from_value(servers).unwrap());
    let kinds: Vec<_> = extensions.iter().map(|it| (it.name(), it.kind())).collect();
    assert_eq!(kinds, [("files", "stdio"), ("web", "streamable_http")]);
    let config = extensions[0].to_value();
    assert_eq!(
        (&config["envs"]["A"], &config["args"][0]),
        (&json!("b"), &json!("-x"))
    );
    assert!(failures[0].contains("\"old\"") && failures[1].contains("`command`"));
}
