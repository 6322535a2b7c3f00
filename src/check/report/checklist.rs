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
        let of_row = checks.iter().filter(|it| it.check.rows.contains(&row));
        let tick = of_row.fold(Tick::Open, |tick, checked| match checked.outcome {
            CheckOutcome::Failed { .. } => Tick::Broken,
            CheckOutcome::Passed { .. } if tick == Tick::Open => Tick::Held,
            _ => tick,
        });
        (index + 1, *text, tick)
    })
}
