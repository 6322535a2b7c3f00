use super::*;

#[test]
fn a_stream_that_follows_the_format_has_no_fault() {
    let stream = ": hello\n\nevent: message\nid: 1\ndata: {\"a\":\ndata: 1}\n\nretry: 5\ndata:\n\n";
    assert_eq!(
        events(stream.as_bytes()),
        (vec!["{\"a\":\n1}".to_owned()], None)
    );
    let crlf = "data: 1\r\n\r\ndata: 2\r\r";
    assert_eq!(events(crlf.as_bytes()).0, ["1", "2"]);
}

#[test]
fn an_event_that_came_in_part_is_no_violation() {
    let body = "data: 1\n\ndata: 2\r\n\r\ndata: \"ü".as_bytes();
    let body = &body[..body.len() - 1];
    let whole = &body[..end_of_events(body)];
    assert_eq!(events(whole), (vec!["1".to_owned(), "2".to_owned()], None));
}

#[test]
fn each_violation_is_found() {
    for (stream, word) in [
        ("data: {\"a\":\n1}\n\n", "unknown field"),
        ("data: {\n\n", "not one message"),
        ("data: 1\ndata: 2\n\n", "not one message"),
        ("data: 1\n", "empty line"),
        ("retry: soon\n\n", "retry"),
    ] {
        let fault = events(stream.as_bytes()).1.unwrap_or_default();
        assert!(fault.contains(word), "{stream:?}: {fault}");
    }
    assert!(events(b"data: \"\xff\"\n\n").1.is_some());
}
