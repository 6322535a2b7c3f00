//! Which words of a shell command may be paths. It understands what people and models write: quotes,
//! variables, redirections with and without blanks, `cd`, substitutions, documents in place. It is not a
//! shell: what a program makes up by itself, only that program knows. Pure: text in, words out.

use super::variables::{self, Variables};
use std::collections::VecDeque;

/// How deep commands within commands are looked at.
const DEPTH: usize = 4;
/// How many words are looked at.
const MOST: usize = 10_000;
/// How many texts one word may stand for, where its variables have several values.
const MAX_TEXTS: usize = 64;
/// How long such a text may be, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// How often the command is looked at, since a variable may get its value from one that is set behind it.
const PASSES: usize = 4;
/// Programs that take a document in place for a command.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// One word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// It holds characters that the shell takes for wildcards.
    pub(super) wild: bool,
    /// It is where a `cd` or `git -C` goes.
    pub(super) entered: bool,
}

/// The words of a command, those of commands within it included. `variable` gives the values of
/// variables that the command finds; to these come all the values that it gives them itself, whatever
/// the order. None if it takes too many [`Steps`](super::steps::Steps) to find them.
pub(super) fn of(command: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Word>> {
    let variables = Variables::new(variable);
    let mut words: Vec<Word> = Vec::new();
    for _ in 0..PASSES {
        for word in words.drain(..) {
            variables.steps.release(word.text.len());
        }
        Scanner::new(command, DEPTH, &variables, &mut words).scan();
        if !variables.take_changed() {
            break;
        }
    }
    variables.steps.are_left().then_some(words)
}

struct Scanner<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    variables: &'a Variables<'a>,
    words: &'a mut Vec<Word>,
    /// The word that is being read.
    word: Option<Draft>,
    /// The words before it in the same command, each in all the texts that it may stand for.
    command: Vec<Vec<String>>,
    /// What the command reads (`<<<TEXT`).
    input: Vec<String>,
    /// What the next word is besides.
    role: Role,
    /// The array that gets the next words (`NAME=(…)`).
    array: Option<String>,
    /// The documents that begin with the next line.
    documents: VecDeque<Document>,
}

/// A word that is being read.
struct Draft {
    texts: Vec<String>,
    wild: bool,
    /// Some of it is quoted.
    quoted: bool,
    /// Some of it is the value of a variable, which may be several words.
    expanded: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Plain,
    /// It names the end of a document (`<<END`).
    Document,
    /// It is what the command reads.
    Input,
}

struct Document {
    end: String,
    /// Nothing in it is expanded.
    literal: bool,
    /// A shell runs it.
    runs: bool,
}

impl<'a> Scanner<'a> {
    fn new(
        command: &str,
        depth: usize,
        variables: &'a Variables<'a>,
        words: &'a mut Vec<Word>,
    ) -> Self {
        variables.steps.take(command.len());
        Scanner {
            chars: command.chars().collect(),
            at: 0,
            depth,
            variables,
            words,
            word: None,
            command: Vec::new(),
            input: Vec::new(),
            role: Role::Plain,
            array: None,
            documents: VecDeque::new(),
        }
    }

