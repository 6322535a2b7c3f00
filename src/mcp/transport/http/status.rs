//! HTTP statuses: their meaning for MCP, and advice for users. Pure. MCP 2025-11-25, basic/transports; RFC
//! 9110 §15.

use std::time::Duration;
use ureq::http::StatusCode;

/// The longest accepted `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Advice about an error status; empty if the number says everything.
pub(super) fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => {
            "it does not understand the request; check that the uri is that of an MCP server that \
             speaks Streamable HTTP"
        }
        402 => "it requires a payment; check the account that the headers belong to",
        404 => "no MCP server is at this path; check the uri",
        405 => {
            "it does not accept messages at this path; check the uri, and that the server speaks Streamable \
             HTTP, not the older HTTP+SSE"
        }
        406 => "it can answer neither in JSON nor with an event stream; check the uri",
        407 => "a proxy requires a user name and a password; set them in its address",
        408 => "it did not receive the request in time; try again",
        410 => "the server at this path is gone; ask its operator for the new uri",
        411 | 417 | 426 => "it does not speak HTTP 1.1; check the uri",
        413 => "the message is too large for it; send less at once",
        415 => "it does not accept JSON; check that the uri is that of an MCP server",
        421 => "it does not serve this host; check the uri",
        431 => "the extension's `headers` are too large for it; shorten them",
        429 => "it has had too many requests; try again later",
        451 => "it may not serve this for legal reasons",
        500 => "it failed; its own log says why",
        501 => "it does not know this kind of request; check the uri",
        502 => {
            "the MCP server behind this address sends no proper answer; check that it is running"
        }
        503 => "it is not available at the moment; try again later",
        504 => "the MCP server behind this address did not answer in time; try again later",
        _ => "",
    }
}

/// Whether a retry may succeed.
pub(super) fn is_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Whether the server still considers the previous connection of the stream open: common servers accept one
/// at a time, and may notice late that the other broke.
pub(super) fn is_conflict(status: StatusCode) -> bool {
    status == StatusCode::CONFLICT
}

/// Whether the server, or a proxy in front of it, failed.
pub(super) fn is_failure(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
}

/// Whether a redirect may be followed with this method: RFC 9110 §15.4. Clients follow the older ones with a
/// GET.
pub(super) fn may_follow(status: StatusCode, is_get: bool) -> bool {
    match status.as_u16() {
        307 | 308 => true,
        301..=303 => is_get,
        _ => false,
    }
}

/// The server's `Retry-After`, limited.
pub(super) fn clamp_retry_after(after: Option<Duration>) -> Option<Duration> {
    after.map(|after| after.min(MAX_RETRY_AFTER))
}

/// Whether the text of a 400 says that the session is unknown: servers of some SDKs answer so instead of with
/// 404, especially after a restart.
pub(super) fn reports_unknown_session(body: &[u8]) -> bool {
    const UNKNOWN: [&str; 8] = [
        "not found",
        "no valid",
        "invalid",
        "unknown",
        "expired",
        "not exist",
        "terminated",
        "no such",
    ];
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let session = text.contains("session") && UNKNOWN.iter().any(|word| text.contains(word));
    session || text.contains("server not initialized")
}

#[cfg(test)]
mod tests;
