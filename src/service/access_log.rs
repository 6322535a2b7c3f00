//! The access log: one record for each request, whatever became of it.

use crate::activity::Caller;
use crate::http::Head;
use crate::text::printable;
use gosling_shared::redact_credentials;
use std::net::SocketAddr;
use std::time::Instant;

/// The longest method and path, in characters.
const MAX_METHOD: usize = 20;
const MAX_PATH: usize = 300;

/// A request that is not answered yet.
pub(crate) struct Line {
    begin: Instant,
    /// The method and the path without its query, as they came; `-` if there was no valid head.
    method: String,
    path: String,
}

impl Line {
    pub(crate) fn begin(head: Option<&Head>) -> Self {
        let [method, path] = match head {
            Some(head) => [
                printable(head.method.as_str(), MAX_METHOD),
                printable(&redact_credentials(&head.path), MAX_PATH),
            ],
            None => ["-".to_owned(), "-".to_owned()],
        };
        Line {
            begin: Instant::now(),
            method,
            path,
        }
    }

    /// Writes the record, in the thread of the client.
    pub(crate) fn end(self, status: u16, bytes: u64) {
        let caller = Caller::current();
        let ms = self.begin.elapsed().as_secs_f64() * 1e3;
        let Line { method, path, .. } = self;
        log::info!(
            "access front={} address={} method={method} path={path:?} status={status} bytes={bytes} \
             ms={ms:.1} key={:?}",
            caller.front,
            shown(caller.address),
            caller.key.get().map_or("-", String::as_str)
        );
    }
}

/// An address, without a port that is not known.
fn shown(address: Option<SocketAddr>) -> String {
    match address {
        None => "local".to_owned(),
        Some(address) if address.port() == 0 => address.ip().to_string(),
        Some(address) => address.to_string(),
    }
}
