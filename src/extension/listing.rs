//! What all servers of a session offer beside tools: prompts, resources, instructions. Several are asked
//! side by side, and one that fails leaves the others alone.

use super::supervisor::Operation;
use super::{Error, Manager, Phase};
use crate::mcp;
use crate::mcp::client::Client;
use crate::mcp::types::{GetPromptResult, Prompt, Resource, ResourceTemplate};
use crate::sys::cancel::Cancel;
use serde_json::{Map, Value};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long all servers together may take for one listing.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);
/// How many servers are asked at the same time.
const MAX_CONCURRENT: usize = 16;

/// What several extensions offer.
pub struct Listing<T> {
    /// In the order of activation, each extension's in its own order.
    pub items: Vec<ExtensionItem<T>>,
    /// ExtensionItem the extensions that could not be asked: their part is missing.
    pub errors: Vec<Error>,
}

/// Something that an extension offers.
#[derive(Clone, Debug)]
pub struct ExtensionItem<T> {
    /// The key of the extension.
    pub extension: String,
    /// What it offers.
    pub item: T,
}

impl Manager {
    /// What the active extensions say about how a model should use them: keys and texts, which may be
    /// empty, in the order of activation.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let active = self.active(None);
        let said = active.iter().map(|extension| {
            let text = extension.instructions().unwrap_or_default();
            (extension.key.clone(), text)
        });
        said.collect()
    }

    /// Whether an active extension has resources.
    pub fn has_resources(&self) -> bool {
        let active = self.active(None);
        let mut clients = active.iter().filter_map(|extension| extension.supervisor());
        clients.any(|server| {
            server
                .connection()
                .client
                .server()
                .capabilities
                .resources
                .is_some()
        })
    }

    /// The resources of all extensions, or of one.
    pub fn resources(&self, extension: Option<&str>, cancel: &Cancel) -> Listing<Resource> {
        self.ask_all(extension, cancel, Client::list_resources)
    }

    /// The resource templates of all extensions, or of one.
    pub fn resource_templates(
        &self,
        extension: Option<&str>,
        cancel: &Cancel,
    ) -> Listing<ResourceTemplate> {
        self.ask_all(extension, cancel, Client::list_resource_templates)
    }

    /// The prompts of all extensions, or of one.
    pub fn prompts(&self, extension: Option<&str>, cancel: &Cancel) -> Listing<Prompt> {
        self.ask_all(extension, cancel, Client::list_prompts)
    }

    /// Fills in a prompt of one extension.
    ///
    /// # Errors
    /// When there is no such extension or the server does not give it.
    pub fn get_prompt(
        &self,
        extension: &str,
        name: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<GetPromptResult, Error> {
        self.ask_server(extension, cancel, |client, cancel| {
            client.get_prompt(name, arguments, cancel)
        })
    }

    fn ask_all<T: Send + Sync>(
        &self,
        extension: Option<&str>,
        cancel: &Cancel,
        ask: fn(&Client, &Cancel) -> Result<Vec<T>, mcp::Error>,
    ) -> Listing<T> {
        let active = self.active(extension);
        let mut listing = Listing {
            items: Vec::new(),
            errors: Vec::new(),
        };
        if let (Some(name), true) = (extension, active.is_empty()) {
            let reason = "it is not active in this session";
            listing.errors.push(Error::new(name, Phase::Config, reason));
        }
        let end = Instant::now() + LISTING_TIMEOUT;
        let parent = cancel.clone();
        let cancel = cancel.child_with_probe(move || parent.probe() || Instant::now() > end);
        let answers: Vec<OnceLock<_>> = active.iter().map(|_| OnceLock::new()).collect();
        run_in_parallel(active.len(), &|n| {
            let asked = active[n]
                .supervisor()
                .map(|server| server.ask(&Operation::QUERY, &cancel, ask));
            let _ = answers[n].set(asked.unwrap_or_else(|| Ok(Vec::new())));
        });
        for (extension, answer) in active.iter().zip(answers) {
            match answer.into_inner() {
                Some(Ok(items)) => {
                    listing
                        .items
                        .extend(items.into_iter().map(|item| ExtensionItem {
                            extension: extension.key.clone(),
                            item,
                        }))
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

/// Does the work of each number below `count`, some of them at the same time.
pub(super) fn run_in_parallel(count: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let share = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                n if n < count => work(n),
                _ => return,
            }
        }
    };
    thread::scope(|scope| {
        for n in 1..count.min(MAX_CONCURRENT) {
            let thread = thread::Builder::new().name(format!("aside {n}"));
            // Whoever there is does the work.
            let _ = thread.spawn_scoped(scope, share);
        }
        share();
    });
}
