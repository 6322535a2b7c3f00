use super::*;

#[test]
fn a_source_is_a_host_and_nothing_else() {
    for fine in [
        "https://api.example.org",
        "https://*.example.org",
        "wss://example.org:8443",
        "http://localhost:*",
        "HTTPS://Example.org",
        "example.org",
        "127.0.0.1:3000",
        "https://cdn.example.org/npm/three@0.1/",
        "https://cdn.example.org/a/b.js",
        "https://example.org/",
    ] {
        assert!(is_source(fine), "{fine}");
    }
    let long = format!("https://{}", "a".repeat(MAX_SOURCE_LENGTH));
    for hostile in [
        "",
        "*",
        "*.",
        "https://",
        "https://*",
        "https:",
        "data:",
        "'self'",
        "'unsafe-eval'",
        "'none'",
        "https://a.b;script-src",
        "https://a.b; script-src *",
        "https://a.b https://c.d",
        "https://a.b\thttps://c.d",
        "https://a.b\r\nSet-Cookie: a=b",
        "https://a.b\u{a0}",
        "https://a.b/;script-src *",
        "https://a.b/?x",
        "https://a.b/#x",
        "https://a.b,https://c.d",
        "https://user@a.b",
        "https://a.b:",
        "https://a.b:123456",
        "https://a.b:x",
        "https://a..b",
        "https://.b",
        "https://a*.b",
        "https://[::1]",
        "https://é.org",
        "javascript://a.b",
        "https://a.b\"><script>",
        "https://a.b&quot;",
        &long,
    ] {
        assert!(!is_source(hostile), "{hostile}");
    }
}

#[test]
fn the_policy_allows_nothing_that_was_not_asked_for() {
    let policy = Domains::default().policy("");
    for network in ["http:", "https:", "ws", "'self'", "*"] {
        assert!(!policy.contains(network), "{network} in {policy}");
    }
    for directive in [
        "default-src 'none'",
        "frame-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "connect-src blob: data: ;",
    ] {
        assert!(policy.contains(directive), "{directive} not in {policy}");
    }
}

#[test]
fn each_list_goes_to_its_directives() {
    let policy = Domains {
        connect_domains: vec!["https://connect".into()],
        resource_domains: vec!["https://resource".into()],
        script_domains: vec!["https://script".into()],
        frame_domains: vec!["https://frame".into(), "https://frame2".into()],
        base_uri_domains: vec!["https://base".into()],
    }
    .policy("");
    let directives_with = |source: &str| -> Vec<&str> {
        let all = policy
            .split(';')
            .filter(|d| d.split(' ').any(|s| s == source));
        all.filter_map(|d| d.split_whitespace().next()).collect()
    };
    assert_eq!(directives_with("https://connect"), ["connect-src"]);
    assert_eq!(
        directives_with("https://resource"),
        [
            "script-src",
            "style-src",
            "img-src",
            "font-src",
            "media-src",
            "worker-src"
        ]
    );
    assert_eq!(directives_with("https://script"), ["script-src"]);
    assert_eq!(directives_with("https://frame"), ["frame-src"]);
    assert_eq!(directives_with("https://frame2"), ["frame-src"]);
    assert_eq!(directives_with("https://base"), ["base-uri"]);
}

#[test]
fn a_list_keeps_its_sources_up_to_a_number() {
    let mut list = vec!["https://a.b".to_owned(), "'unsafe-eval'".to_owned()];
    keep_sources("connect_domains", &mut list);
    assert_eq!(list, ["https://a.b"]);
    let mut long: Vec<String> = (0..100).map(|n| format!("https://a{n}")).collect();
    keep_sources("connect_domains", &mut long);
    assert_eq!(long.len(), MAX_SOURCES);
}
