//! A complete task: the model finds out why a test fails, repairs the code and sees the test pass.
//!
//! `cargo test --test developer repair -- --nocapture` prints the conversation.

use crate::support::server::{Extension, RunningServer, Server};
use crate::support::turns::{Turn, result_of};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The cargo that builds these tests; it may be the only one.
const CARGO: &str = env!("CARGO");

const MANIFEST: &str = "\
[package]
name = \"thermometer\"
version = \"0.1.0\"
edition = \"2021\"

[lib]
doctest = false

[workspace]
";

const SOURCE: &str = "\
/// The middle reading; for an even number of readings, the mean of the two middle ones.
pub fn median(readings: &[f64]) -> Option<f64> {
    let mut sorted = readings.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => None,
        0 => Some((sorted[middle] + sorted[middle + 1]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn of_an_odd_number() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn of_an_even_number() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
";

const WRONG: &str = "sorted[middle] + sorted[middle + 1]";
const RIGHT: &str = "sorted[middle - 1] + sorted[middle]";

/// The script of the model. A step runs only if the previous result contains the expected text.
fn script() -> Value {
    let call = |tool: &str, arguments: Value| {
        let name = format!("developer__{tool}");
        json!({"call": {"name": name, "arguments": arguments}})
    };
    let test = || call("shell", json!({"command": "cargo test --offline"}));
    json!({"turns": [{"steps": [
        {"text": "Let me see what is here."},
        call("analyze", json!({"path": "."})),
        {"expect": "lib.rs [27L 3F 0C]"},
        {"text": "One file. What does the test say?"},
        test(),
        {"expect": "test tests::of_an_even_number ... FAILED"},
        {"expect": "left: Some(3.5)"},
        {"expect": "[exit code 101]"},
        {"text": "It takes the mean of 3 and 4, not of 2 and 3. Who calls that function?"},
        call("analyze", json!({"path": ".", "focus": "median"})),
        {"expect": "lib.rs:2 fn median (10 lines)"},
        {"expect": "in fn tests.of_an_even_number"},
        call("text_editor", json!({"command": "view", "path": "src/lib.rs", "view_range": [2, 11]})),
        {"expect": WRONG},
        {"text": "The two in the middle are the one at half the length and the one before it."},
        call("text_editor", json!({
            "command": "str_replace", "path": "src/lib.rs", "old_str": WRONG, "new_str": RIGHT,
        })),
        {"expect": RIGHT},
        test(),
        {"expect": "test result: ok. 2 passed; 0 failed"},
        {"text": "Both tests pass: the median of an even number of readings was taken one place too far up."},
    ]}]})
}

/// `PATH` with the folder of that cargo first.
fn path() -> String {
    let own = env::var_os("PATH").unwrap_or_default();
    let rust = Path::new(CARGO).parent().expect("a folder").to_owned();
    let all = [rust].into_iter().chain(env::split_paths(&own));
    let joined = env::join_paths(all.collect::<Vec<PathBuf>>()).unwrap();
    joined.into_string().expect("a Unicode path")
}

/// A server whose working directory has a small project with a bug.
fn start() -> RunningServer {
    let server = Server::scripted(script()).setting("GOOSE_MODE", "auto");
    let work = server.root().join("work");
    fs::create_dir(work.join("src")).unwrap();
    fs::write(work.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(work.join("src/lib.rs"), SOURCE).unwrap();
    let target = server.root().join("target");
    server
        .env("PATH", &path())
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_TARGET_DIR", target.to_str().expect("Unicode"))
        .start()
}

/// Prints the conversation.
fn print(request: &str, turn: &Turn) {
    println!("user> {request}");
    let messages = turn.events_of("Message").into_iter();
    let parts = messages.flat_map(|event| event["message"]["content"].as_array());
    for part in parts.flatten() {
        let text = match part["type"].as_str() {
            Some("text") => format!("model> {}", part["text"].as_str().unwrap_or_default()),
            Some("toolRequest") => {
                let call = &part["toolCall"]["value"];
                let name = call["name"].as_str().unwrap_or_default();
                format!("call> {name} {}", call["arguments"])
            }
            Some("toolResponse") => {
                let indented = for_model(part).trim_end().replace('\n', "\n     | ");
                let outcome = &part["toolResult"]["value"]["structuredContent"];
                let outcome = if outcome.is_null() {
                    String::new()
                } else {
                    format!("\n     = {outcome}")
                };
                format!("     | {indented}{outcome}")
            }
            _ => continue,
        };
        println!("{text}");
    }
}

/// The text of a result for the model.
fn for_model(response: &Value) -> String {
    let mut response = response.clone();
    if let Some(parts) = response["toolResult"]["value"]["content"].as_array_mut() {
        parts.retain(|part| part["annotations"]["audience"] != json!(["user"]));
    }
    result_of(&response)
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn the_model_fixes_a_failing_test_in_a_rust_project() {
    let server = start();
    let session = server.session([Extension::builtin("developer")]);
    let request = "The tests of this project do not pass. Please find out why and fix it.";
    let turn = session.say(request);
    print(request, &turn);
    let turn = turn.finishes().says("Both tests pass");

    let names: Vec<_> = turn
        .calls()
        .into_iter()
        .map(|call| &call["toolCall"]["value"]["name"])
        .collect();
    let expected = [
        "analyze",
        "shell",
        "analyze",
        "text_editor",
        "text_editor",
        "shell",
    ];
    assert_eq!(
        json!(names),
        json!(expected.map(|tool| format!("developer__{tool}")))
    );
    let responses = turn.parts_of("toolResponse");
    let outcomes: Vec<_> = responses
        .iter()
        .map(|part| &part["toolResult"]["value"])
        .collect();
    assert_eq!(outcomes.len(), expected.len());
    for outcome in &outcomes {
        assert_ne!(outcome["isError"], true, "{outcome}");
    }
    assert_eq!(outcomes[1]["structuredContent"]["exit_code"], 101);
    assert_eq!(outcomes[5]["structuredContent"]["exit_code"], 0);
    let texts: Vec<_> = responses.iter().map(|part| for_model(part)).collect();
    assert!(texts[1].ends_with("[exit code 101]\n"), "{}", texts[1]);
    assert!(texts[3].contains(WRONG), "{}", texts[3]);
    // The stored conversation equals the streamed one.
    let stored = session.conversation();
    let stored = stored
        .iter()
        .flat_map(|message| message["content"].as_array().expect("content"));
    let stored: Vec<_> = stored
        .filter(|part| part["type"] == "toolResponse")
        .collect();
    assert_eq!(stored, responses);

    let work = server.work();
    let fixed = fs::read_to_string(work.join("src/lib.rs")).unwrap();
    assert_eq!(fixed, SOURCE.replace(WRONG, RIGHT));
    let own = Command::new(CARGO)
        .args(["test", "--offline", "--quiet"])
        .current_dir(&work)
        .env("PATH", path())
        .env("CARGO_TARGET_DIR", server.root().join("target"))
        .output()
        .expect("cargo runs");
    assert!(
        own.status.success(),
        "{}",
        String::from_utf8_lossy(&own.stdout)
    );
}
