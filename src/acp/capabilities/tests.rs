use super::*;

#[test]
fn capabilities_of_other_types_count_as_absent() {
    let read = |value: Value| {
        let initialize: Initialize = serde_json::from_value(value).unwrap();
        initialize.capabilities()
    };
    let all = read(json!({"protocolVersion": 1, "clientCapabilities": {
        "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
        "elicitation": {"form": {}}, "session": {"notices": {}, "compaction": {}},
        "_meta": {"terminal_output": true, "goose": {"customNotifications": true}}
    }}));
    assert!(all.reads_files && all.writes_files && all.terminal && all.elicitation_form);
    assert!(all.notices && all.compaction && all.terminal_output);
    assert!(all.is_goose && all.goose_updates);
    let none = read(json!({"protocolVersion": 1, "clientCapabilities": {
        "fs": [], "terminal": 1, "elicitation": {"form": null}, "session": 5
    }}));
    assert!(!none.reads_files && !none.terminal && !none.elicitation_form && !none.notices);
}
