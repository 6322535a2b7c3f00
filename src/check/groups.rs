//! The groups of checks. Each declares the checks that it decides.

pub(super) mod advice_checks;
pub(super) mod capability_checks;
pub(super) mod error_checks;
pub(super) mod http_checks;
pub(super) mod life_cycle_checks;
pub(super) mod list_checks;
pub(super) mod malformed_checks;
pub(super) mod metadata_checks;
pub(super) mod opening_checks;
pub(super) mod page_checks;
pub(super) mod prompt_checks;
pub(super) mod resource_checks;
pub(super) mod stdio_checks;
pub(super) mod tool_checks;
pub(super) mod ui_checks;

use super::check_run::Group;
use super::tool_schemas;

/// All groups but the life cycle, which comes first, in their order: later ones may end the server.
pub(super) const GROUPS: &[Group] = &[
    list_checks::GROUP.preparing(&[
        tool_checks::CHECKS,
        tool_schemas::CHECKS,
        resource_checks::CHECKS,
        prompt_checks::CHECKS,
        page_checks::CHECKS,
    ]),
    page_checks::GROUP,
    tool_checks::GROUP.preparing(&[metadata_checks::CHECKS, &[advice_checks::CALLS_AT_ONCE]]),
    resource_checks::GROUP,
    prompt_checks::GROUP,
    capability_checks::GROUP,
    error_checks::GROUP,
    metadata_checks::GROUP,
    ui_checks::GROUP,
    opening_checks::GROUP,
    http_checks::GROUP,
    advice_checks::GROUP,
    stdio_checks::GROUP,
    malformed_checks::GROUP,
];
