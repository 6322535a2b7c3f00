//! Which proxy to use for a server, from environment variables, which the caller passes in.
//!
//! `HTTPS_PROXY` is for `https`, `HTTP_PROXY` for `http`, `ALL_PROXY` for a scheme without a variable of its
//! own, each in upper or lower case. `NO_PROXY` lists servers that are reached without a proxy: names (with
//! their subdomains), addresses, networks such as `10.0.0.0/8`, each optionally with a `:PORT`, or `*`.

use super::ip_literal::ip_literal;
use super::redirect::port;
use std::net::IpAddr;
use ureq::Proxy;
use ureq::http::Uri;

/// The proxy for this URI, if a variable names one.
///
/// # Errors
/// If the variable is not the address of a proxy. The message does not show the value, which may contain a
/// password.
pub(super) fn choose(
    uri: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    let scheme_variable = match uri.scheme_str() {
        Some("https") => "HTTPS_PROXY",
        _ => "HTTP_PROXY",
    };
    let non_empty = |name: &str| {
        let value = variable(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    let value = |name: &str| non_empty(name).or_else(|| non_empty(&name.to_ascii_lowercase()));
    let mut names = [scheme_variable, "ALL_PROXY"].into_iter();
    let Some((name, address)) = names.find_map(|name| Some((name, value(name)?))) else {
        return Ok(None);
    };
    if value("NO_PROXY").is_some_and(|list| is_excepted(&list, uri)) {
        return Ok(None);
    }
    let proxy = Proxy::new(&address).ok().filter(has_valid_port);
    proxy.map(Some).ok_or_else(|| {
        format!(
            "the variable {name} of the environment is not the address of a proxy; write it as \
             http://HOST:PORT or socks5://HOST:PORT"
        )
    })
}

/// Whether the port, if the address has one, is valid. ureq would replace an invalid port by the default.
fn has_valid_port(proxy: &Proxy) -> bool {
    let authority = proxy.uri().authority().map_or("", |a| a.as_str());
    let address = authority.rsplit('@').next().unwrap_or_default();
    let port = address.strip_prefix(proxy.host()).unwrap_or_default();
    port.is_empty() || proxy.uri().port_u16().is_some_and(|port| port > 0)
}

fn is_excepted(list: &str, uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let port = port(uri);
    let address = ip_literal(uri).map(|address| address.to_canonical());
    let mut entries = list.split(|c: char| c == ',' || c.is_whitespace());
    entries.any(|entry| {
        let entry = entry.to_ascii_lowercase();
        let (name, entry_port) = split_port(&entry);
        let matches = match (address, name.split_once('/')) {
            _ if name.is_empty() => false,
            _ if name == "*" => true,
            (Some(address), Some((network, bits))) => is_within(address, network, bits),
            (None, Some(_)) => false,
            (Some(address), None) => {
                name.parse()
                    .is_ok_and(|one: IpAddr| one.to_canonical() == address)
                    || matches_prefix(name, &host)
            }
            (None, None) => is_same_or_subdomain(name, &host) || matches_prefix(name, &host),
        };
        matches && (entry_port.is_none() || entry_port == port)
    })
}

/// An entry without its port and without the brackets of an IPv6 address, and the port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = entry.strip_prefix('[').and_then(|e| e.split_once(']')) {
        let port = rest.strip_prefix(':').and_then(|port| port.parse().ok());
        return (address, port);
    }
    match entry.split_once(':') {
        Some((name, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

/// Whether `host` is the domain or one of its subdomains. `example.com`, `.example.com` and `*.example.com`
/// mean the same.
fn is_same_or_subdomain(domain: &str, host: &str) -> bool {
    let domain = domain.strip_prefix('*').unwrap_or(domain);
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    let rest = host.strip_suffix(domain);
    !domain.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether `host` matches a pattern such as `192.168.*`, which some systems use.
fn matches_prefix(pattern: &str, host: &str) -> bool {
    let start = pattern.strip_suffix('*');
    start.is_some_and(|start| !start.is_empty() && host.starts_with(start))
}

fn is_within(address: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    let (address, network, host_bits) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let (address, network) = (address.to_bits(), network.to_bits());
            (u128::from(address), u128::from(network), 32 - bits)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            (address.to_bits(), network.to_bits(), 128 - bits)
        }
        _ => return false,
    };
    // A shift by all 128 bits is out of range: every address is in such a network.
    (address ^ network).checked_shr(host_bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests;
