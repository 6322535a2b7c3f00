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
    assert!(offer.left_out[0].contains("large is left out: its schema is larger than 256 KiB"));
    assert!(offer.left_out.last().unwrap().contains("2 tools at most"));
    assert_eq!(offer.tools[0].description, "silent");
    form.without_tools = true;
    let offer = ToolOffer::new(&tools, &RULES, &form);
    assert!(offer.tools.is_empty() && offer.left_out.is_empty());
}
