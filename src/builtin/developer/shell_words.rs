//! Finds the words of a shell command that may be paths: quoted, in nested commands, with variables and braces. It
//! is not a shell: a name that appears only when the command runs is not found. Pure: no I/O.

use std::collections::HashMap;
use std::mem;
use std::str::Chars;

/// How deep nested commands are scanned.
const MAX_DEPTH: usize = 16;
/// The most words, and the most bytes of text: variables and braces repeat it.
const MAX_WORDS: usize = 10_000;
const MAX_TEXT: usize = 1 << 20;

/// A word without its quotes.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it has unquoted wildcards or braces.
    pub(super) has_wildcards: bool,
    /// Whether it is the directory of a `cd` or `git -C`.
    pub(super) is_directory_change: bool,
}

/// The words of a command, with those of nested commands. `variable` returns the values of environment variables.
/// `None` if there are more than [`MAX_WORDS`], or [`MAX_TEXT`].
pub(super) fn words_of(
    command: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<Word>> {
    let mut scanner = Scanner {
        environment: variable,
        assigned: HashMap::new(),
        words: Vec::new(),
        room: MAX_TEXT,
        depth: 0,
        word: None,
        before: String::new(),
        is_end_marker: false,
        here_documents: Vec::new(),
    };
    scanner.scan(&mut command.chars(), None);
    (scanner.room > 0).then_some(scanner.words)
}

struct Scanner<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    /// The values that the words so far assign to variables.
    assigned: HashMap<String, String>,
    words: Vec<Word>,
    /// How many more bytes of text may be read. At 0, the scan ends.
    room: usize,
    depth: usize,
    /// The word that is being read.
    word: Option<Word>,
    /// The text of the word before it.
    before: String,
    /// Whether the next word is the end marker of a here-document.
    is_end_marker: bool,
    /// The end markers of the here-documents that begin on the next line.
    here_documents: Vec<String>,
}

