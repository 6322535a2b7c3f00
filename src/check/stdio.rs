//! Framing over stdio, and the end of the process. SERVER §4.2.

use super::checks::Check;
use super::findings::Exchange;
use super::runner::Runner;
use super::session::{Reply, Session};
use serde_json::json;
use std::time::Duration;

const CHECKS: [Check; 6] = [
    Check::FramingUnderLoad,
    Check::BigMessage,
    Check::Unicode,
    Check::CrLf,
    Check::BlankLines,
    Check::EndsWithStdin,
];
const NOT_STDIO: &str = "the transport is not stdio";
/// How many requests are sent at once.
const BURST: usize = 50;
/// The size of a big message, in bytes.
const BIG: usize = 1 << 20;
/// How long a server may take to end after its stdin.
const END: Duration = Duration::from_secs(2);
/// Characters that readers of lines and encodings stumble over.
const TEXT: &str = "grüße-日本語-\u{1f986}-\u{2028}-\u{85}-\u{fffd}";

pub(super) fn run(runner: &mut Runner<'_>) {
    match runner.main() {
        Ok(main) if main.process.is_some() => {}
        Ok(_) => return runner.findings.none_applicable(&CHECKS, NOT_STDIO),
        Err(reason) => return runner.findings.none_checked(&CHECKS, &reason),
    }
    let big = json!({"_meta": {"gosling/big": "x".repeat(BIG)}});
    // A server that ends during one of them is started again for the next.
    let checks: [(Check, Attempt<'_>); 5] = [
        (Check::FramingUnderLoad, &burst),
        (Check::BigMessage, &|main| {
            alive(
                "a request of one megabyte",
                main.request("ping", big.clone()),
            )
        }),
        (Check::Unicode, &|main| {
            let what = format!("a request with the id {TEXT:?}");
            alive(&what, main.request_with_id(json!(TEXT), "ping", json!({})))
        }),
        (Check::CrLf, &|main| {
            alive("a line that ends with CR LF", ping_line(main, "", "\r\n"))
        }),
        (Check::BlankLines, &|main| {
            alive(
                "a request after blank lines",
                ping_line(main, "\n \n\t\n", "\n"),
            )
        }),
    ];
    for (check, make) in checks {
        let observed = match runner.main() {
            Ok(main) => make(main),
            Err(reason) => {
                runner.findings.not_checked(check, reason);
                continue;
            }
        };
        match observed {
            Ok(detail) => runner.findings.pass(check, detail),
            Err((fault, exchange)) => runner.findings.fail(check, fault, exchange),
        }
    }
}

/// What was wrong, and where.
type Fault = (String, Exchange);

/// Makes a check on the main connection.
type Attempt<'a> = &'a dyn Fn(&Session) -> Result<String, Fault>;

/// Passes if the request got any answer.
fn alive(what: &str, reply: Reply) -> Result<String, Fault> {
    if reply.is_answered() {
        Ok(String::new())
    } else {
        Err((format!("{what} got {}", reply.describe()), reply.exchange))
    }
}

/// A `ping` with this text before it and this end of its line.
fn ping_line(main: &Session, before: &str, end: &str) -> Reply {
    // Ids of usual requests begin at 1.
    let id = i64::from(u32::MAX) + before.len() as i64 + end.len() as i64;
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    main.request_as(id, format!("{before}{message}"), Some(end))
}

fn burst(main: &Session) -> Result<String, Fault> {
    let pending: Vec<_> = (0..BURST)
        .map(|_| main.begin_request("ping", json!({})))
        .collect();
    let mut lost = None;
    let mut answered = 0;
    for request in pending {
        let reply = main.wait(request);
        if reply.is_answered() {
            answered += 1;
        } else {
            lost.get_or_insert(reply);
        }
    }
    let mixed =
        main.inbox
            .take_faults_of(&[Check::ValidJson, Check::StdoutClean, Check::MessageShape]);
    if let Some((_, detail, text)) = mixed.first() {
        let exchange = Exchange {
            sent: format!("{BURST} requests `ping` at once"),
            received: main.excerpt(text.as_bytes()),
        };
        return Err((detail.clone(), exchange));
    }
    match lost {
        None => Ok(format!("{answered} of {BURST} answered")),
        Some(reply) => {
            let fault = format!("{answered} of {BURST} requests at once were answered");
            Err((fault, reply.exchange))
        }
    }
}

/// Closes the main connection from the input, as the last check of all.
pub(super) fn run_end(runner: &mut Runner<'_>) {
    if let Err(reason) = runner.main() {
        return runner.findings.not_checked(Check::EndsWithStdin, reason);
    }
    let Some(main) = runner.take_main() else {
        return;
    };
    let Some(process) = main.process.clone() else {
        runner
            .findings
            .not_applicable(Check::EndsWithStdin, NOT_STDIO);
        return main.close(&mut runner.findings);
    };
    let took = process.end_input(END);
    main.close(&mut runner.findings);
    let status = process.own_status();
    let findings = &mut runner.findings;
    match (took, status) {
        (None, _) => {
            let fault = format!(
                "it still ran {} s after its stdin was closed",
                END.as_secs()
            );
            findings.fail(Check::EndsWithStdin, fault, Exchange::default());
        }
        (Some(_), Some(status)) if !status.success() => {
            let fault = format!("it ended with {status}");
            findings.fail(Check::EndsWithStdin, fault, Exchange::default());
        }
        (Some(took), _) => {
            let detail = format!("after {:.2} s", took.as_secs_f64());
            findings.pass(Check::EndsWithStdin, detail);
        }
    }
}
