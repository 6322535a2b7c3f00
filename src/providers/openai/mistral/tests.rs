use super::*;

#[test]
fn an_id_has_nine_letters_and_digits() {
    assert_eq!(id("D681PevKs"), "D681PevKs");
    let mut seen = std::collections::HashSet::new();
    for other in [
        "",
        "call_1",
        "call_2",
        "D681PevK_",
        "toolu_01A09q90qw90lq917835lq9",
    ] {
        let short = id(other).into_owned();
        assert!(short.len() == 9 && short.bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_eq!(id(other), short);
        assert!(seen.insert(short), "two ids became one");
    }
}

#[test]
fn its_servers_and_its_models_are_known() {
    for (url, model, is) in [
        ("https://api.mistral.ai/v1/chat/completions", "any", true),
        (
            "http://localhost:8000/v1",
            "mistralai/Devstral-Small-2507",
            true,
        ),
        ("http://localhost:8000/v1", "open-mixtral-8x7b", true),
        ("https://api.openai.com/v1", "gpt-4o", false),
        ("https://h/mistral.ai", "mistralai/other", false),
    ] {
        assert_eq!(is_mistral(url, model), is, "{url} {model}");
    }
}
