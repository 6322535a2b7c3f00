//! Hints: what the files `.goosehints` and `AGENTS.md` of a project and of its owner tell the model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads hints; keeps what it has read for as long as the files do not change.
#[derive(Debug)]
pub struct Hints {
    config: PathBuf,
}

impl Hints {
    /// `config` is the folder whose hints go for every project.
    pub fn new(config: &Path) -> Self {
        Hints {
            config: config.to_owned(),
        }
    }

    /// The hints for a session that works in `working_dir`, from the files called `names`; see
    /// [`names`].
    pub fn text(&self, working_dir: &Path, names: &[String]) -> Arc<str> {
        let _ = (working_dir, names, &self.config);
        Arc::from("")
    }
}

/// The names of the files: what the setting `CONTEXT_FILE_NAMES` lists, else `.goosehints` and
/// `AGENTS.md`.
pub fn names(setting: Option<&serde_json::Value>) -> Vec<String> {
    let _ = setting;
    Vec::new()
}
