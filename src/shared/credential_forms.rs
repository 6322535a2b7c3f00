//! Recognizes credentials by their form, for texts in which secrets stand that nobody has declared.

use std::borrow::Cow;

const REDACTED: &str = "[secret]";

/// How keys and tokens of well-known services begin.
const PREFIXES: [&str; 21] = [
    "sk-",
    "gsk_",
    "xai-",
    "AIza",
    "csk-",
    "fw_",
    "tgp_",
    "hf_",
    "dapi",
    "pplx-",
    "nvapi-",
    "r8_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "eyJ",
    "gosling_",
];

/// The least length of a key with such a beginning, in bytes.
const MIN_KEY: usize = 20;

/// The least length of a token after `Bearer`, in bytes.
const MIN_BEARER: usize = 8;

/// Replaces keys of well-known services, tokens after `Bearer`, and user names and passwords in URLs.
pub fn redact_credentials(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut after_bearer = false;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = rest.strip_prefix("://").and_then(userinfo) {
            out.push_str(&text[kept..at + 3]);
            out.push_str(REDACTED);
            at += 3 + length;
            kept = at;
            continue;
        }
        let length = rest.find(|c| !is_key_character(c)).unwrap_or(rest.len());
        if length == 0 {
            // A blank or quote may stand between `Bearer` and its token.
            let next = rest.chars().next().map_or(1, char::len_utf8);
            after_bearer &= rest.starts_with([' ', '"', ':', '=']);
            at += next;
            continue;
        }
        let word = &rest[..length];
        let has_prefix = || PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        if (after_bearer && length >= MIN_BEARER) || (length >= MIN_KEY && has_prefix()) {
            out.push_str(&text[kept..at]);
            out.push_str(REDACTED);
            kept = at + length;
        }
        after_bearer = word.eq_ignore_ascii_case("bearer");
        at += length;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The user name and password of the first URL in the text, if it has them.
pub fn url_userinfo(text: &str) -> Option<&str> {
    let (_, authority) = text.split_once("://")?;
    userinfo(authority).map(|length| &authority[..length])
}

fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+')
}

/// The length of the user name and password at the start of a URL's authority.
fn userinfo(authority: &str) -> Option<usize> {
    let end = authority.find(|c: char| c.is_whitespace() || "/?#\"'<>\\`".contains(c));
    let authority = &authority[..end.unwrap_or(authority.len())];
    authority.rfind('@').filter(|length| *length > 0)
}

#[cfg(test)]
mod tests;
