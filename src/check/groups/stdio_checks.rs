//! Framing over stdio, and the end of the process. SERVER §4.2.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::findings::{Observed, ShownExchange};
use crate::wire::answer::ServerReply;
use crate::wire::inbox::{MESSAGE_SHAPE, STDOUT_CLEAN, VALID_JSON};
use crate::wire::raw_connection::RawConnection;
use serde_json::json;
use std::time::Duration;

declare_checks! {
    FRAMING_UNDER_LOAD = 21 "framing-under-load" "4.2" Must Minimum [("4.2", 5)]
        requires: "Fifty requests at once get fifty whole responses."
        why: "Messages that several threads write at once become unreadable when they mix."
        fix: "Write each message with its line break under one lock, and flush it."
    BIG_MESSAGE = 22 "big-message" "4.2" Must Minimum [("4.2", 5)]
        requires: "A request of one megabyte is answered."
        why: "Goose passes whole files as arguments. A reader with a line limit loses the connection at the first of them."
        fix: "Raise the limit of the line reader (Python's asyncio has 64 KiB by default)."
    UNICODE = 23 "unicode" "4.2" Must Minimum [("4.2", 5)]
        requires: "Characters of all languages, emoji, and U+2028 and U+0085 pass unchanged in both directions."
        why: "Readers that end lines at other characters than LF cut messages in two; other encodings than UTF-8 change texts."
        fix: "Open stdin and stdout as UTF-8, and split lines at LF only."
    CR_LF = 24 "crlf" "4.2" Should Minimum [("4.2", 5)]
        requires: "A line that ends with CR LF is read like one that ends with LF."
        why: "Clients on Windows may write CR LF."
        fix: "Remove white space at the end of a line before you parse it."
    BLANK_LINES = 25 "blank-lines" "4.2" Should Minimum [("4.2", 5)]
        requires: "Blank lines are ignored."
        why: "Some clients and scripts end their input with blank lines."
        fix: "Skip lines that contain only white space."
    ENDS_WITH_STDIN = 26 "ends-with-stdin" "4.2" Should Minimum [("4.2", 5)]
        requires: "The process ends by itself, with success, within two seconds after its stdin was closed."
        why: "This is how MCP ends a server. A server that stays is killed and may lose data, or is left behind."
        fix: "End the read loop at the end of the input, and stop threads, timers and child processes."
}

pub(crate) const GROUP: Group = Group::new("stdio", &[CHECKS], run);

const NOT_STDIO: &str = "the transport is not stdio";
/// How many requests are sent at once.
const BURST: usize = 50;
/// The size of a big message, in bytes.
const BIG: usize = 1 << 20;
/// How long a server may take to end after its stdin.
const END: Duration = Duration::from_secs(2);
/// Characters that readers of lines and encodings stumble over.
const TEXT: &str = "grüße-日本語-\u{1f986}-\u{2028}-\u{85}-\u{fffd}";

fn run(run: &mut CheckRun<'_>) {
    match run.main() {
        Ok(main) if main.process.is_some() => {}
        Ok(_) => return run.findings.none_applicable(CHECKS, NOT_STDIO),
        Err(reason) => return run.findings.none_checked(CHECKS, &reason),
    }
    // A server that ends during one of them is started again for the next.
    let checks: [(&'static Check, Attempt); 5] = [
        (FRAMING_UNDER_LOAD, burst),
        (BIG_MESSAGE, |main| {
            let params = json!({"_meta": {"gosling/big": "x".repeat(BIG)}});
            let reply = main.request("ping", params);
            alive("a request of one megabyte", reply)
        }),
        (UNICODE, |main| {
            let what = format!("a request with the id {TEXT:?}");
            alive(&what, main.request_with_id(json!(TEXT), "ping", json!({})))
        }),
        (CR_LF, |main| {
            alive("a line that ends with CR LF", ping_line(main, "", "\r\n"))
        }),
        (BLANK_LINES, |main| {
            let reply = ping_line(main, "\n \n\t\n", "\n");
            alive("a request after blank lines", reply)
        }),
    ];
    for (check, make) in checks {
        match run.main().map(make) {
            Ok(observed) => run.findings.note(check, observed),
            Err(reason) => run.findings.not_checked(check, reason),
        }
    }
}

/// Makes a check on the main connection.
type Attempt = fn(&RawConnection) -> Observed;

/// Passes if the request got any answer.
fn alive(what: &str, reply: ServerReply) -> Observed {
    if reply.is_answered() {
        Ok(String::new())
    } else {
        Err(reply.fault(what))
    }
}

/// A `ping` with this text before it and this end of its line.
fn ping_line(main: &RawConnection, before: &str, end: &str) -> ServerReply {
    // Ids of usual requests begin at 1.
    let id = i64::from(u32::MAX) + before.len() as i64 + end.len() as i64;
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    main.request_as(id, format!("{before}{message}"), Some(end))
}

fn burst(main: &RawConnection) -> Observed {
    let replies = main.request_at_once(BURST, "ping", &json!({}));
    let (answered, lost): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(ServerReply::is_answered);
    let answered = answered.len();
    let mixed = [VALID_JSON, STDOUT_CLEAN, MESSAGE_SHAPE];
    if let Some((_, detail, text)) = main.inbox.take_faults_of(&mixed).into_iter().next() {
        let exchange = ShownExchange {
            sent: format!("{BURST} requests `ping` at once"),
            received: main.excerpt(text.as_bytes()),
        };
        return Err((detail, exchange));
    }
    match lost.into_iter().next() {
        None => Ok(format!("{answered} of {BURST} answered")),
        Some(reply) => {
            let fault = format!("{answered} of {BURST} requests at once were answered");
            Err((fault, reply.exchange))
        }
    }
}

/// Closes the main connection from the input, as the last check of all.
pub(crate) fn run_end(run: &mut CheckRun<'_>) {
    if let Err(reason) = run.main() {
        return run.findings.not_checked(ENDS_WITH_STDIN, reason);
    }
    let Some(main) = run.main.take() else {
        return;
    };
    let Some(process) = main.process.clone() else {
        run.findings.not_applicable(ENDS_WITH_STDIN, NOT_STDIO);
        return main.close(&mut run.findings);
    };
    let took = process.end_input(END);
    main.close(&mut run.findings);
    let observed = match (took, process.own_status()) {
        (None, _) => {
            let limit = END.as_secs();
            Err(format!("it still ran {limit} s after its stdin was closed"))
        }
        (Some(_), Some(status)) if !status.success() => Err(format!("it ended with {status}")),
        (Some(took), _) => Ok(format!("after {:.2} s", took.as_secs_f64())),
    };
    let observed = observed.map_err(|fault| (fault, ShownExchange::default()));
    run.findings.note(ENDS_WITH_STDIN, observed);
}
