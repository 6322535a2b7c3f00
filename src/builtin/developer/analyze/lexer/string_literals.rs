//! Lexes strings and similar literals of all languages.

use super::{Kind, Lexer, is_letter, word_length};
use crate::developer::analyze::language::Language::*;

/// How far ahead the end of an uncertain literal is searched for, in bytes.
const MAX_LOOKAHEAD: usize = 1_000;

/// How a string ends, and what it may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quote {
    /// The closing byte, and how often it is repeated.
    close: u8,
    times: usize,
    /// How many `#` follow the closing quote, and a backslash with a meaning.
    hashes: usize,
    /// Whether a backslash escapes the next character.
    escapes: bool,
    /// What begins an interpolation: `$` for `${…}`, `#` for `#{…}`, `\` for `\(…)`; 0 for nothing.
    code: u8,
    /// Whether it may span lines.
    lines: bool,
    /// The byte that opens a nested level (`%w(…)`), or 0; and the current nesting depth.
    nests: u8,
    depth: usize,
}

impl Quote {
    const fn new(close: u8) -> Self {
        Quote {
            close,
            times: 1,
            hashes: 0,
            escapes: true,
            code: 0,
            lines: false,
            nests: 0,
            depth: 0,
        }
    }

    const fn lines(mut self) -> Self {
        self.lines = true;
        self
    }

    const fn raw(mut self) -> Self {
        self.escapes = false;
        self
    }

    const fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    const fn triple(mut self) -> Self {
        self.times = 3;
        self.lines = true;
        self
    }

    const fn hashes(mut self, hashes: usize) -> Self {
        self.hashes = hashes;
        self
    }

    /// The bracket that ends an interpolation.
    pub(crate) fn resumes_at(&self) -> u8 {
        match self.code {
            b'\\' => b')',
            _ => b'}',
        }
    }

    /// Moves `at` behind the end of the string, or into an interpolation. Returns whether it is an
    /// interpolation.
    pub(crate) fn pass(&mut self, text: &[u8], at: &mut usize) -> bool {
        while let Some(&byte) = text.get(*at) {
            let rest = &text[*at + 1..];
            match byte {
                b'\\' if self.code == b'\\' && opens(rest, self.hashes) => {
                    *at += self.hashes + 2;
                    return true;
                }
                b'\\' if self.escapes && self.hashes == 0 => {
                    *at += 2;
                    if rest.starts_with(b"\r\n") {
                        *at += 1;
                    }
                    continue;
                }
                b'\n' if !self.lines => return false,
                b'$' | b'#' if self.code == byte && rest.first() == Some(&b'{') => {
                    *at += 2;
                    return true;
                }
                _ if byte == self.close && self.closes(&text[*at..]) => {
                    *at += self.times + self.hashes;
                    match self.depth {
                        0 => return false,
                        _ => self.depth -= 1,
                    }
                    continue;
                }
                _ if self.nests != 0 && byte == self.nests => self.depth += 1,
                _ => {}
            }
            *at += 1;
        }
        *at = text.len();
        false
    }

    fn closes(&self, text: &[u8]) -> bool {
        let quotes = text.iter().take(self.times).all(|b| *b == self.close);
        quotes && text.len() >= self.times && hashed(&text[self.times..], self.hashes)
    }
}

fn hashed(text: &[u8], hashes: usize) -> bool {
    text.len() >= hashes && text[..hashes].iter().all(|b| *b == b'#')
}

fn opens(rest: &[u8], hashes: usize) -> bool {
    hashed(rest, hashes) && rest.get(hashes) == Some(&b'(')
}

/// Lines of text that end with a certain word.
pub(crate) struct Heredoc {
    word: Vec<u8>,
    indented: bool,
}

impl Heredoc {
    /// The offset after its last line.
    pub(crate) fn end(&self, text: &[u8], mut at: usize) -> usize {
        while at < text.len() {
            let rest = &text[at..];
            let end = rest.iter().position(|b| *b == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            at += line.len() + usize::from(end.is_some());
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line == self.word || self.indented && line.trim_ascii_start() == self.word {
                break;
            }
        }
        at
    }
}

impl Lexer<'_> {
    /// Reads a literal that begins with `byte`; returns whether there is one.
    pub(crate) fn literal(&mut self, byte: u8) -> bool {
        match (self.language, byte) {
            (Rust, b'"') => self.quoted(Quote::new(b'"').lines()),
            (Rust, b'\'') => self.character_or_lifetime(),
            (Python, b'"' | b'\'') => self.maybe_triple(byte, Quote::new(byte)),
            (JavaScript | TypeScript, b'"' | b'\'') => self.in_markup(byte),
            (JavaScript | TypeScript, b'`') => self.quoted(Quote::new(b'`').lines().code(b'$')),
            // `</p>` and `<br />` are markup.
            (JavaScript | TypeScript, b'/')
                if !self.behind_value() && self.last_mark() != b'<' && self.peek(1) != b'>' =>
            {
                self.regex()
            }
            (Go, b'`') => self.quoted(Quote::new(b'`').lines().raw()),
            (Java, b'"') => self.maybe_triple(byte, Quote::new(byte)),
            (Kotlin, b'"') => self.maybe_triple(byte, Quote::new(byte).code(b'$')),
            (Kotlin | Swift, b'`') => self.named(),
            (Swift, b'"') => self.maybe_triple(byte, Quote::new(byte).code(b'\\')),
            (Swift, b'#') => self.hashed_string(),
            (Ruby, _) => self.ruby(byte),
            (Go | Java | Kotlin | C | Cpp, b'"' | b'\'') => self.quoted(Quote::new(byte)),
            _ => false,
        }
    }

