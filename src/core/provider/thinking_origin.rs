//! Where reasoning came from. Only the endpoint and the model that signed or encrypted it can read it; others
//! refuse it, so it goes back to its origin alone. Reasoning of Claude goes back only behind what it followed:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>

use super::tool_names::hash64;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash of an endpoint and a model. It discloses neither, because sessions can be exported.
pub(super) fn origin(url: &str, model: &str) -> String {
    let hash = hash64(url.bytes().chain([0]).chain(model.bytes()));
    format!("{hash:016x}")
}

/// Whether reasoning with this origin came from the endpoint and the model with the hash `own`.
pub(super) fn is_own(origin: Option<&str>, own: &str) -> bool {
    origin == Some(own)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_origin_is_an_endpoint_and_a_model() {
        let all = [("a", "b"), ("ab", ""), ("a", "c"), ("", "ab")];
        let names: BTreeSet<_> = all.iter().map(|(url, model)| origin(url, model)).collect();
        assert_eq!(names.len(), all.len());
    }
}
