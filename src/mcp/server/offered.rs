//! What a server offers, which may change while clients are connected, and who hears of it.

use super::reply::ReplySink;
use super::{Prompt, Resource, ResourceTemplate, Tool};
use crate::jsonrpc;
use gosling_sys::{caught, lock};
use serde_json::Map;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// A list of a server that clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Listing {
    /// The tools.
    Tools,
    /// The resources and their templates.
    Resources,
    /// The prompts.
    Prompts,
}

impl Listing {
    fn name(self) -> &'static str {
        match self {
            Listing::Tools => "tools",
            Listing::Resources => "resources",
            Listing::Prompts => "prompts",
        }
    }

    /// The notification that the list has changed.
    pub(super) fn changed(self) -> String {
        format!("notifications/{}/list_changed", self.name())
    }
}

/// Why what a server offers was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// The server does not declare that this list changes: see [`Server::changing`](super::Server::changing).
    NotDeclared(Listing),
    /// There is one of this name or URI already.
    Taken {
        /// For example `tool`.
        what: &'static str,
        /// The name or URI.
        name: String,
    },
    /// It has no name or URI, so that no client could ask for it.
    Unnamed {
        /// For example `tool`.
        what: &'static str,
    },
    /// There is none of this name or URI.
    Unknown {
        /// For example `tool`.
        what: &'static str,
        /// The name or URI.
        name: String,
    },
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDeclared(list) => {
                let list = list.name();
                write!(f, "the server does not declare that its {list} change")
            }
            Self::Taken { what, name } => write!(f, "the server has two of the {what} {name:?}"),
            Self::Unnamed { what } => write!(f, "a {what} of the server has no name"),
            Self::Unknown { what, name } => write!(f, "the server has no {what} {name:?}"),
        }
    }
}

impl std::error::Error for ChangeError {}

/// What clients ask for by a name or URI.
pub(super) trait Keyed {
    const WHAT: &'static str;

    fn key(&self) -> &str;
}

/// Says what each is called, and which member has its name or URI.
macro_rules! keyed {
    ($($type:ty: $what:literal by $key:ident;)*) => {$(
        impl Keyed for $type {
            const WHAT: &'static str = $what;

            fn key(&self) -> &str {
                &self.wire.$key
            }
        }
    )*};
}

keyed! {
    Tool: "tool" by name;
    Resource: "resource" by uri;
    ResourceTemplate: "template" by uri_template;
    Prompt: "prompt" by name;
}

/// One list of what a server offers, in the order in which it was added.
pub(super) struct Offered<T>(RwLock<Arc<[Arc<T>]>>);

impl<T> Default for Offered<T> {
    fn default() -> Self {
        Offered(RwLock::new(Arc::from([])))
    }
}

impl<T: Keyed> Offered<T> {
    /// The list as it is now.
    pub(super) fn all(&self) -> Arc<[Arc<T>]> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<T>> {
        let all = self.all();
        all.iter().find(|item| item.key() == name).cloned()
    }

    pub(super) fn add(&self, item: T) -> Result<(), ChangeError> {
        let (what, name) = (T::WHAT, item.key().to_owned());
        if name.is_empty() {
            return Err(ChangeError::Unnamed { what });
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|known| known.key() == name) {
            return Err(ChangeError::Taken { what, name });
        }
        *all = all.iter().cloned().chain([Arc::new(item)]).collect();
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), ChangeError> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let rest = all.iter().filter(|item| item.key() != name);
        let rest: Arc<[Arc<T>]> = rest.cloned().collect();
        if rest.len() == all.len() {
            let (what, name) = (T::WHAT, name.to_owned());
            return Err(ChangeError::Unknown { what, name });
        }
        *all = rest;
        Ok(())
    }
}

/// A client that is told of changes, once it is ready for notifications.
pub(super) struct Listener {
    sink: ReplySink,
    is_ready: AtomicBool,
}

impl Listener {
    pub(super) fn new(sink: ReplySink) -> Self {
        Listener {
            sink,
            is_ready: AtomicBool::new(false),
        }
    }

    pub(super) fn ready(&self) {
        self.is_ready.store(true, Ordering::SeqCst);
    }
}

/// The clients that are told of changes.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Weak<Listener>>>);

impl Listeners {
    pub(super) fn add(&self, listener: &Arc<Listener>) {
        let mut all = lock(&self.0);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(listener));
    }

    pub(super) fn tell(&self, list: Listing) {
        let Ok(message) = jsonrpc::notification(&list.changed(), Some(&Map::new())) else {
            return;
        };
        // Without the lock: what a client does then is not known here.
        let all: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        for listener in all {
            if listener.is_ready.load(Ordering::SeqCst) {
                let _ = caught("callback of a client", || (listener.sink)(message.clone()));
            }
        }
    }
}