    fn quoted(&mut self, quote: Quote) -> bool {
        self.string_from(self.at, quote.times, quote)
    }

    /// Reads a string that began at `start`, and of which `length` more bytes precede the text.
    fn string_from(&mut self, start: usize, length: usize, quote: Quote) -> bool {
        self.at += length;
        self.string(start, quote);
        true
    }

    fn value(&mut self, length: usize) -> bool {
        let start = self.at;
        self.at = (start + length).min(self.text.len());
        self.push(start, Kind::Value);
        true
    }

    fn maybe_triple(&mut self, byte: u8, quote: Quote) -> bool {
        let three = self.peek(1) == byte && self.peek(2) == byte;
        // Triple-quoted strings of Kotlin have no escapes.
        let raw = self.language == Kotlin && three;
        let quote = if raw { quote.raw() } else { quote };
        self.quoted(if three { quote.triple() } else { quote })
    }

    /// Reads a literal whose prefix is the word that ends here: `r#"…"#`, `b'x'`, `f"…"`, `R"(…)"`.
    pub(crate) fn prefixed(&mut self, start: usize) -> bool {
        let word = &self.text[start..self.at];
        let next = self.peek(0);
        if word.len() > 3 || !matches!(next, b'"' | b'\'' | b'#') {
            return false;
        }
        match (self.language, word, next) {
            (Rust, b"r" | b"br" | b"cr", b'"' | b'#') => {
                let rest = &self.text[self.at..];
                let hashes = rest.iter().take_while(|b| **b == b'#').count();
                if rest.get(hashes) != Some(&b'"') {
                    // `r#type` is a name.
                    let named = hashes == 1 && rest.get(1).is_some_and(|b| is_letter(*b));
                    if named {
                        self.at += 1;
                        self.at += word_length(&self.text[self.at..]);
                        self.push(start + 2, Kind::Word);
                    }
                    return named;
                }
                let quote = Quote::new(b'"').lines().raw().hashes(hashes);
                self.string_from(start, hashes + 1, quote)
            }
            (Rust, b"b" | b"c", b'"') => self.string_from(start, 1, Quote::new(b'"').lines()),
            (Rust, b"b", b'\'') => self.quoted(Quote::new(b'\'')),
            (Python, prefix, b'"' | b'\'') => {
                let known = prefix.len() <= 2 && prefix.iter().all(|b| b"rRbBuUfFtT".contains(b));
                // Even in a raw string, a quote after a backslash does not end it.
                known && self.maybe_triple(next, Quote::new(next))
            }
            (C | Cpp, b"R" | b"LR" | b"uR" | b"UR" | b"u8R", b'"') => self.cpp_raw(start),
            (C | Cpp, b"L" | b"u" | b"U" | b"u8", b'"' | b'\'') => self.quoted(Quote::new(next)),
            _ => false,
        }
    }

    /// `R"end(…)end"`, where `end` has at most 16 bytes.
    fn cpp_raw(&mut self, start: usize) -> bool {
        let rest = &self.text[self.at + 1..];
        let Some(length) = rest.iter().take(17).position(|b| *b == b'(') else {
            return false;
        };
        let end = [b")", &rest[..length], b"\""].concat();
        let found = rest.windows(end.len()).position(|part| part == end);
        self.at += 1 + found.map_or(rest.len(), |at| at + end.len());
        self.push(start, Kind::Text);
        true
    }

