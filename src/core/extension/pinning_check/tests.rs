use super::*;
use serde_json::json;

fn tools(names: &[&str]) -> Arc<Vec<Tool>> {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools: Vec<_> = names.iter().map(tool).collect();
    Arc::new(crate::json::from_value(&json!(tools)).unwrap())
}

#[test]
fn a_tool_is_withheld_that_is_listed_and_not_offered() {
    let withheld = |offered: &[&str], tool: &str| {
        let reviewed = Reviewed {
            listed: tools(&["a", "b"]),
            offered: tools(offered),
            ..Reviewed::default()
        };
        reviewed.withholds(tool)
    };
    assert!(withheld(&["a"], "b"));
    assert!(!withheld(&["a"], "a") && !withheld(&["a"], "c"));
    assert!(!withheld(&["a", "b"], "b"));
    let config = json!({"type": "stdio", "name": "one", "cmd": "x"});
    let error = withheld_error(&ExtensionConfig::from_value(config).unwrap(), "b");
    assert_eq!(error.phase, Phase::Tool);
}
