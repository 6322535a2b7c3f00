//! Finds the words of a shell command that may be paths. It understands the usual syntax: quotes, variables,
//! redirections, `cd`, command substitutions, here-documents. It is not a shell: paths that a program builds
//! itself are not found. Pure: no I/O.

use super::shell_variables::{self, Variables};
use std::collections::VecDeque;

/// How deep nested commands are scanned.
const MAX_DEPTH: usize = 4;
/// The most words that are found.
const MAX_WORDS: usize = 10_000;
/// The most texts of one word whose variables have several values.
const MAX_TEXTS: usize = 64;
/// The longest text of a word with variables, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// How often the command is scanned: a variable may get its value from one that is assigned after it.
const MAX_PASSES: usize = 4;
/// Programs that execute a here-document.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it has unquoted wildcards or braces.
    pub(super) has_wildcards: bool,
    /// Whether it is the directory of a `cd` or `git -C`.
    pub(super) is_directory_change: bool,
}

/// The words of a command, with those of nested commands. `variable` returns the values of environment variables;
/// in addition, a variable has every value that the command assigns to it, in any order. `None` if the search
/// exceeds its [`WorkBudget`](super::work_budget::WorkBudget).
pub(super) fn words_of(
    command: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<Word>> {
    let variables = Variables::new(variable);
    let mut words: Vec<Word> = Vec::new();
    for _ in 0..MAX_PASSES {
        for word in words.drain(..) {
            variables.budget.release(word.text.len());
        }
        Scanner::new(command, MAX_DEPTH, &variables, &mut words).scan();
        if !variables.take_changed() {
            break;
        }
    }
    variables.budget.is_left().then_some(words)
}

struct Scanner<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    variables: &'a Variables<'a>,
    words: &'a mut Vec<Word>,
    /// The word that is being read.
    word: Option<PartialWord>,
    /// The earlier words of the same command, each with all of its possible texts.
    command: Vec<Vec<String>>,
    /// The here-strings that the command reads (`<<<TEXT`).
    input: Vec<String>,
    /// The role of the next word.
    role: WordRole,
    /// The array that the next words are values of (`NAME=(…)`).
    array: Option<String>,
    /// The here-documents that begin on the next line.
    here_documents: VecDeque<HereDocument>,
}

/// A word that is being read.
struct PartialWord {
    texts: Vec<String>,
    has_wildcards: bool,
    /// Whether a part of it is quoted.
    quoted: bool,
    /// Whether a part of it is the value of a variable, which may be split into several words.
    expanded: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum WordRole {
    Plain,
    /// The end marker of a here-document (`<<END`).
    HereDocumentEnd,
    /// A here-string (`<<<TEXT`).
    HereString,
}

struct HereDocument {
    end: String,
    /// Whether its end marker is quoted, so that nothing in it is expanded.
    literal: bool,
    /// Whether a shell executes it.
    runs: bool,
}

impl<'a> Scanner<'a> {
    fn new(
        command: &str,
        depth: usize,
        variables: &'a Variables<'a>,
        words: &'a mut Vec<Word>,
    ) -> Self {
        variables.budget.take(command.len());
        Scanner {
            chars: command.chars().collect(),
            at: 0,
            depth,
            variables,
            words,
            word: None,
            command: Vec::new(),
            input: Vec::new(),
            role: WordRole::Plain,
            array: None,
            here_documents: VecDeque::new(),
        }
    }

