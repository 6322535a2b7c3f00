//! The checklist of SERVER §12.

use super::CheckResult;
use crate::declaration::Row;
use crate::findings::CheckOutcome;

/// The state of a point of the checklist (SERVER §12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    Held,
    Broken,
    Open,
}

/// The checklist of SERVER §12.
pub(crate) const CHECKLIST: [&str; 9] = [
    "The server starts cleanly on its transport.",
    "`initialize` and `notifications/initialized` succeed.",
    "Capabilities and methods agree.",
    "Lists can be parsed, and their pages are consistent.",
    "Strict clients accept the schemas of tools.",
    "Notifications and requests to the client keep to the standard.",
    "On stdio, stdout has the protocol only.",
    "Over HTTP, strict clients can read the event streams.",
    "Clients without user interfaces are served.",
];

/// The points of the checklist with their states.
pub(crate) fn checklist(
    checks: &[CheckResult],
) -> impl Iterator<Item = (usize, &'static str, Tick)> {
    CHECKLIST.iter().enumerate().map(|(index, text)| {
        let row: Row = ("12", index + 1);
        let mut of_row = checks
            .iter()
            .filter(|checked| checked.check.rows.contains(&row))
            .peekable();
        let mut tick = Tick::Open;
        if of_row.peek().is_some() {
            for checked in of_row {
                match checked.outcome {
                    CheckOutcome::Failed { .. } => {
                        tick = Tick::Broken;
                        break;
                    }
                    CheckOutcome::Passed { .. } => tick = Tick::Held,
                    _ => {}
                }
            }
        }
        (index + 1, *text, tick)
    })
}