impl Scanner<'_> {
    /// Reads a command up to an unquoted `close`, or to its end.
    fn scan(&mut self, text: &mut Chars<'_>, close: Option<char>) {
        let mut is_quoted = false;
        while self.room > 0
            && let Some(c) = text.next().filter(|c| is_quoted || Some(*c) != close)
        {
            match c {
                '"' => {
                    is_quoted = !is_quoted;
                    self.word.get_or_insert_default();
                }
                '\\' => match text.next() {
                    Some('\n') | None => {}
                    Some(c) => self.push(c, true),
                },
                '$' => self.dollar(text, is_quoted),
                '`' => self.substitution(text, '`'),
                c if is_quoted => self.push(c, true),
                '\'' => {
                    self.word.get_or_insert_default();
                    let literal = text.by_ref().take_while(|c| *c != '\'');
                    literal.for_each(|c| self.push(c, true));
                }
                '\n' => {
                    self.end_word();
                    self.skip_here_documents(text);
                }
                '#' if self.word.is_none() => {
                    text.find(|c| *c == '\n');
                    self.skip_here_documents(text);
                }
                '<' => {
                    self.end_word();
                    // `<FILE`, `<<END`, `<<-END`, or the text `<<<TEXT`.
                    let rest = text.as_str().trim_start_matches('<');
                    self.is_end_marker = text.as_str().len() == rest.len() + 1;
                    *text = rest.strip_prefix('-').unwrap_or(rest).chars();
                }
                '(' => {
                    self.end_word();
                    self.nested(text, Some(')'));
                }
                ';' | '|' | '&' | '>' | ')' => self.end_word(),
                c => self.push(c, false),
            }
        }
        self.end_word();
    }

    /// Appends a character to the word. Unquoted white space ends it.
    fn push(&mut self, c: char, is_quoted: bool) {
        self.room = self.room.saturating_sub(c.len_utf8());
        if !is_quoted && c.is_whitespace() {
            self.end_word();
        } else if self.room > 0 {
            let word = self.word.get_or_insert_default();
            word.text.push(c);
            word.has_wildcards |= !is_quoted && matches!(c, '*' | '?' | '[' | '{');
        }
    }

    /// Reads `$NAME`, `${NAME}`, `${NAME:-DEFAULT}`, `$(…)`, `$'…'`, or a literal `$`.
    fn dollar(&mut self, text: &mut Chars<'_>, is_quoted: bool) {
        let rest = text.as_str();
        if let Some(rest) = rest.strip_prefix('(') {
            *text = rest.chars();
            self.substitution(text, ')');
        } else if let Some(rest) = rest.strip_prefix('{') {
            let (inner, rest) = rest.split_once('}').unwrap_or((rest, ""));
            let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
            *text = rest.chars();
            self.expand(name, default, is_quoted);
        } else if let Some(rest) = rest.strip_prefix('\'').filter(|_| !is_quoted) {
            *text = rest.chars();
            while let Some(c) = text.next().filter(|c| *c != '\'') {
                let escaped = (c == '\\').then(|| text.next()).flatten();
                self.push(escaped.unwrap_or(c), true);
            }
        } else {
            let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
            *text = rest.chars();
            if name.is_empty() {
                self.push('$', true);
            } else {
                self.expand(name, "", is_quoted);
            }
        }
    }

    /// Appends the value of a variable to the word.
    fn expand(&mut self, name: &str, default: &str, is_quoted: bool) {
        let value = self.assigned.get(name).cloned();
        let value = value.or_else(|| (self.environment)(name));
        let value = value.filter(|value| !value.is_empty());
        let value = value.as_deref().unwrap_or(default);
        value.chars().for_each(|c| self.push(c, is_quoted));
    }

    /// Reads a command substitution. Only of `pwd` the output is known.
    fn substitution(&mut self, text: &mut Chars<'_>, close: char) {
        let rest = text.as_str().strip_prefix("pwd");
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix(close)) {
            *text = rest.chars();
            self.expand("PWD", "", true);
        } else {
            self.nested(text, Some(close));
        }
    }

    /// Scans a command within a word, or before the next one.
    fn nested(&mut self, text: &mut Chars<'_>, close: Option<char>) {
        if self.depth == MAX_DEPTH {
            return;
        }
        let word = self.word.take();
        let here_documents = self.here_documents.len();
        self.depth += 1;
        self.scan(text, close);
        self.depth -= 1;
        self.here_documents.truncate(here_documents);
        self.word = word;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        if mem::take(&mut self.is_end_marker) {
            return self.here_documents.push(word.text);
        }
        if let Some((name, value)) = word.text.split_once('=') {
            self.assigned.insert(name.to_owned(), value.to_owned());
        }
        let before = mem::replace(&mut self.before, word.text.clone());
        let is_directory_change = matches!(&*before, "cd" | "pushd" | "-C");
        self.found(Word {
            is_directory_change,
            ..word
        });
        // Also `-lc`.
        let is_option = before.starts_with('-') && !before.starts_with("--");
        if before == "eval" || (is_option && before.ends_with('c')) {
            let command = mem::take(&mut self.before);
            self.nested(&mut command.chars(), None);
        }
    }

    /// Records a word; `a.{b,c}` counts as `a.b` and `a.c`.
    fn found(&mut self, word: Word) {
        let mut texts = vec![word.text];
        while let Some(text) = texts.pop()
            && self.room > 0
        {
            let Some((open, close)) = braces(&text).filter(|_| word.has_wildcards) else {
                self.words.push(Word { text, ..word });
                if self.words.len() > MAX_WORDS {
                    self.room = 0;
                }
                continue;
            };
            for part in text[open + 1..close].split(',') {
                let text = [&text[..open], part, &text[close + 1..]].concat();
                self.room = self.room.saturating_sub(text.len());
                if self.room == 0 {
                    return;
                }
                texts.push(text);
            }
        }
    }

    fn skip_here_documents(&mut self, text: &mut Chars<'_>) {
        for end in mem::take(&mut self.here_documents) {
            while !text.as_str().is_empty() {
                let rest = text.as_str();
                let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
                *text = rest.chars();
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

/// Where the innermost braces with alternatives begin and end.
fn braces(text: &str) -> Option<(usize, usize)> {
    let close = text.find('}')?;
    let open = text[..close].rfind('{')?;
    text[open..close].contains(',').then_some((open, close))
}

#[cfg(test)]
mod tests;
