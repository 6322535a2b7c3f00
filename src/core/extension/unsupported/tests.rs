use super::*;
use serde_json::json;

#[test]
fn nothing_is_missing_that_gosling_has() {
    let key = |line: &'static str| line.split(';').next().unwrap_or_default();
    for key in BUILTINS.lines().map(key) {
        assert!(!features::SERVERS.contains(&key), "{key}");
    }
    for key in PLATFORM.lines().map(key) {
        assert!(!platform_extensions::is_ours(key), "{key}");
    }
}

#[test]
fn it_is_news_once_and_other_failures_always_are() {
    let config = |kind: &str, name: &str| {
        ExtensionConfig::from_value(json!({"type": kind, "name": name})).unwrap()
    };
    for (kind, name, again) in [
        ("builtin", "Tutorial", false),
        ("platform", "apps", false),
        ("builtin", "apps", true),
        ("builtin", "developer", true),
    ] {
        let config = config(kind, name);
        assert!(is_first_report(&config), "{kind} {name}");
        assert_eq!(is_first_report(&config), again, "{kind} {name}");
    }
}
