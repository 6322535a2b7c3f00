//! The pages of lists, when cursors are used again. SERVER §6.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::fetched_list::{FetchedPage, PAGES_COMPLETE, PAGES_END, entries, keys, page};
use crate::findings::CheckFindings;
use crate::list_kind::ListKind;
use crate::wire::answer::{RawAnswer, ServerReply};

declare_checks! {
    PAGES_REPEAT = 101 "pages-repeat" "6" Must Minimum [("6", 2), ("12", 4)]
        requires: "The same cursor leads to the same page again."
        why: "Clients retry a page after a timeout."
        fix: "Do not delete the state of a cursor when it is used."
    CURSORS_STAY = 103 "cursors-stay" "6" Should Minimum [("6", 4)]
        requires: "A cursor is still valid after other requests."
        why: "Clients list tools, resources and prompts at the same time."
        fix: "Put the state into the cursor, or keep it for the session."
    BAD_CURSOR = 104 "bad-cursor" "6" Should Minimum [("8", 4)]
        requires: "With pages, an invalid cursor gets an error."
        why: "A client that gets the first page instead begins again without end."
        fix: "Answer with the error -32602."
}

pub(crate) const GROUP: Group = Group::new("pages", &[CHECKS, &[PAGES_COMPLETE, PAGES_END]], run);

/// The most cursors that are used again.
const MAX_REPEATED: usize = 3;

fn run(run: &mut CheckRun<'_>) {
    let mut ended = 0;
    for kind in ListKind::ALL {
        let list = run.list(kind);
        let with_cursor = list.pages.iter().filter(|page| page.cursor.is_some());
        match &list.cut {
            Some(reason) => run.findings.not_checked(PAGES_END, reason.clone()),
            None if list.missing.is_none() => ended += 1,
            None => {}
        }
        let Ok(main) = run.main() else {
            return;
        };
        // Other requests come between the first use of a cursor and the second one: the rest of the list.
        let again = with_cursor.take(MAX_REPEATED).map(|before| {
            let cursor = before.cursor.as_deref();
            (before, page(main, kind, cursor))
        });
        let again: Vec<_> = again.collect();
        if !again.is_empty() {
            let bad = page(main, kind, Some("gosling-no-such-cursor"));
            record_pages(&mut run.findings, kind, &again, &bad);
        }
    }
    if ended > 0 {
        run.findings.pass(PAGES_END, format!("{ended} lists"));
    }
    let reason = "no list has a second page";
    let noted = [PAGES_COMPLETE, PAGES_END];
    run.findings.none_applicable(&noted, reason);
    run.findings.none_applicable(CHECKS, reason);
}

fn record_pages(
    findings: &mut CheckFindings,
    kind: ListKind,
    again: &[(&FetchedPage, ServerReply)],
    bad: &ServerReply,
) {
    let used = format!("{}: a cursor that was used before", kind.method());
    findings.pass(PAGES_COMPLETE, "");
    for (before, reply) in again {
        match entries(reply, kind) {
            None => findings.fail(CURSORS_STAY, reply.fault(&used)),
            Some(now) if keys(now, kind).ne(keys(&before.entries, kind)) => {
                let fault = format!("{used} led to another page");
                findings.fail(PAGES_REPEAT, (fault, reply.exchange.clone()));
            }
            Some(_) => {}
        }
    }
    findings.pass(CURSORS_STAY, "");
    findings.pass(PAGES_REPEAT, "");
    let what = format!("{}: a made-up cursor", kind.method());
    let observed = match &bad.answer {
        RawAnswer::Error { .. } | RawAnswer::Refused(_) => Ok(bad.describe()),
        _ => Err(bad.fault(&what)),
    };
    findings.note(BAD_CURSOR, observed);
}
