//! What a server of the Agent Client Protocol sends in the tests, for the interop tests, which compare it with the
//! schemas of the protocol and of Goose.

use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;

/// Appends the message, and for a response the method that it answers, to the file that a variable names.
pub fn record(answers: Option<&str>, message: &Value) {
    let Some(path) = std::env::var_os("ACP_TEST_RECORD") else {
        return;
    };
    let record = json!({"answers": answers, "message": message});
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    // One write for each line, because tests run in parallel.
    file.write_all(format!("{record}\n").as_bytes()).unwrap();
}
