use super::*;

/// As the original server sent them, one of each kind.
const RECORDED: [&str; 6] = [
    r#"{"id":"chatcmpl-1","role":"assistant","created":1795299387,"content":[{"type":"text","text":"hello "}],"metadata":{"userVisible":true,"agentVisible":true}}"#,
    r#"{"id":"chatcmpl-1","role":"assistant","created":1795299387,"content":[{"type":"toolRequest","id":"call_0","toolCall":{"status":"success","value":{"name":"benchtools__echo","arguments":{"message": "x"}}},"_meta":{"goose_extension":"benchtools"}}],"metadata":{"userVisible":true,"agentVisible":true}}"#,
    r#"{"id":"msg_1","role":"user","created":1795299387,"content":[{"type":"toolResponse","id":"call_0","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"ok"}],"isError":false}}}],"metadata":{"userVisible":true,"agentVisible":true}}"#,
    r#"{"id":null,"role":"assistant","created":1795299387,"content":[{"type":"actionRequired","data":{"actionType":"toolConfirmation","id":"call_0","toolName":"benchtools__echo","arguments":{"message":"y"},"prompt":null}}],"metadata":{"userVisible":true,"agentVisible":false}}"#,
    r#"{"id":null,"role":"user","created":1,"content":[{"type":"actionRequired","data":{"actionType":"elicitationResponse","id":"e","user_data":{"a":1}}},{"type":"thinking","thinking":"t","signature":"s"},{"type":"image","data":"AA==","mimeType":"image/png"}],"metadata":{"userVisible":true,"agentVisible":true}}"#,
    r#"{"id":null,"role":"user","created":1,"content":[{"type":"hologram","x":[1, 2]},{"type":"systemNotification","notificationType":"inlineMessage","msg":"m"},{"type":"toolRequest","id":"1","toolCall":{"status":"error","error":"no"}}],"metadata":{"userVisible":true,"agentVisible":true}}"#,
];

#[test]
fn what_is_read_is_written_as_it_was() {
    for text in RECORDED {
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
    }
}

#[test]
fn a_message_without_metadata_is_for_all_eyes() {
    let text = r#"{"role":"user","created":1,"content":[]}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert_eq!(message.metadata, Metadata::default());
}

#[test]
fn a_part_that_is_not_what_it_says_is_refused() {
    for bad in [
        r#"{"type":"text"}"#,
        r#"{"type":"toolRequest","id":"1","toolCall":{"status":"success"}}"#,
        r#"{"type":"toolRequest","id":"1","toolCall":{"status":"perhaps"}}"#,
        r#"{"type":"actionRequired","data":{"actionType":"dance","id":"1"}}"#,
        r#"{"type":"actionRequired","data":{"actionType":"elicitation","id":"1"}}"#,
        "5",
    ] {
        assert!(serde_json::from_str::<Content>(bad).is_err(), "{bad}");
    }
}
