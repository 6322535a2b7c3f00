use super::*;
use crate::conversation::{Message, Outcome, Role, ToolResponse};
use crate::mcp::types::{CallToolResult, Content as Part};
use crate::provider::{DiscardDeltas, ModelConfig, StopReason};
use crate::sys;
use serde_json::json;
use std::fs;
use std::thread;
use std::time::Instant;

/// Records the deltas, and a `|` when the provider is about to wait.
#[derive(Default)]
struct RecordingSink(Vec<String>);

impl DeltaSink for RecordingSink {
    fn text(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn reasoning(&mut self, text: &str) {
        self.0.push(format!("({text})"));
    }
    fn idle(&mut self) {
        self.0.push("|".to_owned());
    }
}

/// A script in a temporary file.
struct TestScript {
    path: PathBuf,
    provider: Scripted,
}

impl TestScript {
    fn new(script: &str) -> TestScript {
        let name = format!("gosling-script-{}.json", sys::random_hex(8).unwrap());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, script).unwrap();
        TestScript {
            provider: Scripted::new(Some(path.clone())),
            path,
        }
    }

    fn complete(&self, conversation: &TestConversation) -> Result<Completion, Error> {
        complete(
            &self.provider,
            conversation,
            Purpose::Turn,
            &mut DiscardDeltas,
        )
    }
}

impl Drop for TestScript {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn complete(
    provider: &Scripted,
    conversation: &TestConversation,
    purpose: Purpose,
    sink: &mut dyn DeltaSink,
) -> Result<Completion, Error> {
    let messages: Vec<&Message> = conversation.0.iter().collect();
    let request = CompletionRequest {
        model: &ModelConfig::default(),
        system: "",
        messages: &messages,
        tools: &[],
        purpose,
        input: 0,
    };
    provider.complete(&request, &Cancel::new(), sink)
}

/// A conversation as the agent keeps it.
#[derive(Default)]
struct TestConversation(Vec<Message>);

impl TestConversation {
    fn user(mut self, text: &str) -> TestConversation {
        self.0.push(Message::text(Role::User, text));
        self
    }

    /// Runs a turn as the agent does; every tool returns `result`. Returns the texts.
    fn go(&mut self, script: &TestScript, result: &str) -> String {
        let mut texts = Vec::new();
        loop {
            let completion = script.complete(self).unwrap();
            let message = Message::new(Role::Assistant, completion.content);
            texts.extend(
                message
                    .content
                    .iter()
                    .filter_map(Content::as_text)
                    .map(str::to_owned),
            );
            let responses: Vec<_> = message
                .tool_requests()
                .map(|r| response(&r.id, result))
                .collect();
            self.0.push(message);
            if responses.is_empty() {
                return texts.join("/");
            }
            self.0.push(Message::new(Role::User, responses));
        }
    }
}

fn response(id: &str, text: &str) -> Content {
    Content::ToolResponse(ToolResponse {
        id: id.to_owned(),
        tool_result: Outcome::Success {
            value: CallToolResult {
                content: vec![Part::text(text)],
                ..CallToolResult::default()
            },
        },
        metadata: None,
    })
}

#[test]
fn a_loop_of_calls_may_be_one_turn_or_several() {
    let one = r#"{"turns":[{"steps":[{"text":"a"},{"call":{"name":"t"}},{"call":{"name":"t"}},
        {"text":"{{last_result}}"}]},{"steps":[{"text":"second"}]}]}"#;
    let several = r#"{"turns":[{"steps":[{"text":"a"},{"call":{"name":"t"}}]},
        {"steps":[{"call":{"name":"t"}}]},{"steps":[{"text":"{{last_result}}"}]},
        {"steps":[{"text":"second"}]}]}"#;
    for script in [one, several] {
        let script = TestScript::new(script);
        let mut conversation = TestConversation::default().user("hi");
        assert_eq!(conversation.go(&script, "42"), "a/42");
        assert_eq!(conversation.0.len(), 6, "two calls, one after the other");
        let mut conversation = conversation.user("again");
        assert_eq!(conversation.go(&script, ""), "second");
        let mut conversation = conversation.user("again");
        assert_eq!(
            conversation.go(&script, ""),
            "The script has nothing more to say."
        );
    }
}

