//! Splits a text into words, literals and punctuation. Comments are left out. The content of a string is not
//! code, except for interpolations (`${…}`, `#{…}`, `\(…)`).
//!
//! The lexer reads the text once, without recursion, and accepts any bytes: an unterminated literal ends with the
//! line or the text.

mod string_literals;

use super::language::Language::{self, *};
use string_literals::{Heredoc, Quote};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A string, or a part of one.
    Text,
    /// Any other literal: a number, a character, a symbol, a regular expression, a variable with a sigil.
    Value,
    /// One byte of punctuation.
    Mark(u8),
    /// A preprocessor directive with its continuation lines.
    Directive,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) kind: Kind,
    /// Whether it is the first token of its line.
    pub(super) first: bool,
}

/// Splits `text`, which is shorter than 4 GiB, into tokens.
pub(super) fn tokenize(text: &[u8], language: Language) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        at: 0,
        language,
        tokens: Vec::with_capacity(text.len() / 6),
        within: Vec::new(),
        depth: 0,
        heredocs: Vec::new(),
        first: true,
    };
    lexer.run();
    lexer.tokens
}

pub(super) struct Lexer<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) language: Language,
    tokens: Vec<Token>,
    /// The strings whose interpolations are being read, and the bracket depth outside of each.
    within: Vec<(Quote, u32)>,
    /// The bracket depth inside of the innermost interpolation.
    depth: u32,
    /// The heredocs that begin on the next line.
    heredocs: Vec<Heredoc>,
    first: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.text.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        if self.text[self.at..].starts_with(b"#!") && self.language != Rust {
            self.line();
        }
        while self.at < self.text.len() {
            self.step();
        }
    }

    /// The byte `ahead` of the current one, or 0.
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        let byte = self.peek(0);
        match byte {
            b'\n' => self.newline(),
            b'\\' if self.peek(1) == b'\n' => self.at += 2,
            b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
            b'/' if self.peek(1) == b'/' && !self.language.hash_comments() => self.line(),
            b'/' if self.peek(1) == b'*' && !self.language.hash_comments() => self.block(),
            b'#' if self.language.hash_comments() => self.line(),
            b'#' if self.first && self.language.has_preprocessor() => self.directive(),
            b'=' if self.language == Ruby && self.at_line(b"=begin") => self.pod(),
            // Special variables of Ruby such as `$'`.
            b'$' if self.language == Ruby && self.peek(1).is_ascii_punctuation() => {
                self.at += 2;
                self.push(self.at - 2, Kind::Value);
            }
            _ if is_letter(byte) => self.word(),
            b'0'..=b'9' => self.number(),
            _ if self.literal(byte) => {}
            _ => self.mark(byte),
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.first = true;
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.at = heredoc.end(self.text, self.at);
        }
        if self.language == Ruby && self.text[self.at..].starts_with(b"__END__") {
            self.at = self.text.len();
        }
    }

    pub(super) fn push(&mut self, start: usize, kind: Kind) {
        self.tokens.push(Token {
            start: start as u32,
            end: self.at as u32,
            kind,
            first: std::mem::take(&mut self.first),
        });
    }

    /// Skips the rest of the line.
    fn line(&mut self) {
        self.at = self.end_of_line();
    }

    pub(super) fn end_of_line(&self) -> usize {
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| *b == b'\n');
        self.at + end.unwrap_or(rest.len())
    }

    /// Skips a block comment.
    fn block(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') if depth == 0 || self.language.nests_comments() => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                (byte, _) => {
                    self.first |= byte == b'\n';
                    self.at += 1;
                }
            }
        }
    }

    /// Skips from Ruby's `=begin` to `=end`.
    fn pod(&mut self) {
        loop {
            self.line();
            if self.at >= self.text.len() {
                return;
            }
            self.newline();
            if self.text[self.at..].starts_with(b"=end") {
                return self.line();
            }
        }
    }

    /// Whether a line begins here, with `sign`.
    fn at_line(&self, sign: &[u8]) -> bool {
        let begins = self.at == 0 || self.text[self.at - 1] == b'\n';
        begins && self.text[self.at..].starts_with(sign)
    }

    fn directive(&mut self) {
        let start = self.at;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1), self.peek(2)) {
                (b'\\', b'\n', _) => self.at += 2,
                (b'\\', b'\r', b'\n') => self.at += 3,
                (b'/', b'*', _) => self.block(),
                (b'/', b'/', _) => {
                    self.push(start, Kind::Directive);
                    return self.line();
                }
                (b'\n', ..) => break,
                _ => self.at += 1,
            }
        }
        // A comment in the directive may span lines; the directive is still the first token of its line.
        self.first = true;
        self.push(start, Kind::Directive);
    }

    fn word(&mut self) {
        let start = self.at;
        self.at += word_length(&self.text[start..]);
        if self.prefixed(start) {
            return;
        }
        if self.language == Ruby && matches!(self.peek(0), b'?' | b'!') {
            let whole = match (self.peek(1), self.peek(2)) {
                (b'=', b'=' | b'~' | b'>') => true,
                (b'=', _) => false,
                // A ternary without blanks, `a?b:c`, is rare.
                _ => true,
            };
            self.at += usize::from(whole);
        }
        self.push(start, Kind::Word);
    }

    fn number(&mut self) {
        let start = self.at;
        loop {
            let byte = self.peek(0);
            let goes_on = byte.is_ascii_alphanumeric()
                || byte == b'_'
                || byte == b'.' && self.peek(1).is_ascii_digit()
                || byte == b'\'' && self.language == Cpp && self.peek(1).is_ascii_alphanumeric();
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        self.push(start, Kind::Value);
    }

    fn mark(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => {
                let around = self.within.last();
                let closes = around.is_some_and(|(quote, _)| quote.resumes_at() == byte);
                if self.depth == 0 && closes {
                    return self.resume();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        let start = self.at;
        self.at += 1;
        self.push(start, Kind::Mark(byte));
    }

    /// Continues with the string around an interpolation.
    fn resume(&mut self) {
        if let Some((quote, depth)) = self.within.pop() {
            self.depth = depth;
            let start = self.at;
            self.at += 1;
            self.string(start, quote);
        }
    }

    /// Reads a string up to its end or to an interpolation.
    pub(super) fn string(&mut self, start: usize, mut quote: Quote) {
        let code = quote.pass(self.text, &mut self.at);
        self.push(start, Kind::Text);
        if code {
            self.within.push((quote, self.depth));
            self.depth = 0;
        }
    }

    /// Whether the last token ends a value, so that an operator follows.
    pub(super) fn behind_value(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return false;
        };
        match last.kind {
            Kind::Word => {
                let word = &self.text[last.start as usize..last.end as usize];
                !self.language.expects_value(word)
            }
            Kind::Text | Kind::Value => true,
            Kind::Mark(b'}') => !self.first,
            Kind::Mark(mark) => matches!(mark, b')' | b']'),
            Kind::Directive => false,
        }
    }

    /// Whether the last token is a word followed by a blank, and no blank follows the current byte: `puts
    /// /x/`.
    pub(super) fn like_argument(&self) -> bool {
        let blank = |byte: u8| matches!(byte, b' ' | b'\t');
        self.tokens.last().is_some_and(|t| t.kind == Kind::Word)
            && self.at > 0
            && blank(self.text[self.at - 1])
            && !blank(self.peek(1))
            && self.peek(1) != b'='
    }

    /// The mark directly before the current byte; 0 if there is none.
    pub(super) fn last_mark(&self) -> u8 {
        match self.tokens.last() {
            Some(Token {
                kind: Kind::Mark(mark),
                end,
                ..
            }) if *end as usize == self.at => *mark,
            _ => 0,
        }
    }

    /// Whether the last token is this word.
    pub(super) fn last_word_is(&self, word: &[u8]) -> bool {
        self.tokens.last().is_some_and(|t| {
            t.kind == Kind::Word && &self.text[t.start as usize..t.end as usize] == word
        })
    }
}

/// How many bytes of a word the text begins with.
fn word_length(text: &[u8]) -> usize {
    let ends = |byte: &u8| !is_letter(*byte) && !byte.is_ascii_digit();
    text.iter().position(ends).unwrap_or(text.len())
}

pub(super) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests;
