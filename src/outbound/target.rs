//! An HTTP server: its URI and options, checked once, and what every request to it has in common.

use super::address_cache::AddressCache;
use super::connection_progress::{Connection, MAX_RESPONSE_HEAD};
use super::ip_literal::ip_literal;
use super::{proxy, redirect, tls};
use gosling_sys::current_trace;
use gosling_text::redact;
use std::net::IpAddr;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::header::{HeaderMap, HeaderName, HeaderValue};
use ureq::http::{Method, Request, Uri, header};

const USER_AGENT: &str = concat!("gosling/", env!("CARGO_PKG_VERSION"));
/// How long the server may stop reading a request.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const OUTPUT_BUFFER: usize = 16 * 1024;
/// A shorter value is not redacted: it could be a part of any word.
const MIN_SECRET_LENGTH: usize = 8;

/// Headers that frame a request. A value of the user would break the request.
const FRAMING_HEADERS: [&str; 7] = [
    "connection",
    "content-length",
    "expect",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The address of a server, the headers of every request, and the timeouts.
pub struct TargetOptions<'a> {
    /// `http` or `https`, with or without a path.
    pub uri: &'a str,
    /// Sent with every request, unless the protocol sends a header of the same name.
    pub headers: &'a [(String, String)],
    /// Refuse every host but this machine.
    pub offline: bool,
    /// How long resolving the host's name may take, and then connecting, TLS and proxies included.
    pub connect_timeout: Duration,
    /// How long one read may take; unlimited if absent.
    pub read_timeout: Option<Duration>,
    /// A connection that was idle for longer is not reused.
    pub idle_timeout: Duration,
}

/// A server whose address and headers are valid.
pub struct Target {
    uri: Uri,
    headers: HeaderMap,
    secrets: Vec<String>,
    config: Config,
    addresses: AddressCache,
    /// Scheme, host and port, for errors. The rest of the URI may contain a secret.
    pub origin: String,
    /// For errors too: ` through the proxy HOST:PORT`, or empty.
    pub via_proxy: String,
}

impl Target {
    /// Checks the options. Connections resolve the host's name with `addresses`.
    ///
    /// # Errors
    /// A message that says what to change.
    pub fn new(options: &TargetOptions<'_>, addresses: AddressCache) -> Result<Self, String> {
        let uri: Uri = (options.uri.trim().parse())
            .map_err(|e| format!("the `uri` is not a valid URI ({e})"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("the `uri` must begin with http:// or https://".to_owned());
        }
        let authority = (uri.authority().filter(|a| !a.host().is_empty()))
            .ok_or_else(|| "the `uri` names no host".to_owned())?;
        if authority.as_str().contains('@') {
            return Err(
                "the `uri` holds a user name or password; put them into an Authorization header"
                    .to_owned(),
            );
        }
        let after_host = &authority.as_str()[authority.host().len()..];
        if !matches!(after_host, "" | ":") && authority.port_u16().is_none_or(|port| port == 0) {
            return Err("the port in the `uri` is not between 1 and 65535".to_owned());
        }
        let loopback = is_loopback(&uri);
        if options.offline && !loopback {
            return Err(format!(
                "{} is not on this machine, and gosling runs offline; use a loopback address or \
                 start it without --offline",
                origin(&uri)
            ));
        }
        // No proxy reaches the link of this machine, where clouds offer credentials.
        let is_direct = loopback || is_link_local(&uri);
        // ureq alone would take the first variable that is set, for any scheme, and ignore an invalid one.
        let proxy = if is_direct {
            None
        } else {
            proxy::choose(&uri, |name| std::env::var(name).ok())?
        };
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(USER_AGENT)
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_idle_age(options.idle_timeout)
            .max_response_header_size(MAX_RESPONSE_HEAD)
            .input_buffer_size(MAX_RESPONSE_HEAD)
            .output_buffer_size(OUTPUT_BUFFER)
            .timeout_resolve(Some(options.connect_timeout))
            .timeout_connect(Some(options.connect_timeout))
            .timeout_per_read(options.read_timeout)
            .timeout_per_write(Some(WRITE_TIMEOUT))
            .proxy(proxy.clone());
        let config = tls::configure(config, &uri, proxy.as_ref())?.build();
        Ok(Target {
            origin: origin(&uri),
            via_proxy: proxy.map_or(String::new(), |proxy| {
                format!(" through the proxy {}:{}", proxy.host(), proxy.port())
            }),
            secrets: secrets(&uri, options.headers),
            headers: parse_headers(options.headers)?,
            config,
            addresses,
            uri,
        })
    }

    /// A new connection to the server. It connects when it is first used.
    pub fn connection(&self) -> Connection {
        Connection::new(self.config.clone(), self.addresses.clone())
    }

    /// The URI from the options.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// A request with the user's headers and with `headers`, which take precedence. `uri` is a URI of this
    /// server: the one from the options, or one that it [redirects to](Target::same_server_redirect).
    pub fn request<B>(
        &self,
        method: Method,
        uri: &Uri,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
        body: B,
    ) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        if let Some((parent, state)) = current_trace() {
            for (name, value) in [("traceparent", parent), ("tracestate", state)] {
                let name = HeaderName::from_static(name);
                // The user's own headers win.
                if let Ok(value) = HeaderValue::from_str(&value)
                    && !value.is_empty()
                {
                    request.headers_mut().entry(name).or_insert(value);
                }
            }
        }
        for (name, value) in headers {
            request.headers_mut().insert(name, value);
        }
        request
    }

