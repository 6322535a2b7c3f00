use super::*;
use gosling_core::store::settings::{Given, Kind, Setting, Wrong};
use serde_json::json;

const HEADERS: Setting<'static> = Setting {
    name: "X_CUSTOM_HEADERS",
    kind: Kind::Headers(read),
    default: "",
    environment_only: false,
    wrong: Wrong::Fails,
};

fn fault(text: &str) -> Option<String> {
    let fault = HEADERS.fault_of(&Given::of_variable(text));
    fault.map(|fault| fault.to_string())
}

#[test]
fn headers_are_read_in_every_form_that_users_write() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let both = vec![pair("A", "b"), pair("C-D", "e=f")];
    for value in [
        json!("A=b, C-D=e=f"),
        json!("A=b\nC-D=e=f\n"),
        json!({"A": "b", "C-D": "e=f"}),
    ] {
        assert_eq!(read(&value), (Some(both.clone()), None), "{value}");
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        let of_variable = HEADERS.pairs_of(Some(Given::of_variable(&text)));
        assert_eq!(of_variable.unwrap(), both, "{text}");
    }
    let comma = read(&json!("A=b, c"));
    assert_eq!(comma, (Some(vec![pair("A", "b, c")]), None));
    let partly = read(&json!("A=b\nnonsense\nC-D=e=f"));
    assert_eq!(partly.0, Some(both));
    assert!(partly.1.is_some_and(|wrong| wrong.contains("line 2")));
    assert_eq!(fault("A=b"), None);
    assert!(fault("no pair").is_some());
    for value in [json!(["A=b"]), json!({"A": ["b"]})] {
        assert!(read(&value).1.is_some(), "{value}");
    }
}

#[test]
fn no_sentence_contains_a_secret() {
    gosling_testing::property_testing::check(|u| {
        let secret: u64 = u.int_in_range(1_000_000_000..=u64::MAX)?;
        let secret = secret.to_string();
        let begin = *u.choose(&["", "x", "A=", "[", "{\"a\":", "\n"])?;
        let text = format!("{begin}{secret}{}", u.arbitrary::<String>()?);
        for value in [
            json!(text),
            json!([text]),
            json!({"A b": text}),
            json!({"A": [text]}),
            crate::json::from_str(&secret).unwrap_or_default(),
        ] {
            for wrong in [read(&value).1, fault(&value.to_string())] {
                let wrong = wrong.unwrap_or_default();
                assert!(!wrong.contains(&secret), "{wrong}");
            }
        }
        Ok(())
    });
}
