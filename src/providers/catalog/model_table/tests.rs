use super::*;

#[test]
fn the_table_of_the_program_is_whole_and_small() {
    assert!(SNAPSHOT.len() <= 60_000, "{}", SNAPSHOT.len());
    let table = ModelTable::parse(SNAPSHOT).unwrap();
    assert!(table.date.as_str() >= "2026-11-26");
    let of_openai = ModelTable::models_of(SNAPSHOT, "openai");
    assert_eq!(of_openai, table.providers["openai"]);
    assert_eq!(ModelTable::models_of(SNAPSHOT, "nope"), []);
    for (provider, models) in &table.providers {
        let mut names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{provider}");
    }
    assert_eq!(ModelTable::parse(&table.to_json()).unwrap(), table);
}

#[test]
fn what_is_no_table_is_refused_with_its_place() {
    let of = |models: &str| {
        format!(
            "{{\"format\":\"gosling-models-1\",\"date\":\"2026-11-26\",\n\"providers\":{{\"a\":{models}}}}}"
        )
    };
    for (json, why) in [
        ("{\n  \"format\": ,", "line 2 column 13"),
        (
            r#"{"format":"x","date":"2026-11-26","providers":{}}"#,
            "its format is \"x\"",
        ),
        (
            r#"{"format":"gosling-models-1","date":"soon","providers":{}}"#,
            "\"soon\" is not a date",
        ),
        (&of("[]"), "it has no models"),
        (
            &of(r#"[{"name":"m"}]"#),
            "from line 2 on: missing field `window`",
        ),
        (&of(r#"[{"name":"m","window":0}]"#), "the limits of \"m\""),
        (&of(r#"[{"name":"","window":1}]"#), "a name is empty"),
        (
            &of(r#"[{"name":"m","window":1,"price":[-1]}]"#),
            "the prices of \"m\"",
        ),
        (
            &of(r#"[{"name":"m","window":1,"retired":"2026-13-01"}]"#),
            "is not a date",
        ),
    ] {
        let error = ModelTable::parse(json).unwrap_err();
        assert!(error.contains(why), "{json}: {error}");
    }
}

#[test]
fn a_longer_name_means_the_longest_known_one() {
    let models = ModelTable::models_of(SNAPSHOT, "anthropic");
    let found = |name: &str| longest_prefix(&models, name).map(|model| model.name.as_str());
    assert_eq!(
        found("claude-sonnet-5-5-20261001"),
        Some("claude-sonnet-5-5")
    );
    assert_eq!(
        found("anthropic/claude-sonnet-5.5"),
        Some("claude-sonnet-5-5")
    );
    assert_eq!(found("claude-sonnet-50"), None);
}
