//! Pinning: the tools that a server lists are compared with those that it listed when its extension was first
//! started. A part does that; a build without it starts nothing whose tools a setting wants pinned.
//!
//! Servers that are part of this program have no pins, nor have tools that the client runs. Instructions,
//! resources, prompts and the results of tools are not pinned.

use super::{Error, ExtensionConfig, Phase};
use crate::features;
use crate::mcp::types::Tool;
use crate::store::{self, Config, Paths};
use crate::sys::fs::Stamp;
use crate::text::printable;
use serde_json::Value;
use std::sync::Arc;

/// Creates the pinner of a part, with the settings of the user.
pub type CreatePinner = fn(&Config, &Paths) -> Arc<dyn Pinner>;

/// Compares the tools of extensions with the pinned ones, with the settings that it was created with.
pub trait Pinner: Send + Sync {
    /// Compares the listed tools of an extension with the pinned ones, or pins them if none are. `secrets` must
    /// not appear in what is kept and shown.
    fn review(
        &self,
        config: &ExtensionConfig,
        listed: Arc<Vec<Tool>>,
        secrets: &[String],
    ) -> Reviewed;

    /// Compares again if something differed, and the pins have changed since. Sends nothing to the server.
    fn review_again(
        &self,
        config: &ExtensionConfig,
        reviewed: &Reviewed,
        secrets: &[String],
    ) -> Option<Reviewed>;

    /// Accepts what the extension with this key listed last; returns what differed, tool by tool. Sessions notice it
    /// before they use its tools.
    ///
    /// # Errors
    /// There are no pins of this key, or they cannot be read or written.
    fn accept(&self, key: &str) -> Result<Vec<Value>, String>;

    /// What is pinned of an extension, for the user; `None` if nothing is. Starts nothing.
    ///
    /// # Errors
    /// The pins cannot be read.
    fn pinned(&self, config: &ExtensionConfig) -> store::Result<Option<Value>>;
}

/// The pinning of tools. The default pins nothing.
#[derive(Clone, Default)]
pub struct Pinning {
    pub(super) pinner: Option<Arc<dyn Pinner>>,
    /// A setting wants it, and the build has none.
    pub(super) is_missing: bool,
}

/// The tools of a server, and which of them are offered.
#[derive(Clone, Debug, Default)]
pub struct Reviewed {
    /// What the server lists.
    pub listed: Arc<Vec<Tool>>,
    /// What the session may use.
    pub offered: Arc<Vec<Tool>>,
    /// How they differ from the pinned ones, if they do, as `GET /agent/extensions` shows it.
    pub report: Option<Arc<Value>>,
    /// The state of the pins when they were compared, if something differed.
    pub stamp: Option<Stamp>,
}

impl Reviewed {
    /// All of them are offered.
    pub fn unchanged(listed: Arc<Vec<Tool>>) -> Self {
        Reviewed {
            offered: listed.clone(),
            listed,
            report: None,
            stamp: None,
        }
    }

    /// Whether the server lists this tool, and it is not offered.
    pub(super) fn withholds(&self, tool: &str) -> bool {
        let has = |tools: &[Tool]| tools.iter().any(|it| it.name == tool);
        has(&self.listed) && !has(&self.offered)
    }
}

impl Pinning {
    /// What compares the tools, if the build has it.
    pub fn pinner(&self) -> Option<&dyn Pinner> {
        self.pinner.as_deref()
    }

    /// Whether this build can do what the setting wants.
    ///
    /// # Errors
    /// It is strict, and the build leaves pinning out.
    pub(super) fn check(&self, config: &ExtensionConfig) -> Result<(), Error> {
        if !self.is_missing || !is_pinned(config) {
            return Ok(());
        }
        let hint = features::hint("pinning");
        let reason = format!("tools cannot be pinned, which GOOSE_TOOL_PINNING wants{hint}");
        Err(Error::forbidden(config.name(), reason))
    }

    /// As [`Pinner::review`]; without one, all tools are offered.
    pub(super) fn review(
        &self,
        config: &ExtensionConfig,
        listed: Arc<Vec<Tool>>,
        secrets: &[String],
    ) -> Reviewed {
        match &self.pinner {
            Some(pinner) => pinner.review(config, listed, secrets),
            None => Reviewed::unchanged(listed),
        }
    }

    /// As [`Pinner::review_again`].
    pub(super) fn review_again(
        &self,
        config: &ExtensionConfig,
        reviewed: &Reviewed,
        secrets: &[String],
    ) -> Option<Reviewed> {
        self.pinner
            .as_ref()?
            .review_again(config, reviewed, secrets)
    }
}

/// The error for a call of a tool that is withheld. Models may get it, so it does not say how to accept the tool.
pub(super) fn withheld_error(config: &ExtensionConfig, tool: &str) -> Error {
    let reason = format!(
        "the tool {:?} is not the one that its server had when the extension was first started, and the \
         setting GOOSE_TOOL_PINNING is strict; the user must look at the change and accept it, see `gosling \
         help pinning`",
        printable(tool, 100)
    );
    Error {
        phase: Phase::Tool,
        ..Error::forbidden(config.name(), reason)
    }
}

/// Whether the tools come from outside of this program.
pub fn is_pinned(config: &ExtensionConfig) -> bool {
    matches!(
        config,
        ExtensionConfig::Stdio(_)
            | ExtensionConfig::StreamableHttp(_)
            | ExtensionConfig::InlinePython(_)
    )
}

#[cfg(test)]
mod tests;
