use super::*;
use crate::conversation::{
    ActionRequired, FrontendToolRequest, Reasoning, Role, TokenState, ToolCall, ToolRequest,
};
use crate::mcp::types::{CallToolResult, Content as Part};
use serde_json::json;
use serde_json::value::RawValue;
use std::cell::RefCell;

#[derive(Default)]
struct Answers {
    confirmed: RefCell<Vec<(String, Confirmation)>>,
    filled: RefCell<Vec<Option<Value>>>,
    refused: RefCell<Vec<String>>,
}

impl Desk for Answers {
    fn confirm(&self, request: &str, answer: Confirmation) -> bool {
        self.confirmed
            .borrow_mut()
            .push((request.to_owned(), answer));
        true
    }

    fn answer(&self, _: &str, data: Option<Value>) -> bool {
        self.filled.borrow_mut().push(data);
        true
    }

    fn refuse(&self, request: &str) -> bool {
        self.refused.borrow_mut().push(request.to_owned());
        true
    }
}

/// What a turn with these messages leaves on stdout and stderr.
fn shown(messages: Vec<Message>, terminal: bool, input: Input, desk: &Answers) -> (String, String) {
    let (mut out, mut err, mut input) = (Vec::new(), Vec::new(), input);
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
        terminal,
        desk,
        input: &mut input,
        cancel: &Cancel::new(),
        state: State::default(),
    };
    let token_state = TokenState::default();
    for message in &messages {
        screen.event(Event::Message {
            message,
            token_state,
        });
    }
    let reason = "stop";
    screen.event(Event::Finish {
        reason,
        token_state,
    });
    screen.end();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err))
}

fn said(parts: impl IntoIterator<Item = Content>) -> Vec<Message> {
    let message = |part| Message::new(Role::Assistant, vec![part]);
    parts.into_iter().map(message).collect()
}

fn request(arguments: &str) -> Content {
    Content::ToolRequest(ToolRequest {
        id: "1".to_owned(),
        tool_call: Outcome::Success {
            value: ToolCall {
                name: "demo__add".to_owned(),
                arguments: RawValue::from_string(arguments.to_owned()).unwrap(),
            },
        },
        metadata: None,
        meta: None,
    })
}

fn response(value: CallToolResult) -> Content {
    Content::ToolResponse(ToolResponse {
        id: "1".to_owned(),
        tool_result: Outcome::Success { value },
        metadata: None,
    })
}

fn thought(text: &str) -> Content {
    let text = text.to_owned();
    Content::Reasoning(Reasoning { text })
}

fn confirm() -> Vec<Message> {
    confirm_with(RawJson::default())
}

fn confirm_with(arguments: RawJson) -> Vec<Message> {
    let data = Action::ToolConfirmation {
        id: "call_1".to_owned(),
        tool_name: "demo__add\x1b".to_owned(),
        arguments,
        prompt: None,
    };
    said([Content::ActionRequired(ActionRequired { data })])
}

fn elicit(schema: Value) -> Vec<Message> {
    let data = Action::Elicitation {
        id: "e".to_owned(),
        message: "who?".to_owned(),
        requested_schema: RawValue::from_string(schema.to_string()).unwrap(),
    };
    said([Content::ActionRequired(ActionRequired { data })])
}