#[test]
fn a_script_goes_on_only_with_the_results_that_it_expects() {
    let script = r#"{"turns":[{"steps":[{"calls":[{"name":"t"},{"name":"t"}]},
        {"expect":"4"},{"expect":"2\n42"},{"text":"good"}]}]}"#;
    let script = TestScript::new(script);
    let mut conversation = TestConversation::default().user("hi");
    assert_eq!(conversation.go(&script, "42"), "good");
    let long = format!("4{}", "2".repeat(2_000));
    let mut conversation = TestConversation(conversation.0[..2].to_vec());
    conversation
        .0
        .push(Message::new(Role::User, vec![response("call_0_0", &long)]));
    let error = script.complete(&conversation).unwrap_err();
    assert_eq!(error.class, ErrorClass::Refused);
    let message = error.to_string();
    assert!(message.contains(r#"expects "2\n42""#), "{message}");
    assert!(message.len() < 1_200, "{message}");
}

#[test]
fn calls_side_by_side_have_ids_of_their_own_and_all_their_results_are_said() {
    let script = TestScript::new(
        r#"{"repeat":true,"turns":[{"steps":[{"calls":[{"name":"a"},{"name":"b","id":"mine"}]},
            {"say_results":true}]}]}"#,
    );
    let mut conversation = TestConversation::default().user("hi");
    assert_eq!(conversation.go(&script, "r"), "r\nr");
    let mut conversation = conversation.user("once more");
    assert_eq!(conversation.go(&script, "s"), "s\ns");
    let requests = conversation.0.iter().flat_map(Message::tool_requests);
    let ids: Vec<_> = requests.map(|request| request.id.as_str()).collect();
    assert_eq!(ids, ["call_0_0", "mine", "call_2_0", "mine"]);
}

#[test]
fn a_turn_for_certain_words_does_not_count() {
    let script = TestScript::new(
        r#"{"turns":[{"steps":[{"text":"one"}]},{"steps":[{"text":"two"}]},
            {"when":{"user":"tool"},"steps":[{"call":{"name":"t"}},{"text":"{{last_result}}!"}]}]}"#,
    );
    let mut conversation = TestConversation::default().user("hi");
    assert_eq!(conversation.go(&script, ""), "one");
    let mut conversation = conversation.user("use a tool");
    assert_eq!(conversation.go(&script, "done"), "done!");
    let mut conversation = conversation.user("hi");
    assert_eq!(conversation.go(&script, ""), "two");
}

#[test]
fn an_answer_kept_in_several_messages_is_one_answer() {
    let script =
        TestScript::new(r#"{"turns":[{"steps":[{"text":"1"}]},{"steps":[{"text":"2"}]}]}"#);
    for id in [None, Some("m")] {
        let part = |text| Message {
            id: id.map(str::to_owned),
            ..Message::text(Role::Assistant, text)
        };
        let mut conversation = TestConversation::default().user("hi");
        conversation.0.extend([part("a"), part("b")]);
        assert_eq!(conversation.user("on").go(&script, ""), "2");
    }
}

#[test]
fn text_comes_in_pieces_and_the_listener_knows_of_every_wait() {
    let script = TestScript::new(
        r#"{"turns":[{"steps":[{"reasoning":"hm"},{"text":"naïve — ok","chunks":3,"delay_ms":1},
            {"wait_ms":1},{"text":"."}],"usage":{"input":3,"output":4},"stop":"length"}]}"#,
    );
    let mut heard = RecordingSink::default();
    let conversation = TestConversation::default().user("hi");
    let completion = complete(&script.provider, &conversation, Purpose::Turn, &mut heard).unwrap();
    assert_eq!(
        heard.0,
        ["(hm)", "|", "naï", "|", "ve ", "|", "— ok", "|", "."]
    );
    assert_eq!(completion.content.len(), 2);
    assert_eq!(completion.content[1].as_text(), Some("naïve — ok."));
    assert_eq!(
        (completion.usage.input, completion.usage.output),
        (Some(3), Some(4))
    );
    assert_eq!(completion.stop, StopReason::Length);
    assert_eq!(pieces("ab", 9).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(pieces("", 2).count(), 0);
}

#[test]
fn what_is_filled_in_is_not_a_blank_itself() {
    let script = TestScript::new(
        r#"{"turns":[{"steps":[{"text":"{{ last_user }} {{x}} {{"},
            {"call":{"name":"t","arguments":{"deep":["{{last_user}}",1]}}}]}]}"#,
    );
    let completion = script
        .complete(&TestConversation::default().user("a {{last_result}}"))
        .unwrap();
    assert_eq!(
        completion.content[0].as_text(),
        Some("a {{last_result}} {{x}} {{")
    );
    let Content::ToolRequest(request) = &completion.content[1] else {
        panic!("no call: {completion:?}");
    };
    let call = request.tool_call.value().unwrap();
    assert_eq!(call.arguments.get(), r#"{"deep":["a {{last_result}}",1]}"#);
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_were_spelled() {
    let script = TestScript::new(
        r#"{"turns":[{"steps":[{"raw_call":{"name":"t","arguments_text":"{\"a\":"}}]},
            {"steps":[{"call":{"name":"t","arguments":[1]}}]}]}"#,
    );
    let mut conversation = TestConversation::default().user("hi");
    for spelled in ["{\"a\":", "[1]"] {
        let completion = script.complete(&conversation).unwrap();
        let Content::ToolRequest(request) = &completion.content[0] else {
            panic!("no call: {completion:?}");
        };
        assert!(matches!(request.tool_call, Outcome::Error { .. }));
        let metadata = request.metadata.clone().unwrap();
        assert_eq!(metadata, json!({"name": "t", "arguments": spelled}));
        conversation
            .0
            .push(Message::new(Role::Assistant, completion.content));
        conversation = conversation.user("hi");
    }
}

