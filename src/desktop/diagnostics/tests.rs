use super::*;
use serde_json::json;

#[test]
fn values_of_secrets_variables_and_headers_are_hidden() {
    let mut secrets = SecretValues::default();
    let shown = redacted(
        json!({
            "GROQ_API_KEY": "gsk-12345", "GOOSE_MAX_TOKENS": 5, "token": 12345, "env_keys": ["A_KEY"],
            "extensions": [{"envs": {"A": "value-a", "B": {"c": ["value-c"]}}, "headers": {"X": "value-x"},
                "enabled": true, "secret": null}],
            "parameters": [{"key": "name"}],
        }),
        &mut secrets,
    );
    assert_eq!(
        shown,
        json!({
            "GROQ_API_KEY": "[secret]", "GOOSE_MAX_TOKENS": 5, "token": "[secret]", "env_keys": ["A_KEY"],
            "extensions": [{"envs": {"A": "[secret]", "B": {"c": "[secret]"}}, "headers": {"X": "[secret]"},
                "enabled": true, "secret": null}],
            "parameters": [{"key": "name"}],
        })
    );
    let found: Vec<String> = secrets.0.into_iter().collect();
    assert_eq!(
        found,
        ["12345", "gsk-12345", "value-a", "value-c", "value-x"]
    );
}

#[test]
fn a_secret_is_found_as_it_stands_in_json() {
    let mut secrets = SecretValues::default();
    secrets.add(&json!(["with \"quotes\"", "two\nlines", "abc", 1234]));
    let patterns = secrets.into_patterns();
    assert_eq!(
        patterns,
        [
            "1234",
            "two\\nlines",
            "two\nlines",
            "with \\\"quotes\\\"",
            "with \"quotes\""
        ]
    );
}

#[test]
fn the_end_of_a_file_has_no_piece_of_a_secret() {
    let path = env::temp_dir().join(format!("gosling-tail-{}", std::process::id()));
    let secrets = ["hunter2hunter2".to_owned()];
    let text = "first\nthe key hunter2hunter2 is\nlast\n";
    std::fs::write(&path, text).unwrap();
    for limit in 0..=text.len() as u64 + 1 {
        let mut tail = Tail::open(&path, limit).unwrap().unwrap();
        let [mut once, mut again] = [Vec::new(), Vec::new()];
        tail.write_redacted(&secrets, &mut once).unwrap();
        // What is appended meanwhile does not count.
        std::fs::write(&path, format!("{text}more\n")).unwrap();
        tail.write_redacted(&secrets, &mut again).unwrap();
        std::fs::write(&path, text).unwrap();
        assert_eq!(once, again);
        let shown = String::from_utf8(once).unwrap();
        assert!(
            !shown.contains("hunter2") && !shown.contains("ter2 is"),
            "{limit}: {shown}"
        );
        assert!(limit < 5 || shown.ends_with("last\n"), "{limit}: {shown}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Tail::open(&path, 1).unwrap().is_none());
}
