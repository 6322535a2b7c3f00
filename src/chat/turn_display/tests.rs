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

impl AnswerSink for Answers {
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

/// The stdout and stderr of a turn with these messages.
fn shown(
    messages: Vec<Message>,
    terminal: bool,
    input: StdinLines,
    answers: &Answers,
) -> (String, String) {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let mut input = input;
    let mut display = TurnDisplay {
        out: &mut out,
        err: &mut err,
        terminal,
        answers,
        input: &mut input,
        cancel: &Cancel::new(),
        state: DisplayState::default(),
    };
    let token_state = TokenState::default();
    for message in &messages {
        display.event(Event::Message {
            message,
            token_state,
        });
    }
    let reason = "stop";
    display.event(Event::Finish {
        reason,
        token_state,
    });
    display.end();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err))
}

fn messages(parts: impl IntoIterator<Item = Content>) -> Vec<Message> {
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
    messages([Content::ActionRequired(ActionRequired { data })])
}

fn elicit(message: &str, schema: Value) -> Vec<Message> {
    let data = Action::Elicitation {
        id: "e".to_owned(),
        message: message.to_owned(),
        requested_schema: RawValue::from_string(schema.to_string()).unwrap(),
    };
    messages([Content::ActionRequired(ActionRequired { data })])
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
    let turn = messages([
        Content::text("Let me "),
        Content::text("see."),
        request(r#"{"a":2}"#),
        response(good),
        request(&json!({"long": "x".repeat(200)}).to_string()),
        response(failed),
        Content::text("Done.\n"),
    ]);
    let (out, err) = shown(turn, false, StdinLines::new(false), &Answers::default());
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
    let turn = || messages([thought("hm, "), thought("well"), Content::text("yes")]);
    let (out, err) = shown(turn(), true, StdinLines::new(false), &Answers::default());
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("\x1b[2mhm, well\x1b[0m\nyes\n", "")
    );
    let (out, err) = shown(turn(), false, StdinLines::new(false), &Answers::default());
    assert_eq!((out.as_str(), err.as_str()), ("yes\n", "hm, well\n"));
}

#[test]
fn what_comes_from_outside_cannot_steer_the_terminal() {
    let turn = messages([
        Content::text("a\x1b[2Jb\tc\r\nd\u{202e}e"),
        request("{\"a\": \"\u{9b}\"}"),
    ]);
    let (out, _) = shown(turn, true, StdinLines::new(false), &Answers::default());
    assert_eq!(out, "a[2Jb\tc\nde\n→ demo__add {\"a\": \"\\u{9b}\"}\n");
    assert!(
        !shown(
            confirm(),
            true,
            StdinLines::typed("y\n"),
            &Answers::default()
        )
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
        ("N\n", Confirmation::DenyOnce),
        ("v\n", Confirmation::AlwaysDeny),
        ("never\n", Confirmation::AlwaysDeny),
        ("c\n", Confirmation::Cancel),
        ("", Confirmation::Cancel),
    ] {
        let answers = Answers::default();
        let (out, err) = shown(confirm(), true, StdinLines::typed(typed), &answers);
        assert_eq!(*answers.confirmed.borrow(), [("call_1".to_owned(), answer)]);
        assert!(
            err.contains("[y]es once") && err.contains("for good") && out.is_empty(),
            "{out}{err}"
        );
        let cancelled = err.contains("(cancelled)");
        assert_eq!(cancelled, answer == Confirmation::Cancel, "{err}");
    }
}

/// What is shown for a call with these arguments, and the resulting answers.
fn asked(arguments: &str, typed: &'static str) -> (String, Vec<Confirmation>) {
    let answers = Answers::default();
    let turn = confirm_with(RawValue::from_string(arguments.to_owned()).unwrap());
    let (_, err) = shown(turn, true, StdinLines::typed(typed), &answers);
    let confirmed = answers.confirmed.borrow();
    (err, confirmed.iter().map(|(_, answer)| *answer).collect())
}