    /// `'x'`, `'\n'` or `'a` as in `&'a str`.
    fn character_or_lifetime(&mut self) -> bool {
        if self.peek(1) == b'\\' {
            return self.quoted(Quote::new(b'\''));
        }
        let length = match self.peek(1) {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
        if self.peek(length + 1) == b'\'' {
            return self.value(length + 2);
        }
        self.at += 1;
        let start = self.at;
        self.at += word_length(&self.text[self.at..]);
        if self.at > start {
            self.push(start, Kind::Value);
        }
        true
    }

    /// A string, or in JSX a single apostrophe: `<p>Don't</p>`.
    fn in_markup(&mut self, byte: u8) -> bool {
        let start = self.at;
        let mut end = self.at + 1;
        let closed = Quote::new(byte).pass(self.text, &mut end);
        debug_assert!(!closed, "there is no code in such a string");
        // Searching far ahead at every quote would take quadratic time on a very long line.
        let far = end - start > MAX_LOOKAHEAD;
        let whole = far || end > start + 1 && self.text.get(end - 1) == Some(&byte);
        self.at = if whole { end } else { start + 1 };
        self.push(start, Kind::Text);
        true
    }

    /// A regular expression, if it ends on this line.
    fn regex(&mut self) -> bool {
        let line = (self.at + MAX_LOOKAHEAD).min(self.text.len());
        let mut class = false;
        let mut at = self.at + 1;
        while at < line && self.text[at] != b'\n' {
            match self.text[at] {
                b'\\' => at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    let length = at + 1 - self.at;
                    let flags = self.text[at + 1..line].iter();
                    let flags = flags.take_while(|b| b.is_ascii_alphabetic()).count();
                    return self.value(length + flags);
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// `` `a name` ``, as a word without its quotes.
    fn named(&mut self) -> bool {
        let rest = &self.text[self.at + 1..];
        let rest = &rest[..rest.len().min(MAX_LOOKAHEAD)];
        let ended = |b: &u8| matches!(b, b'`' | b'\n');
        let Some(length) = rest.iter().position(ended).filter(|at| rest[*at] == b'`') else {
            return false;
        };
        let start = self.at + 1;
        self.at = start + length;
        self.push(start, Kind::Word);
        self.at += 1;
        true
    }

    /// Swift's `#"…"#` and `#"""…"""#`.
    fn hashed_string(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let hashes = rest.iter().take_while(|b| **b == b'#').count();
        if rest.get(hashes) != Some(&b'"') {
            return false;
        }
        let three = rest[hashes..].starts_with(b"\"\"\"");
        let quote = Quote::new(b'"').code(b'\\').hashes(hashes);
        let quote = if three { quote.triple() } else { quote };
        self.string_from(self.at, hashes + quote.times, quote)
    }

    fn ruby(&mut self, byte: u8) -> bool {
        let next = self.peek(1);
        let value_wanted = !self.behind_value() || self.like_argument();
        match byte {
            // These characters can be the name of a method.
            _ if byte != b'@' && self.last_word_is(b"def") || self.last_mark() == b'.' => false,
            b'"' | b'`' => self.quoted(Quote::new(byte).lines().code(b'#')),
            b'\'' => self.quoted(Quote::new(byte).lines()),
            b'/' if value_wanted => self.quoted(Quote::new(b'/').lines().code(b'#')),
            b':' if next == b'"' => {
                self.string_from(self.at, 2, Quote::new(b'"').lines().code(b'#'))
            }
            b':' if is_letter(next) && self.last_mark() != b':' => {
                let rest = &self.text[self.at + 1..];
                let length = word_length(rest);
                let sign = matches!(rest.get(length), Some(b'?' | b'!' | b'='))
                    && !matches!(rest.get(length + 1), Some(b'>' | b'='));
                self.value(1 + length + usize::from(sign))
            }
            b'@' => {
                let start = self.at;
                self.at += 1 + usize::from(next == b'@');
                self.at += word_length(&self.text[self.at..]);
                self.push(start, Kind::Value);
                true
            }
            b'?' if value_wanted && next > b' ' => {
                let after = self.peek(2);
                let single = !is_letter(after) && !after.is_ascii_digit();
                single && next != b'\\' && self.value(2)
            }
            b'%' if value_wanted => self.percent(),
            b'<' if next == b'<' && value_wanted => self.heredoc_word(),
            _ => false,
        }
    }

    /// `%w[…]`, `%(…)`, `%q|…|` and so on.
    fn percent(&mut self) -> bool {
        let letter = usize::from(b"wWiIqQrsx".contains(&self.peek(1)));
        let open = self.peek(1 + letter);
        if open.is_ascii_alphanumeric() || open <= b' ' || open >= 0x80 || open == b'=' {
            return false;
        }
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        let mut quote = Quote::new(close).lines();
        if close != open {
            quote.nests = open;
        }
        if !matches!(self.peek(1), b'w' | b'i' | b'q' | b's') {
            quote = quote.code(b'#');
        }
        self.string_from(self.at, 2 + letter, quote)
    }

    /// `<<WORD`, `<<-WORD`, `<<~WORD`, where the word may be quoted.
    fn heredoc_word(&mut self) -> bool {
        let rest = &self.text[self.at + 2..];
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'~')));
        let quote = rest.get(sign).copied().filter(|b| b"\"'`".contains(b));
        let from = sign + usize::from(quote.is_some());
        let word = &rest[from.min(rest.len())..];
        let length = word_length(word);
        let word = &word[..length];
        let fits = word.first().is_some_and(|b| is_letter(*b))
            && (sign > 0 || quote.is_some() || word[0].is_ascii_uppercase());
        if !fits || quote.is_some() && rest.get(from + length) != quote.as_ref() {
            return false;
        }
        self.heredocs.push(Heredoc {
            word: word.to_vec(),
            indented: sign > 0,
        });
        let start = self.at;
        self.at += 2 + from + length + usize::from(quote.is_some());
        self.push(start, Kind::Text);
        true
    }
}
