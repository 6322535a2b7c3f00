//! Which proxies are believed, and what they say of a request.

use crate::forwarded::{Hop, of_forwarded, of_older_fields};
use crate::http::{Error, Head};
use std::net::{IpAddr, SocketAddr};

/// The word for connections without addresses in the list.
const LOCAL: &str = "unix";
/// What stands for the origin of a page that came without TLS: no page has it.
const WITHOUT_TLS: &str = "http://page-without-tls.invalid";
/// The most bytes of a host's name.
const MAX_HOST: usize = 255;

/// The proxies that are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrustedProxies {
    /// Addresses with the numbers of bits that count.
    networks: Vec<(IpAddr, u8)>,
    /// Connections over sockets without addresses.
    has_local: bool,
}

/// What the believed proxies say of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Claim {
    address: Option<SocketAddr>,
    host: Option<String>,
    proto: Option<String>,
}

impl TrustedProxies {
    /// The list, with commas between its entries: addresses, networks as `10.0.0.0/8`, and `unix`.
    ///
    /// # Errors
    /// The entry that is none of these.
    pub(crate) fn read(list: &str) -> Result<Self, String> {
        let mut proxies = TrustedProxies::default();
        for entry in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            if entry == LOCAL {
                proxies.has_local = true;
            } else {
                let network = network(entry);
                proxies.networks.push(network.ok_or_else(|| {
                    format!("{entry:?} is neither an address, nor a network such as 10.0.0.0/8, nor `{LOCAL}`")
                })?);
            }
        }
        Ok(proxies)
    }

    fn trusts(&self, address: Option<IpAddr>) -> bool {
        let Some(address) = address.map(|it| it.to_canonical()) else {
            return self.has_local;
        };
        let mut networks = self.networks.iter();
        networks.any(|(network, bits)| has_same_start(*network, address, *bits))
    }

    /// Puts what a proxy says in the place of what the connection says, if the proxy is believed: the address of the
    /// client, the host that it asked for, and that a page of this host without TLS is another site.
    ///
    /// # Errors
    /// 400 if it says what it cannot mean, or two different things.
    pub(crate) fn receive(
        &self,
        address: &mut Option<SocketAddr>,
        head: &mut Head,
    ) -> Result<(), Error> {
        if !self.trusts(address.map(|it| it.ip())) {
            return Ok(());
        }
        let Some(claim) = self.claim(*address, head)? else {
            return Ok(());
        };
        *address = claim.address;
        if let Some(host) = claim.host {
            if host.len() > MAX_HOST {
                return Err(Error::bad_request(
                    "The host that a proxy names is too long",
                ));
            }
            head.authority = Some(host);
        }
        if claim.proto.as_deref() == Some("https") {
            refuse_origin_without_tls(head);
        }
        Ok(())
    }

    fn claim(&self, peer: Option<SocketAddr>, head: &Head) -> Result<Option<Claim>, Error> {
        let mut forwarded = values(head, "Forwarded").peekable();
        let is_standard = forwarded.peek().is_some();
        let standard = of_forwarded(forwarded).ok_or_else(|| {
            Error::bad_request("The field `Forwarded` is not what RFC 7239 describes")
        })?;
        let standard = is_standard.then(|| self.walk(peer, &standard));
        let last = |name: &'static str| values(head, name).last();
        let (host, proto) = (last("X-Forwarded-Host"), last("X-Forwarded-Proto"));
        let hops = of_older_fields(values(head, "X-Forwarded-For"), host, proto);
        let is_older = !hops.is_empty() || host.is_some() || proto.is_some();
        let older = is_older.then(|| match &hops[..] {
            // A proxy that does not say from where it got the request.
            [] => self.walk(peer, &of_older_fields(["unknown"].into_iter(), host, proto)),
            hops => self.walk(peer, hops),
        });
        match (standard, older) {
            (Some(one), Some(other)) => one.agrees_with(other).map(Some),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// From the last proxy to the first that is not believed, which is the client. A proxy that does not say from where
    /// it got the request is the last one that is known.
    fn walk(&self, peer: Option<SocketAddr>, hops: &[Hop]) -> Claim {
        let mut claim = Claim {
            address: peer,
            ..Claim::default()
        };
        for hop in hops.iter().rev() {
            (claim.host, claim.proto) = (hop.host.clone(), hop.proto.clone());
            let Some(from) = hop.from else { break };
            claim.address = Some(from);
            if !self.trusts(Some(from.ip())) {
                break;
            }
        }
        claim
    }
}

impl Claim {
    /// Both, if they do not contradict each other: a client may have sent the one that its proxy does not know.
    fn agrees_with(self, other: Claim) -> Result<Claim, Error> {
        let ip = |claim: &Claim| claim.address.map(|it| it.ip().to_canonical());
        let differs = |one: &Option<String>, other: &Option<String>| matches!((one, other), (Some(one), Some(other)) if one != other);
        if ip(&self) != ip(&other)
            || differs(&self.host, &other.host)
            || differs(&self.proto, &other.proto)
        {
            return Err(Error::bad_request(
                "`Forwarded` and `X-Forwarded-…` contradict each other: let the proxy remove the one that it does not set",
            ));
        }
        Ok(Claim {
            host: self.host.or(other.host),
            proto: self.proto.or(other.proto),
            ..self
        })
    }
}

/// The values of a field, in their order.
pub(crate) fn values<'a>(head: &'a Head, name: &'static str) -> impl Iterator<Item = &'a str> {
    let fields = head.headers.iter();
    let fields = fields.filter(move |header| header.field.equiv(name));
    fields.map(|header| header.value.as_str())
}

/// Clients reach this host with TLS only, so what came from it without may be anybody's page.
fn refuse_origin_without_tls(head: &mut Head) {
    let Some(host) = head.authority.as_deref() else {
        return;
    };
    let insecure = |origin: &str| {
        let authority = origin.strip_prefix("http://");
        authority.is_some_and(|it| name_of(it).eq_ignore_ascii_case(name_of(host)))
    };
    for header in &mut head.headers {
        if header.field.equiv("Origin")
            && insecure(header.value.as_str())
            && let Ok(changed) = crate::http::Header::from_bytes("Origin", WITHOUT_TLS)
        {
            *header = changed;
        }
    }
}

/// An authority without its port.
fn name_of(authority: &str) -> &str {
    let end = authority.rfind(']').map_or(0, |end| end + 1);
    let port = authority[end..].find(':');
    port.map_or(authority, |port| &authority[..end + port])
}

fn network(entry: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match entry.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (entry, None),
    };
    let address = address.parse::<IpAddr>().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_number = |bits: &str| bits.bytes().all(|b| b.is_ascii_digit());
    let bits = match bits {
        Some(bits) => Some(bits).filter(|it| is_number(it))?.parse().ok()?,
        None => most,
    };
    (bits <= most).then_some((address, bits))
}