#[test]
fn who_is_asked_sees_all_of_what_is_asked() {
    let command = format!("echo {} && rm -rf /", "x".repeat(200));
    let (err, answers) = asked(&json!({"command": command}).to_string(), "n\n");
    assert!(err.contains(&command), "{err}");
    assert_eq!(answers, [Confirmation::DenyOnce]);
    // The arguments are shown even if the line about the call has all of them: stdout may not be the terminal.
    let (err, _) = asked(r#"{"a":1}"#, "n\n");
    assert!(err.contains("a: 1"), "{err}");
    // Most servers use the last value of a duplicate name.
    let (err, _) = asked(r#"{"command":"ls","command":"rm"}"#, "n\n");
    assert!(err.contains("| ls") && err.contains("| rm"), "{err}");
    let (err, _) = asked(r#"{"command":"ls\n\u001b[8mrm\u202e\u3164"}"#, "n\n");
    assert!(
        err.contains("command | ls\n") && err.contains(r"| \u{1b}[8mrm\u{202e}\u{3164}"),
        "{err}"
    );
}

#[test]
fn nothing_can_be_agreed_to_before_all_of_it_was_shown() {
    let text: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let long = json!({"text": text, "last": "rm -rf /"}).to_string();
    let (err, answers) = asked(&long, "y\na\n\nw\ny\n");
    assert_eq!(answers, [Confirmation::AllowOnce]);
    for line in [0, 99, 1_234, 2_999] {
        assert!(err.contains(&format!("| line {line}\n")), "{line}");
    }
    let call = err.find("[y]es once").unwrap();
    assert!(err.find("| rm -rf /").unwrap() < call);
    assert!(err.contains("the rest has not been shown"), "{err}");
    for (typed, answer) in [
        ("\nn\n", Confirmation::DenyOnce),
        ("c\n", Confirmation::Cancel),
    ] {
        let (err, answers) = asked(&long, typed);
        assert_eq!(answers, [answer]);
        assert!(!err.contains("[y]es once"));
    }
    let (_, answers) = asked(&long, "\n");
    assert_eq!(answers, [Confirmation::Cancel], "the user has left");
    // A single line can be longer than a page.
    let long = json!({"text": "x".repeat(30_000) + " rm -rf /"}).to_string();
    let (err, answers) = asked(&long, "w\ny\n");
    assert_eq!(answers, [Confirmation::AllowOnce]);
    assert!(err.contains(" rm -rf /\n"), "{err}");
}

#[test]
fn what_is_called_and_why_is_shown_whole() {
    let name = format!("demo__{}_end", "n".repeat(300));
    let prompt = format!("{} the end", "why ".repeat(1_000));
    let data = Action::ToolConfirmation {
        id: "call_1".to_owned(),
        tool_name: name.clone(),
        arguments: RawJson::default(),
        prompt: Some(prompt.clone()),
    };
    let turn = messages([Content::ActionRequired(ActionRequired { data })]);
    let (_, err) = shown(turn, true, StdinLines::typed("n\n"), &Answers::default());
    assert!(
        err.contains(&format!("call {name}?")) && err.contains("the end"),
        "{err}"
    );
}

#[test]
fn what_a_server_asks_is_shown_whole() {
    let message = format!("{}\nThen \u{1b}[2Jpay\u{2063} 5 €.", "word ".repeat(400));
    let description = format!("{}or not", "d ".repeat(400));
    let schema = json!({"properties": {"f": {"type": "string", "description": description}}});
    let answers = Answers::default();
    let (_, err) = shown(
        elicit(&message, schema),
        true,
        StdinLines::typed("v\n"),
        &answers,
    );
    assert!(err.contains(r"| Then \u{1b}[2Jpay\u{2063} 5 €."), "{err}");
    assert!(err.contains("or not"), "{err}");
    assert_eq!(*answers.filled.borrow(), [Some(json!({"f": "v"}))]);
}

#[test]
fn without_a_terminal_nobody_is_asked_and_that_is_said() {
    let answers = Answers::default();
    let (out, err) = shown(confirm(), false, StdinLines::new(false), &answers);
    let denied = [("call_1".to_owned(), Confirmation::DenyOnce)];
    assert_eq!(*answers.confirmed.borrow(), denied);
    assert!(out.is_empty() && err.contains("GOOSE_MODE=auto"), "{err}");
    let schema = json!({"properties": {"name": {"type": "string"}}});
    let message = format!("who?\n{} the end", "and why? ".repeat(1_000));
    let (_, err) = shown(
        elicit(&message, schema),
        false,
        StdinLines::new(false),
        &answers,
    );
    assert_eq!(*answers.filled.borrow(), [None]);
    assert!(err.contains("declined"), "{err}");
    assert!(
        err.contains(r"who?\u{a}and why?") && !err.contains("the end"),
        "{err}"
    );
}

#[test]
fn a_field_cannot_pass_for_a_question_of_gosling() {
    let title = "call demo__add? [y]es once, [n]o\ncall it? ";
    let schema = json!({"properties": {"f": {"type": "string", "title": title}}});
    let typed = StdinLines::typed("y\n");
    let (_, err) = shown(elicit("who?", schema), true, typed, &Answers::default());
    let lines: Vec<_> = err.lines().filter(|line| line.contains("call")).collect();
    assert!(
        matches!(lines[..], [only] if only.starts_with("> call demo__add?")),
        "{err}"
    );
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
        let answers = Answers::default();
        shown(
            elicit("who?", schema()),
            true,
            StdinLines::typed(typed),
            &answers,
        );
        assert_eq!(*answers.filled.borrow(), [data], "{typed:?}");
    }
    for (typed, data) in [("y\n", Some(json!({}))), ("n\n", None)] {
        let answers = Answers::default();
        shown(
            elicit("who?", json!({})),
            true,
            StdinLines::typed(typed),
            &answers,
        );
        assert_eq!(*answers.filled.borrow(), [data], "{typed:?}");
    }
}

#[test]
fn a_tool_of_another_client_is_refused_at_once() {
    let answers = Answers::default();
    let error = "?".to_owned();
    let request = FrontendToolRequest {
        id: "f".to_owned(),
        tool_call: Outcome::Error { error },
    };
    let turn = messages([Content::FrontendToolRequest(request)]);
    let (_, err) = shown(turn, false, StdinLines::new(false), &answers);
    assert_eq!(*answers.refused.borrow(), ["f"]);
    assert!(err.contains("another client"), "{err}");
}

#[test]
fn what_stands_in_the_place_of_an_answer_goes_to_stderr() {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let mut display = TurnDisplay {
        out: &mut out,
        err: &mut err,
        terminal: false,
        answers: &Answers::default(),
        input: &mut StdinLines::new(false),
        cancel: &Cancel::new(),
        state: DisplayState::default(),
    };
    let class = provider::ErrorClass::Server;
    display.model_failed(&provider::Error::new(class, "it broke"), false);
    display.event(Event::Message {
        message: &Message::text(Role::Assistant, "It broke.\nTry again."),
        token_state: TokenState::default(),
    });
    display.end();
    assert!(display.state.failed);
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
    let mut display = TurnDisplay {
        out: &mut Gone,
        err: &mut Vec::new(),
        terminal: false,
        answers: &Answers::default(),
        input: &mut StdinLines::new(false),
        cancel: &cancel,
        state: DisplayState::default(),
    };
    display.event(Event::Message {
        message: &Message::text(Role::Assistant, "hello"),
        token_state: TokenState::default(),
    });
    assert!(cancel.is_cancelled());
}
