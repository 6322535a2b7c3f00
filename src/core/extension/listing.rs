//! Prompts, resources and instructions of all servers of a session. The servers are asked in parallel, and a
//! failing server does not affect the others.

use super::supervisor::Operation;
use super::{Error, Manager, Phase};
use crate::mcp;
use crate::mcp::client::Client;
use crate::mcp::types::{GetPromptResult, Prompt, Resource, ResourceTemplate};
use crate::sys::cancel::Cancel;
use crate::sys::threads::share;
use serde_json::{Map, Value};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time limit of one listing of all servers.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);
/// The most servers that are asked at the same time.
pub(super) const MAX_CONCURRENT: usize = 16;

/// The items of several extensions.
pub struct Listing<T> {
    /// In the order of activation, then in the server's order.
    pub items: Vec<ExtensionItem<T>>,
    /// The errors of the extensions whose items are missing.
    pub errors: Vec<Error>,
}

/// An item of an extension's server.
#[derive(Clone, Debug)]
pub struct ExtensionItem<T> {
    /// The key of the extension.
    pub extension: String,
    /// The item.
    pub item: T,
}

impl Manager {
    /// The key and the instructions of each active extension, in the order of activation. Instructions may be
    /// empty.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let active = self.active(None);
        let instructions = active.iter().map(|extension| {
            let text = extension.instructions().unwrap_or_default();
            (extension.key.clone(), text)
        });
        instructions.collect()
    }

    /// Whether an active extension has resources.
    pub fn has_resources(&self) -> bool {
        let active = self.active(None);
        let servers = active.iter().filter_map(|extension| extension.supervisor());
        let mut connections = servers.map(|server| server.connection());
        connections.any(|it| it.client.server().capabilities.resources.is_some())
    }

    /// The resources of all extensions, or of one.
    pub fn resources(&self, extension: Option<&str>, cancel: &Cancel) -> Listing<Resource> {
        self.list_all(extension, cancel, Client::list_resources)
    }

    /// The resource templates of all extensions, or of one.
    pub fn resource_templates(
        &self,
        extension: Option<&str>,
        cancel: &Cancel,
    ) -> Listing<ResourceTemplate> {
        self.list_all(extension, cancel, Client::list_resource_templates)
    }

    /// The prompts of all extensions, or of one.
    pub fn prompts(&self, extension: Option<&str>, cancel: &Cancel) -> Listing<Prompt> {
        self.list_all(extension, cancel, Client::list_prompts)
    }

    /// Gets a prompt of one extension, filled in with arguments.
    ///
    /// # Errors
    /// There is no such extension, or its server refuses.
    pub fn get_prompt(
        &self,
        extension: &str,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<GetPromptResult, Error> {
        self.request(extension, cancel, |client, cancel| {
            client.get_prompt(name, arguments, cancel)
        })
    }

    fn list_all<T: Send + Sync>(
        &self,
        extension: Option<&str>,
        cancel: &Cancel,
        list: fn(&Client, &Cancel) -> Result<Vec<T>, mcp::Error>,
    ) -> Listing<T> {
        let active = self.active(extension);
        let (items, errors) = (Vec::new(), Vec::new());
        let mut listing = Listing { items, errors };
        if let (Some(name), true) = (extension, active.is_empty()) {
            let reason = "it is not active in this session";
            listing.errors.push(Error::new(name, Phase::Config, reason));
        }
        let end = Instant::now() + LISTING_TIMEOUT;
        let cancel = cancel.child_until(end);
        let answers: Vec<OnceLock<_>> = active.iter().map(|_| OnceLock::new()).collect();
        share(active.len(), MAX_CONCURRENT, "list", &|n| {
            let result = active[n].supervisor().map(|server| {
                self.permit_request(&active[n])?;
                server.request(&Operation::QUERY, &cancel, list)
            });
            let _ = answers[n].set(result.unwrap_or_else(|| Ok(Vec::new())));
        });
        for (extension, answer) in active.iter().zip(answers) {
            match answer.into_inner() {
                Some(Ok(items)) => {
                    let extension = extension.key.clone();
                    let of = |item| ExtensionItem {
                        extension: extension.clone(),
                        item,
                    };
                    listing.items.extend(items.into_iter().map(of));
                }
                Some(Err(error)) if error.phase == Phase::Cancelled && Instant::now() > end => {
                    let reason = format!("the listing was not answered within {LISTING_TIMEOUT:?}");
                    let error = Error::new(extension.config.name(), Phase::Timeout, reason);
                    listing.errors.push(error);
                }
                Some(Err(error)) => listing.errors.push(error),
                None => {}
            }
        }
        listing
    }
}
