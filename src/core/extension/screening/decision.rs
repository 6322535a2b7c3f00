//! Decisions about command lines.

use crate::text::printable;
use log::Level;
use serde::Serialize;

/// Whether a command line may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It may.
    #[default]
    Allowed,
    /// It may, but the user should read the reasons; a link needs a confirmation.
    Warned,
    /// It may not.
    Refused,
}

/// What the screening found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Whether the command line may start.
    pub decision: Outcome,
    /// The packages that it installs.
    pub packages: Vec<String>,
    /// Why it was warned of or refused, one sentence each.
    pub reasons: Vec<String>,
}

impl Decision {
    pub(super) fn warn(&mut self, reason: impl Into<String>) {
        self.decision = self.decision.max(Outcome::Warned);
        self.reasons.push(reason.into());
    }

    pub(super) fn refuse(&mut self, reason: impl Into<String>) {
        self.decision = Outcome::Refused;
        self.reasons.push(reason.into());
    }

    pub(super) fn warn_or_refuse(&mut self, refuse: bool, reason: impl Into<String>) {
        if refuse {
            self.refuse(reason);
        } else {
            self.warn(reason);
        }
    }

    /// Logs the decision about an extension.
    pub fn log(&self, extension: &str) {
        let extension = printable(extension, 100);
        let packages = self.packages.join(", ");
        let (level, word) = match self.decision {
            Outcome::Allowed => (Level::Info, "allowed"),
            Outcome::Warned => (Level::Warn, "warned"),
            Outcome::Refused => (Level::Warn, "refused"),
        };
        let reason = self.reason();
        log::log!(
            level,
            "command screened extension={extension:?} decision={word} packages={packages:?} reason={reason:?}"
        );
    }

    /// The reasons as one text.
    pub fn reason(&self) -> String {
        self.reasons.join("; ")
    }
}
