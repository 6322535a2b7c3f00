//! The details of a model, which the server is asked for before the first request to it.

use super::HttpProvider;
use crate::model_details::ModelDetails;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::{Error, ErrorClass};
use std::time::{Duration, Instant};

/// How long the server may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// After what time a server is asked again that could not be reached, or took longer.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The most models of a provider whose details are kept.
const MAX_MODELS: usize = 1_000;

impl HttpProvider {
    /// The details of a model; `None` if the protocol has none, or the server does not tell them, which is logged.
    ///
    /// # Errors
    /// [`ErrorClass::Cancelled`].
    pub(super) fn details(
        &self,
        model: &str,
        cancel: &Cancel,
    ) -> Result<Option<ModelDetails>, Error> {
        let Some(query) = self.protocol.details_query(model) else {
            return Ok(None);
        };
        if let Some((known, until)) = lock(&self.details).get(model)
            && until.is_none_or(|until| Instant::now() < until)
        {
            return Ok(Some(*known));
        }
        let end = Instant::now() + TIMEOUT;
        let mut bodies = Vec::new();
        let mut failure = None;
        for request in &query.requests {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bodies.push(Vec::new());
                continue;
            }
            bodies.push(self.fetch(request, cancel, left).unwrap_or_else(|error| {
                failure = Some(error);
                Vec::new()
            }));
        }
        if cancel.check() {
            return Err(self.cancelled());
        }
        if let Some(error) = &failure {
            log::info!("details of a model not told model={model:?} reason={error}");
        }
        // A server that cannot be reached now may tell them later.
        let is_final = |error: &Error| {
            !matches!(
                error.class,
                ErrorClass::Transport | ErrorClass::Timeout | ErrorClass::Cancelled
            )
        };
        let details = (query.read)(model, &bodies);
        let mut known = lock(&self.details);
        if known.len() < MAX_MODELS {
            let is_final = failure.as_ref().is_none_or(is_final);
            let until = (!is_final).then(|| Instant::now() + RETRY_AFTER);
            known.insert(model.to_owned(), (details, until));
        }
        if let (Some(facts), Some(window)) = (&self.facts, details.window) {
            facts.learn_window(model, window);
        }
        Ok(Some(details))
    }
}
