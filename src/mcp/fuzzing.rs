//! Fuzz targets of the protocol: JSON-RPC messages in both directions, forms and arguments.

use super::jsonrpc::{self, Malformed, Message, Payload};
use super::transport::http::{Denied, auth_challenge::challenges};
use super::transport::stdio;
use super::types::Tool;
use super::{elicitation_form, schema};
use gosling_text::fuzz_input::Target;
#[cfg(test)]
use gosling_text::fuzz_input::check_seeds;
use gosling_text::fuzz_input::{cuts, texts};
use gosling_text::json;
use serde_json::{Map, Value};

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("jsonrpc", json_rpc, 300),
    Target::new("mcp_form", form, 600),
    Target::new("response_head", response_head, 200),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// Checks that lines do not depend on how they are cut, and that a parsed message survives being written.
pub fn json_rpc(input: &[u8]) {
    const LIMIT: usize = 4 << 10;
    let lines = cuts(input).map(|pieces| stdio::fuzzing::lines(&pieces, LIMIT));
    assert_eq!(lines[0].0, lines[1].0, "cut once");
    assert_eq!(lines[0].0, lines[2].0, "cut often");
    let whole = std::iter::once(input.to_vec());
    for line in whole.chain(lines.into_iter().next().unwrap_or_default().0) {
        match jsonrpc::parse(&line, true) {
            Ok(Payload::One(message)) => same_again(&message),
            Ok(Payload::Batch(parts)) => {
                assert!(!parts.is_empty());
                parts.iter().flatten().for_each(same_again);
                assert!(matches!(
                    jsonrpc::parse(&line, false),
                    Err(Malformed::Batch)
                ));
            }
            Err(malformed) => assert!(malformed.to_string().len() < 500 + 4 * line.len()),
        }
    }
}

fn same_again(message: &Message) {
    if let Message::Response { id: None, outcome } = message {
        assert!(outcome.is_err(), "an answer to nothing");
    }
    let bytes = match message {
        Message::Request { id, method, params } => jsonrpc::request(id, method, params.as_ref()),
        Message::Notification { method, params } => jsonrpc::notification(method, params.as_ref()),
        Message::Response { id, outcome } => jsonrpc::response(id.as_ref(), outcome.as_ref()),
    };
    let bytes = bytes.expect("a message can be written");
    assert!(!bytes.contains(&b'\n') || format!("{message:?}").contains("\\n"));
    let Ok(Payload::One(again)) = jsonrpc::parse(&bytes, false) else {
        panic!("a message that was written cannot be read: {message:?}");
    };
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
}

/// Checks answers to forms and arguments of tools; schema and values are both untrusted.
pub fn form(input: &[u8]) {
    let [schema, values] = texts(input);
    let Ok(schema) = json::from_str::<Value>(&schema) else {
        return;
    };
    let values: Map<String, Value> = json::from_str(&values).unwrap_or_default();
    let defaults = elicitation_form::defaults(&schema);
    match elicitation_form::complete(&schema, values.clone()) {
        Ok(answer) => {
            assert!(defaults.keys().all(|name| answer.contains_key(name)));
            assert!(values.iter().all(|(name, value)| answer[name] == *value));
            assert_eq!(
                elicitation_form::complete(&schema, answer.clone()),
                Ok(answer)
            );
        }
        Err(wrong) => {
            assert!(!wrong.is_empty());
            assert!(
                wrong
                    .iter()
                    .all(|reason| !reason.contains(char::is_control))
            );
        }
    }
    let wrong = schema::mismatches(&schema, &values);
    if let Some(coerced) = schema::coerce(&schema, &values) {
        assert!(coerced.keys().eq(values.keys()));
        assert_ne!(coerced, values, "what is right stays as it is");
        assert!(
            !wrong.is_empty(),
            "{values:?} fits, and becomes {coerced:?}"
        );
    }
    if let Ok(tool) = json::from_value::<Tool>(&schema) {
        assert!(tool.parameters().len() <= input.len());
    }
}

/// The head of a response that refuses a request, and the text of its error.
pub fn response_head(input: &[u8]) {
    let words = gosling_outbound::fuzzing::response_head(input);
    let [text, _] = texts(input);
    let all = challenges(&text);
    assert!(all.len() <= 8);
    let is_token = |c: char| c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c);
    for challenge in &all {
        assert!(challenge.scheme.chars().all(is_token) && !challenge.scheme.is_empty());
        assert!(challenge.parameters.len() <= 16);
        for (name, value) in &challenge.parameters {
            assert!(name.chars().all(is_token) && value.chars().count() <= 2_000);
            assert_eq!(
                challenge.parameter(name),
                Some(value.as_str()),
                "one of each name"
            );
        }
    }
    for authorized in [false, true] {
        let denied = Denied {
            code: 401,
            challenges: all.clone(),
            authorized,
            detail: words.clone(),
        };
        let shown = denied.to_string();
        assert!(!shown.contains(char::is_control), "{shown:?}");
    }
}
