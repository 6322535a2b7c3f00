//! What proxies say of the requests that they pass on: `Forwarded` (RFC 7239), and the older `X-Forwarded-For`,
//! `X-Forwarded-Host` and `X-Forwarded-Proto`. Pure; whether to believe it is decided elsewhere.

use gosling_shared::is_token;
use std::net::{IpAddr, SocketAddr};

/// What one proxy says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hop {
    /// From where it got the request, with port 0 if it does not say which; `None` if it does not say where.
    pub(crate) from: Option<SocketAddr>,
    /// The host that was asked for.
    pub(crate) host: Option<String>,
    /// `http` or `https`, in lower case.
    pub(crate) proto: Option<String>,
}

/// The proxies in the values of `Forwarded`, that of the client first; `None` if they are not what the standard
/// describes.
pub(crate) fn of_forwarded<'a>(values: impl Iterator<Item = &'a str>) -> Option<Vec<Hop>> {
    let mut hops = Vec::new();
    for value in values {
        for element in split_unquoted(value, b',')? {
            if !element.trim().is_empty() {
                hops.push(read_element(element)?);
            }
        }
    }
    Some(hops)
}

/// The proxies in the values of `X-Forwarded-For`, that of the client first. The last ones of the other two fields are
/// from the last proxy, which says them of the client.
pub(crate) fn of_older_fields<'a>(
    addresses: impl Iterator<Item = &'a str>,
    host: Option<&str>,
    proto: Option<&str>,
) -> Vec<Hop> {
    let last = |value: Option<&str>| {
        let value = value?.rsplit(',').next()?.trim();
        Some(value.to_owned()).filter(|value| !value.is_empty())
    };
    let (host, proto) = (last(host), last(proto).map(|it| it.to_ascii_lowercase()));
    let hop = |address: &str| Hop {
        from: read_node(address.trim()),
        host: host.clone(),
        proto: proto.clone(),
    };
    let hops = addresses.flat_map(|value| value.split(',')).map(hop);
    hops.collect()
}

/// The parts between separators outside of quoted strings; `None` if a quote is not closed.
fn split_unquoted(text: &str, separator: u8) -> Option<Vec<&str>> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if byte == separator && !is_quoted => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    (!is_quoted).then_some(parts)
}

fn read_element(element: &str) -> Option<Hop> {
    let mut known: [Option<String>; 3] = Default::default();
    for pair in split_unquoted(element, b';')? {
        if pair.trim().is_empty() {
            continue;
        }
        let (name, value) = pair.trim().split_once('=')?;
        let value = read_value(value)?;
        let at = ["for", "host", "proto"]
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        match at {
            // Each may be there once.
            Some(at) if known[at].replace(value).is_some() => return None,
            None if !is_token(name) => return None,
            _ => {}
        }
    }
    let [from, host, proto] = known;
    Some(Hop {
        from: from.and_then(|from| read_node(&from)),
        host,
        proto: proto.map(|proto| proto.to_ascii_lowercase()),
    })
}

/// A token, or what a quoted string means.
fn read_value(value: &str) -> Option<String> {
    let Some(quoted) = value.strip_prefix('"') else {
        return is_token(value).then(|| value.to_owned());
    };
    let quoted = quoted.strip_suffix('"')?;
    let (mut text, mut is_escaped) = (String::new(), false);
    for c in quoted.chars() {
        match c {
            _ if is_escaped => {
                text.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return None,
            c => text.push(c),
        }
    }
    (!is_escaped).then_some(text)
}

/// An address with or without a port, and with or without brackets; `None` for a name that stands for one.
fn read_node(node: &str) -> Option<SocketAddr> {
    if let Ok(address) = node.parse::<SocketAddr>() {
        return Some(address);
    }
    let inside = node.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address: IpAddr = inside.unwrap_or(node).parse().ok()?;
    let has_brackets = inside.is_some();
    // Only addresses of version 6 have brackets.
    (address.is_ipv6() || !has_brackets).then(|| (address, 0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<Vec<Hop>> {
        of_forwarded([value].into_iter())
    }

    fn hop(from: &str, host: &str, proto: &str) -> Hop {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Hop {
            from: from.parse().ok(),
            host: some(host),
            proto: some(proto),
        }
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        for (value, hops) in [
            ("for=\"_gazonk\"", vec![hop("", "", "")]),
            (
                "For=\"[2001:db8:cafe::17]:4711\"",
                vec![hop("[2001:db8:cafe::17]:4711", "", "")],
            ),
            (
                "for=192.0.2.60;proto=http;by=203.0.113.43",
                vec![hop("192.0.2.60:0", "", "http")],
            ),
            (
                "for=192.0.2.43, for=198.51.100.17;host=a.example;proto=HTTPS",
                vec![
                    hop("192.0.2.43:0", "", ""),
                    hop("198.51.100.17:0", "a.example", "https"),
                ],
            ),
            ("for=unknown;secret=x,, ", vec![hop("", "", "")]),
            ("host=\"a\\\"b,c;d\"", vec![hop("", "a\"b,c;d", "")]),
            ("", vec![]),
        ] {
            assert_eq!(read(value), Some(hops), "{value}");
        }
    }

    #[test]
    fn what_the_standard_does_not_know_is_refused() {
        for value in [
            "for",
            "for=",
            "for=\"",
            "for=\"a",
            "for=\"a\\\"",
            "for=\"a\"b",
            "for=a b",
            "for=[::1]",
            "for=192.0.2.1:80",
            "for=a;for=b",
            "=a",
            "f r=a",
            "x\"y=a",
            "for = a",
        ] {
            assert_eq!(read(value), None, "{value}");
        }
    }

    #[test]
    fn a_quote_that_a_client_opens_swallows_no_proxy() {
        // The client sent the first field, the proxy added the second.
        assert_eq!(of_forwarded(["for=\"", "for=192.0.2.1"].into_iter()), None);
        assert_eq!(read("for=\", for=192.0.2.1"), None);
        let joined = read("for=\"1.1.1.1, for=\\\"\", for=192.0.2.1").unwrap();
        assert_eq!(joined.last(), Some(&hop("192.0.2.1:0", "", "")));
    }

    #[test]
    fn older_fields_have_addresses_in_many_forms() {
        let values = [
            "203.0.113.9, 2001:db8::1",
            " [2001:db8::2]:80,_x,192.0.2.1:81,[1.2.3.4]",
        ];
        let hops = of_older_fields(
            values.into_iter(),
            Some("a, b.example"),
            Some("http,HTTPS "),
        );
        let from: Vec<_> = hops.iter().map(|hop| hop.from).collect();
        let address = |text: &str| Some(text.parse().unwrap());
        assert_eq!(
            from,
            [
                address("203.0.113.9:0"),
                address("[2001:db8::1]:0"),
                address("[2001:db8::2]:80"),
                None,
                address("192.0.2.1:81"),
                None,
            ]
        );
        assert_eq!(hops[0].host.as_deref(), Some("b.example"));
        assert_eq!(hops[5].proto.as_deref(), Some("https"));
    }
}
