use super::tool_call_conversion::MAX_DEPTH;
use super::*;

fn request(arguments: &str) -> ToolRequest {
    tool_request(Some("1".into()), "a__b".into(), arguments.into())
}

fn replayed(request: &ToolRequest) -> (&str, String) {
    let (name, arguments) = replayed_call(request);
    (name, arguments.get().to_owned())
}

#[test]
fn an_object_stays_as_it_was_written_and_nothing_is_an_empty_one() {
    for (text, kept) in [
        ("{\"a\": 1e2}", "{\"a\": 1e2}"),
        (" {} \n", "{}"),
        ("", "{}"),
        ("  ", "{}"),
        ("null", "{}"),
        // Some models encode the object twice.
        (r#""{\"a\":1}""#, r#"{"a":1}"#),
        // Some models write line breaks in strings as they are.
        (
            "{\"a\":\n\t\"b\nc\\\"\td\"\n}",
            "{\"a\":\n\t\"b\\u000ac\\\"\\u0009d\"\n}",
        ),
    ] {
        let request = request(text);
        let call = request.tool_call.value().unwrap();
        assert_eq!(call.arguments.get(), kept);
        assert_eq!(replayed(&request), ("a__b", kept.to_owned()));
    }
}

#[test]
fn the_last_of_the_members_of_one_name_stays() {
    for (text, kept) in [
        (r#"{"a":1, "a":2}"#, r#"{"a":2}"#),
        (r#"{"a":1, "\u0061":2}"#, r#"{"a":2}"#),
        (
            r#"{"x":[0,{"a":":","a":"\":"}]}"#,
            r#"{"x":[0,{"a":"\":"}]}"#,
        ),
        (r#"{"x":{"a":1,"a":2},"x":{"b":3}}"#, r#"{"x":{"b":3}}"#),
        (
            r#"{"a": {"a":":","b":{"a":"\\"}}}"#,
            r#"{"a": {"a":":","b":{"a":"\\"}}}"#,
        ),
    ] {
        let request = request(text);
        assert_eq!(request.tool_call.value().unwrap().arguments.get(), kept);
    }
}

#[test]
fn what_is_no_object_says_what_it_is_and_is_retold_without_harm() {
    for (text, reason) in [
        ("{\"a\":", "not JSON"),
        ("[1]", "an array"),
        ("\"x\"", "a string"),
        ("\"[]\"", "a string"),
        ("{\"a\":\"b\\\nc\"}", "not JSON"),
        ("{\"a\":\u{1}1}", "not JSON"),
        ("true", "a boolean"),
        ("-5", "a number"),
        ("{} {}", "not JSON"),
    ] {
        let request = request(text);
        let Outcome::Error { error } = &request.tool_call else {
            panic!("{text} was taken");
        };
        assert!(error.contains(reason), "{error}");
        let metadata = request.metadata.clone().unwrap();
        assert_eq!(metadata, json!({"name": "a__b", "arguments": text}));
        assert_eq!(replayed(&request), ("a__b", "{}".to_owned()));
    }
}

#[test]
fn what_is_nested_too_deep_for_others_is_refused_and_brackets_in_words_do_not_count() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!("{{\"a\": {open}{close}}}")
    };
    let fits = request(&nested(MAX_DEPTH));
    assert!(fits.tool_call.value().is_some());
    let words = format!("{{\"a\": \"\\\"{}\"}}", "[{".repeat(MAX_DEPTH));
    assert!(request(&words).tool_call.value().is_some());
    for depth in [MAX_DEPTH + 1, 10_000] {
        let request = request(&nested(depth));
        let Outcome::Error { error } = &request.tool_call else {
            panic!("{depth} levels were taken");
        };
        assert!(error.contains("nested more than 100 levels"), "{error}");
        assert_eq!(replayed(&request), ("a__b", "{}".to_owned()));
    }
}

#[test]
fn endless_nonsense_is_kept_in_part() {
    let request = request(&"é".repeat(MAX_KEPT_ARGUMENTS));
    let kept = &request.metadata.unwrap()["arguments"];
    assert_eq!(kept.as_str().map(str::len), Some(MAX_KEPT_ARGUMENTS));
}

#[test]
fn only_the_last_call_of_an_answer_that_was_cut_off_is_rejected() {
    let completion = |stop, last: &str| {
        let requests = [request("{}"), request(last)];
        let mut completion = Completion {
            content: requests.map(Content::ToolRequest).into(),
            stop,
            ..Completion::default()
        };
        reject_truncated_call(&mut completion);
        let runs = |part: &Content| matches!(part, Content::ToolRequest(request) if request.tool_call.value().is_some());
        completion.content.iter().map(runs).collect::<Vec<_>>()
    };
    for stop in [StopReason::Length, StopReason::Filtered] {
        for last in ["", " {\n} "] {
            assert_eq!(completion(stop, last), [true, false]);
        }
        assert_eq!(completion(stop, "{\"a\":1}"), [true, true]);
    }
    assert_eq!(completion(StopReason::Complete, ""), [true, true]);
    let mut signed = request("");
    signed.metadata = Some(json!({"thoughtSignature": "s"}));
    let mut completion = Completion {
        content: vec![Content::ToolRequest(signed)],
        stop: StopReason::Length,
        ..Completion::default()
    };
    reject_truncated_call(&mut completion);
    let Content::ToolRequest(request) = &completion.content[0] else {
        panic!("it is still a call");
    };
    let metadata = request.metadata.as_ref().unwrap();
    assert_eq!(metadata["thoughtSignature"], "s");
    assert_eq!(replayed(request), ("a__b", "{}".to_owned()));
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own() {
    let ids = [None, Some(String::new())].map(|id| tool_request(id, "a".into(), String::new()).id);
    assert!(ids.iter().all(|id| id.starts_with("call_")), "{ids:?}");
    assert_ne!(ids[0], ids[1]);
}
