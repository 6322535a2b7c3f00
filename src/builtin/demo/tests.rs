use super::{MAX_STEP_MS, MAX_STEPS};

#[test]
fn the_description_of_the_slow_tool_has_its_limits() {
    let tool: serde_json::Value = serde_json::from_str(include_str!("tools/slow.json")).unwrap();
    let properties = &tool["inputSchema"]["properties"];
    assert_eq!(properties["steps"]["maximum"], MAX_STEPS);
    assert_eq!(properties["step_ms"]["maximum"], MAX_STEP_MS);
}
