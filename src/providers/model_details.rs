//! What a server tells of one model when it is asked for it, before the first request to the model.

use std::collections::HashMap;
use std::time::Instant;

/// The details of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelDetails {
    /// The context with which the server runs the model, or the largest that the model has, in tokens.
    pub(super) window: Option<u64>,
    /// Whether it calls tools.
    pub(super) calls_tools: Option<bool>,
}

/// The details of the models of one provider: until a moment, or for the lifetime of the process.
pub(super) type KnownDetails = HashMap<String, (ModelDetails, Option<Instant>)>;
