use super::*;
use crate::mcp::jsonrpc::ErrorObject;
use serde_json::value::to_raw_value;

fn result(answer: Result<Value, ErrorObject>) -> Result<String, String> {
    let answer = answer.map(|answer| to_raw_value(&answer).unwrap());
    result_in("tools/call", answer).map(|result| result.get().to_owned())
}

#[test]
fn a_result_comes_before_an_error_and_each_reason_is_told_apart() {
    let both = json!({"result": {"n": 1}, "error": {"code": 1, "message": "no"}, "more": 1});
    assert_eq!(result(Ok(both)), Ok("{\"n\":1}".to_owned()));
    let inner = json!({"error": {"code": -32602, "message": "bad\n\u{1b}[1m", "data": null}});
    let inner = result(Ok(inner)).unwrap_err();
    assert!(inner.contains("`tools/call` failed: bad") && inner.contains("-32602"));
    assert!(!inner.contains('\n') && !inner.contains('\u{1b}'));
    let outer = result(Err(ErrorObject::new(-32601, "unknown method"))).unwrap_err();
    assert!(outer.contains("the client refused") && outer.contains("unknown method"));
    for wrong in [json!({}), json!([]), json!({"error": "x"}), json!(null)] {
        let why = result(Ok(wrong)).unwrap_err();
        assert!(why.contains("client's answer to `tools/call`"), "{why}");
    }
}
