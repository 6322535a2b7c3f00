use super::*;
use serde_json::json;

fn hides(fields: Value) -> bool {
    let mut recipe = json!({"title": "T", "description": "D", "prompt": "go"});
    for (name, value) in fields.as_object().unwrap() {
        recipe[name] = value.clone();
    }
    serde_json::from_value::<Recipe>(recipe)
        .unwrap()
        .has_hidden_text()
}

#[test]
fn ordinary_text_of_any_language_hides_nothing() {
    for text in [
        "go",
        "größer, 世界, مرحبا بالعالم, שלום\u{200f}",
        "👩‍👩‍👧 ❤️ 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿 🇳🇴",
        "葛\u{e0100}城",
        "می\u{200c}خواهم",
    ] {
        assert!(!hides(json!({"instructions": text})), "{text}");
    }
}

#[test]
fn hidden_text_is_found_wherever_it_is() {
    for text in [
        "go\u{e0041}\u{e0042}",
        "a\u{202e}b",
        "a\u{2066}b\u{2069}",
        "a\u{200b}b",
        "a\u{2060}b",
        "\u{feff}a",
        "❤\u{fe0f}\u{fe01}\u{fe02}",
        "a\u{e0101}",
        "🏴\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}\u{e0020}\u{e0061}\u{e007f}",
    ] {
        for fields in [
            json!({"title": text}),
            json!({"description": text}),
            json!({"prompt": text}),
            json!({"activities": ["a", text]}),
            json!({"extensions": [{"type": "stdio", "name": "a", "args": [text]}]}),
            json!({ "response": {"json_schema": {"properties": {text: {}}}} }),
            json!({"parameters": [{"key": "k", "input_type": "string", "requirement": "required",
                "description": text}]}),
            json!({"unknown": {"deep": [{"er": text}]}}),
        ] {
            assert!(hides(fields.clone()), "{fields}");
        }
    }
}
