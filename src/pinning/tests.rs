use super::*;
use crate::extension::ExtensionConfig;
use crate::extension::pinning_check::Pinner;
use crate::mcp::types::Tool;
use serde_json::json;

fn tools(names: &[&str]) -> Arc<Vec<Tool>> {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools: Vec<_> = names.iter().map(tool).collect();
    Arc::new(crate::json::from_value(&json!(tools)).unwrap())
}

#[test]
fn pins_of_another_time_are_not_shown_while_pinning_is_off() {
    let folder = std::env::temp_dir().join(format!("gosling-pinned-{}", std::process::id()));
    let config = json!({"type": "stdio", "name": "one", "cmd": "x"});
    let config = ExtensionConfig::from_value(config).unwrap();
    let settings = |mode| Settings {
        mode,
        folder: folder.clone(),
    };
    let warn = settings(Mode::Warn);
    assert!(warn.pinned(&config).unwrap().is_none());
    warn.review(&config, tools(&["a"]), &[]);
    assert_eq!(warn.pinned(&config).unwrap().unwrap()["tools"], 1);
    assert!(settings(Mode::Off).pinned(&config).unwrap().is_none());
    std::fs::remove_dir_all(folder).unwrap();
}
