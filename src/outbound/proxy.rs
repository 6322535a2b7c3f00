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
mod tests {
    use super::*;

    fn chosen(uri: &str, variables: &[(&str, &str)]) -> Option<String> {
        let uri = uri.parse().unwrap();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = choose(&uri, variable).unwrap();
        proxy.map(|proxy| format!("{}:{}", proxy.host(), proxy.port()))
    }

    #[test]
    fn each_scheme_has_its_proxy_and_the_rest_the_one_for_all() {
        let all = [
            ("HTTPS_PROXY", "http://s:1"),
            ("HTTP_PROXY", "p:2"),
            ("ALL_PROXY", "socks5://a:3"),
        ];
        for (uri, variables, expected) in [
            ("https://x.y", &all[..], Some("s:1")),
            ("http://x.y", &all, Some("p:2")),
            ("https://x.y", &all[1..], Some("a:3")),
            ("http://x.y", &all[..1], None),
            ("https://x.y", &all[1..2], None),
            (
                "https://x.y",
                &[("https_proxy", "http://user:pw@s:9/")],
                Some("s:9"),
            ),
            (
                "https://x.y",
                &[("https_proxy", " "), ("ALL_PROXY", "a")],
                Some("a:80"),
            ),
            (
                "https://x.y",
                &[("HTTPS_PROXY", ""), ("https_proxy", "s")],
                Some("s:80"),
            ),
            ("https://x.y", &[], None),
        ] {
            assert_eq!(
                chosen(uri, variables).as_deref(),
                expected,
                "{uri} {variables:?}"
            );
        }
    }

    #[test]
    fn what_is_no_address_of_a_proxy_is_an_error_that_does_not_show_it() {
        for wrong in [
            "ftp://secret@p:1",
            "http://",
            "secret secret",
            "http://p:secret",
        ] {
            let variable = |name: &str| (name == "ALL_PROXY").then(|| wrong.to_owned());
            let why = choose(&"https://x.y".parse().unwrap(), variable).unwrap_err();
            assert!(
                why.contains("ALL_PROXY") && !why.contains("secret"),
                "{why}"
            );
        }
    }

    #[test]
    fn exceptions_are_names_addresses_networks_and_ports() {
        for (uri, list, excepted) in [
            ("https://a.example.com", "example.com", true),
            ("https://example.com", "example.com", true),
            ("https://EXAMPLE.com", "x, Example.COM", true),
            ("https://notexample.com", "example.com", false),
            ("https://example.com.evil", "example.com", false),
            ("https://a.example.com", ".example.com", true),
            ("https://a.example.com", "*.example.com", true),
            ("https://a.example.com", "*", true),
            ("https://a.example.com", "x *", true),
            ("https://a.example.com", ".", false),
            ("https://a.example.com", "", false),
            ("https://a.example.com", ",,", false),
            ("https://a.example.com:8443", "example.com:8443", true),
            ("https://a.example.com", "example.com:443", true),
            ("https://a.example.com", "example.com:80", false),
            ("http://a.example.com", "example.com:80", true),
            ("http://10.1.2.3", "10.0.0.0/8", true),
            ("http://11.1.2.3", "10.0.0.0/8", false),
            ("http://11.1.2.3", "0.0.0.0/0", true),
            ("http://10.1.2.3", "10.1.2.3/32", true),
            ("http://10.1.2.4", "10.1.2.3/32", false),
            ("http://10.1.2.3", "10.0.0.0/33", false),
            ("http://10.1.2.3", "10.0.0.0/x", false),
            ("http://10.1.2.3", "10.1.2.3", true),
            ("http://10.1.2.3:81", "10.1.2.3:80", false),
            ("http://110.1.2.3", "10.1.2.3", false),
            ("http://192.168.7.1", "192.168.*", true),
            ("http://ten.example", "10.0.0.0/8", false),
            ("http://[fd00::1]", "fd00::/8", true),
            ("http://[fd00::1]:81", "[fd00::1]:81", true),
            ("http://[fd00::1]", "fd00::1", true),
            ("http://[fe00::1]", "fd00::/8", false),
            ("http://[fe00::1]", "::/0", true),
            ("http://[::ffff:10.1.2.3]", "10.0.0.0/8", true),
        ] {
            let variables = [("ALL_PROXY", "p:1"), ("NO_PROXY", list)];
            assert_eq!(
                chosen(uri, &variables).is_none(),
                excepted,
                "{uri} {list:?}"
            );
        }
    }
}
