use super::*;
use serde_json::value::RawValue;

const RULES: SchemaRules = SchemaRules {
    max_tools: 2,
    property_names: Some(("_.-", 64)),
};

fn tool(name: &str, description: &str, schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: RawValue::from_string(schema.to_owned()).unwrap(),
    }
}

const FINE: &str = r#"{"type":"object","properties":{}}"#;

#[test]
fn ordinary_tools_are_not_copied() {
    let tools = [tool("a", "d", FINE), tool("b", "d", FINE)];
    let offer = ToolOffer::new(&tools, &RULES, &RequestForm::default());
    assert!(matches!(offer.tools, Cow::Borrowed(_)));
    assert!(offer.left_out.is_empty());
}

#[test]
fn what_cannot_be_offered_is_left_out_with_words() {
    let large = format!("{{\"large\":\"{}\"}}", "x".repeat(256 << 10));
    let tools = [
        tool("large", "d", &large),
        tool("silent", " ", "{}"),
        tool("refused", "d", FINE),
        tool("b", "d", FINE),
        tool("one_more", "d", FINE),
    ];
    let mut form = RequestForm::default();
    form.left_out_tools.insert("refused".to_owned());
    let offer = ToolOffer::new(&tools, &RULES, &form);
    let names: Vec<_> = offer.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["silent", "b"]);
    assert!(
        offer.left_out[0]
            .1
            .contains("large is left out: its schema is larger than 256 KiB")
    );
    assert!(offer.left_out.last().unwrap().1.contains("2 tools at most"));
    assert_eq!(offer.tools[0].description, "silent");
    form.without_tools = true;
    let offer = ToolOffer::new(&tools, &RULES, &form);
    assert!(offer.tools.is_empty() && offer.left_out.is_empty());
}

#[test]
fn calls_of_the_history_are_told_with_the_offered_names() {
    let schema = r#"{"type":"object","properties":{"@id":{}}}"#;
    let tools = [tool("at", "d", schema)];
    let offer = ToolOffer::new(&tools, &RULES, &RequestForm::default());
    let call = |name: &str| {
        let call = serde_json::json!({"type": "toolRequest", "id": "1", "toolCall":
            {"status": "success", "value": {"name": name, "arguments": {"@id": 7}}}});
        let content = serde_json::from_value(call).unwrap();
        Message::new(crate::conversation::Role::Assistant, vec![content])
    };
    let (known, other) = (call("at"), call("other"));
    let replayed = offer.replayed(&[&known, &other]).unwrap();
    let arguments = |content: &[Content]| match &content[0] {
        Content::ToolRequest(request) => request
            .tool_call
            .value()
            .unwrap()
            .arguments
            .get()
            .to_owned(),
        other => panic!("{other:?}"),
    };
    let sent = arguments(&replayed[0].content);
    let name = sent.split('"').nth(1).unwrap();
    assert_ne!(name, "@id");
    assert!(offer.tools[0].input_schema.get().contains(name), "{sent}");
    assert_eq!(arguments(&replayed[1].content), r#"{"@id":7}"#);
    let mut content = replayed[0].content.clone();
    offer.restore_arguments(&mut content);
    assert_eq!(arguments(&content), r#"{"@id":7}"#);
}
