//! `gosling acp` with clients that answer late, too much or not at all, and turns that are interrupted at
//! inconvenient moments.
#![cfg(feature = "acp")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // Commands of a Unix shell are in some tests.

mod support;

use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;
use support::acp_client::{Acp, AcpClient, developer, edit, shell, turn, turns};
use support::until;

/// How long a test waits for something that must not happen.
const QUIET: Duration = Duration::from_millis(300);

fn cancel(client: &mut AcpClient, session: &str, prompt: i64) {
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.result(prompt)["stopReason"], "cancelled");
}

/// Waits until the client was asked with this method; returns the last such request.
fn asked(client: &mut AcpClient, method: &str) -> Value {
    let count = client.requests.iter().filter(|it| it["method"] == *method);
    let count = count.count();
    loop {
        let mut all = client.requests.iter().filter(|it| it["method"] == *method);
        if let Some(request) = all.nth(count) {
            return request.clone();
        }
        let next = client.requests.len() + 1;
        client.until_requests(next);
    }
}

#[test]
fn a_write_that_is_cancelled_changes_no_file() {
    let write = json!({"command": "write", "path": "new.txt", "file_text": "x"});
    let replace =
        json!({"command": "str_replace", "path": "old.txt", "old_str": "two", "new_str": "2"});
    let steps = |arguments: &Value| json!([edit(arguments.clone()), {"text": "over"}]);
    let script = turns(&[
        ("new 1", steps(&write)),
        ("new 2", steps(&write)),
        ("new 3", steps(&write)),
        ("old 1", steps(&replace)),
        ("old 2", steps(&replace)),
    ]);
    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"fs": {"writeTextFile": true}}))
        .start();
    let (new, old) = (client.work().join("new.txt"), client.work().join("old.txt"));
    fs::write(&old, "one two\n").unwrap();
    let session = client.session();
    for text in ["new", "old"] {
        let prompt = client.begin_prompt(&session, &format!("{text} 1"));
        asked(&mut client, "fs/write_text_file");
        cancel(&mut client, &session, prompt);
        thread::sleep(QUIET);
        // The client may also answer, as it cancels its side.
        let prompt = client.begin_prompt(&session, &format!("{text} 2"));
        let write = asked(&mut client, "fs/write_text_file");
        let error = json!({"code": -32800, "message": "cancelled"});
        client.notify("session/cancel", json!({"sessionId": session}));
        client.respond(json!({"id": write["id"], "error": error}));
        assert_eq!(client.result(prompt)["stopReason"], "cancelled");
        thread::sleep(QUIET);
    }
    client.begin_prompt(&session, "new 3");
    asked(&mut client, "fs/write_text_file");
    client.end();
    assert!(!new.exists());
    assert_eq!(fs::read_to_string(&old).unwrap(), "one two\n");
}

#[test]
fn the_text_of_a_file_that_a_client_reports_without_its_last_line_break_keeps_it() {
    let replace =
        json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"});
    let mut client = Acp::new(turn(json!([edit(replace), {"text": "done"}])))
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true}}))
        .start();
    let file = client.work().join("a.txt");
    fs::write(&file, "one\ntwo\n").unwrap();
    client.answering("fs/read_text_file", |_| {
        Some(Ok(json!({"content": "one\ntwo"})))
    });
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\n");
}

#[test]
fn a_file_that_does_not_exist_is_new_also_for_a_client_that_has_an_empty_text_for_it() {
    let write = json!({"command": "write", "path": "new.txt", "file_text": "x\n"});
    let mut client = Acp::new(turn(json!([edit(write), {"text": "done"}])))
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true}}))
        .start();
    client.answering("fs/read_text_file", |_| Some(Ok(json!({"content": ""}))));
    let session = client.session();
    client.prompt(&session, "go");
    let updates = client.take_updates();
    let call = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "tool_call")
        .unwrap();
    let diff = &call["content"][0];
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!(null), &json!("x\n"))
    );
}

