//! A name resolver that remembers addresses for a while.

use super::ip_literal::ip_literal;
use gosling_sys::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// How long a resolved address is used.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The addresses of one server and of the proxy in front of it. ureq alone resolves the name for every
/// request, also on an open connection, in a new thread each time. Clones share the cache.
#[derive(Clone, Debug, Default)]
pub struct AddressCache {
    known: Arc<Mutex<HashMap<String, (Instant, ResolvedSocketAddrs)>>>,
}

impl Resolver for AddressCache {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // Only the server and a proxy are resolved here, so the map stays small.
        let key = format!("{:?} {:?}", uri.scheme(), uri.authority());
        if let Some((since, addresses)) = lock(&self.known).get(&key)
            && since.elapsed() < MAX_AGE
        {
            return Ok(addresses.clone());
        }
        // With a timeout ureq would start a thread, which an IP address does not need.
        let timeout = match ip_literal(uri) {
            Some(_) => NextTimeout::default(),
            None => timeout,
        };
        let addresses = DefaultResolver::default().resolve(uri, config, timeout)?;
        lock(&self.known).insert(key, (Instant::now(), addresses.clone()));
        Ok(addresses)
    }
}
