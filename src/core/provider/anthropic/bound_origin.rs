//! The origin of reasoning that goes back only behind what it followed:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>

use std::hash::{DefaultHasher, Hash, Hasher};

/// The origin of reasoning that is bound to all that stands before it in a request.
#[derive(Clone)]
pub(super) struct BoundOrigin(DefaultHasher);

impl BoundOrigin {
    /// The beginning of a request to this endpoint and model.
    pub(super) fn new(url: &str, model: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (url, model).hash(&mut hasher);
        BoundOrigin(hasher)
    }

    /// Adds what the request says next.
    pub(super) fn add(&mut self, part: impl Hash) {
        part.hash(&mut self.0);
    }

    /// The origin of reasoning behind what was added so far.
    pub(super) fn here(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}