#[test]
fn a_turn_that_prepares_is_cancelled_also_after_its_session_was_opened_elsewhere() {
    let mut client = Acp::new(turn(json!([{"text": "hello"}])))
        .capabilities(json!({"fs": {"readTextFile": true}}))
        .start();
    let session = client.session();
    let other = client.root().join("other");
    fs::create_dir(&other).unwrap();
    let drive = if cfg!(windows) { "C%3A/" } else { "" };
    let link = |n: usize| json!({"type": "resource_link", "uri": format!("file:///{drive}x{n}"), "name": "x"});
    let prompt: Vec<Value> = (0..50).map(link).collect();
    let prompt = client.request(
        "session/prompt",
        json!({"sessionId": session, "prompt": prompt}),
    );
    // The client does not answer.
    asked(&mut client, "fs/read_text_file");
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": other, "mcpServers": []}),
    );
    let busy = json!([{"type": "text", "text": "second"}]);
    let (code, why) = client.refused(
        "session/prompt",
        json!({"sessionId": session, "prompt": busy}),
    );
    assert!(code == -32600 && why.contains("running"), "{code} {why}");
    cancel(&mut client, &session, prompt);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
}

#[test]
fn the_links_of_a_prompt_embed_only_so_much() {
    let mut client = Acp::new(turn(json!([{"text": "hello"}]))).start();
    let session = client.session();
    let (small, large) = (client.work().join("small"), client.work().join("large"));
    fs::write(&small, "tiny").unwrap();
    fs::write(&large, "x".repeat(190_000)).unwrap();
    let embedded = |client: &mut AcpClient, file: &std::path::Path, count: usize| {
        let path = file.display().to_string().replace('\\', "/");
        let uri = format!("file:///{}", path.trim_start_matches('/'));
        let link = json!({"type": "resource_link", "uri": uri, "name": "file"});
        let prompt = vec![link; count];
        client.call(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        );
        client.take_updates();
        client.call(
            "session/load",
            json!({"sessionId": session, "cwd": client.work(), "mcpServers": []}),
        );
        let updates = client.take_updates();
        let of_user = updates
            .iter()
            .filter(|it| it["sessionUpdate"] == "user_message_chunk");
        let texts: Vec<_> = of_user
            .filter_map(|it| it["content"]["text"].as_str())
            .collect();
        let texts = &texts[texts.len() - count..];
        assert!(
            texts.last().unwrap().starts_with("[file](file://"),
            "{:?}",
            texts.last()
        );
        texts.iter().filter(|text| text.contains("```")).count()
    };
    assert_eq!(embedded(&mut client, &small, 120), 100);
    assert_eq!(embedded(&mut client, &large, 10), 5);
}

#[test]
fn an_answer_that_is_too_long_fails_its_request_alone() {
    let view = json!({"command": "view", "path": "a.txt"});
    let mut client = Acp::new(turn(json!([edit(view), {"text": "{{last_result}}"}])))
        .configured(developer())
        .capabilities(json!({"fs": {"readTextFile": true}}))
        .start();
    fs::write(client.work().join("a.txt"), "on the disk\n").unwrap();
    client.answering("fs/read_text_file", |_| {
        Some(Ok(json!({"content": "x".repeat(51 << 20)})))
    });
    let session = client.session();
    // With the id that the agent gives its own request, too.
    let prompt = json!([{"type": "text", "text": "go"}]);
    let params = json!({"sessionId": session, "prompt": prompt});
    client.request_as(1, "session/prompt", params);
    let response = client.response(&json!(1));
    assert_eq!(client.requests[0]["id"], 1);
    assert_eq!(response["result"]["stopReason"], "end_turn", "{response}");
    assert!(client.text().contains("on the disk"), "{}", client.text());
}

#[test]
fn a_terminal_that_comes_too_late_is_released() {
    let mut client = Acp::new(turn(json!([shell("make"), {"text": "over"}])))
        .configured(developer())
        .capabilities(json!({"terminal": true}))
        .start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "go");
    let create = asked(&mut client, "terminal/create");
    cancel(&mut client, &session, prompt);
    client.respond(json!({"id": create["id"], "result": {"terminalId": "late"}}));
    let release = asked(&mut client, "terminal/release");
    assert_eq!(release["params"]["terminalId"], "late");
    assert_eq!(release["params"]["sessionId"], json!(session));
}

