use super::*;

const LIST: &[u8] = b"
extensions:
  - id: slack
    command: uvx mcp_slack
  - id: files
    command: npx -y @scope/files '/srv/my files'
  - id: quiet
    command: npx -q quiet
  - id: named
    command: npx -- -y
  - id: own
    command: /opt/own/server
";

#[test]
fn a_line_is_allowed_with_exactly_its_arguments() {
    let list = Allowlist::parse(LIST).unwrap();
    for (line, expected) in [
        (&["uvx", "mcp_slack"][..], true),
        (&["uvx.exe", "mcp_slack"], true),
        (&["npx", "@scope/files", "/srv/my files"], true),
        (&["npx.cmd", "--yes", "@scope/files", "/srv/my files"], true),
        (
            &["npx", "-y", "--yes", "@scope/files", "/srv/my files"],
            true,
        ),
        (&["npx", "-q", "-y", "@scope/files", "/srv/my files"], false),
        (&["npx", "-q", "-y", "quiet"], true),
        (&["npx", "--", "-y", "@scope/files", "/srv/my files"], false),
        (&["npx", "--", "-y"], true),
        (&["/opt/own/server"], true),
        (&["uvx"], false),
        (&["uvx", "mcp_slack", "--now"], false),
        (&["uvx", "mcp_slack2"], false),
        (&["uvx", "mcp_slack", ""], false),
        (&["uvx mcp_slack"], false),
        (&["UVX", "mcp_slack"], false),
        (&["/tmp/uvx", "mcp_slack"], false),
        (&["./uvx", "mcp_slack"], false),
        (&["npx", "@scope/files", "-y", "/srv/my files"], false),
        (&["npx", "@scope/files", "/srv/my", "files"], false),
        (&["/opt/own/server.exe"], false),
        (&["server"], false),
        (&[""], false),
    ] {
        let args: Vec<String> = line[1..].iter().map(|&word| word.to_owned()).collect();
        assert_eq!(list.allows(line[0], &args), expected, "{line:?}");
    }
    assert!(
        !Allowlist::parse(b"extensions: []")
            .unwrap()
            .allows("x", &[])
    );
}

#[test]
fn a_list_is_requested_again_after_an_hour_and_kept_if_that_fails() {
    let (fetched, now) = (Mutex::new(None), Instant::now());
    let list = |name: &str| {
        let text = format!("extensions: [{{command: {name}}}]");
        Allowlist::parse(text.as_bytes())
    };
    let failing = || Err("unreachable".to_owned());
    let never = || panic!("requested too early");
    let at = |seconds| now + Duration::from_secs(seconds);
    let allows = |list: Result<Arc<Allowlist>, String>, name: &str| list.unwrap().allows(name, &[]);
    assert!(current(&fetched, "a", now, failing).is_err());
    assert!(allows(current(&fetched, "a", now, || list("one")), "one"));
    assert!(allows(current(&fetched, "a", at(3599), never), "one"));
    assert!(allows(current(&fetched, "a", at(3600), failing), "one"));
    assert!(allows(current(&fetched, "a", at(3659), never), "one"));
    assert!(allows(
        current(&fetched, "a", at(3660), || list("two")),
        "two"
    ));
    // Another address is another list.
    assert!(current(&fetched, "b", at(3661), failing).is_err());
    assert!(allows(
        current(&fetched, "b", at(3661), || list("three")),
        "three"
    ));
}

#[test]
fn another_text_is_not_a_list() {
    for (text, reason) in [
        (&b""[..], "`extensions`"),
        (b"extensions: yes", "`extensions`"),
        (b"extensions: [uvx]", "entry 1"),
        (b"extensions: [{id: a, command: a}, {id: b}]", "entry 2"),
        (b"extensions: [{command: \"it's\"}]", "quote"),
        (b"<html>", ""),
        (b"\xff", "UTF-8"),
    ] {
        let fault = Allowlist::parse(text).unwrap_err();
        assert!(fault.contains(reason), "{fault}");
    }
}
