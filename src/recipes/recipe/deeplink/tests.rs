use super::*;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};

fn recipe() -> Value {
    // The description encodes to both characters in which the alphabets differ.
    json!({"version": "1.0.0", "title": "T", "description": "D?>~", "prompt": "go", "own": [1]})
}

#[test]
fn a_link_is_read_in_every_form_that_it_takes() {
    let text = recipe().to_string();
    let standard = STANDARD.encode(&text);
    assert!(standard.contains(['+', '/']), "{standard}");
    let escaped = standard
        .replace('+', "%2B")
        .replace('/', "%2f")
        .replace('=', "%3D");
    for link in [
        URL_SAFE_NO_PAD.encode(&text),
        URL_SAFE.encode(&text),
        STANDARD_NO_PAD.encode(&text),
        standard,
        escaped,
        format!(" {}\n", URL_SAFE.encode(&text)),
    ] {
        assert_eq!(
            Recipe::from_link(&link).unwrap().into_value(),
            recipe(),
            "{link}"
        );
    }
}

#[test]
fn what_is_written_is_the_compact_json_in_the_order_given() {
    let given = r#"{"version":"1.0.0","title":"T","description":"D","instructions":"Be brief","prompt":"go"}"#;
    let recipe: Recipe = serde_json::from_str(given).unwrap();
    let link = recipe.to_link();
    assert_eq!(
        link,
        "eyJ2ZXJzaW9uIjoiMS4wLjAiLCJ0aXRsZSI6IlQiLCJkZXNjcmlwdGlvbiI6IkQiLCJpbnN0cnVjdGlvbnMiOi\
         JCZSBicmllZiIsInByb21wdCI6ImdvIn0"
    );
    assert_eq!(Recipe::from_link(&link).unwrap(), recipe);
}

#[test]
fn anything_else_is_no_link() {
    let long = URL_SAFE_NO_PAD.encode(" ".repeat(MAX_LINK));
    for link in [
        "!!!",
        "",
        "e30",
        "bm90IGpzb24",
        "%",
        "%ff%fe",
        "====",
        &long,
    ] {
        assert_eq!(Recipe::from_link(link), Err(Error::Link), "{link:.20}");
    }
}