#[test]
fn an_error_is_of_its_class_and_may_pass() {
    let script = TestScript::new(
        r#"{"turns":[{"steps":[{"error":{"class":"rate_limit","message":"slow down",
            "after_ms":50,"times":2}},{"text":"at last"}]}]}"#,
    );
    let conversation = TestConversation::default().user("hi");
    for _ in 0..2 {
        let after = Some(Duration::from_millis(50));
        let error = Error::new(ErrorClass::RateLimit { after }, "slow down");
        assert_eq!(script.complete(&conversation).unwrap_err(), error);
    }
    assert_eq!(
        script.complete(&conversation).unwrap().content[0].as_text(),
        Some("at last")
    );
}

#[test]
fn a_wait_ends_when_nobody_listens() {
    let script = TestScript::new(r#"{"turns":[{"steps":[{"wait_ms":60000}]}]}"#);
    let by_hand = Cancel::new();
    let begin = Instant::now();
    let by_watch = Cancel::new().child_watched(|token| token.cancel());
    let message = Message::text(Role::User, "hi");
    let request = CompletionRequest {
        model: &ModelConfig::default(),
        system: "",
        messages: &[&message],
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            by_hand.cancel();
        });
        for cancel in [&by_hand, &by_watch] {
            let error = script
                .provider
                .complete(&request, cancel, &mut DiscardDeltas)
                .unwrap_err();
            assert_eq!(error.class, ErrorClass::Cancelled);
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn names_and_summaries_are_those_of_the_script_or_say_so() {
    let conversation = TestConversation::default().user("what\nis this");
    let answer = |script: &TestScript, purpose| {
        let completion = complete(&script.provider, &conversation, purpose, &mut DiscardDeltas)?;
        Ok::<_, Error>(
            completion.content[0]
                .as_text()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let script = TestScript::new(r#"{"name":"N","summary":"S of {{last_user}}"}"#);
    assert_eq!(answer(&script, Purpose::Name).unwrap(), "N");
    assert_eq!(
        answer(&script, Purpose::Summary).unwrap(),
        "S of what\nis this"
    );
    let script = TestScript::new("{}");
    assert_eq!(
        answer(&script, Purpose::Name).unwrap_err().class,
        ErrorClass::Refused
    );
    assert_eq!(
        answer(&script, Purpose::Summary).unwrap(),
        "A conversation of 1 messages; last the user said: what is this"
    );
}

#[test]
fn a_script_that_makes_no_sense_is_refused_with_its_place() {
    for (script, place) in [
        ("{\n \"turns\": [}", "line 2 column 12"),
        (
            r#"{"turns":[{"steps":[{"text":"a","call":{"name":"t"}}]}]}"#,
            "line 1",
        ),
        (
            r#"{"turns":[{"steps":[{"say":"a"}]}]}"#,
            "unknown field `say`",
        ),
        (r#"{"turns":[{"steps":[{}]}]}"#, "line 1"),
        (
            r#"{"turns":[{"steps":[{"error":{"class":"odd","message":""}}]}]}"#,
            "`odd`",
        ),
        ("", "line 1"),
    ] {
        let error = TestScript::new(script)
            .complete(&TestConversation::default().user("hi"))
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Config, "{script}");
        assert!(error.message.contains(place), "{script}: {error}");
    }
    let large = TestScript::new(&" ".repeat(MAX_SCRIPT as usize + 1));
    let error = large
        .complete(&TestConversation::default().user("hi"))
        .unwrap_err();
    assert!(error.message.contains("4 MiB"), "{error}");
    for path in ["/nowhere/script.json", "/"] {
        let provider = Scripted::new(Some(path.into()));
        let error = complete(
            &provider,
            &TestConversation::default(),
            Purpose::Turn,
            &mut DiscardDeltas,
        )
        .unwrap_err();
        assert!(error.message.contains("GOOSE_SCRIPT"), "{error}");
    }
}

#[test]
fn a_changed_script_is_read_anew() {
    let script = TestScript::new(r#"{"repeat":true,"turns":[{"steps":[{"text":"old"}]}]}"#);
    let mut conversation = TestConversation::default().user("hi");
    assert_eq!(conversation.go(&script, ""), "old");
    fs::write(
        &script.path,
        r#"{"repeat":true,"turns":[{"steps":[{"text":"newer"}]}]}"#,
    )
    .unwrap();
    assert_eq!(conversation.user("hi").go(&script, ""), "newer");
}

#[test]
fn without_a_file_it_says_what_it_heard() {
    let conversation = TestConversation::default().user("hello?");
    let mut heard = RecordingSink::default();
    complete(
        &Scripted::new(None),
        &conversation,
        Purpose::Turn,
        &mut heard,
    )
    .unwrap();
    assert!(heard.0.concat().contains("not a model. I heard: hello?"));
}

#[test]
fn the_example_of_the_documentation_is_a_script() {
    let docs = include_str!("../scripted.rs").replace("//!", "");
    let example = docs
        .split("```json")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    Script::parse(example).unwrap();
    Script::parse(BUILTIN_SCRIPT).unwrap();
}
