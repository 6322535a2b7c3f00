use super::*;

#[test]
fn requests_go_to_servers_of_github_alone() {
    let github = "https://github.com";
    assert!(is_copilot("https://api.business.githubcopilot.com", github));
    assert!(is_copilot(
        "https://copilot-api.a.ghe.com",
        "https://a.ghe.com"
    ));
    for evil in [
        "http://api.githubcopilot.com",
        "https://evilgithubcopilot.com",
        "https://api.githubcopilot.com.evil.example",
        "https://api.githubcopilot.com@evil.example",
        "http://127.0.0.1:1",
        "",
    ] {
        assert!(!is_copilot(evil, github), "{evil}");
    }
    assert_eq!(api_of_github(github), "https://api.github.com");
}

#[test]
fn the_last_message_says_who_asks() {
    let roles =
        |last| format!(r#"{{"messages":[{{"role":"user"}},{{"role":"{last}","content":[1]}}]}}"#);
    assert_eq!(initiator(roles("user").as_bytes()), "user");
    assert_eq!(initiator(roles("tool").as_bytes()), "agent");
    assert_eq!(
        initiator(br#"{"input":[{"type":"function_call_output"}]}"#),
        "agent"
    );
    assert!(has_image(br#"[{"type":"image_url"}]"#));
    assert!(!has_image(br#"["{\"type\":\"image_url\"}"]"#));
}
