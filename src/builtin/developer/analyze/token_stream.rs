//! The tokens of a text, with the queries of the recognizers: words, brackets, lines.

use super::language::Language;
use super::lexer::{self, Kind, Token};

/// How far ahead the parts of a definition are searched for, in tokens; a bracketed group counts as one.
pub(super) const MAX_LOOKAHEAD: usize = 300;

/// A text as tokens.
pub(super) struct TokenStream<'a> {
    pub(super) text: &'a [u8],
    pub(super) tokens: Vec<Token>,
    pub(super) language: Language,
    /// The closing bracket of each opening one.
    pairs: Vec<u32>,
    /// The offsets of line beginnings.
    lines: Vec<u32>,
}

impl<'a> TokenStream<'a> {
    pub(super) fn new(text: &'a [u8], language: Language) -> Self {
        let mut tokens = lexer::tokenize(text, language);
        if language.has_preprocessor() {
            tokens = without_extra_branches(text, tokens);
        }
        let pairs = pairs(&tokens);
        let ends = text.iter().enumerate().filter(|(_, b)| **b == b'\n');
        let lines = std::iter::once(0)
            .chain(ends.map(|(at, _)| at as u32 + 1))
            .collect();
        TokenStream {
            text,
            tokens,
            language,
            pairs,
            lines,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The bytes of a token; empty after the last one.
    pub(super) fn bytes(&self, at: usize) -> &'a [u8] {
        let token = self.tokens.get(at);
        token.map_or(b"", |t| &self.text[t.start as usize..t.end as usize])
    }

    /// The word at `at`; empty if the token is not a word.
    pub(super) fn word(&self, at: usize) -> &'a [u8] {
        match self.kind(at) {
            Some(Kind::Word) => self.bytes(at),
            _ => b"",
        }
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|t| t.kind)
    }

    pub(super) fn is_word(&self, at: usize) -> bool {
        self.kind(at) == Some(Kind::Word)
    }

    /// The punctuation mark at `at`; 0 if the token is not a mark.
    pub(super) fn mark(&self, at: usize) -> u8 {
        match self.kind(at) {
            Some(Kind::Mark(mark)) => mark,
            _ => 0,
        }
    }

    /// Whether these marks stand at `at` without anything between them.
    pub(super) fn marks(&self, at: usize, marks: &[u8]) -> bool {
        marks.iter().enumerate().all(|(n, mark)| {
            self.mark(at + n) == *mark
                && (n == 0 || self.tokens[at + n].start == self.tokens[at + n - 1].end)
        })
    }

    pub(super) fn starts_line(&self, at: usize) -> bool {
        self.tokens.get(at).is_none_or(|t| t.first)
    }

    /// The matching closing bracket; the last token if there is none.
    pub(super) fn close(&self, at: usize) -> usize {
        self.pairs.get(at).map_or(at, |pair| *pair as usize)
    }

    /// The next token, or the one after the bracketed group that begins here.
    pub(super) fn skip(&self, at: usize) -> usize {
        match self.mark(at) {
            b'(' | b'[' | b'{' => self.close(at).max(at) + 1,
            _ => at + 1,
        }
    }

    /// The token after `<…>`, if one that looks like type arguments begins at `at`; otherwise `at`.
    pub(super) fn skip_angles(&self, at: usize) -> usize {
        if self.mark(at) != b'<' {
            return at;
        }
        let mut depth = 0_usize;
        let mut next = at;
        for _ in 0..MAX_LOOKAHEAD {
            match self.mark(next) {
                b'<' => depth += 1,
                b'>' if next > 0 && matches!(self.mark(next - 1), b'-' | b'=') => {}
                b'>' => {
                    depth -= 1;
                    if depth == 0 {
                        return next + 1;
                    }
                }
                b';' | b')' | b']' | b'}' => return at,
                _ if next >= self.len() => return at,
                _ => {}
            }
            next = self.skip(next);
        }
        at
    }

    /// The line on which a token begins, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        let token = self.tokens.get(at).or(self.tokens.last());
        self.line_of(token.map_or(0, |t| t.start))
    }

    /// The line on which a token ends.
    pub(super) fn end_line(&self, at: usize) -> u32 {
        let token = self.tokens.get(at).or(self.tokens.last());
        self.line_of(token.map_or(0, |t| t.end.saturating_sub(1).max(t.start)))
    }

    fn line_of(&self, offset: u32) -> u32 {
        self.lines.partition_point(|line| *line <= offset) as u32
    }

    /// The indentation of a token, with tab stops of eight.
    pub(super) fn indent(&self, at: usize) -> usize {
        let start = self.tokens[at].start as usize;
        let line = self.lines[self.line(at) as usize - 1] as usize;
        let blanks = self.text[line..start]
            .iter()
            .take_while(|b| b.is_ascii_whitespace());
        blanks.fold(0, |column, b| match b {
            b'\t' => column / 8 * 8 + 8,
            _ => column + 1,
        })
    }

    /// The number of lines.
    pub(super) fn line_count(&self) -> usize {
        let unfinished = self.text.last().is_some_and(|b| *b != b'\n');
        self.lines.len() - 1 + usize::from(unfinished)
    }

    /// The text from one token to another, on one line and shortened.
    pub(super) fn phrase(&self, from: usize, to: usize) -> String {
        const LONG: usize = 160;
        let start = self.tokens[from].start as usize;
        let end = self.tokens[to.min(self.len() - 1)].end as usize;
        let text = &self.text[start..end.min(start + 2 * LONG).max(start)];
        let text = String::from_utf8_lossy(text);
        let mut phrase = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = phrase.char_indices().nth(LONG) {
            phrase.truncate(cut);
            phrase.push('…');
        }
        phrase
    }

    /// The last token of the expression at `at`. It ends before `;`, `,`, a closing bracket, or a line that
    /// does not continue with an operator.
    pub(super) fn expression(&self, at: usize) -> usize {
        let mut next = at;
        for _ in 0..MAX_LOOKAHEAD {
            let after = self.skip(next);
            let ends = match self.mark(after) {
                b';' | b',' | b')' | b']' | b'}' => true,
                mark if self.starts_line(after) => {
                    let before = self.mark(after - 1);
                    let goes_on = b".?:&|+-*/=<>".contains(&mark) && mark != 0
                        || b".?:&|+-*/=<".contains(&before) && before != 0;
                    !goes_on
                }
                _ => false,
            };
            if ends || after >= self.len() {
                return (after - 1).min(self.len().saturating_sub(1));
            }
            next = after;
        }
        next
    }
}

