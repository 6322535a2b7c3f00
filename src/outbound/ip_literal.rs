//! Hosts that are written as IP addresses.

use std::net::IpAddr;
use ureq::http::Uri;

/// The IP address, if the host is written as one.
pub fn ip_literal(uri: &Uri) -> Option<IpAddr> {
    let host = uri.host()?;
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}
