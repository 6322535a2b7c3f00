//! Authentication challenges: the `WWW-Authenticate` header of a server that denies access. RFC 9110 §11.6.1,
//! RFC 6750 §3, RFC 9728 §5.1; MCP 2025-11-25, basic/authorization.

use gosling_text::printable;
use std::fmt;

/// The most challenges that are read, and the most parameters of each.
pub(super) const MAX_CHALLENGES: usize = 8;
const PARAMETERS: usize = 16;
/// The most characters of one value that are kept, and that are shown unless it is an address.
const VALUE: usize = 2_000;
const SHOWN: usize = 200;

/// One challenge: a way to sign in. Its content is untrusted; secrets of this client are redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme as sent, for example `Bearer`.
    pub scheme: String,
    /// Names in lower case, values without quotes; the first of each name.
    pub parameters: Vec<(String, String)>,
}

/// Why a server denied access (HTTP 401 and 403).
///
/// A sign-in can start from it: the `resource_metadata` of a challenge says where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// 401 or 403.
    pub code: u16,
    /// The challenges.
    pub challenges: Vec<Challenge>,
    /// The request carried an `Authorization` header.
    pub authorized: bool,
    /// The server's explanation, shortened.
    pub detail: String,
}

impl Challenge {
    /// The value of a parameter, by its name in lower case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The address of the server's metadata for signing in, if it is an http(s) address (RFC 9728).
    pub fn resource_metadata(&self) -> Option<&str> {
        let url = self.parameter("resource_metadata")?;
        let web = |scheme: &str| {
            url.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        (web("https://") || web("http://")).then_some(url)
    }
}

/// Parses the challenges of one header. Invalid parts are skipped.
pub fn challenges(header: &str) -> Vec<Challenge> {
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

impl Denied {
    /// The most useful challenge: one with metadata, else a bearer's, else the first.
    pub fn challenge(&self) -> Option<&Challenge> {
        let all = &self.challenges;
        let bearer = |c: &&Challenge| c.scheme.eq_ignore_ascii_case("bearer");
        all.iter()
            .find(|c| c.resource_metadata().is_some())
            .or_else(|| all.iter().find(bearer))
            .or_else(|| all.first())
    }

    /// The scope that the token lacks, if the server says so.
    pub fn missing_scope(&self) -> Option<&str> {
        let lacks = |c: &&Challenge| c.parameter("error") == Some("insufficient_scope");
        let challenge = self.challenges.iter().find(lacks)?;
        Some(challenge.parameter("scope").unwrap_or_default())
    }

    fn advice(&self) -> (String, &'static str) {
        let set = "set a header such as `Authorization: Bearer …` in the extension's `headers`";
        let other = "set one that it accepts in the extension's `headers`";
        match (self.missing_scope(), self.authorized) {
            (Some(""), _) => (
                "the sign-in does not allow this request".to_owned(),
                "use a token that allows it in the extension's `headers`",
            ),
            (Some(scope), _) => (
                format!(
                    "the sign-in does not allow this request, which needs the scope {:?}",
                    printable(scope, SHOWN)
                ),
                "use a token with this scope in the extension's `headers`",
            ),
            (None, true) if self.code == 401 => (
                "the server needs a sign-in and refused the `Authorization` header".to_owned(),
                other,
            ),
            (None, true) => (
                "the server denies access to the user of the `Authorization` header".to_owned(),
                other,
            ),
            (None, false) if self.code == 401 => ("the server needs a sign-in".to_owned(), set),
            (None, false) => (
                "the server needs a sign-in, or denies access to this client".to_owned(),
                set,
            ),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (why, advice) = self.advice();
        write!(f, "HTTP {}: {why}", self.code)?;
        if let Some(challenge) = self.challenge() {
            write!(f, " ({}", printable(&challenge.scheme, SHOWN))?;
            for name in ["error", "error_description", "scope"] {
                if let Some(value) = challenge.parameter(name) {
                    write!(f, ", {name} {:?}", printable(value, SHOWN))?;
                }
            }
            if let Some(url) = challenge.resource_metadata() {
                write!(f, ", resource_metadata {}", printable(url, VALUE))?;
            }
            f.write_str(")")?;
        }
        write!(f, "; {advice}; signing in by OAuth is not supported yet")?;
        match self.detail.as_str() {
            "" => Ok(()),
            detail => write!(f, "; it says: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str) -> String {
        let shown = |c: &Challenge| {
            let parameters = c.parameters.iter().map(|(n, v)| format!(" {n}={v}"));
            c.scheme.clone() + &parameters.collect::<String>()
        };
        let all: Vec<String> = challenges(header).iter().map(shown).collect();
        all.join(" | ")
    }

    #[test]
    fn challenges_are_read_as_the_grammar_has_them() {
        for (header, expected) in [
            ("Bearer", "Bearer"),
            (
                r#"Bearer realm="a, b", error=x"#,
                "Bearer realm=a, b error=x",
            ),
            (
                r#"Bearer resource_metadata="https://a.b/c?d=e""#,
                "Bearer resource_metadata=https://a.b/c?d=e",
            ),
            (
                "Bearer Resource_Metadata=https://a.b/c, scope=\"r w\"",
                "Bearer resource_metadata=https://a.b/c scope=r w",
            ),
            (
                r#"Basic realm="x", Bearer error = "e" ,scope="s""#,
                "Basic realm=x | Bearer error=e scope=s",
            ),
            (
                "Negotiate, NTLM abc+/==, Digest nonce=1",
                "Negotiate | NTLM | Digest nonce=1",
            ),
            (
                r#"Bearer a="say \"hi\\\"", b=2"#,
                r#"Bearer a=say "hi\" b=2"#,
            ),
            (r#"Bearer a="", a="later""#, "Bearer a="),
        ] {
            assert_eq!(read(header), expected, "{header}");
        }
    }

    #[test]
    fn garbage_is_passed_over() {
        for (header, expected) in [
            ("", ""),
            (" ,, ,", ""),
            ("=", ""),
            ("a=b", ""),
            ("\"a, Bearer\", Basic realm=x", "Basic realm=x"),
            ("{}, Bearer error=e", "Bearer error=e"),
            (r#"Bearer a="open, b=1"#, "Bearer a=open, b=1"),
            (r#"Bearer a="open\"#, "Bearer a=open"),
            ("\u{fffd}é, Bearer", "Bearer"),
        ] {
            assert_eq!(read(header), expected, "{header}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        assert_eq!(challenges(&"a,".repeat(50_000)).len(), MAX_CHALLENGES);
        let many: String = (0..5_000).map(|n| format!("p{n}=1,")).collect();
        let read = challenges(&format!("Bearer {many}"));
        assert_eq!(read[0].parameters.len(), PARAMETERS);
        let long = challenges(&format!("Bearer a=\"{}\" ,b=c", "x".repeat(30_000)));
        assert_eq!(long[0].parameter("a").unwrap().len(), VALUE);
        assert_eq!(long[0].parameter("b"), Some("c"));
    }

    #[test]
    fn only_an_address_on_the_web_is_where_to_sign_in() {
        for (url, is_one) in [
            ("HTTPS://a.b", true),
            ("http://127.0.0.1/x", true),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false),
            ("httpé", false),
        ] {
            let read = challenges(&format!("Bearer resource_metadata=\"{url}\""));
            assert_eq!(read[0].resource_metadata().is_some(), is_one, "{url}");
        }
    }

    #[test]
    fn the_error_shows_nothing_that_cannot_be_seen() {
        let header = "Bearer error=\"\u{1b}[31m\", resource_metadata=\"https://a\u{202e}b\"";
        let denied = Denied {
            code: 401,
            challenges: challenges(header),
            authorized: false,
            detail: String::new(),
        };
        let text = denied.to_string();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.contains(r"https://a\u{202e}b"), "{text}");
    }
}
