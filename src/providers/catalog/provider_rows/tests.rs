use super::*;

#[test]
fn all_rows_are_read() {
    let hosts: Vec<Host> = crate::json::from_str(HOSTS).expect("the rows are JSON");
    assert!(hosts.len() > 40, "{}", hosts.len());
    assert_eq!(hosts.len(), super::hosts().len());
    for host in hosts {
        assert!(
            ["openai", "anthropic"].contains(&host.engine),
            "{}",
            host.name
        );
        let scheme = if host.local {
            "http://localhost:"
        } else {
            "https://"
        };
        let (_, url) = host.host;
        assert!(url.starts_with(scheme) || host.name == "tanzu_ai", "{url}");
        assert!(!url.ends_with('/'), "{url}");
    }
}
