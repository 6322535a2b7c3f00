//! Tokens: the names of header fields, and what may stand without quotes.

/// Whether a name is a token: RFC 9110 §5.6.2.
pub fn is_token(name: &str) -> bool {
    !name.is_empty()
        && (name.bytes()).all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
