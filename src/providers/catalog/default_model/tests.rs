use super::*;

fn models(names: &[&str]) -> Vec<Model> {
    let lines: Vec<String> = (names.iter())
        .map(|name| {
            let (name, retired) = name.split_once(' ').unwrap_or((name, "2100-01-01"));
            format!(r#"{{"name":"{name}","window":1,"retired":"{retired}"}}"#)
        })
        .collect();
    crate::json::from_str(&format!("[{}]", lines.join(","))).unwrap()
}

#[test]
fn the_newest_model_of_the_first_family_is_the_default() {
    let list = models(&[
        "claude-opus-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5",
        "claude-sonnet-5",
        "claude-sonnet-5-5 2026-12-24",
        "grok-4.20-reasoning",
        "gpt-oss-20b",
        "gpt-oss-120b",
    ]);
    for (families, date, expected) in [
        (&["claude-sonnet-*"][..], "2026-11-26", "claude-sonnet-5-5"),
        (&["claude-sonnet-*"], "2026-12-24", "claude-sonnet-5"),
        (&["gpt-*-sol", "gpt-oss-*b"], "2026-11-26", "gpt-oss-120b"),
        (&["grok-*"], "2026-11-26", "claude-opus-5"),
        (
            &["grok-4.20-reasoning"],
            "2026-11-26",
            "grok-4.20-reasoning",
        ),
        (&[], "2026-11-26", "claude-opus-5"),
    ] {
        let found = default_model(&list, families, date).unwrap();
        assert_eq!(found.name, expected, "{families:?} {date}");
    }
    assert!(default_model(&[], &["a"], "2026-11-26").is_none());
    let gone = models(&["a 2020-01-01"]);
    assert_eq!(default_model(&gone, &[], "2026-11-26").unwrap().name, "a");
}
