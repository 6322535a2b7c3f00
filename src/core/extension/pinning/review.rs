//! The review of a list of tools: what has changed, and what is offered.

use super::pin_file::{AcceptError, PinFile};
use super::pins::{self, Pins};
use super::{Change, Mode, Pinned, Report, Reviewed, Settings, is_pinned};
use crate::extension::ExtensionConfig;
use crate::mcp::types::Tool;
use crate::store;
use crate::text::printable;
use std::collections::HashSet;
use std::sync::Arc;

/// How many changes are shown.
const MAX_SHOWN: usize = 100;

/// How many changes are logged at a time.
const MAX_LOGGED: usize = 5;

/// What the comparison of two lists of tools has found.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// Another program, address or code was launched.
    pub launch_changed: bool,
    /// The tools that differ.
    pub changes: Vec<Change>,
}

impl Settings {
    /// Compares the listed tools of an extension with the pinned ones, or pins them if none are. `secrets` must
    /// not appear in what is kept and shown.
    pub(in crate::extension) fn review(
        &self,
        config: &ExtensionConfig,
        listed: Arc<Vec<Tool>>,
        secrets: &[String],
    ) -> Reviewed {
        if self.mode == Mode::Off || !is_pinned(config) {
            return Reviewed::unchanged(listed);
        }
        let file = self.pins(config);
        let pins = Pins::of(config, &listed, secrets);
        let compared = pins.and_then(|pins| file.compare(&pins).map_err(|error| error.to_string()));
        let (mut report, stamp) = match compared {
            Ok((None, _)) => return Reviewed::unchanged(listed),
            Ok((Some(found), stamp)) => {
                let report = Report {
                    launch_changed: found.launch_changed,
                    changes: found.changes,
                    ..Report::default()
                };
                (report, stamp)
            }
            Err(reason) => {
                let report = Report {
                    error: Some(printable(&reason, 300)),
                    ..Report::default()
                };
                (report, file.stamp())
            }
        };
        let strict = self.mode == Mode::Strict;
        let all = report.launch_changed || report.error.is_some();
        let changed: HashSet<&str> = report.changes.iter().map(|it| &*it.tool).collect();
        let is_withheld =
            |tool: &Tool| strict && (all || changed.contains(&*pins::name(&tool.name)));
        let offered: Vec<Tool> = (listed.iter())
            .filter(|tool| !is_withheld(tool))
            .cloned()
            .collect();
        report.withheld = listed.len() - offered.len();
        report.log(config);
        report.changes.truncate(MAX_SHOWN);
        Reviewed {
            offered: if report.withheld == 0 {
                listed.clone()
            } else {
                Arc::new(offered)
            },
            listed,
            report: Some(Arc::new(report)),
            stamp,
        }
    }

    /// Compares again if something differed, and the pins have changed since. Sends nothing to the server.
    pub(in crate::extension) fn review_again(
        &self,
        config: &ExtensionConfig,
        reviewed: &Reviewed,
        secrets: &[String],
    ) -> Option<Reviewed> {
        reviewed.report.as_ref()?;
        if self.pins(config).stamp() == reviewed.stamp {
            return None;
        }
        Some(self.review(config, reviewed.listed.clone(), secrets))
    }

    /// Accepts what the extension with this key listed last; returns what differed. Sessions notice it before
    /// they use its tools.
    ///
    /// # Errors
    /// There are no pins of this key, or they cannot be read or written.
    pub fn accept(&self, key: &str) -> Result<Vec<Change>, AcceptError> {
        PinFile::new(&self.folder, key).accept()
    }

    /// What is pinned of an extension; `None` if nothing is. Starts nothing.
    ///
    /// # Errors
    /// The pins cannot be read.
    pub fn pinned(&self, config: &ExtensionConfig) -> store::Result<Option<Pinned>> {
        if self.mode == Mode::Off || !is_pinned(config) {
            return Ok(None);
        }
        self.pins(config).pinned(&Pins::without_tools(config))
    }

    fn pins(&self, config: &ExtensionConfig) -> PinFile {
        PinFile::new(&self.folder, &config.key())
    }
}

impl Report {
    fn log(&self, config: &ExtensionConfig) {
        let key = printable(&config.key(), 100);
        if let Some(reason) = &self.error {
            log::warn!(
                "tools not compared with the pinned ones extension={key:?} reason={reason:?}"
            );
            return;
        }
        log::warn!(
            "tools differ from the pinned ones extension={key:?} launch_changed={} changes={} withheld={}",
            self.launch_changed,
            self.changes.len(),
            self.withheld
        );
        for change in self.changes.iter().take(MAX_LOGGED) {
            log::warn!(
                "tool differs from the pinned one extension={key:?} tool={:?} change={:?} parts={:?}",
                change.tool,
                change.change,
                change.parts.join(",")
            );
        }
    }
}