/// Whether the first bits are the same, of addresses of the same kind.
fn has_same_start(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let differing = one.to_bits() ^ other.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_addresses_networks_and_sockets() {
        let trusts = |list: &str, address: &str| {
            let proxies = TrustedProxies::read(list).unwrap();
            proxies.trusts(address.parse().ok())
        };
        for (list, address, is_trusted) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("192.0.2.1, ::1", "::1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("0.0.0.0/0", "203.0.113.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "10.0.0.1", false),
            ("unix", "", true),
            ("0.0.0.0/0,::/0", "", false),
            ("", "127.0.0.1", false),
        ] {
            assert_eq!(trusts(list, address), is_trusted, "{list} {address}");
        }
        for wrong in [
            "x",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "::/129",
            "a.example",
            "10/8",
        ] {
            assert!(TrustedProxies::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_client_is_the_first_that_is_not_believed() {
        let proxies = TrustedProxies::read("10.0.0.0/8").unwrap();
        let peer: Option<SocketAddr> = "10.0.0.1:5".parse().ok();
        let client = |list: &str| {
            let hops = of_older_fields([list].into_iter(), None, None);
            proxies.walk(peer, &hops).address.unwrap().to_string()
        };
        assert_eq!(client("203.0.113.7"), "203.0.113.7:0");
        // The client says that it is another; a second proxy is believed.
        assert_eq!(client("1.1.1.1, 203.0.113.7, 10.0.0.2"), "203.0.113.7:0");
        assert_eq!(client("1.1.1.1, unknown"), "10.0.0.1:5");
        assert_eq!(client("1.1.1.1, unknown, 10.0.0.2"), "10.0.0.2:0");
        assert_eq!(client("10.0.0.3, 10.0.0.2"), "10.0.0.3:0");
        assert_eq!(client(""), "10.0.0.1:5");
    }

    #[test]
    fn a_port_is_not_a_part_of_a_name() {
        for (authority, name) in [
            ("a.example", "a.example"),
            ("a.example:443", "a.example"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(name_of(authority), name);
        }
    }
}
