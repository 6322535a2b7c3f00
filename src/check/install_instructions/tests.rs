use super::*;

fn of(config: Value) -> InstallInstructions {
    installation(&ExtensionConfig::from_value(config).unwrap())
}

#[test]
fn no_value_of_a_variable_or_header_is_shown() {
    let stdio = of(json!({
        "type": "stdio", "name": "My server", "cmd": "npx", "args": ["-y", "a b"],
        "envs": {"TOKEN": "hidden"}, "env_keys": ["OTHER"],
    }));
    assert!(!stdio.yaml.contains("hidden") && stdio.yaml.contains("- TOKEN"));
    assert!(stdio.yaml.starts_with("myserver:"), "{}", stdio.yaml);
    let link = "goose://extension?name=My%20server&cmd=npx&arg=%2Dy&arg=a%20b&env=OTHER&env=TOKEN";
    assert_eq!(stdio.link, link);
    let http = of(json!({
        "type": "streamable_http", "name": "web", "uri": "https://example.com/mcp",
        "headers": {"X-Api-Key": "hidden"},
    }));
    assert!(!http.yaml.contains("hidden") && !http.link.contains("hidden"));
    assert!(
        http.link
            .contains("header=X%2DApi%2DKey%3D%24%7BX%5FAPI%5FKEY%7D&env=X%5FAPI%5FKEY")
    );
}
