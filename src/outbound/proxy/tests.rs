use super::*;

fn chosen(uri: &str, variables: &[(&str, &str)]) -> Option<String> {
    let uri = uri.parse().unwrap();
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let proxy = choose(&uri, variable).unwrap();
    proxy.map(|proxy| format!("{}:{}", proxy.host(), proxy.port()))
}

#[test]
fn each_scheme_has_its_proxy_and_the_rest_the_one_for_all() {
    let all = [
        ("HTTPS_PROXY", "http://s:1"),
        ("HTTP_PROXY", "p:2"),
        ("ALL_PROXY", "socks5://a:3"),
    ];
    for (uri, variables, expected) in [
        ("https://x.y", &all[..], Some("s:1")),
        ("http://x.y", &all, Some("p:2")),
        ("https://x.y", &all[1..], Some("a:3")),
        ("http://x.y", &all[..1], None),
        ("https://x.y", &all[1..2], None),
        (
            "https://x.y",
            &[("https_proxy", "http://user:pw@s:9/")],
            Some("s:9"),
        ),
        (
            "https://x.y",
            &[("https_proxy", " "), ("ALL_PROXY", "a")],
            Some("a:80"),
        ),
        (
            "https://x.y",
            &[("HTTPS_PROXY", ""), ("https_proxy", "s")],
            Some("s:80"),
        ),
        ("https://x.y", &[], None),
    ] {
        assert_eq!(
            chosen(uri, variables).as_deref(),
            expected,
            "{uri} {variables:?}"
        );
    }
}

#[test]
fn what_is_no_address_of_a_proxy_is_an_error_that_does_not_show_it() {
    for wrong in [
        "ftp://secret@p:1",
        "http://",
        "secret secret",
        "http://p:secret",
    ] {
        let variable = |name: &str| (name == "ALL_PROXY").then(|| wrong.to_owned());
        let why = choose(&"https://x.y".parse().unwrap(), variable).unwrap_err();
        assert!(
            why.contains("ALL_PROXY") && !why.contains("secret"),
            "{why}"
        );
    }
}

#[test]
fn exceptions_are_names_addresses_networks_and_ports() {
    for (uri, list, excepted) in [
        ("https://a.example.com", "example.com", true),
        ("https://example.com", "example.com", true),
        ("https://EXAMPLE.com", "x, Example.COM", true),
        ("https://notexample.com", "example.com", false),
        ("https://example.com.evil", "example.com", false),
        ("https://a.example.com", ".example.com", true),
        ("https://a.example.com", "*.example.com", true),
        ("https://a.example.com", "*", true),
        ("https://a.example.com", "x *", true),
        ("https://a.example.com", ".", false),
        ("https://a.example.com", "", false),
        ("https://a.example.com", ",,", false),
        ("https://a.example.com:8443", "example.com:8443", true),
        ("https://a.example.com", "example.com:443", true),
        ("https://a.example.com", "example.com:80", false),
        ("http://a.example.com", "example.com:80", true),
        ("http://10.1.2.3", "10.0.0.0/8", true),
        ("http://11.1.2.3", "10.0.0.0/8", false),
        ("http://11.1.2.3", "0.0.0.0/0", true),
        ("http://10.1.2.3", "10.1.2.3/32", true),
        ("http://10.1.2.4", "10.1.2.3/32", false),
        ("http://10.1.2.3", "10.0.0.0/33", false),
        ("http://10.1.2.3", "10.0.0.0/x", false),
        ("http://10.1.2.3", "10.1.2.3", true),
        ("http://10.1.2.3:81", "10.1.2.3:80", false),
        ("http://110.1.2.3", "10.1.2.3", false),
        ("http://192.168.7.1", "192.168.*", true),
        ("http://ten.example", "10.0.0.0/8", false),
        ("http://[fd00::1]", "fd00::/8", true),
        ("http://[fd00::1]:81", "[fd00::1]:81", true),
        ("http://[fd00::1]", "fd00::1", true),
        ("http://[fe00::1]", "fd00::/8", false),
        ("http://[fe00::1]", "::/0", true),
        ("http://[::ffff:10.1.2.3]", "10.0.0.0/8", true),
    ] {
        let variables = [("ALL_PROXY", "p:1"), ("NO_PROXY", list)];
        assert_eq!(
            chosen(uri, &variables).is_none(),
            excepted,
            "{uri} {list:?}"
        );
    }
}
