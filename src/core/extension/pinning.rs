//! Pinning: the tools that a server lists are compared with those that it listed when its extension was first
//! started, because a server, or who can change its package or its configuration, can change them under the user
//! (CVE-2025-54136).
//!
//! The pins of an extension are the file `data/tool_pins/KEY.json`. They outlive the removal of the
//! extension, and another program or address under the same name does not start without pins. What differs is
//! shown in `GET /agent/extensions` and logged, until it is accepted ([`Settings::accept`]). With
//! `GOOSE_TOOL_PINNING=strict` the model gets neither tools that were changed or added, nor any tool of another
//! program or address.
//!
//! Servers that are part of this program have no pins, nor have tools that the client runs. Instructions,
//! resources, prompts and the results of tools are not pinned.

#[cfg(feature = "pinning")]
mod pin_file;
#[cfg(feature = "pinning")]
mod pins;
#[cfg(feature = "pinning")]
mod review;

#[cfg(feature = "pinning")]
pub use pin_file::AcceptError;

use super::{Error, ExtensionConfig, Phase};
use crate::features;
use crate::mcp::types::Tool;
use crate::store::{Config, Paths, settings};
#[cfg(feature = "pinning")]
use crate::sys::fs::Stamp;
use crate::text::printable;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder of the pins, in the data folder.
const FOLDER: &str = "tool_pins";

/// What happens to tools that have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is compared or kept.
    #[default]
    Off,
    /// They are offered, and the change is shown.
    Warn,
    /// They are not offered until the change is accepted.
    Strict,
}

/// The settings of the pinning.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `GOOSE_TOOL_PINNING`.
    pub mode: Mode,
    /// Where the pins are.
    pub folder: PathBuf,
}

/// How a tool differs from the pinned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Difference {
    /// It is new.
    Added,
    /// Something of it is different.
    Changed,
    /// The server does not list it any more.
    Removed,
}

/// A tool that differs from the pinned one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its name within the server.
    pub tool: String,
    /// How it differs.
    pub change: Difference,
    /// What of a changed tool differs: `title`, `description`, `inputSchema`, `outputSchema`, `annotations`,
    /// `_meta`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<&'static str>,
    /// The beginning of the pinned description, if the description differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The beginning of the present description, if the description differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How the tools of an extension differ from the pinned ones, as `GET /agent/extensions` shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Another program, address or code has this name now.
    #[serde(skip_serializing_if = "is_false")]
    pub launch_changed: bool,
    /// The tools that differ, at most 100, by name.
    pub changes: Vec<Change>,
    /// How many of the listed tools are not offered.
    pub withheld: usize,
    /// Why the tools could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is pinned of an extension.
#[cfg(feature = "pinning")]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinned {
    /// How many tools.
    pub tools: usize,
    /// Another program, address or code has this name now, and was not accepted.
    pub launch_changed: bool,
    /// How the tools differ that the extension listed last.
    pub changes: Vec<Change>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The tools of a server, and which of them are offered.
#[derive(Clone, Debug, Default)]
pub struct Reviewed {
    /// What the server lists.
    pub listed: Arc<Vec<Tool>>,
    /// What the session may use.
    pub offered: Arc<Vec<Tool>>,
    /// How they differ from the pinned ones, if they do.
    pub report: Option<Arc<Report>>,
    /// The state of the pins when they were compared, if something differed.
    #[cfg(feature = "pinning")]
    stamp: Option<Stamp>,
}

impl Reviewed {
    fn unchanged(listed: Arc<Vec<Tool>>) -> Self {
        Reviewed {
            offered: listed.clone(),
            listed,
            report: None,
            #[cfg(feature = "pinning")]
            stamp: None,
        }
    }

    /// Whether the server lists this tool, and it is not offered.
    pub(super) fn withholds(&self, tool: &str) -> bool {
        let has = |tools: &[Tool]| tools.iter().any(|it| it.name == tool);
        let withheld = self.report.as_ref().is_some_and(|it| it.withheld > 0);
        withheld && has(&self.listed) && !has(&self.offered)
    }
}

impl Settings {
    /// The settings of the user.
    pub fn read(config: &Config, paths: &Paths) -> Self {
        let mode = match settings::TOOL_PINNING.word(config) {
            "off" => Mode::Off,
            "strict" => Mode::Strict,
            _ => Mode::Warn,
        };
        let folder = paths.data.join(FOLDER);
        Settings { mode, folder }
    }

