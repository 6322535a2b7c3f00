//! What a run checks, and how.

use super::declaration::Check;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// What to check, and how.
pub struct CheckOptions {
    /// How long a request may take.
    pub timeout: Duration,
    /// Tools to call, also if they are not read-only, with their arguments. They must succeed.
    pub calls: Vec<(String, Map<String, Value>)>,
    /// Addresses of resources to read besides the listed ones. They must exist.
    pub reads: Vec<String>,
    /// Prompts to get, with their arguments. They must succeed.
    pub prompts: Vec<(String, Map<String, Value>)>,
    /// The checks to make; all if empty.
    pub only: BTreeSet<&'static Check>,
}

impl Default for CheckOptions {
    /// All checks, 10 s for a request.
    fn default() -> Self {
        CheckOptions {
            timeout: Duration::from_secs(10),
            calls: Vec::new(),
            reads: Vec::new(),
            prompts: Vec::new(),
            only: BTreeSet::new(),
        }
    }
}
