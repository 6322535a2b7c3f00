//! The programs speak with each other.

use std::process::Command;

fn client(arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_two-tools-client"));
    let output = command.args(arguments).output().expect("the client runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn a_client_with_a_form_alone_calls_both_tools() {
    let server = env!("CARGO_BIN_EXE_two-tools");
    let expected = ("6.5\nHello, Ada!\n".to_owned(), String::new());
    assert_eq!(client(&[server, "Ada"]), expected);
    let without = "6.5\nthe tool failed: pass a `name`\n".to_owned();
    assert_eq!(client(&[server]), (without, String::new()));
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let (said, why) = client(&["/nonexistent/server"]);
    assert_eq!(said, "");
    assert!(why.contains("could not be started"), "{why}");
}
