use super::*;

#[test]
fn a_tool_keeps_its_schema_to_the_letter() {
    let text = r#"{"name":"t","inputSchema":{"type":"object","$defs":{"b":1,"a":2}}}"#;
    let tool: Tool = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&tool).unwrap(), text);
}

#[test]
fn a_part_without_a_type_is_not_content() {
    for bad in ["5", "{}", r#"{"type":5}"#, r#"["text"]"#] {
        assert!(serde_json::from_str::<Content>(bad).is_err(), "{bad}");
    }
    let odd = r#"{"type":"hologram","x":[1]}"#;
    let part: Content = serde_json::from_str(odd).unwrap();
    assert_eq!(part.as_json(), odd);
}

#[test]
fn what_is_said_in_sampling_is_one_part_or_several() {
    let text = r#"{"type":"text","text":"a"}"#;
    for (content, parts) in [
        (text.to_owned(), 1),
        (format!("[{text},{text}]"), 2),
        ("[]".to_owned(), 0),
    ] {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        let read: SamplingMessage = serde_json::from_str(&message).unwrap();
        assert_eq!(read.content.len(), parts);
        assert_eq!(serde_json::to_string(&read).unwrap(), message);
    }
    for bad in ["5", r#""a""#, "{}", "null"] {
        let message = format!(r#"{{"role":"user","content":{bad}}}"#);
        assert!(serde_json::from_str::<SamplingMessage>(&message).is_err());
    }
}

#[test]
fn null_and_unknown_capabilities_do_no_harm() {
    let c: ServerCapabilities =
        serde_json::from_str(r#"{"tools":{"listChanged":null,"x":1},"resources":null,"tasks":{}}"#)
            .unwrap();
    assert!(c.tools.is_some() && c.resources.is_none());
}

#[test]
fn a_root_is_an_absolute_folder_as_a_uri() {
    let root = Root::of(Path::new("/home/ada/my wörk#1%/a-b_c.d~e")).unwrap();
    assert_eq!(root.uri, "file:///home/ada/my%20w%C3%B6rk%231%25/a-b_c.d~e");
    assert_eq!(root.name.as_deref(), Some("a-b_c.d~e"));
    let top = Root::of(Path::new("/")).unwrap();
    assert_eq!((top.uri.as_str(), top.name), ("file:///", None));
    assert_eq!(Root::of(Path::new("here")), None);
}

#[cfg(windows)]
#[test]
fn a_root_on_a_drive_or_a_share_is_a_uri_that_servers_can_read() {
    for (path, uri) in [
        (r"C:\work", "file:///C:/work"),
        (r"C:\wörk", "file:///C:/w%C3%B6rk"),
        (r"C:\", "file:///C:/"),
        (r"\\?\C:\a b", "file:///C:/a%20b"),
        (r"\\host\share\x", "file://host/share/x"),
        (r"\\?\UNC\host\share\x", "file://host/share/x"),
    ] {
        assert_eq!(Root::of(Path::new(path)).unwrap().uri, uri);
    }
}
