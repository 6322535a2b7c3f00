use super::*;
use crate::conversation::{Message, Outcome, Role, ToolResponse};
use crate::mcp::types::{CallToolResult, Content as Part};
use crate::provider::{ModelConfig, Stop, Unheard};
use crate::sys;
use serde_json::json;
use std::fs;
use std::thread;
use std::time::Instant;

/// Hears pieces, and a `|` where the provider was about to wait.
#[derive(Default)]
struct Heard(Vec<String>);

impl Listener for Heard {
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

/// A script in a file of its own.
struct Lab {
    path: PathBuf,
    provider: Scripted,
}

impl Lab {
    fn new(script: &str) -> Lab {
        let name = format!("gosling-script-{}.json", sys::random_hex(8).unwrap());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, script).unwrap();
        Lab {
            provider: Scripted::new(Some(path.clone())),
            path,
        }
    }

    fn ask(&self, talk: &Talk) -> Result<Answer, Error> {
        ask(&self.provider, talk, Purpose::Turn, &mut Unheard)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn ask(
    provider: &Scripted,
    talk: &Talk,
    purpose: Purpose,
    listener: &mut dyn Listener,
) -> Result<Answer, Error> {
    let messages: Vec<&Message> = talk.0.iter().collect();
    let ask = Ask {
        model: &ModelConfig::default(),
        system: "",
        messages: &messages,
        note: None,
        tools: &[],
        purpose,
        input: 0,
    };
    provider.ask(&ask, &Cancel::new(), listener)
}

/// A conversation as an agent keeps it.
#[derive(Default)]
struct Talk(Vec<Message>);

impl Talk {
    fn user(mut self, text: &str) -> Talk {
        self.0.push(Message::text(Role::User, text));
        self
    }

    /// Asks, and goes on as an agent does: whatever is called answers `result`. Gives the texts.
    fn go(&mut self, lab: &Lab, result: &str) -> String {
        let mut said = Vec::new();
        loop {
            let answer = lab.ask(self).unwrap();
            let message = Message::new(Role::Assistant, answer.content);
            said.extend(
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
                return said.join("/");
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
        let lab = Lab::new(script);
        let mut talk = Talk::default().user("hi");
        assert_eq!(talk.go(&lab, "42"), "a/42");
        assert_eq!(talk.0.len(), 6, "two calls, one after the other");
        let mut talk = talk.user("again");
        assert_eq!(talk.go(&lab, ""), "second");
        let mut talk = talk.user("again");
        assert_eq!(talk.go(&lab, ""), "The script has nothing more to say.");
    }
}

#[test]
fn a_script_goes_on_only_with_the_results_that_it_expects() {
    let script = r#"{"turns":[{"steps":[{"calls":[{"name":"t"},{"name":"t"}]},
        {"expect":"4"},{"expect":"2\n42"},{"text":"good"}]}]}"#;
    let lab = Lab::new(script);
    let mut talk = Talk::default().user("hi");
    assert_eq!(talk.go(&lab, "42"), "good");
    let long = format!("4{}", "2".repeat(2_000));
    let mut talk = Talk(talk.0[..2].to_vec());
    talk.0
        .push(Message::new(Role::User, vec![response("call_0_0", &long)]));
    let error = lab.ask(&talk).unwrap_err();
    assert_eq!(error.class, Class::Refused);
    let message = error.to_string();
    assert!(message.contains(r#"expects "2\n42""#), "{message}");
    assert!(message.len() < 1_200, "{message}");
}

#[test]
fn calls_side_by_side_have_ids_of_their_own_and_all_their_results_are_said() {
    let lab = Lab::new(
        r#"{"repeat":true,"turns":[{"steps":[{"calls":[{"name":"a"},{"name":"b","id":"mine"}]},
            {"say_results":true}]}]}"#,
    );
    let mut talk = Talk::default().user("hi");
    assert_eq!(talk.go(&lab, "r"), "r\nr");
    let mut talk = talk.user("once more");
    assert_eq!(talk.go(&lab, "s"), "s\ns");
    let requests = talk.0.iter().flat_map(Message::tool_requests);
    let ids: Vec<_> = requests.map(|request| request.id.as_str()).collect();
    assert_eq!(ids, ["call_0_0", "mine", "call_2_0", "mine"]);
}

