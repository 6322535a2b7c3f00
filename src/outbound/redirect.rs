//! Where a redirect leads. No I/O.

use ureq::http::Uri;
use ureq::http::uri::PathAndQuery;

/// The URI that `Location` in a response from `base` means: RFC 9110 §10.2.2, RFC 3986 §5.2. None if it is
/// not an `http` or `https` URI.
pub(super) fn resolve(base: &Uri, location: &[u8]) -> Option<Uri> {
    let text = std::str::from_utf8(location).ok()?.trim();
    let text = text.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str()?;
    if let Some(rest) = text.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse().ok();
    }
    if has_scheme(text) {
        let uri: Uri = text.parse().ok()?;
        return matches!(uri.scheme_str(), Some("http" | "https")).then_some(uri);
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let (path, query) = match path {
        "" => (base.path().to_owned(), query.or(base.query())),
        path if path.starts_with('/') => (remove_dot_segments(path), query),
        path => {
            let folder = base.path().rfind('/').map_or("", |end| &base.path()[..end]);
            (remove_dot_segments(&format!("{folder}/{path}")), query)
        }
    };
    let path = match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

/// Whether both URIs have the same origin (RFC 6454), so that credentials for one may be sent to the other.
/// An `other` with a user name never has.
pub(super) fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let has_user = |uri: &Uri| uri.authority().is_none_or(|a| a.as_str().contains('@'));
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    !has_user(other)
        && one.scheme() == other.scheme()
        && host(one) == host(other)
        && port(one) == port(other)
}

/// The port of the URI, or the default port of its scheme.
pub(super) fn port(uri: &Uri) -> Option<u16> {
    let default = match uri.scheme_str()? {
        "https" => 443,
        _ => 80,
    };
    Some(uri.port_u16().unwrap_or(default))
}

fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Resolves `.` and `..` in a path: RFC 3986 §5.2.4.
fn remove_dot_segments(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut all = path.split('/').skip(1).peekable();
    while let Some(part) = all.next() {
        let last = all.peek().is_none();
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
        if last && matches!(part, "." | "..") {
            parts.push("");
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests;
