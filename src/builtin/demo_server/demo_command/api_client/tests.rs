use super::*;
use serde_json::json;

#[test]
fn a_stream_of_events_is_read_to_its_end() {
    let stream = &b"data: {\"a\":1}\n\n: quiet\n\ndata: [\ndata: 2]\r\n\r\ndata: {\"cut"[..];
    assert_eq!(read_events(stream), Ok(vec![json!({"a": 1}), json!([2])]));
    assert!(read_events(&b"data: nonsense\n\n"[..]).is_err());
}