    fn scan(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\n' => {
                    self.end_command();
                    self.read_documents();
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
                        // A text in place is a word like any other.
                        Some('<') => Role::Input,
                        _ => Role::Document,
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
                    self.current().wild = true;
                }
                c => self.push(c),
            }
            if self.words.len() >= MOST {
                return;
            }
        }
        self.end_command();
    }

    /// The next character, as long as there are steps left.
    fn next(&mut self) -> Option<char> {
        let c = self.peek().filter(|_| self.variables.steps.take(1))?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn current(&mut self) -> &mut Draft {
        self.word.get_or_insert_with(|| Draft {
            texts: vec![String::new()],
            wild: false,
            quoted: false,
            expanded: false,
        })
    }

    fn push(&mut self, c: char) {
        let steps = &self.variables.steps;
        let texts = &mut self.current().texts;
        for text in texts.iter_mut() {
            text.push(c);
        }
        steps.take(texts.len());
        if texts.len() > 1 && texts.iter().any(|text| text.len() > MAX_TEXT) {
            texts.truncate(1);
        }
    }

    /// Whether the word so far is `NAME=`, and the `(` behind it begins an array.
    fn begins_array(&mut self) -> bool {
        let text = self.word.as_ref().map(|word| &*word.texts[0]);
        let assigned = text.and_then(variables::assignment);
        self.array = assigned.map(|it| it.name.to_owned());
        self.word.take_if(|_| self.array.is_some()).is_some()
    }

    /// The word so far names a function.
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
        let Some(draft) = self.word.take() else {
            return;
        };
        let role = std::mem::replace(&mut self.role, Role::Plain);
        if role == Role::Document {
            let name = variables::name_of(&self.command);
            let program = name.rsplit('/').next().unwrap_or_default();
            return self.documents.push_back(Document {
                end: draft.texts[0].clone(),
                literal: draft.quoted,
                runs: SHELLS.contains(&program),
            });
        }
        let before = self.command.last().map_or("", |word| &word[0]);
        let entered = matches!(before, "cd" | "pushd" | "-C");
        let runs = before == "eval" || is_command_option(before);
        // An option of `cd`.
        let is_passed_over = entered && before != "-C" && draft.texts[0].starts_with('-');
        for text in &draft.texts {
            let word = |text: &str| Word {
                text: text.to_owned(),
                wild: draft.wild,
                entered,
            };
            if !self.variables.steps.keep(text.len()) {
                return;
            }
            self.words.push(word(text));
            if draft.expanded && text.contains(char::is_whitespace) {
                if !self.variables.steps.keep(text.len()) {
                    return;
                }
                let room = MOST.saturating_sub(self.words.len());
                self.words
                    .extend(text.split_whitespace().take(room).map(word));
            }
            if let Some(array) = &self.array {
                self.variables.assign(array, text);
            }
            self.variables.learn_word(text);
        }
        if runs {
            for text in &draft.texts {
                self.within(text);
            }
        }
        match role {
            Role::Input => self.input.extend(draft.texts),
            _ if is_passed_over || self.array.is_some() => {}
            _ => self.command.push(draft.texts),
        }
    }

    /// A command within this one.
    fn within(&mut self, command: &str) {
        if self.depth > 0 && self.words.len() < MOST && self.variables.steps.are_left() {
            Scanner::new(command, self.depth - 1, self.variables, self.words).scan();
        }
    }

    /// What a text may stand for that is a part of a word, or a document.
    fn inline(&mut self, text: &str, has_quotes: bool) -> Vec<String> {
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

    /// A command whose output is a part of the word. What `pwd` and `echo` print is known without them.
    fn substituted(&mut self, command: &str) {
        self.within(command);
        let output = match command.trim() {
            "pwd" => self.variables.values("PWD"),
            command => match command.strip_prefix("echo ") {
                Some(text) => self.inline(text.trim_start(), true),
                None => return,
            },
        };
        self.value(output);
    }

    /// The text up to the closing `close`, where the opening one was read. Quotes hide it, unless they would
    /// hide all that follows.
    fn up_to(&mut self, open: char, close: char) -> String {
        let begin = self.at;
        let find = |has_quotes| {
            let end = closing(&self.chars[begin..], open, close, has_quotes);
            let end = end.map(|length| begin + length);
            let length = end.unwrap_or(self.chars.len()) - begin;
            self.variables.steps.take(length);
            end
        };
        let end = find(true).or_else(|| find(false));
        self.at = end.map_or(self.chars.len(), |end| end + 1);
        self.chars[begin..end.unwrap_or(self.chars.len())]
            .iter()
            .collect()
    }

    /// `$'…'`, where a backslash begins the code of a character.
    fn coded(&mut self) {
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

    /// The character whose code comes next, in at most `most` digits.
    fn push_code(&mut self, radix: u32, most: usize) {
        let digits = self.chars[self.at..].iter().take(most);
        let digits: String = digits.take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        let code = u32::from_str_radix(&digits, radix).ok();
        if let Some(c) = code.and_then(char::from_u32) {
            self.push(c);
        }
    }

    /// `$(…)`, `$NAME`, `${NAME}`, `$'…'`, or just the character.
    fn dollar(&mut self, is_quoted: bool) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.up_to('(', ')');
                self.current();
                self.substituted(&inner);
            }
            // Within other quotes it is a character like any other.
            Some('\'') if !is_quoted => {
                self.at += 1;
                self.coded();
            }
            // A text that is translated.
            Some('"') if !is_quoted => {}
            Some('{') => {
                self.at += 1;
                let inner = self.up_to('{', '}');
                self.parameter(&inner);
            }
            _ => {
                let rest = &self.chars[self.at..];
                let length = variables::length_of_name(rest.iter().copied());
                let name: String = rest[..length].iter().collect();
                self.at += length;
                if name.is_empty() {
                    self.push('$');
                } else {
                    self.value(self.variables.values(&name));
                }
            }
        }
    }

    /// What is between the braces of `${…}`: a name, and often what to take where it has no value.
    fn parameter(&mut self, inner: &str) {
        let without_mark = inner.strip_prefix('!');
        let is_indirect = without_mark.is_some();
        let inner = without_mark.unwrap_or(inner);
        let (name, rest) = inner.split_at(variables::length_of_name(inner.chars()));
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
            let other = self.inline(other, true);
            if operator.starts_with('=') {
                other
                    .iter()
                    .for_each(|other| self.variables.assign(name, other));
            }
            values.extend(other);
        }
        self.value(values);
    }

    fn value(&mut self, values: Vec<String>) {
        let steps = &self.variables.steps;
        let word = self.current();
        word.expanded = true;
        word.wild |= values.iter().any(|value| value.contains(['*', '?', '[']));
        let mut texts: Vec<String> = Vec::new();
        let pairs = word
            .texts
            .iter()
            .flat_map(|text| values.iter().map(move |value| (text, value)));
        for (text, value) in pairs {
            let length = text.len() + value.len();
            if texts.len() >= MAX_TEXTS || !steps.take(1) {
                break;
            }
            // Most texts differ early from the ones that they are compared with.
            if length > MAX_TEXT || !steps.copy(length * (1 + texts.len() / 16)) {
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

    fn read_documents(&mut self) {
        while let Some(document) = self.documents.pop_front() {
            let (begin, mut end) = (self.at, self.at);
            loop {
                let line_begin = self.at;
                self.skip_line();
                let line: String = self.chars[line_begin..self.at].iter().collect();
                let more = self.next().is_some();
                if line.trim_start_matches('\t') == document.end {
                    break;
                }
                end = self.at;
                if !more {
                    break;
                }
            }
            let text: String = self.chars[begin..end].iter().collect();
            if document.runs {
                self.within(&text);
            } else if !document.literal {
                self.inline(&text, false);
            }
        }
    }
}

/// Where the closing character is, counted from behind the opening one.
fn closing(text: &[char], open: char, close: char, has_quotes: bool) -> Option<usize> {
    let (mut depth, mut quote) = (1, None);
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

/// Whether a command follows this option, as `-c` and `-lc`.
fn is_command_option(word: &str) -> bool {
    let letters = word
        .strip_prefix('-')
        .and_then(|word| word.strip_suffix('c'));
    letters.is_some_and(|letters| {
        letters.len() < 5 && letters.chars().all(|letter| letter.is_ascii_alphabetic())
    })
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
