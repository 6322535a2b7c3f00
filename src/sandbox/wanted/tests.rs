use super::*;
use serde_json::json;

#[test]
fn a_level_alone_and_a_mapping_with_exceptions_are_read() {
    for (text, level) in [
        ("off", Level::Off),
        ("workspace", Level::Workspace),
        ("strict", Level::Strict),
    ] {
        let wanted = Wanted::read(&json!(text)).unwrap();
        assert_eq!(wanted, Wanted::of(level));
        assert!(!wanted.has_exceptions());
    }
    let models = std::env::temp_dir().join("models");
    let wanted = Wanted::read(&json!({
        "level": "strict", "read": [models], "write": ["~/.npm"], "network": [443, "udp"],
    }));
    let wanted = wanted.unwrap();
    let home = std::env::home_dir().unwrap();
    assert_eq!(wanted.read, [models]);
    assert_eq!(wanted.write, [home.join(".npm")]);
    assert_eq!((&*wanted.ports, wanted.udp), (&[443][..], true));
    assert!(wanted.has_exceptions());
}

#[test]
fn what_is_not_understood_is_refused() {
    for wrong in [
        json!(null),
        json!(true),
        json!("Strict"),
        json!(["strict"]),
        json!({}),
        json!({"level": "none"}),
        json!({"level": "strict", "hosts": ["example.org"]}),
        json!({"level": "strict", "read": "/srv"}),
        json!({"level": "strict", "read": ["srv"]}),
        json!({"level": "strict", "read": ["/srv/../etc"]}),
        json!({"level": "strict", "write": ["~root/x"]}),
        json!({"level": "strict", "write": [7]}),
        json!({"level": "strict", "network": ["example.org"]}),
        json!({"level": "strict", "network": [0]}),
        json!({"level": "strict", "network": [65536]}),
        json!({"level": "strict", "network": [-1]}),
        json!({"level": "strict", "network": [443.5]}),
        json!({"level": "workspace", "network": [443]}),
        json!({"level": "off", "network": ["udp"]}),
        json!({"level": "strict", "network": vec![1; MAX_EXCEPTIONS + 1]}),
    ] {
        let reason = Wanted::read(&wrong).unwrap_err();
        assert!(reason.starts_with("`sandbox"), "{wrong}: {reason}");
    }
}