#[test]
fn the_signal_that_ended_a_command_in_a_terminal_is_named() {
    let mut client = Acp::new(turn(json!([shell("./crash"), {"text": "{{last_result}}"}])))
        .configured(developer())
        .capabilities(json!({"terminal": true}))
        .start();
    client.answering("terminal/create", |_| Some(Ok(json!({"terminalId": "t"}))));
    client.answering("terminal/wait_for_exit", |_| {
        Some(Ok(json!({"exitCode": null, "signal": "SIGSEGV"})))
    });
    client.answering("terminal/output", |_| {
        Some(Ok(json!({"output": "", "truncated": false})))
    });
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(client.text(), "[ended by signal SIGSEGV]\n");
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_call_that_runs_is_shown_as_running_to_a_client_that_loads_the_session() {
    let mut client = Acp::new(turn(
        json!([shell("touch begun; sleep 1000"), {"text": "over"}]),
    ))
    .configured(developer())
    .start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "go");
    let begun = client.work().join("begun");
    until("the command runs", || begun.exists().then_some(()));
    client.take_updates();
    let cwd = client.work();
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    let shown = loop {
        let shown = client.update("tool_call");
        if shown["status"] != "pending" {
            break shown;
        }
    };
    assert_eq!(shown["status"], "in_progress", "{shown}");
    cancel(&mut client, &session, prompt);
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_cancelled_command_keeps_the_output_that_was_shown() {
    let mut client = Acp::new(turn(
        json!([shell("echo begun; sleep 1000"), {"text": "over"}]),
    ))
    .configured(developer())
    .start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "go");
    loop {
        let update = client.update("tool_call_update");
        if update["content"][0]["content"]["text"]
            .as_str()
            .is_some_and(|it| it.contains("begun"))
        {
            break;
        }
    }
    cancel(&mut client, &session, prompt);
    let updates = client.take_updates();
    let last = updates.iter().rfind(|it| it["status"] == "failed").unwrap();
    let text = |n: usize| {
        last["content"][n]["content"]["text"]
            .as_str()
            .unwrap_or_default()
    };
    assert_eq!(text(0), "```console\nbegun\n```\n", "{last}");
    assert!(
        text(1).contains("cancelled") || text(1).contains("did not end"),
        "{last}"
    );
}

#[test]
#[cfg(unix)] // Commands of a Unix shell.
fn a_client_that_shows_terminals_learns_which_output_it_has_not_got() {
    let mut client = Acp::new(turn(json!([shell("seq 1 20005"), {"text": "done"}])))
        .configured(developer())
        .capabilities(json!({"_meta": {"terminal_output": true}}))
        .start();
    let session = client.session();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let updates = client.take_updates();
    let output: String = updates
        .iter()
        .filter_map(|it| it["_meta"]["terminal_output"]["data"].as_str())
        .collect();
    assert!(
        output.contains("the last 100 of 20005 lines"),
        "{}",
        output.len()
    );
    assert!(
        output.ends_with("20004\n20005\n"),
        "{:?}",
        output.get(output.len() - 40..)
    );
}

#[test]
fn a_question_that_is_dismissed_before_a_cancellation_costs_no_request_to_the_model() {
    let steps = json!([shell("echo ran > ran"), {"text": "and then"}]);
    let script = turns(&[("first", steps.clone()), ("second", steps)]);
    let mut client = Acp::new(script)
        .configured(developer())
        .env("GOOSE_MODE", "approve")
        .start();
    let session = client.session();
    let prompt = client.begin_prompt(&session, "first");
    let question = asked(&mut client, "session/request_permission");
    let dismissed = json!({"outcome": {"outcome": "cancelled"}});
    client.respond(json!({"id": question["id"], "result": dismissed}));
    // The user's client sends both within milliseconds.
    thread::sleep(Duration::from_millis(10));
    cancel(&mut client, &session, prompt);
    assert_eq!(client.text(), "");
    assert!(!client.work().join("ran").exists());
    // Without a cancellation the call counts as rejected, and the turn goes on.
    let prompt = client.begin_prompt(&session, "second");
    let question = asked(&mut client, "session/request_permission");
    let dismissed = json!({"outcome": {"outcome": "cancelled"}});
    client.respond(json!({"id": question["id"], "result": dismissed}));
    assert_eq!(client.result(prompt)["stopReason"], "end_turn");
    assert_eq!(client.text(), "and then");
}
