//! The review of a list of tools: what has changed, and what is offered.

use crate::extension::ExtensionConfig;
use crate::extension::pinning_check::{Pinner, Reviewed, is_pinned};
use crate::json::to_value;
use crate::mcp::types::Tool;
use crate::pin_file::PinFile;
use crate::store;
use crate::text::printable;
use crate::tool_differences::Report;
use crate::tool_hashes::{self, Pins};
use crate::{Mode, Settings};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// How many changes are shown.
const MAX_SHOWN: usize = 100;

/// How many changes are logged at a time.
const MAX_LOGGED: usize = 5;

impl Pinner for Settings {
    fn review(
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
            Ok((Some(found), stamp)) => (found, stamp),
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
            |tool: &Tool| strict && (all || changed.contains(&*tool_hashes::name(&tool.name)));
        let offered: Vec<Tool> = (listed.iter())
            .filter(|tool| !is_withheld(tool))
            .cloned()
            .collect();
        report.withheld = listed.len() - offered.len();
        log(&report, config);
        report.changes.truncate(MAX_SHOWN);
        Reviewed {
            offered: if report.withheld == 0 {
                listed.clone()
            } else {
                Arc::new(offered)
            },
            listed,
            report: Some(Arc::new(to_value(&report).unwrap_or_default())),
            stamp,
        }
    }

    fn review_again(
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

    fn accept(&self, key: &str) -> Result<Vec<Value>, String> {
        let changes = PinFile::new(&self.folder, key).accept();
        let changes = changes.map_err(|error| error.to_string())?;
        let changes = changes.iter().map(to_value);
        Ok(changes.map(Result::unwrap_or_default).collect())
    }

    fn pinned(&self, config: &ExtensionConfig) -> store::Result<Option<Value>> {
        if self.mode == Mode::Off || !is_pinned(config) {
            return Ok(None);
        }
        let pinned = self.pins(config).pinned(&Pins::without_tools(config))?;
        Ok(pinned.map(|it| to_value(&it).unwrap_or_default()))
    }
}

impl Settings {
    fn pins(&self, config: &ExtensionConfig) -> PinFile {
        PinFile::new(&self.folder, &config.key())
    }
}

fn log(report: &Report, config: &ExtensionConfig) {
    let key = printable(&config.key(), 100);
    if let Some(reason) = &report.error {
        log::warn!("tools not compared with the pinned ones extension={key:?} reason={reason:?}");
        return;
    }
    log::warn!(
        "tools differ from the pinned ones extension={key:?} launch_changed={} changes={} withheld={}",
        report.launch_changed,
        report.changes.len(),
        report.withheld
    );
    for change in report.changes.iter().take(MAX_LOGGED) {
        log::warn!(
            "tool differs from the pinned one extension={key:?} tool={:?} change={:?} parts={:?}",
            change.tool,
            change.change,
            change.parts.join(",")
        );
    }
}