    /// Whether the user's headers contain `Authorization`.
    pub fn has_authorization(&self) -> bool {
        self.headers.contains_key(header::AUTHORIZATION)
    }

    /// Redacts the values of the user's headers and of the URI's query in a text.
    pub fn redact(&self, text: &str) -> String {
        redact(text, &self.secrets)
    }

    /// Where a response from `from` redirects to, if that is on this server. A request to another server
    /// would disclose secrets.
    pub fn same_server_redirect(&self, from: &Uri, response: &HeaderMap) -> Option<Uri> {
        let to = redirect::resolve(from, response.get(header::LOCATION)?.as_bytes())?;
        redirect::is_same_origin(&self.uri, &to).then_some(to)
    }

    /// That a redirect is not followed, and where it leads, without anything secret: the words after the server's
    /// name in an error.
    pub fn describe_redirect(&self, response: &HeaderMap) -> String {
        let location = response.get(header::LOCATION).map(HeaderValue::as_bytes);
        let to = match location.and_then(|location| redirect::resolve(&self.uri, location)) {
            Some(to) if !redirect::is_same_origin(&self.uri, &to) => {
                // The server chooses the host, and case does not matter in it.
                let secrets = self
                    .secrets
                    .iter()
                    .map(|secret| secret.to_ascii_lowercase());
                redact(
                    &origin(&to).to_ascii_lowercase(),
                    &secrets.collect::<Vec<_>>(),
                )
            }
            Some(_) => format!("another path of {}", self.origin),
            None => "nowhere".to_owned(),
        };
        format!("redirects to {to}, which is not followed")
    }
}

fn parse_headers(headers: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let shown = name.escape_debug();
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{shown}` cannot be the name of a header"))?;
        if FRAMING_HEADERS.contains(&header.as_str()) {
            return Err(format!("the header `{shown}` may not be set"));
        }
        let mut value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(|_| {
            format!("the value of the header `{shown}` has characters that a header cannot carry")
        })?;
        if value.len() > OUTPUT_BUFFER / 2 {
            return Err(format!("the value of the header `{shown}` is too long"));
        }
        value.set_sensitive(true);
        map.append(header, value);
    }
    Ok(map)
}

fn secrets(uri: &Uri, headers: &[(String, String)]) -> Vec<String> {
    let values = headers
        .iter()
        .flat_map(|(_, value)| value.split_whitespace());
    let query = uri.query().unwrap_or_default().split(['&', '=']);
    (values.chain(query))
        .filter(|part| part.len() >= MIN_SECRET_LENGTH)
        .map(str::to_owned)
        .collect()
}

fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let host = uri.host().unwrap_or_default();
    match uri.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// Whether the host of this URL is this machine.
pub fn is_loopback_url(url: &str) -> bool {
    url.parse().is_ok_and(|uri| is_loopback(&uri))
}

fn is_loopback(uri: &Uri) -> bool {
    match ip_literal(uri) {
        Some(address) => address.to_canonical().is_loopback(),
        None => (uri.host()).is_some_and(|host| host.eq_ignore_ascii_case("localhost")),
    }
}

fn is_link_local(uri: &Uri) -> bool {
    match ip_literal(uri).map(|address| address.to_canonical()) {
        Some(IpAddr::V4(address)) => address.is_link_local(),
        Some(IpAddr::V6(address)) => address.is_unicast_link_local(),
        None => false,
    }
}

#[cfg(test)]
mod tests;
