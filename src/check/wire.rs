//! What goes over the wire: connections to the server under test that can send anything, and that note what is wrong
//! with whatever comes.

pub(super) mod answer;
pub(super) mod client_kind;
pub(super) mod http_probe;
pub(super) mod http_session;
pub(super) mod inbox;
pub(super) mod raw_connection;
pub(super) mod run_timeouts;
pub(super) mod server_messages;

use super::declaration::Check;
use super::findings::CheckFindings;

/// The checks of all messages of a run, whatever else it checks.
pub(super) const CHECKS: [&[&Check]; 2] = [inbox::CHECKS, server_messages::CHECKS];

/// Passes what is only seen when it fails, after all messages of the run.
pub(super) fn pass_what_was_not_seen(findings: &mut CheckFindings, is_stdio: bool) {
    inbox::pass_what_was_not_seen(findings, is_stdio);
    server_messages::pass_what_was_not_seen(findings);
}