    fn scan(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\n' => {
                    self.end_command();
                    self.read_here_documents();
                }
                c if c.is_whitespace() => self.end_word(),
                '#' if self.word.is_none() => self.skip_line(),
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c) => self.push(c),
                },
                '\'' => self.quoted('\''),
                '"' => self.quoted('"'),
                '`' => self.backquoted(),
                '$' => self.dollar(false),
                '<' if self.peek() == Some('<') => {
                    self.end_word();
                    self.at += 1;
                    self.role = match self.peek() {
                        // A here-string is also a word like any other.
                        Some('<') => WordRole::HereString,
                        _ => WordRole::HereDocumentEnd,
                    };
                    self.at += usize::from(matches!(self.peek(), Some('<' | '-')));
                }
                '<' | '>' => self.end_word(),
                '(' if self.begins_array() => {}
                ')' if self.array.is_some() => {
                    self.end_word();
                    self.array = None;
                }
                ';' | '|' | '&' | '(' | ')' => {
                    if c == '(' && self.peek() == Some(')') {
                        self.define();
                    }
                    self.end_command();
                }
                '*' | '?' | '[' | '{' => {
                    self.push(c);
                    self.current().has_wildcards = true;
                }
                c => self.push(c),
            }
            if self.words.len() >= MAX_WORDS {
                return;
            }
        }
        self.end_command();
    }

    /// The next character; `None` at the end, or if the budget is used up.
    fn next(&mut self) -> Option<char> {
        let c = self.peek().filter(|_| self.variables.budget.take(1))?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn current(&mut self) -> &mut PartialWord {
        self.word.get_or_insert_with(|| PartialWord {
            texts: vec![String::new()],
            has_wildcards: false,
            quoted: false,
            expanded: false,
        })
    }

    fn push(&mut self, c: char) {
        let budget = &self.variables.budget;
        let texts = &mut self.current().texts;
        for text in texts.iter_mut() {
            text.push(c);
        }
        budget.take(texts.len());
        if texts.len() > 1 && texts.iter().any(|text| text.len() > MAX_TEXT) {
            texts.truncate(1);
        }
    }

    /// Begins an array if the word so far is `NAME=`; called for the `(` after it. Returns whether it did.
    fn begins_array(&mut self) -> bool {
        let text = self.word.as_ref().map(|word| &*word.texts[0]);
        let assigned = text.and_then(shell_variables::assignment);
        self.array = assigned.map(|it| it.name.to_owned());
        self.word.take_if(|_| self.array.is_some()).is_some()
    }

    /// Records the word so far as the name of a function.
    fn define(&mut self) {
        let before = self.command.last().map(|word| &word[0]);
        let name = self.word.as_ref().map(|word| &word.texts[0]).or(before);
        if let Some(name) = name {
            self.variables.define(name);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        self.variables
            .learn(&command, &std::mem::take(&mut self.input));
    }

    fn end_word(&mut self) {
        let Some(partial) = self.word.take() else {
            return;
        };
        let role = std::mem::replace(&mut self.role, WordRole::Plain);
        if role == WordRole::HereDocumentEnd {
            let name = shell_variables::program_name(&self.command);
            let program = name.rsplit('/').next().unwrap_or_default();
            return self.here_documents.push_back(HereDocument {
                end: partial.texts[0].clone(),
                literal: partial.quoted,
                runs: SHELLS.contains(&program),
            });
        }
        let before = self.command.last().map_or("", |word| &word[0]);
        let is_directory_change = matches!(before, "cd" | "pushd" | "-C");
        let runs = before == "eval" || is_command_option(before);
        // An option of `cd`.
        let is_passed_over =
            is_directory_change && before != "-C" && partial.texts[0].starts_with('-');
        for text in &partial.texts {
            let word = |text: &str| Word {
                text: text.to_owned(),
                has_wildcards: partial.has_wildcards,
                is_directory_change,
            };
            if !self.variables.budget.keep(text.len()) {
                return;
            }
            self.words.push(word(text));
            if partial.expanded && text.contains(char::is_whitespace) {
                if !self.variables.budget.keep(text.len()) {
                    return;
                }
                let room = MAX_WORDS.saturating_sub(self.words.len());
                self.words
                    .extend(text.split_whitespace().take(room).map(word));
            }
            if let Some(array) = &self.array {
                self.variables.assign(array, text);
            }
            self.variables.learn_word(text);
        }
        if runs {
            for text in &partial.texts {
                self.scan_nested(text);
            }
        }
        match role {
            WordRole::HereString => self.input.extend(partial.texts),
            _ if is_passed_over || self.array.is_some() => {}
            _ => self.command.push(partial.texts),
        }
    }

    /// Scans a nested command.
    fn scan_nested(&mut self, command: &str) {
        if self.depth > 0 && self.words.len() < MAX_WORDS && self.variables.budget.is_left() {
            Scanner::new(command, self.depth - 1, self.variables, self.words).scan();
        }
    }

    /// The possible values of a text within a word, or of a here-document.
    fn expand_text(&mut self, text: &str, has_quotes: bool) -> Vec<String> {
        let depth = self.depth.saturating_sub(1);
        let mut scanner = Scanner::new(text, depth, self.variables, self.words);
        scanner.current();
        while self.depth > 0
            && let Some(c) = scanner.next()
        {
            match c {
                '\\' => drop(scanner.next().map(|c| scanner.push(c))),
                '\'' | '"' if has_quotes => scanner.quoted(c),
                '`' => scanner.backquoted(),
                '$' => scanner.dollar(!has_quotes),
                c => scanner.push(c),
            }
        }
        std::mem::take(&mut scanner.current().texts)
    }

    fn quoted(&mut self, quote: char) {
        self.current().quoted = true;
        while let Some(c) = self.next() {
            match c {
                c if c == quote => return,
                '\\' if quote == '"' => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some('\n') | None => {}
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '`' if quote == '"' => self.backquoted(),
                '$' if quote == '"' => self.dollar(true),
                c => self.push(c),
            }
        }
    }

    fn backquoted(&mut self) {
        let begin = self.at;
        while self.next().is_some_and(|c| c != '`') {}
        let end = self.at.saturating_sub(1).max(begin);
        let inner: String = self.chars[begin..end].iter().collect();
        self.substituted(&inner);
    }

    /// Scans a command substitution. The outputs of `pwd` and `echo` become a part of the word.
    fn substituted(&mut self, command: &str) {
        self.scan_nested(command);
        let output = match command.trim() {
            "pwd" => self.variables.values("PWD"),
            command => match command.strip_prefix("echo ") {
                Some(text) => self.expand_text(text.trim_start(), true),
                None => return,
            },
        };
        self.append_values(output);
    }

    /// The text up to the matching `close`; the opening character has been read. Quoted characters do not
    /// match, unless nothing matches otherwise.
    fn until_closing(&mut self, open: char, close: char) -> String {
        let begin = self.at;
        let find = |has_quotes| {
            let end = closing(&self.chars[begin..], open, close, has_quotes);
            let end = end.map(|length| begin + length);
            let length = end.unwrap_or(self.chars.len()) - begin;
            self.variables.budget.take(length);
            end
        };
        let end = find(true).or_else(|| find(false));
        self.at = end.map_or(self.chars.len(), |end| end + 1);
        self.chars[begin..end.unwrap_or(self.chars.len())]
            .iter()
            .collect()
    }

    /// Reads `$'…'`, where a backslash begins a character code.
    fn ansi_c_quoted(&mut self) {
        self.current().quoted = true;
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => match self.next() {
                    Some('x') => self.push_code(16, 2),
                    Some('u') => self.push_code(16, 4),
                    Some('0'..='7') => {
                        self.at -= 1;
                        self.push_code(8, 3);
                    }
                    Some('n') => self.push('\n'),
                    Some('t') => self.push('\t'),
                    Some(c) => self.push(c),
                    None => {}
                },
                c => self.push(c),
            }
        }
    }

    /// Reads a character code of at most `most` digits.
    fn push_code(&mut self, radix: u32, most: usize) {
        let digits = self.chars[self.at..].iter().take(most);
        let digits: String = digits.take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        let code = u32::from_str_radix(&digits, radix).ok();
        if let Some(c) = code.and_then(char::from_u32) {
            self.push(c);
        }
    }

    /// Reads `$(…)`, `$NAME`, `${NAME}`, `$'…'`, or a literal `$`.
    fn dollar(&mut self, is_quoted: bool) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.until_closing('(', ')');
                self.current();
                self.substituted(&inner);
            }
            // Within double quotes it is literal.
            Some('\'') if !is_quoted => {
                self.at += 1;
                self.ansi_c_quoted();
            }
            // `$"…"`, a translated string.
            Some('"') if !is_quoted => {}
            Some('{') => {
                self.at += 1;
                let inner = self.until_closing('{', '}');
                self.parameter(&inner);
            }
            _ => {
                let rest = &self.chars[self.at..];
                let length = shell_variables::name_length(rest.iter().copied());
                let name: String = rest[..length].iter().collect();
                self.at += length;
                if name.is_empty() {
                    self.push('$');
                } else {
                    self.append_values(self.variables.values(&name));
                }
            }
        }
    }

    /// Reads the inside of `${…}`: a name, and often an operator with a default value.
    fn parameter(&mut self, inner: &str) {
        let without_mark = inner.strip_prefix('!');
        let is_indirect = without_mark.is_some();
        let inner = without_mark.unwrap_or(inner);
        let (name, rest) = inner.split_at(shell_variables::name_length(inner.chars()));
        let mut values = self.variables.values(name);
        if is_indirect {
            for name in std::mem::take(&mut values) {
                if values.len() < MAX_TEXTS {
                    values.extend(self.variables.values(&name));
                }
            }
        }
        let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, rest)) => rest,
            None => rest,
        };
        let operator = rest.strip_prefix(':').unwrap_or(rest);
        if let Some(other) = operator.strip_prefix(['-', '=', '+']) {
            let other = self.expand_text(other, true);
            if operator.starts_with('=') {
                other
                    .iter()
                    .for_each(|other| self.variables.assign(name, other));
            }
            values.extend(other);
        }
        self.append_values(values);
    }

    fn append_values(&mut self, values: Vec<String>) {
        let budget = &self.variables.budget;
        let word = self.current();
        word.expanded = true;
        word.has_wildcards |= values.iter().any(|value| value.contains(['*', '?', '[']));
        let mut texts: Vec<String> = Vec::new();
        let pairs = word
            .texts
            .iter()
            .flat_map(|text| values.iter().map(move |value| (text, value)));
        for (text, value) in pairs {
            let length = text.len() + value.len();
            if texts.len() >= MAX_TEXTS || !budget.take(1) {
                break;
            }
            // Most of the compared texts differ within their first bytes.
            if length > MAX_TEXT || !budget.copy(length * (1 + texts.len() / 16)) {
                continue;
            }
            let text = format!("{text}{value}");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if !texts.is_empty() {
            word.texts = texts;
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn read_here_documents(&mut self) {
        while let Some(here_document) = self.here_documents.pop_front() {
            let begin = self.at;
            let mut end = self.at;
            loop {
                let line_begin = self.at;
                self.skip_line();
                let line: String = self.chars[line_begin..self.at].iter().collect();
                let more = self.next().is_some();
                if line.trim_start_matches('\t') == here_document.end {
                    break;
                }
                end = self.at;
                if !more {
                    break;
                }
            }
            let text: String = self.chars[begin..end].iter().collect();
            if here_document.runs {
                self.scan_nested(&text);
            } else if !here_document.literal {
                self.expand_text(&text, false);
            }
        }
    }
}

/// The index of the matching closing character, counted from after the opening one.
fn closing(text: &[char], open: char, close: char, has_quotes: bool) -> Option<usize> {
    let mut depth = 1;
    let mut quote = None;
    let mut chars = text.iter().copied().enumerate();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote != Some('\'') => drop(chars.next()),
            '\'' | '"' if has_quotes => match quote {
                None => quote = Some(c),
                Some(of) if of == c => quote = None,
                Some(_) => {}
            },
            _ if quote.is_some() => {}
            c if c == open => depth += 1,
            c if c == close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether the next word is a command, as after `-c` and `-lc`.
fn is_command_option(word: &str) -> bool {
    let letters = word
        .strip_prefix('-')
        .and_then(|word| word.strip_suffix('c'));
    letters.is_some_and(|letters| {
        letters.len() < 5 && letters.chars().all(|letter| letter.is_ascii_alphabetic())
    })
}

#[cfg(test)]
#[path = "shell_words_tests.rs"]
mod tests;
