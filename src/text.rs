//! Text from outside, made fit to be shown.

/// Fit for a log or an error: at most `limit` characters of the text, on one line, with control
/// characters, terminal escapes and everything else that cannot be seen written out.
pub fn printable(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == limit {
            out.push('…');
            break;
        }
        match is_invisible(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// Fit for a terminal: the text on the lines that it has, without what [`printable`] would write out.
/// Escapes lose their beginning, and with it their power.
pub fn legible(text: &str) -> String {
    let harmless = |c: &char| matches!(c, '\n' | '\t') || !is_invisible(*c);
    text.chars().filter(harmless).collect()
}

/// Control characters, and those that change how the text around them looks: directions, joiners,
/// tags.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text without these secrets. Whatever is quoted later must be cut after this, not before: half
/// a secret is not found.
pub fn redact(text: &str, secrets: &[String]) -> String {
    secrets
        .iter()
        .filter(|secret| !secret.is_empty())
        .fold(text.to_owned(), |text, secret| {
            text.replace(secret, "[secret]")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_loses_its_teeth() {
        for (text, shown) in [
            ("a\x1b[31mb\u{202e}", "a\\u{1b}[31mb\\u{202e}"),
            ("one\r\ntwo\u{2028}", "one\\u{d}\\u{a}two\\u{2028}"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("naïve — ok", "naïve — ok"),
        ] {
            assert_eq!(printable(text, 50), shown);
        }
        assert_eq!(printable("abcdef", 3), "abc…");
        assert_eq!(
            legible("a\tb\r\n\x1b]0;t\x07\u{9b}é\u{202e}"),
            "a\tb\n]0;té"
        );
    }
}