/// The closing bracket of each opening one. Braces take precedence: a closing brace ends the unclosed brackets
/// inside, and an unmatched `)` closes nothing.
fn pairs(tokens: &[Token]) -> Vec<u32> {
    let last = tokens.len().saturating_sub(1) as u32;
    let mut pairs = vec![0; tokens.len()];
    let (mut open, mut braces): (Vec<(u32, u8)>, usize) = (Vec::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let Kind::Mark(mark) = token.kind else {
            continue;
        };
        let opener = match mark {
            b'(' | b'[' | b'{' => {
                braces += usize::from(mark == b'{');
                open.push((at as u32, mark));
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' if braces > 0 => b'{',
            _ => continue,
        };
        while let Some(&(start, found)) = open.last() {
            if found == b'{' && opener != b'{' {
                break;
            }
            open.pop();
            pairs[start as usize] = at as u32;
            if found == opener {
                braces -= usize::from(found == b'{');
                break;
            }
        }
    }
    for (start, _) in open {
        pairs[start as usize] = last;
    }
    pairs
}

/// Removes the branches of `#if` that would count braces twice: those after an unbalanced branch, and those under
/// `#if 0`.
fn without_extra_branches(text: &[u8], tokens: Vec<Token>) -> Vec<Token> {
    struct Branch {
        /// How many more braces are opened than closed in the current branch.
        balance: i64,
        /// Whether an earlier branch was unbalanced, so that the others are left out.
        decided: bool,
        /// Whether the current branch is left out.
        out: bool,
    }
    let mut open: Vec<Branch> = Vec::new();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut left_out = 0_usize;
    for token in tokens {
        if token.kind == Kind::Directive {
            let line = &text[token.start as usize + 1..token.end as usize];
            let line = line.trim_ascii_start();
            let name = line.iter().take_while(|b| b.is_ascii_alphabetic()).count();
            let (name, rest) = line.split_at(name);
            match name {
                b"if" | b"ifdef" | b"ifndef" => {
                    let out = name == b"if" && rest.trim_ascii() == b"0";
                    left_out += usize::from(out);
                    open.push(Branch {
                        balance: 0,
                        decided: false,
                        out,
                    });
                }
                b"else" | b"elif" => {
                    if let Some(branch) = open.last_mut() {
                        left_out -= usize::from(branch.out);
                        branch.decided |= branch.balance != 0;
                        branch.out = branch.decided;
                        left_out += usize::from(branch.out);
                        branch.balance = 0;
                    }
                }
                b"endif" => {
                    if let Some(branch) = open.pop() {
                        left_out -= usize::from(branch.out);
                    }
                }
                _ => {}
            }
        }
        if left_out > 0 {
            continue;
        }
        if let (Kind::Mark(mark @ (b'{' | b'}')), Some(branch)) = (token.kind, open.last_mut()) {
            branch.balance += if mark == b'{' { 1 } else { -1 };
        }
        kept.push(token);
    }
    kept
}