#[test]
fn a_turn_for_certain_words_does_not_count() {
    let lab = Lab::new(
        r#"{"turns":[{"steps":[{"text":"one"}]},{"steps":[{"text":"two"}]},
            {"when":{"user":"tool"},"steps":[{"call":{"name":"t"}},{"text":"{{last_result}}!"}]}]}"#,
    );
    let mut talk = Talk::default().user("hi");
    assert_eq!(talk.go(&lab, ""), "one");
    let mut talk = talk.user("use a tool");
    assert_eq!(talk.go(&lab, "done"), "done!");
    let mut talk = talk.user("hi");
    assert_eq!(talk.go(&lab, ""), "two");
}

#[test]
fn an_answer_kept_in_several_messages_is_one_answer() {
    let lab = Lab::new(r#"{"turns":[{"steps":[{"text":"1"}]},{"steps":[{"text":"2"}]}]}"#);
    for id in [None, Some("m")] {
        let part = |text| Message {
            id: id.map(str::to_owned),
            ..Message::text(Role::Assistant, text)
        };
        let mut talk = Talk::default().user("hi");
        talk.0.extend([part("a"), part("b")]);
        assert_eq!(talk.user("on").go(&lab, ""), "2");
    }
}

#[test]
fn text_comes_in_pieces_and_the_listener_knows_of_every_wait() {
    let lab = Lab::new(
        r#"{"turns":[{"steps":[{"reasoning":"hm"},{"text":"naïve — ok","chunks":3,"delay_ms":1},
            {"wait_ms":1},{"text":"."}],"usage":{"input":3,"output":4},"stop":"length"}]}"#,
    );
    let mut heard = Heard::default();
    let talk = Talk::default().user("hi");
    let answer = ask(&lab.provider, &talk, Purpose::Turn, &mut heard).unwrap();
    assert_eq!(
        heard.0,
        ["(hm)", "|", "naï", "|", "ve ", "|", "— ok", "|", "."]
    );
    assert_eq!(answer.content.len(), 2);
    assert_eq!(answer.content[1].as_text(), Some("naïve — ok."));
    assert_eq!(
        (answer.usage.input, answer.usage.output),
        (Some(3), Some(4))
    );
    assert_eq!(answer.stop, Stop::Length);
    assert_eq!(pieces("ab", 9).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(pieces("", 2).count(), 0);
}

#[test]
fn what_is_filled_in_is_not_a_blank_itself() {
    let lab = Lab::new(
        r#"{"turns":[{"steps":[{"text":"{{ last_user }} {{x}} {{"},
            {"call":{"name":"t","arguments":{"deep":["{{last_user}}",1]}}}]}]}"#,
    );
    let answer = lab.ask(&Talk::default().user("a {{last_result}}")).unwrap();
    assert_eq!(
        answer.content[0].as_text(),
        Some("a {{last_result}} {{x}} {{")
    );
    let Content::ToolRequest(request) = &answer.content[1] else {
        panic!("no call: {answer:?}");
    };
    let call = request.tool_call.value().unwrap();
    assert_eq!(call.arguments.get(), r#"{"deep":["a {{last_result}}",1]}"#);
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_were_spelled() {
    let lab = Lab::new(
        r#"{"turns":[{"steps":[{"raw_call":{"name":"t","arguments_text":"{\"a\":"}}]},
            {"steps":[{"call":{"name":"t","arguments":[1]}}]}]}"#,
    );
    let mut talk = Talk::default().user("hi");
    for spelled in ["{\"a\":", "[1]"] {
        let answer = lab.ask(&talk).unwrap();
        let Content::ToolRequest(request) = &answer.content[0] else {
            panic!("no call: {answer:?}");
        };
        assert!(matches!(request.tool_call, Outcome::Error { .. }));
        let metadata = request.metadata.clone().unwrap();
        assert_eq!(metadata, json!({"name": "t", "arguments": spelled}));
        talk.0.push(Message::new(Role::Assistant, answer.content));
        talk = talk.user("hi");
    }
}

