//! Resource subscriptions and the log level of one extension. They are sent on every new connection, because
//! a server forgets them with the old one. MCP 2025-11-25, server/resources (subscriptions),
//! server/utilities/logging.

use crate::mcp;
use crate::mcp::client::Client;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::text::printable;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Called when a resource may have changed, in a thread that must not be blocked.
pub type OnResourceUpdated = Arc<dyn Fn() + Send + Sync>;

/// The most subscriptions of one extension.
pub(super) const MAX_SUBSCRIPTIONS: usize = 1_000;

/// The subscriptions of a session for one extension.
#[derive(Default)]
pub(super) struct Subscriptions {
    subscriptions: Mutex<BTreeMap<String, OnResourceUpdated>>,
}

impl Subscriptions {
    /// Stores a subscription; false if there are too many.
    pub(super) fn subscribe(&self, uri: &str, updated: OnResourceUpdated) -> bool {
        let mut subscriptions = lock(&self.subscriptions);
        let fits = subscriptions.len() < MAX_SUBSCRIPTIONS || subscriptions.contains_key(uri);
        if fits {
            subscriptions.insert(uri.to_owned(), updated);
        }
        fits
    }

    /// Removes a subscription; false if there is none.
    pub(super) fn unsubscribe(&self, uri: &str) -> bool {
        lock(&self.subscriptions).remove(uri).is_some()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.subscriptions).is_empty()
    }

    /// Sends the log level and the subscriptions on a new connection. A refusal is only logged, because the
    /// server can still be used.
    pub(super) fn apply(
        &self,
        name: &str,
        client: &Client,
        level: Option<&'static str>,
        cancel: &Cancel,
    ) {
        let uris: Vec<String> = lock(&self.subscriptions).keys().cloned().collect();
        let has_logging = client.server().capabilities.logging.is_some();
        if let Some(level) = level.filter(|_| has_logging)
            && let Err(error) = client.set_level(level, cancel)
        {
            log::warn!("log level could not be set extension={name:?} reason={error}");
        }
        for uri in uris {
            let Err(error) = client.subscribe(&uri, true, cancel) else {
                continue;
            };
            let uri = printable(&uri, 200);
            log::warn!(
                "resource subscription failed extension={name:?} uri={uri:?} reason={error}"
            );
            if !matches!(error, mcp::Error::Rpc { .. }) {
                return;
            }
        }
    }

    /// Handles `notifications/resources/updated`.
    pub(super) fn notify_updated(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Params {
            uri: String,
        }
        let Some(Ok(Params { uri })) =
            params.map(|params| crate::json::from_str::<Params>(params.get()))
        else {
            return;
        };
        let notified: Vec<_> = lock(&self.subscriptions)
            .iter()
            .filter(|(subscribed, _)| covers(subscribed, &uri))
            .map(|(_, updated)| updated.clone())
            .collect();
        notified.iter().for_each(|updated| updated());
    }

    /// Notifies all subscribers after a reconnection, because changes may have been missed.
    pub(super) fn notify_all(&self) {
        let all: Vec<_> = lock(&self.subscriptions).values().cloned().collect();
        all.iter().for_each(|updated| updated());
    }
}

/// A server may report a resource below the subscribed one.
fn covers(subscribed: &str, updated: &str) -> bool {
    match updated.strip_prefix(subscribed) {
        Some("") => true,
        Some(rest) => subscribed.ends_with('/') || rest.starts_with(['/', '?', '#']),
        None => false,
    }
}

#[cfg(test)]
mod tests;
