use super::*;

#[test]
fn the_cheapest_that_is_neither_free_nor_retired_nor_too_small() {
    let models: Vec<Model> = crate::json::from_str(
        r#"[{"name":"big","window":1000,"price":[5,20]},
            {"name":"old","window":1000,"price":[0.1,0.1],"retired":"2026-01-01"},
            {"name":"free","window":1000,"price":[0,0]},
            {"name":"tiny","window":100,"price":[0.1,0.1]},
            {"name":"blind","window":1000,"price":[0.1,0.1],"tools":false},
            {"name":"unknown","window":1000},
            {"name":"small","window":1000,"price":[0.2,0.5]}]"#,
    )
    .unwrap();
    let found = |own: &str, tokens| {
        cheapest(&models, own, tokens, "2026-11-26", |_| true).map(|model| model.name.as_str())
    };
    assert_eq!(found("big", 400), Some("small"));
    assert_eq!(found("other", 400), Some("small"));
    assert_eq!(found("big", 40), Some("tiny"));
    assert_eq!(found("small-2026", 400), None, "it is as cheap itself");
    assert_eq!(found("big", 600), None);
    let not_small = |model: &Model| model.name != "small";
    assert!(cheapest(&models, "big", 400, "2026-11-26", not_small).is_none());
}
