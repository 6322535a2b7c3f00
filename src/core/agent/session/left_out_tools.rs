//! The tools that the model of a session is not offered, for the status of their extensions.

use crate::extension::Status;
use crate::sys::lock;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How many tools are kept.
const MAX_TOOLS: usize = 1_000;

/// Why each of them is left out.
#[derive(Default)]
pub(in crate::agent) struct LeftOutTools(Mutex<OfModel>);

#[derive(Default)]
struct OfModel {
    model: String,
    /// A sentence by the name of a tool.
    tools: BTreeMap<String, String>,
}

impl LeftOutTools {
    /// Notes tools that `model` is not offered. Those of another model are forgotten.
    pub(in crate::agent) fn add(&self, model: &str, tools: Vec<(String, String)>) {
        if tools.is_empty() {
            return;
        }
        let mut known = lock(&self.0);
        if known.model != model {
            *known = OfModel {
                model: model.to_owned(),
                tools: BTreeMap::new(),
            };
        }
        known.tools.extend(tools);
        while known.tools.len() > MAX_TOOLS {
            known.tools.pop_last();
        }
    }

    /// Adds a warning for each tool to the status of its extension.
    pub(in crate::agent) fn warn(&self, all: &mut [Status]) {
        let known = lock(&self.0);
        for (tool, why) in &known.tools {
            let is_its = |status: &&mut Status| {
                let rest = tool.strip_prefix(&status.key);
                rest.is_some_and(|rest| rest.starts_with("__"))
            };
            if let Some(status) = all.iter_mut().find(is_its) {
                status.warnings.push(why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
