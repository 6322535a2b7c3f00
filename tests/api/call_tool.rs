//! Tool calls: parallel, slow and cancelled ones.

use crate::support::client::Answer;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use serde_json::json;

#[test]
fn answers_find_their_callers_in_any_order() {
    // The tool that is called last answers first.
    let script = (0..32u64).fold(Script::new(), |script, n| {
        let name = format!("t{n}");
        let answer = [Action::Sleep(20 * (32 - n)), Action::text(&name)];
        script.tool(&name, answer)
    });
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let calls: Vec<_> = (0..32)
        .map(|n| session.begin_call(&format!("one__t{n}"), json!({})))
        .collect();
    for (n, stream) in calls.into_iter().enumerate() {
        let answer = Answer::read(format!("call {n}"), stream).is(200);
        assert_eq!(answer.content(), format!("t{n}"));
    }
}

#[test]
fn progress_extends_the_deadline() {
    let script = Script::new().tool("slow", [Action::Progress(8, 300), Action::text("done")]);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script).with_short_timeout()]);
    session.call("one__slow", json!({})).is(200).says("done");
}

#[test]
fn a_client_that_hangs_up_cancels_its_call() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let stream = session.begin_call("one__never", json!({}));
    let call = record.wait_for_message("tools/call");
    assert!(record.all("notifications/cancelled").is_empty());
    drop(stream);
    let cancelled = record.wait_for_message("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    session.echoes("one");
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script).with_short_timeout()]);
    session
        .call("one__never", json!({}))
        .is(500)
        .says("`timeout`");
    let cancelled = record.wait_for_message("notifications/cancelled");
    assert_eq!(
        cancelled["params"]["requestId"],
        record.wait_for_message("tools/call")["id"]
    );
    session.echoes("one");
}

#[test]
fn a_late_answer_is_ignored() {
    let late = [Action::Sleep(1_300), Action::text("late")];
    let script = Script::new().tool("late", late);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script).with_short_timeout()]);
    session.call("one__late", json!({})).is(500).says("timeout");
    std::thread::sleep(std::time::Duration::from_millis(600));
    session.echoes("one");
}

#[test]
fn stop_ends_the_calls_under_way() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let stream = session.begin_call("one__never", json!({}));
    record.wait_for_message("tools/call");
    session.stop();
    Answer::read("the call".to_owned(), stream)
        .is(500)
        .says("closed");
}

#[test]
fn removing_an_extension_ends_its_calls_and_no_others() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server = Server::new().start();
    let session = server.session([
        Extension::scripted("one", &script),
        Extension::scripted("two", &Script::new()),
    ]);
    let stream = session.begin_call("one__never", json!({}));
    record.wait_for_message("tools/call");
    session.remove("one").is(200).says_nothing();
    Answer::read("the call".to_owned(), stream)
        .is(500)
        .says("closed");
    session.echoes("two");
    session
        .call("one__echo", json!({}))
        .is(500)
        .says("\"one__echo\"");
    session.remove("one").is(200).says_nothing();
}
