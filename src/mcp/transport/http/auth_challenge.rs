//! Authentication challenges: the `WWW-Authenticate` header of a server that denies access. RFC 9110 §11.6.1,
//! RFC 6750 §3; MCP 2025-11-25, basic/authorization.

use super::denied::{Challenge, VALUE};

/// The most challenges that are read, and the most parameters of each.
pub(super) const MAX_CHALLENGES: usize = 8;
const PARAMETERS: usize = 16;

/// Parses the challenges of one header. Invalid parts are skipped.
pub(crate) fn challenges(header: &str) -> Vec<Challenge> {
    let mut rest = Rest(header);
    let mut all: Vec<Challenge> = Vec::new();
    loop {
        rest.skip(|c| c == ',' || is_space(c));
        let word = rest.take(is_token);
        if word.is_empty() {
            // Neither a scheme nor a name.
            if rest.0.is_empty() {
                return all;
            }
            rest.skip_element();
            continue;
        }
        let after = rest.0.trim_start_matches(is_space);
        if let Some(value) = after.strip_prefix('=') {
            rest.0 = value.trim_start_matches(is_space);
            let value = rest.value();
            let name = word.to_ascii_lowercase();
            if let Some(challenge) = all.last_mut()
                && challenge.parameters.len() < PARAMETERS
                && challenge.parameter(&name).is_none()
            {
                challenge.parameters.push((name, value));
            }
            continue;
        }
        if all.len() == MAX_CHALLENGES {
            return all;
        }
        all.push(Challenge {
            scheme: word.chars().take(VALUE).collect(),
            parameters: Vec::new(),
        });
        rest.skip_token68();
    }
}

/// The rest of a header.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(what);
    }

    fn take(&mut self, what: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !what(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// A value: quoted, or up to the next comma or space, as some servers write addresses.
    fn value(&mut self) -> String {
        let Some(quoted) = self.0.strip_prefix('"') else {
            let plain = self.take(|c| c != ',' && !is_space(c));
            return plain.chars().take(VALUE).collect();
        };
        let mut value = String::new();
        let mut kept = 0;
        let mut escaped = false;
        for (at, c) in quoted.char_indices() {
            match c {
                '\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                '"' if !escaped => {
                    self.0 = &quoted[at + 1..];
                    return value;
                }
                c if kept < VALUE => value.push(c),
                _ => {}
            }
            kept += 1;
            escaped = false;
        }
        self.0 = "";
        value
    }

    /// Skips credentials in place of parameters, as in `Negotiate`.
    fn skip_token68(&mut self) {
        let mut ahead = Rest(self.0.trim_start_matches(is_space));
        let is_68 = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
        let any = !ahead.take(is_68).is_empty();
        ahead.skip(|c| c == '=');
        ahead.skip(is_space);
        if any && (ahead.0.is_empty() || ahead.0.starts_with(',')) {
            self.0 = ahead.0;
        }
    }

    /// Skips to the next comma that is not quoted.
    fn skip_element(&mut self) {
        while let Some(c) = self.0.chars().next() {
            match c {
                ',' => return,
                '"' => drop(self.value()),
                c => self.0 = &self.0[c.len_utf8()..],
            }
        }
    }
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// RFC 9110 §5.6.2.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests;
