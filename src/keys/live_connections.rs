//! The connections that serve clients with keys of their own: they end when the key does.

use crate::http::Stream;
use crate::key_file::{Key, KeyFile};
use crate::sys::{self, lock, to_hex};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

/// How often the keys of the connections are checked.
const INTERVAL: Duration = Duration::from_millis(250);

/// A client that has shown its key, or a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyHolder {
    /// The name of the key.
    pub(crate) name: String,
    /// Its hash, in hexadecimal digits, which tells it from others that have or had the name.
    pub(crate) key: String,
}

#[derive(Debug, Default)]
pub(crate) struct LiveConnections {
    served: Mutex<Served>,
}

#[derive(Debug, Default)]
struct Served {
    /// Each connection with the client of its last request.
    connections: Vec<(KeyHolder, Weak<Stream>)>,
    has_thread: bool,
}

impl LiveConnections {
    /// The connection serves this client from now on. One thread checks all of them while there are any.
    pub(crate) fn add(
        self: &Arc<Self>,
        client: &KeyHolder,
        stream: &Arc<Stream>,
        keys: &Arc<KeyFile>,
    ) {
        let mut served = lock(&self.served);
        let mut known = served.connections.iter_mut();
        match known.find(|(_, known)| known.as_ptr() == Arc::as_ptr(stream)) {
            Some((of, _)) if of == client => {}
            Some((of, _)) => *of = client.clone(),
            None => served
                .connections
                .push((client.clone(), Arc::downgrade(stream))),
        }
        if !served.has_thread {
            let (live, keys) = (self.clone(), keys.clone());
            let check = move || while live.check(&keys) {};
            // Without it, a revoked key is noticed at the next request.
            served.has_thread = sys::spawn("client keys".to_owned(), None, check).is_ok();
        }
    }

    /// Breaks the connections whose keys are valid no more, a moment from now; false if there is none left.
    fn check(&self, keys: &KeyFile) -> bool {
        thread::sleep(INTERVAL);
        let valid = keys.valid();
        let mut served = lock(&self.served);
        served.connections.retain(|(client, stream)| {
            let Some(stream) = stream.upgrade() else {
                return false;
            };
            let is_valid = valid.iter().any(|key| is_key_of(key, client));
            if !is_valid {
                log::info!("connection ended with its key name={}", client.name);
                stream.abort();
            }
            is_valid
        });
        served.has_thread = !served.connections.is_empty();
        served.has_thread
    }
}

/// Whether the client has shown this key.
pub(crate) fn is_key_of(key: &Key, client: &KeyHolder) -> bool {
    key.name == client.name && to_hex(&key.hash) == client.key
}
