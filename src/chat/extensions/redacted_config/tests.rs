use super::*;
use serde_json::json;

#[test]
fn values_are_masked_and_the_rest_stays() {
    let config = json!({
        "type": "streamable_http", "name": "n", "uri": "https://u:pw-planted@host/mcp?key=open-sesame",
        "envs": {"A": "open-sesame-1"}, "headers": {"K": "open-sesame-2"}, "timeout": 3,
        "description": "says open-sesame-1 and stored-secret", "strange": {"token": "open-sesame-3"},
        "stranger": false,
    });
    let config = ExtensionConfig::from_value(config).unwrap();
    let mut secrets = values_to_redact(&config);
    secrets.push("stored-secret".to_owned());
    let shown = redacted_config(&config, &secrets);
    assert_eq!(
        shown,
        json!({
            "type": "streamable_http", "name": "n", "description": "says [secret] and [secret]",
            "uri": "https://[secret]@host/mcp?key=ope********", "envs": {"A": "open-s*******"},
            "env_keys": [], "headers": {"K": "open-s*******"}, "timeout": 3, "bundled": null,
            "available_tools": [], "strange": "{\"token\"*****************", "stranger": false,
        })
    );
}
