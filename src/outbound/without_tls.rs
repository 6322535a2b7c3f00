//! What stands for `tls` in a build without it: what needs TLS is refused.

use crate::AgentConfig;
use ureq::http::Uri;
use ureq::unversioned::transport::Connector;
use ureq::{Proxy, ProxyProtocol};

/// The end of an error for what needs TLS.
const NO_TLS: &str = "; this gosling was built without it, `cargo build --features tls` adds it";

/// Leaves connections as they are.
pub(super) fn connector(connector: impl Connector) -> impl Connector {
    connector
}

/// Leaves the configuration as it is.
///
/// # Errors
/// A message for an `https` address and for a proxy that is reached over TLS.
pub(super) fn configure(
    config: AgentConfig,
    uri: &Uri,
    proxy: Option<&Proxy>,
) -> Result<AgentConfig, String> {
    if uri.scheme_str() == Some("https") {
        return Err(format!("the `uri` needs TLS{NO_TLS}"));
    }
    // The connection would be made without TLS, and the password of the proxy sent over it.
    if proxy.is_some_and(|proxy| proxy.protocol() == ProxyProtocol::Https) {
        return Err(format!("the proxy needs TLS{NO_TLS}"));
    }
    Ok(config)
}
