//! Where reasoning came from. Only the endpoint and the model that signed or encrypted it can read it; others
//! refuse it, so it goes back to its origin alone.

use super::tool_result_conversion::hash64;

/// A hash of an endpoint and a model. It discloses neither, because sessions can be exported.
pub(super) fn origin(url: &str, model: &str) -> String {
    let hash = hash64(url.bytes().chain([0]).chain(model.bytes()));
    format!("{hash:016x}")
}

/// Whether reasoning with this origin came from the endpoint and the model with the hash `own`.
pub(super) fn is_own(origin: Option<&str>, own: &str) -> bool {
    origin == Some(own)
}

#[cfg(test)]
mod tests;