#[test]
fn pieces_of_text_join_and_tools_have_lines_of_their_own() {
    let failed = CallToolResult {
        content: vec![Part::text("no\nway")],
        is_error: Some(true),
        ..CallToolResult::default()
    };
    let good = CallToolResult {
        content: vec![Part::text("héllo")],
        ..CallToolResult::default()
    };
    let turn = said([
        Content::text("Let me "),
        Content::text("see."),
        request(r#"{"a":2}"#),
        response(good),
        request(&json!({"long": "x".repeat(200)}).to_string()),
        response(failed),
        Content::text("Done.\n"),
    ]);
    let (out, err) = shown(turn, false, Input::new(false), &Answers::default());
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(
        lines[..3],
        ["Let me see.", r#"→ demo__add {"a":2}"#, "← ok 5 chars"]
    );
    assert_eq!(lines[3].chars().count(), 100);
    assert!(lines[3].ends_with("xx…"));
    assert_eq!(lines[4..], ["← error no\\u{a}way", "Done."]);
    assert_eq!(err, "");
}

#[test]
fn thoughts_are_dim_on_a_terminal_and_kept_out_of_pipes() {
    let turn = || said([thought("hm, "), thought("well"), Content::text("yes")]);
    let (out, err) = shown(turn(), true, Input::new(false), &Answers::default());
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("\x1b[2mhm, well\x1b[0m\nyes\n", "")
    );
    let (out, err) = shown(turn(), false, Input::new(false), &Answers::default());
    assert_eq!((out.as_str(), err.as_str()), ("yes\n", "hm, well\n"));
}

#[test]
fn what_comes_from_outside_cannot_steer_the_terminal() {
    let turn = said([
        Content::text("a\x1b[2Jb\tc\r\nd\u{202e}e"),
        request("{\"a\": \"\u{9b}\"}"),
    ]);
    let (out, _) = shown(turn, true, Input::new(false), &Answers::default());
    assert_eq!(out, "a[2Jb\tc\nde\n→ demo__add {\"a\": \"\\u{9b}\"}\n");
    assert!(
        !shown(confirm(), true, Input::typed("y\n"), &Answers::default())
            .1
            .contains('\x1b')
    );
}

#[test]
fn an_approval_is_asked_for_until_the_answer_makes_sense() {
    for (typed, answer) in [
        ("what\ny\n", Confirmation::AllowOnce),
        ("a\n", Confirmation::AlwaysAllow),
        ("n\n", Confirmation::DenyOnce),
        ("N\n", Confirmation::AlwaysDeny),
        ("c\n", Confirmation::Cancel),
        ("", Confirmation::Cancel),
    ] {
        let desk = Answers::default();
        let (out, err) = shown(confirm(), true, Input::typed(typed), &desk);
        assert_eq!(*desk.confirmed.borrow(), [("call_1".to_owned(), answer)]);
        assert!(err.contains("[y]es once") && out.is_empty(), "{out}{err}");
        let cancelled = err.contains("(cancelled)");
        assert_eq!(cancelled, answer == Confirmation::Cancel, "{err}");
    }
}

#[test]
fn who_is_asked_sees_all_of_what_is_asked() {
    let long = json!({"command": format!("echo {} && rm -rf /", "x".repeat(200))}).to_string();
    let turn = confirm_with(RawValue::from_string(long.clone()).unwrap());
    let (_, err) = shown(turn, true, Input::typed("n\n"), &Answers::default());
    assert!(err.contains(&long), "{err}");
}

#[test]
fn without_a_terminal_nobody_is_asked_and_that_is_said() {
    let desk = Answers::default();
    let (out, err) = shown(confirm(), false, Input::new(false), &desk);
    let denied = [("call_1".to_owned(), Confirmation::DenyOnce)];
    assert_eq!(*desk.confirmed.borrow(), denied);
    assert!(out.is_empty() && err.contains("GOOSE_MODE=auto"), "{err}");
    let schema = json!({"properties": {"name": {"type": "string"}}});
    let (_, err) = shown(elicit(schema), false, Input::new(false), &desk);
    assert_eq!(*desk.filled.borrow(), [None]);
    assert!(err.contains("declined"), "{err}");
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let schema = || {
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "default": "Ada"}, "age": {"type": "integer"},
            "mail": {"type": "string"}}})
    };
    for (typed, data) in [
        ("\nold\n36\n\n", Some(json!({"name": "Ada", "age": 36}))),
        ("Bob\n!\n", None),
        ("Bob\n", None),
    ] {
        let desk = Answers::default();
        shown(elicit(schema()), true, Input::typed(typed), &desk);
        assert_eq!(*desk.filled.borrow(), [data], "{typed:?}");
    }
    for (typed, data) in [("y\n", Some(json!({}))), ("n\n", None)] {
        let desk = Answers::default();
        shown(elicit(json!({})), true, Input::typed(typed), &desk);
        assert_eq!(*desk.filled.borrow(), [data], "{typed:?}");
    }
}

#[test]
fn a_tool_of_another_client_is_refused_at_once() {
    let desk = Answers::default();
    let error = "?".to_owned();
    let request = FrontendToolRequest {
        id: "f".to_owned(),
        tool_call: Outcome::Error { error },
    };
    let turn = said([Content::FrontendToolRequest(request)]);
    let (_, err) = shown(turn, false, Input::new(false), &desk);
    assert_eq!(*desk.refused.borrow(), ["f"]);
    assert!(err.contains("another client"), "{err}");
}

#[test]
fn what_stands_in_the_place_of_an_answer_goes_to_stderr() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
        terminal: false,
        desk: &Answers::default(),
        input: &mut Input::new(false),
        cancel: &Cancel::new(),
        state: State::default(),
    };
    let class = provider::Class::Server;
    screen.failed(&provider::Error::new(class, "it broke"));
    screen.event(Event::Message {
        message: &Message::text(Role::Assistant, "It broke.\nTry again."),
        token_state: TokenState::default(),
    });
    screen.end();
    assert!(screen.state.failed);
    assert_eq!(
        (out.as_slice(), err.as_slice()),
        (&b""[..], &b"It broke.\nTry again.\n"[..])
    );
}

#[test]
fn what_a_call_says_of_itself_is_one_line() {
    for (message, line) in [
        (
            json!({"method": "notifications/progress",
                "params": {"progress": 1, "total": 3, "message": "a\nb"}}),
            "· 1/3 a\\u{a}b",
        ),
        (
            json!({"method": "notifications/message", "params": {"level": "debug", "data": [1]}}),
            "· debug: [1]",
        ),
    ] {
        let raw = RawValue::from_string(message.to_string()).unwrap();
        assert_eq!(notification(&raw).as_deref(), Some(line));
    }
}

#[test]
fn a_reader_that_has_left_ends_the_turn() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let cancel = Cancel::new();
    let mut screen = Screen {
        out: &mut Gone,
        err: &mut Vec::new(),
        terminal: false,
        desk: &Answers::default(),
        input: &mut Input::new(false),
        cancel: &cancel,
        state: State::default(),
    };
    screen.event(Event::Message {
        message: &Message::text(Role::Assistant, "hello"),
        token_state: TokenState::default(),
    });
    assert!(cancel.is_cancelled());
}
