//! How freely tools are called: the setting `GOOSE_MODE`, what the user said before, and what the tool
//! says of itself.

use crate::mcp::types::ToolAnnotations;
use crate::store::PermissionLevel;
use serde::Deserialize;
use serde_json::Value;

/// How freely tools are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Without asking.
    #[default]
    Auto,
    /// The user is asked about each call.
    Approve,
    /// The user is asked about calls that may change something.
    SmartApprove,
    /// Not at all.
    Chat,
}

/// What the user says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// Yes, and to each later call of the tool.
    AlwaysAllow,
    /// Yes, this time.
    AllowOnce,
    /// No answer was wanted; as good as a no.
    Cancel,
    /// No, this time.
    DenyOnce,
    /// No, nor to any later call of the tool.
    AlwaysDeny,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Run,
    Ask,
    Deny,
}

impl Mode {
    /// What the value of `GOOSE_MODE` means. One that means nothing asks about everything, since it
    /// was set for a reason.
    pub(super) fn of(setting: Option<&Value>) -> Self {
        let Some(setting) = setting else {
            return Mode::default();
        };
        let named = setting
            .as_str()
            .map(|name| name.trim().to_ascii_lowercase());
        let mode = crate::json::from_value(&Value::from(named.unwrap_or_default()));
        mode.unwrap_or_else(|_| {
            log::warn!(
                "not a mode, so every call is asked about setting=GOOSE_MODE value={setting}"
            );
            Mode::Approve
        })
    }

    /// What becomes of a call of a tool that the user may have said something about before. Never is
    /// never, in every mode.
    pub(super) fn authorize(
        self,
        level: Option<PermissionLevel>,
        annotations: Option<&ToolAnnotations>,
    ) -> Decision {
        let reads = annotations
            .is_some_and(|a| a.read_only_hint == Some(true) && a.destructive_hint != Some(true));
        match (self, level) {
            (_, Some(PermissionLevel::NeverAllow)) | (Mode::Chat, _) => Decision::Deny,
            (Mode::Auto, _) | (_, Some(PermissionLevel::AlwaysAllow)) => Decision::Run,
            (Mode::SmartApprove, None) if reads => Decision::Run,
            (Mode::Approve | Mode::SmartApprove, _) => Decision::Ask,
        }
    }

    /// Whether the user is asked at all, for example about what an MCP server wants from the model.
    pub(super) fn asks(self) -> bool {
        matches!(self, Mode::Approve | Mode::SmartApprove)
    }
}

impl Confirmation {
    /// Whether the tool may be called.
    pub fn allows(self) -> bool {
        matches!(self, Confirmation::AlwaysAllow | Confirmation::AllowOnce)
    }

    /// What is to be remembered of it.
    pub(super) fn remembered(self) -> Option<PermissionLevel> {
        match self {
            Confirmation::AlwaysAllow => Some(PermissionLevel::AlwaysAllow),
            Confirmation::AlwaysDeny => Some(PermissionLevel::NeverAllow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_mode_the_user_and_the_tool_decide_in_this_order() {
        use Decision::{Ask, Deny, Run};
        use PermissionLevel::{AlwaysAllow, AskBefore, NeverAllow};
        let reads = ToolAnnotations {
            read_only_hint: Some(true),
            ..ToolAnnotations::default()
        };
        let odd = ToolAnnotations {
            destructive_hint: Some(true),
            ..reads.clone()
        };
        for (mode, level, annotations, decision) in [
            (Mode::Auto, None, None, Run),
            (Mode::Auto, Some(AskBefore), None, Run),
            (Mode::Auto, Some(NeverAllow), Some(&reads), Deny),
            (Mode::Approve, None, Some(&reads), Ask),
            (Mode::Approve, Some(AlwaysAllow), None, Run),
            (Mode::Approve, Some(NeverAllow), None, Deny),
            (Mode::SmartApprove, None, None, Ask),
            (Mode::SmartApprove, None, Some(&reads), Run),
            (Mode::SmartApprove, None, Some(&odd), Ask),
            (Mode::SmartApprove, Some(AskBefore), Some(&reads), Ask),
            (Mode::SmartApprove, Some(AlwaysAllow), None, Run),
            (Mode::Chat, Some(AlwaysAllow), Some(&reads), Deny),
        ] {
            assert_eq!(
                mode.authorize(level, annotations),
                decision,
                "{mode:?} {level:?}"
            );
        }
    }

    #[test]
    fn an_unknown_mode_asks() {
        assert_eq!(Mode::of(None), Mode::Auto);
        assert_eq!(Mode::of(Some(&json!("Smart_Approve "))), Mode::SmartApprove);
        assert_eq!(Mode::of(Some(&json!("yolo"))), Mode::Approve);
        assert_eq!(Mode::of(Some(&json!(5))), Mode::Approve);
    }
}