    /// Whether this build can do what the setting wants.
    ///
    /// # Errors
    /// It is strict, and the build leaves pinning out.
    pub(super) fn check(&self, config: &ExtensionConfig) -> Result<(), Error> {
        if cfg!(feature = "pinning") || self.mode != Mode::Strict || !is_pinned(config) {
            return Ok(());
        }
        let hint = features::hint("pinning");
        let reason = format!("tools cannot be pinned, which GOOSE_TOOL_PINNING wants{hint}");
        Err(Error::forbidden(config.name(), reason))
    }
}

/// Without pinning, all tools are offered.
#[cfg(not(feature = "pinning"))]
impl Settings {
    pub(super) fn review(
        &self,
        _: &ExtensionConfig,
        listed: Arc<Vec<Tool>>,
        _: &[String],
    ) -> Reviewed {
        Reviewed::unchanged(listed)
    }

    pub(super) fn review_again(
        &self,
        _: &ExtensionConfig,
        _: &Reviewed,
        _: &[String],
    ) -> Option<Reviewed> {
        None
    }
}

/// The fuzz target of pinning, see [`crate::fuzzing`]. The input is a list of tools, another one, and a file of
/// pins.
#[cfg(all(feature = "pinning", any(test, fuzzing)))]
pub fn fuzz(input: &[u8]) {
    let [before, after, file] = crate::text::fuzz_input::texts(input);
    let config = ExtensionConfig::from_value(serde_json::json!({
        "type": "stdio", "name": "x", "cmd": "x",
    }));
    let Ok(config) = config else { return };
    pin_file::fuzz(&file);
    let list = |text: &str| crate::json::from_str::<Vec<Tool>>(text).ok();
    let (Some(before), Some(after)) = (list(&before), list(&after)) else {
        return;
    };
    let pins = |tools: &[Tool]| pins::Pins::of(&config, tools, &[]);
    let (Ok(before), Ok(after)) = (pins(&before), pins(&after)) else {
        return;
    };
    assert_eq!(before.compare(&before).changes, []);
    let there = before.compare(&after);
    let back = after.compare(&before);
    assert!(!there.launch_changed);
    assert_eq!(there.changes.len(), back.changes.len());
    assert_eq!(there.changes.is_empty(), before.has_hashes_of(&after));
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
fn is_pinned(config: &ExtensionConfig) -> bool {
    matches!(
        config,
        ExtensionConfig::Stdio(_)
            | ExtensionConfig::StreamableHttp(_)
            | ExtensionConfig::InlinePython(_)
    )
}

#[cfg(all(test, feature = "pinning"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools(names: &[&str]) -> Arc<Vec<Tool>> {
        let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
        let tools: Vec<_> = names.iter().map(tool).collect();
        Arc::new(crate::json::from_value(&json!(tools)).unwrap())
    }

    #[test]
    fn a_tool_is_withheld_that_is_listed_and_not_offered() {
        let withheld = |report: Option<Report>, tool: &str| {
            let reviewed = Reviewed {
                listed: tools(&["a", "b"]),
                offered: tools(&["a"]),
                report: report.map(Arc::new),
                ..Reviewed::default()
            };
            reviewed.withholds(tool)
        };
        let one = || {
            Some(Report {
                withheld: 1,
                ..Report::default()
            })
        };
        assert!(withheld(one(), "b"));
        assert!(!withheld(one(), "a") && !withheld(one(), "c"));
        assert!(!withheld(None, "b"));
        let config = json!({"type": "stdio", "name": "one", "cmd": "x"});
        let error = withheld_error(&ExtensionConfig::from_value(config).unwrap(), "b");
        assert_eq!(error.phase, Phase::Tool);
    }

    #[test]
    fn pins_of_another_time_are_not_shown_while_pinning_is_off() {
        let folder = std::env::temp_dir().join(format!("gosling-pinned-{}", std::process::id()));
        let config = json!({"type": "stdio", "name": "one", "cmd": "x"});
        let config = ExtensionConfig::from_value(config).unwrap();
        let settings = |mode| Settings {
            mode,
            folder: folder.clone(),
        };
        let warn = settings(Mode::Warn);
        assert!(warn.pinned(&config).unwrap().is_none());
        warn.review(&config, tools(&["a"]), &[]);
        assert_eq!(warn.pinned(&config).unwrap().map(|it| it.tools), Some(1));
        assert!(settings(Mode::Off).pinned(&config).unwrap().is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
