use super::*;

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: Default::default(),
    }
}

#[test]
fn a_name_that_fits_stays_and_any_other_comes_back_as_it_was() {
    let long = "x".repeat(65);
    let digits = "7".repeat(64);
    let names = [
        "a__b-C9",
        "a.b",
        "a b",
        "zürich__ort",
        "",
        &long,
        "3d__render",
        "-x",
        &digits,
    ];
    let tools: Vec<ToolSpec> = names.iter().map(|name| tool(name)).collect();
    let table = ToolNames::of(&tools);
    let mut seen = std::collections::HashSet::new();
    for name in names {
        let out = encode_tool_name(name).into_owned();
        assert!(!out.is_empty() && out.len() <= MAX_LENGTH, "{out}");
        assert!(
            (out.bytes()).all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
            "{out}"
        );
        assert!(
            !out.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
            "{out}"
        );
        assert_eq!(table.decode(out.clone()), name);
        assert!(seen.insert(out), "two tools became one");
    }
    assert_eq!(encode_tool_name("a__b-C9"), "a__b-C9");
    assert_eq!(table.decode("unknown.".into()), "unknown.");
}
