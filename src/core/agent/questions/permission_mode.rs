//! Which tool calls need the user's approval: by the setting `GOOSE_MODE`, the stored permissions, and the
//! annotations of the tool.

use crate::agent::Stores;
use crate::agent::session::session_recipes;
use crate::conversation::Session;
use crate::mcp::types::ToolAnnotations;
use crate::store::{PermissionLevel, settings};
use crate::text::printable;
use serde::Deserialize;

/// Which tool calls need the user's approval.
/// The later of two is the stricter one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// None.
    #[default]
    Auto,
    /// Calls that may change something.
    SmartApprove,
    /// All.
    Approve,
    /// No tool is called.
    Chat,
}

/// The user's answer to a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confirmation {
    /// Yes, and to each later call of the tool.
    AlwaysAllow,
    /// Yes, this time.
    AllowOnce,
    /// The user dismissed the question; the call is denied.
    Cancel,
    /// No, this time.
    DenyOnce,
    /// No, nor to any later call of the tool.
    AlwaysDeny,
}

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Decision {
    Run,
    Ask,
    Deny,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [Mode::Auto, Mode::Approve, Mode::SmartApprove, Mode::Chat];

    /// The mode of a session: its own, else the stricter one of the setting `GOOSE_MODE` and of its recipe, which may
    /// come from a stranger. The policy may require a stricter one.
    pub fn of_session(session: &Session, stores: &Stores) -> Mode {
        let least = stores.least_mode();
        if let Some(mode) = &session.goose_mode {
            return least.max(Mode::named(mode));
        }
        let mode = least.max(Mode::named(settings::MODE.word(&stores.config)));
        match session_recipes::setting(session, "goose_mode") {
            Some(of_recipe) => mode.max(Mode::named(&of_recipe)),
            None => mode,
        }
    }

    /// Its name in `GOOSE_MODE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Auto => "auto",
            Mode::Approve => "approve",
            Mode::SmartApprove => "smart_approve",
            Mode::Chat => "chat",
        }
    }

    /// The mode of this name. An unknown one means [`Mode::Approve`], since some restriction was wanted.
    pub fn named(name: &str) -> Self {
        let mut modes = Mode::ALL.into_iter();
        let mode = modes.find(|mode| mode.as_str().eq_ignore_ascii_case(name.trim()));
        mode.unwrap_or_else(|| {
            log::warn!(
                "unknown mode, so every call needs approval mode={:?}",
                printable(name, 100)
            );
            Mode::Approve
        })
    }

    /// What to do with a call of a tool that has this stored permission and these annotations. `NeverAllow`
    /// applies in every mode.
    pub(in crate::agent) fn authorize(
        self,
        level: Option<PermissionLevel>,
        annotations: Option<&ToolAnnotations>,
    ) -> Decision {
        let is_read_only = annotations
            .is_some_and(|a| a.read_only_hint == Some(true) && a.destructive_hint != Some(true));
        match (self, level) {
            (_, Some(PermissionLevel::NeverAllow)) | (Mode::Chat, _) => Decision::Deny,
            (Mode::Auto, _) | (_, Some(PermissionLevel::AlwaysAllow)) => Decision::Run,
            (Mode::SmartApprove, None) if is_read_only => Decision::Run,
            (Mode::Approve | Mode::SmartApprove, _) => Decision::Ask,
        }
    }

    /// Whether the user approves anything in this mode, for example sampling requests of MCP servers.
    pub(in crate::agent) fn asks_user(self) -> bool {
        matches!(self, Mode::Approve | Mode::SmartApprove)
    }
}

impl Confirmation {
    /// Whether the tool may be called.
    pub fn is_allowed(self) -> bool {
        matches!(self, Confirmation::AlwaysAllow | Confirmation::AllowOnce)
    }

    /// The permission to store, if the answer holds for later calls.
    pub(in crate::agent) fn permission_level(self) -> Option<PermissionLevel> {
        match self {
            Confirmation::AlwaysAllow => Some(PermissionLevel::AlwaysAllow),
            Confirmation::AlwaysDeny => Some(PermissionLevel::NeverAllow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