#[test]
fn an_error_is_of_its_class_and_may_pass() {
    let lab = Lab::new(
        r#"{"turns":[{"steps":[{"error":{"class":"rate_limit","message":"slow down",
            "after_ms":50,"times":2}},{"text":"at last"}]}]}"#,
    );
    let talk = Talk::default().user("hi");
    for _ in 0..2 {
        let after = Some(Duration::from_millis(50));
        let error = Error::new(Class::RateLimit { after }, "slow down");
        assert_eq!(lab.ask(&talk).unwrap_err(), error);
    }
    assert_eq!(
        lab.ask(&talk).unwrap().content[0].as_text(),
        Some("at last")
    );
}

#[test]
fn a_wait_ends_when_nobody_listens() {
    let lab = Lab::new(r#"{"turns":[{"steps":[{"wait_ms":60000}]}]}"#);
    let by_hand = Cancel::new();
    let begin = Instant::now();
    let late = move || begin.elapsed() > Duration::from_millis(50);
    let by_probe = Cancel::new().child_with_probe(late);
    let message = Message::text(Role::User, "hi");
    let ask = Ask {
        model: &ModelConfig::default(),
        system: "",
        messages: &[&message],
        note: None,
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            by_hand.cancel();
        });
        for cancel in [&by_hand, &by_probe] {
            let error = lab.provider.ask(&ask, cancel, &mut Unheard).unwrap_err();
            assert_eq!(error.class, Class::Cancelled);
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn names_and_summaries_are_those_of_the_script_or_say_so() {
    let talk = Talk::default().user("what\nis this");
    let said = |lab: &Lab, purpose| {
        let answer = ask(&lab.provider, &talk, purpose, &mut Unheard)?;
        Ok::<_, Error>(answer.content[0].as_text().unwrap_or_default().to_owned())
    };
    let lab = Lab::new(r#"{"name":"N","summary":"S of {{last_user}}"}"#);
    assert_eq!(said(&lab, Purpose::Name).unwrap(), "N");
    assert_eq!(said(&lab, Purpose::Summary).unwrap(), "S of what\nis this");
    let lab = Lab::new("{}");
    assert_eq!(said(&lab, Purpose::Name).unwrap_err().class, Class::Refused);
    assert_eq!(
        said(&lab, Purpose::Summary).unwrap(),
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
        let error = Lab::new(script)
            .ask(&Talk::default().user("hi"))
            .unwrap_err();
        assert_eq!(error.class, Class::Config, "{script}");
        assert!(error.message.contains(place), "{script}: {error}");
    }
    let large = Lab::new(&" ".repeat(MAX_SCRIPT as usize + 1));
    let error = large.ask(&Talk::default().user("hi")).unwrap_err();
    assert!(error.message.contains("4 MiB"), "{error}");
    for path in ["/nowhere/script.json", "/"] {
        let provider = Scripted::new(Some(path.into()));
        let error = ask(&provider, &Talk::default(), Purpose::Turn, &mut Unheard).unwrap_err();
        assert!(error.message.contains("GOOSE_SCRIPT"), "{error}");
    }
}

#[test]
fn a_changed_script_is_read_anew() {
    let lab = Lab::new(r#"{"repeat":true,"turns":[{"steps":[{"text":"old"}]}]}"#);
    let mut talk = Talk::default().user("hi");
    assert_eq!(talk.go(&lab, ""), "old");
    fs::write(
        &lab.path,
        r#"{"repeat":true,"turns":[{"steps":[{"text":"newer"}]}]}"#,
    )
    .unwrap();
    assert_eq!(talk.user("hi").go(&lab, ""), "newer");
}

#[test]
fn without_a_file_it_says_what_it_heard() {
    let talk = Talk::default().user("hello?");
    let mut heard = Heard::default();
    ask(&Scripted::new(None), &talk, Purpose::Turn, &mut heard).unwrap();
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
    Script::parse(ECHO).unwrap();
}
