use super::*;

fn take(tool: &FinalOutput, arguments: Value) -> String {
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    serde_json::to_string(&tool.take(&arguments)).unwrap()
}

#[test]
fn only_what_fits_becomes_the_output() {
    let schema = json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = FinalOutput::new(&schema).unwrap();
    assert_eq!(tool.tool()["inputSchema"]["type"], "object");
    let told = take(&tool, json!({"n": "x"}));
    assert!(told.contains("- `/n` is a string, not integer"), "{told}");
    assert_eq!(tool.output(), None);
    take(&tool, json!({"n": 1, "b": 2}));
    assert_eq!(tool.output().as_deref(), Some(r#"{"n":1,"b":2}"#));
    tool.reset();
    assert_eq!(tool.output(), None);
}

#[test]
fn reminders_end() {
    let tool = FinalOutput::new(&json!({"required": ["n"]})).unwrap();
    take(&tool, json!({}));
    for _ in 0..MAX_REMINDERS {
        assert!(matches!(tool.after_answer(), AfterAnswer::Remind(_)));
    }
    match tool.after_answer() {
        AfterAnswer::Fail(reason) => assert!(reason.contains("`/n` is missing"), "{reason}"),
        _ => panic!("one more"),
    }
}

#[test]
fn a_schema_that_no_arguments_can_fit_is_refused() {
    for (schema, reason) in [
        (json!({"type": "array"}), "must allow one"),
        (json!({"type": "colour"}), "`/type` must be a type"),
        (json!(true), "must allow one"),
    ] {
        let error = FinalOutput::new(&schema).err().unwrap();
        assert!(error.contains(reason), "{error}");
    }
}
