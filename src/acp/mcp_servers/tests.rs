use super::*;

#[test]
fn servers_become_extensions_and_a_bad_one_stops_no_other() {
    let servers = json!([
        {"name": "files", "command": "/bin/files", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
        {"type": "sse", "name": "old", "url": "http://localhost/sse", "headers": []},
        {"type": "http", "name": "web", "url": "http://localhost/mcp", "headers": [{"name": "X", "value": "y"}]},
        {"name": "none"},
        {"type": "acp", "name": "in", "serverId": "1"},
        {"type": "acp", "name": "idle", "serverId": "2"},
        {"type": "acp", "name": "lost"},
    ]);
    let servers = serde_json::from_value(servers).unwrap();
    let (extensions, failures) = extensions(servers, &mut |name, id| match id {
        "1" => ExtensionConfig::from_value(json!({"type": "frontend", "name": name, "tools": []})),
        _ => Err("does not answer".to_owned()),
    });
    let kinds: Vec<_> = extensions.iter().map(|it| (it.name(), it.kind())).collect();
    assert_eq!(
        kinds,
        [
            ("files", "stdio"),
            ("web", "streamable_http"),
            ("in", "frontend")
        ]
    );
    let config = extensions[0].to_value();
    assert_eq!(
        (&config["envs"]["A"], &config["args"][0]),
        (&json!("b"), &json!("-x"))
    );
    let reasons = ["\"old\"", "`command`", "\"idle\"", "`serverId`"];
    assert_eq!(failures.len(), reasons.len());
    for (failure, reason) in failures.iter().zip(reasons) {
        assert!(failure.contains(reason), "{failure}");
    }
}
