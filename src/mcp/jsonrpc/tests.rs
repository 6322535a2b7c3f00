use super::*;
use crate::server::is_notification;

fn one(text: &str) -> Message {
    match parse(text.as_bytes(), false) {
        Ok(Payload::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_notification_of_ours_is_told_from_an_answer() {
    let note = notification("notifications/message", Some(&1)).unwrap();
    assert!(is_notification(&note));
    let answers = [
        response(Some(&Id::Number(1)), Ok(&"method")),
        response(
            None,
            Err::<&(), _>(&ErrorObject::new(PARSE_ERROR, "method")),
        ),
    ];
    assert!(
        answers
            .iter()
            .flatten()
            .all(|answer| !is_notification(answer))
    );
    assert_eq!(answers.iter().flatten().count(), 2);
}

#[test]
fn a_request_keeps_its_params_as_they_were_written() {
    let Message::Request { id, method, params } =
        one(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"z":1, "a":1e2}}"#)
    else {
        panic!()
    };
    assert_eq!(id, Id::String("a".into()));
    assert_eq!(method, "tools/call");
    assert_eq!(params.unwrap().get(), r#"{"z":1, "a":1e2}"#);
}

#[test]
fn a_null_result_is_a_result_and_a_null_id_is_none() {
    assert!(matches!(
        one(r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
        Message::Response { id: Some(Id::Number(1)), outcome: Ok(r) } if r.get() == "null"
    ));
    assert!(matches!(
        one(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#),
        Message::Response { id: None, outcome: Err(e) } if e.code == PARSE_ERROR
    ));
}

#[test]
fn what_is_no_message_says_why() {
    for (text, json) in [
        ("", false),
        ("Server listening", false),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"", false),
        ("[1,", false),
        ("{\"a\":1} trailing", false),
        ("{}", true),
        ("5", true),
        ("[]", true),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, true),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}}"#,
            true,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, true),
        (r#""2.0""#, true),
    ] {
        match parse(text.as_bytes(), true) {
            Err(Malformed::NotJson(_)) => assert!(!json, "{text}"),
            Err(_) => assert!(json, "{text}"),
            Ok(m) => panic!("{text} became {m:?}"),
        }
        assert!(matches!(
            parse(b"{\"a\":\"\xff\"}", true),
            Err(Malformed::NotJson(_))
        ));
    }
}

#[test]
fn messages_of_other_languages_are_read() {
    let marked = one("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":\"\\udc00\"}");
    assert!(matches!(
        marked,
        Message::Response { id: Some(Id::Number(1)), outcome: Ok(r) } if r.get() == "\"\\ufffd\""
    ));
    for (code, read) in [
        ("-32601", METHOD_NOT_FOUND),
        ("\"-32601\"", METHOD_NOT_FOUND),
        ("\"E1\"", INTERNAL_ERROR),
        ("7.0", 7),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":null,"error":{{"code":{code}}}}}"#);
        assert!(
            matches!(one(&text), Message::Response { outcome: Err(e), .. } if e.code == read),
            "{text}"
        );
    }
    let request = one(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[ ]}"#);
    assert!(matches!(request, Message::Request { params: None, .. }));
}

#[test]
fn an_id_as_text_is_the_number_that_it_is() {
    for (id, number) in [
        ("1", Some(1)),
        ("-7", Some(-7)),
        ("01", None),
        ("+1", None),
        (" 1", None),
        ("1.0", None),
        ("a", None),
    ] {
        assert_eq!(Id::String(id.to_owned()).own_number(), number, "{id}");
    }
}

#[test]
fn an_invalid_request_keeps_the_id_to_answer_to() {
    assert!(matches!(
        parse(br#"{"jsonrpc":"1.0","id":7,"method":"x"}"#, true),
        Err(Malformed::NotMessage {
            id: Some(Id::Number(7)),
            ..
        })
    ));
}

#[test]
fn what_was_to_be_an_answer_is_told_from_what_only_has_an_id() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, true),
        (r#"{"jsonrpc":"2.0","id":7}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1}}"#,
            true,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","result":1}"#, false),
        (r#"{"id":7,"level":"info"}"#, false),
        (r#"{"jsonrpc":"1.0","id":7,"result":1}"#, true),
        (r#"{"id":7,"result":1}"#, true),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":1}"#, true),
        (r#"{"jsonrpc":"2.0","result":1}"#, true),
    ] {
        match parse(text.as_bytes(), true) {
            Err(Malformed::NotMessage { is_answer, .. }) => {
                assert_eq!(is_answer, expected, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn each_part_of_a_batch_is_judged_on_its_own() {
    let Ok(Payload::Batch(parts)) = parse(
        br#" [{"jsonrpc":"2.0","method":"a"},3,["2.0",1,"a"]]"#,
        true,
    ) else {
        panic!()
    };
    assert!(matches!(parts[0], Ok(Message::Notification { .. })));
    assert!(matches!(parts[1], Err(Malformed::NotMessage { .. })));
    assert!(matches!(parts[2], Err(Malformed::NotMessage { .. })));
}

#[test]
fn a_batch_is_not_read_where_none_is_legal_nor_beyond_its_limit() {
    let refused = |text: &str, batches| parse(text.as_bytes(), batches).unwrap_err();
    for text in ["[", " \n[{", "[]", "[what is here is not JSON"] {
        assert_eq!(refused(text, false), Malformed::Batch);
    }
    let ping = r#"{"jsonrpc":"2.0","method":"a"},"#;
    let fits = format!("[{}0]", ping.repeat(BATCH_PARTS - 1));
    let Ok(Payload::Batch(parts)) = parse(fits.as_bytes(), true) else {
        panic!()
    };
    assert_eq!(parts.len(), BATCH_PARTS);
    let long = format!("[{}0, what is here is not JSON", ping.repeat(BATCH_PARTS));
    assert_eq!(refused(&long, true), Malformed::LongBatch);
    let broken = format!("[{}", ping.repeat(9));
    assert!(matches!(refused(&broken, true), Malformed::NotJson(_)));
    let trailing = format!("{fits}]");
    assert!(matches!(refused(&trailing, true), Malformed::NotJson(_)));
}

#[test]
fn nesting_is_bounded_wherever_it_is_and_the_id_is_kept() {
    let nested = |member: &str, levels: usize| {
        let open = "[".repeat(levels);
        let close = "]".repeat(levels);
        format!(r#"{{"jsonrpc":"2.0","id":1,"{member}":{open}{close}}}"#)
    };
    assert!(parse(nested("result", DEPTH - 1).as_bytes(), false).is_ok());
    for member in ["result", "error", "no-such-member"] {
        for levels in [DEPTH, 200_000] {
            let refused = parse(nested(member, levels).as_bytes(), false).unwrap_err();
            let Malformed::NotMessage { id, is_answer, .. } = refused else {
                panic!("{refused}")
            };
            assert_eq!((id, is_answer), (Some(Id::Number(1)), true), "{member}");
        }
    }
    assert!(parse("[".repeat(200_000).as_bytes(), true).is_err());
}

#[test]
fn what_is_written_can_be_read() {
    let bytes = request(&Id::Number(1), "ping", None::<&()>).unwrap();
    assert_eq!(bytes, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let bytes = response(None, Err::<&(), _>(&ErrorObject::new(PARSE_ERROR, "no"))).unwrap();
    assert!(matches!(
        one(std::str::from_utf8(&bytes).unwrap()),
        Message::Response { id: None, .. }
    ));
}
