//! Authentication challenges: the `WWW-Authenticate` header of a server that denies access. RFC 9110 §11.6.1,
//! RFC 6750 §3; MCP 2025-11-25, basic/authorization.

use crate::transport::denied::{Challenge, VALUE};

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
mod tests {
    use super::*;
    use crate::transport::Denied;

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
