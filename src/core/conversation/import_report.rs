//! The report that a session stores about its import: the extensions that were disabled, and what was left
//! out.

use crate::text::printable;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most entries that a notice lists.
const LISTED: usize = 20;

/// What an import disabled or left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportReport {
    /// The source, for example `an imported session`.
    pub from: String,
    /// The extensions that do not run.
    pub switched_off: Vec<DisabledExtension>,
    /// What else was left out, as a phrase each.
    pub left_out: Vec<String>,
    /// Whether a message has told the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// An extension of an import that does not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DisabledExtension {
    /// Its name.
    pub name: String,
    /// What it would do if enabled, for example ``run `npx server` ``.
    pub effect: String,
    /// Its configuration, for a client that adds it to the session.
    pub config: Value,
}

impl ImportReport {
    /// Whether nothing was disabled or left out.
    pub fn is_empty(&self) -> bool {
        self.switched_off.is_empty() && self.left_out.is_empty()
    }

    /// Why the extension `off` does not run, and what to do.
    pub fn reason(&self, off: &DisabledExtension) -> String {
        format!(
            "it came with {} and is switched off, as no extension of the configuration does the \
             same: it would {}; add it to this session if you trust it",
            self.from, off.effect
        )
    }

    /// A sentence for each item that was disabled or left out.
    pub fn warnings(&self) -> Vec<String> {
        let name = |off: &DisabledExtension| printable(&off.name, 100);
        let disabled = self.switched_off.iter();
        let disabled =
            disabled.map(|off| format!("extension \"{}\": {}", name(off), self.reason(off)));
        let left_out = self.left_out.iter();
        let left_out = left_out.map(|what| format!("left out of {}: {what}", self.from));
        disabled.chain(left_out).collect()
    }

    /// The message to the user.
    pub fn notice(&self) -> String {
        let mut text = format!("Not everything of {} was taken over:\n", self.from);
        let warnings = self.warnings();
        for warning in warnings.iter().take(LISTED) {
            text += &format!("\n- {warning}");
        }
        if let Some(more @ 1..) = warnings.len().checked_sub(LISTED) {
            text += &format!("\n- and {more} more");
        }
        text
    }
}
