//! Which words of a shell command may be paths. It understands what people and models write: quotes,
//! variables, redirections with and without blanks, `cd`, substitutions, documents in place. It is no
//! shell: what a program makes up by itself, only that program knows. Pure: text in, words out.

use std::collections::VecDeque;

/// How deep commands within commands are looked at.
const DEPTH: usize = 4;
/// How many words are looked at.
const MOST: usize = 10_000;

/// One word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// It holds characters that the shell takes for wildcards.
    pub(super) wild: bool,
    /// It is where a `cd` goes.
    pub(super) entered: bool,
}

/// The words of a command, those of commands within it included. `variable` gives the values of
/// variables.
pub(super) fn of(command: &str, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Word> {
    let mut words = Vec::new();
    collect(command, DEPTH, variable, &mut words);
    words
}

fn collect(
    command: &str,
    depth: usize,
    variable: &dyn Fn(&str) -> Option<String>,
    words: &mut Vec<Word>,
) {
    let mut scanner = Scanner {
        chars: command.chars().collect(),
        at: 0,
        depth,
        variable,
        words,
        word: None,
        before: String::new(),
        document: false,
        documents: VecDeque::new(),
    };
    scanner.scan();
}

struct Scanner<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    variable: &'a dyn Fn(&str) -> Option<String>,
    words: &'a mut Vec<Word>,
    /// The word that is being read.
    word: Option<Word>,
    /// The word before it in the same command.
    before: String,
    /// It names the end of a document (`<<END`).
    document: bool,
    /// The ends of the documents that begin with the next line.
    documents: VecDeque<String>,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\n' => {
                    self.end_command();
                    self.skip_documents();
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
                '$' => self.dollar(),
                '<' if self.peek() == Some('<') => {
                    self.end_word();
                    self.at += 1;
                    match self.peek() {
                        // A text in place is a word like any other.
                        Some('<') => self.at += 1,
                        Some('-') => (self.at, self.document) = (self.at + 1, true),
                        _ => self.document = true,
                    }
                }
                '<' | '>' => self.end_word(),
                ';' | '|' | '&' | '(' | ')' => self.end_command(),
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
        self.end_word();
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn current(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.current().text.push(c);
    }

    fn end_command(&mut self) {
        self.end_word();
        self.before.clear();
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else {
            return;
        };
        if std::mem::take(&mut self.document) {
            return self.documents.push_back(word.text);
        }
        word.entered = matches!(self.before.as_str(), "cd" | "pushd");
        let runs = matches!(self.before.as_str(), "-c" | "-lc" | "-ic" | "-lic" | "eval");
        let text = word.text.clone();
        self.words.push(word);
        if runs {
            self.within(&text);
        }
        self.before = text;
    }

    /// A command within this one.
    fn within(&mut self, command: &str) {
        if self.depth > 0 && self.words.len() < MOST {
            collect(command, self.depth - 1, self.variable, self.words);
        }
    }

    fn quoted(&mut self, quote: char) {
        self.current();
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
                '$' if quote == '"' => self.dollar(),
                c => self.push(c),
            }
        }
    }

    fn backquoted(&mut self) {
        let begin = self.at;
        while self.next().is_some_and(|c| c != '`') {}
        let end = self.at.saturating_sub(1).max(begin);
        let inner: String = self.chars[begin..end].iter().collect();
        self.within(&inner);
    }

    /// `$(…)`, `$NAME`, `${NAME}`, `$'…'`, or just the character.
    fn dollar(&mut self) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let (begin, mut open) = (self.at, 1);
                while open > 0 {
                    match self.next() {
                        Some('(') => open += 1,
                        Some(')') => open -= 1,
                        Some(_) => {}
                        None => break,
                    }
                }
                let end = self.at - usize::from(open == 0);
                let inner: String = self.chars[begin..end].iter().collect();
                self.current();
                self.within(&inner);
            }
            Some('\'') => {}
            Some('{') => {
                let rest = &self.chars[self.at + 1..];
                let Some(length) = rest.iter().position(|c| *c == '}') else {
                    return self.push('$');
                };
                let name: String = rest[..length].iter().collect();
                self.at += length + 2;
                self.value(&name);
            }
            _ => {
                let rest = &self.chars[self.at..];
                let is_name = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
                let name: String = rest.iter().take_while(is_name).collect();
                self.at += name.len();
                match name.is_empty() {
                    true => self.push('$'),
                    false => self.value(&name),
                }
            }
        }
    }

    fn value(&mut self, name: &str) {
        let value = (self.variable)(name).unwrap_or_default();
        self.current().text.push_str(&value);
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn skip_documents(&mut self) {
        while let Some(end) = self.documents.pop_front() {
            loop {
                let begin = self.at;
                self.skip_line();
                let line: String = self.chars[begin..self.at].iter().collect();
                let more = self.next().is_some();
                if line.trim_start_matches('\t') == end || !more {
                    break;
                }
            }
        }
    }
}

/// The names that braces make of one word: `a.{b,c}` is `a.b` and `a.c`. At most 100.
pub(super) fn braces(word: &str) -> Vec<String> {
    let (mut done, mut left) = (Vec::new(), vec![word.to_owned()]);
    while let Some(word) = left.pop() {
        let parts = word.find('{').and_then(|open| {
            let close = open + word[open..].find('}')?;
            let inner = &word[open + 1..close];
            inner.contains(',').then(|| (open, close, inner.to_owned()))
        });
        match parts {
            Some((open, close, inner)) if left.len() + done.len() < 100 => {
                for part in inner.split(',') {
                    left.push(format!("{}{part}{}", &word[..open], &word[close + 1..]));
                }
            }
            _ => done.push(word),
        }
    }
    done
}

/// Whether a file name fits a pattern with `*`, `?` and `[…]`. A name that begins with a dot is only meant by a
/// pattern that does so too.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last `*` if what follows it does not fit.
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, n));
                p += 1;
                continue;
            }
            None if n == name.len() => return true,
            Some('?') if n < name.len() => Some(1),
            Some('[') if n < name.len() => class(&pattern[p..], name[n]),
            Some(c) if name.get(n) == Some(c) => Some(1),
            _ => None,
        };
        match (step, back) {
            (Some(length), _) => (p, n) = (p + length, n + 1),
            (None, Some((after, from))) if from < name.len() => {
                back = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            (None, _) => return false,
        }
    }
}

/// The length of the class at the beginning of `pattern`, if `c` is in it.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let close = pattern
        .iter()
        .skip(2)
        .position(|c| *c == ']')
        .map(|at| at + 2)?;
    let (inner, not) = match pattern[1] {
        '!' | '^' => (&pattern[2..close], true),
        _ => (&pattern[1..close], false),
    };
    let mut within = inner.contains(&c);
    for range in inner.windows(3).filter(|range| range[1] == '-') {
        within |= (range[0]..=range[2]).contains(&c);
    }
    (within != not).then_some(close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(command: &str) -> Vec<String> {
        let variable = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        of(command, &variable)
            .into_iter()
            .map(|word| word.text)
            .collect()
    }

    #[test]
    fn words_are_found_however_they_are_written() {
        for (command, expected) in [
            ("cat .env", &["cat", ".env"][..]),
            ("cat<.env>out", &["cat", ".env", "out"]),
            (
                "cat '.env' \".e\"nv .\\env",
                &["cat", ".env", ".env", ".env"],
            ),
            ("a;b|c&&d", &["a", "b", "c", "d"]),
            (
                "cat $HOME/.env ${HOME}x $NONE/y",
                &["cat", "/home/me/.env", "/home/mex", "/y"],
            ),
            ("echo \"$(cat .env)\"", &["echo", "cat", ".env", ""]),
            ("echo `cat .env` x", &["echo", "cat", ".env", "x"]),
            (
                "bash -c 'cat .env'",
                &["bash", "-c", "cat .env", "cat", ".env"],
            ),
            ("eval \"cat .env\"", &["eval", "cat .env", "cat", ".env"]),
            ("ls # .env\npwd", &["ls", "pwd"]),
            ("echo a#b", &["echo", "a#b"]),
            ("cat > f <<END\n.env\nEND\ncat g", &["cat", "f", "cat", "g"]),
            ("cat <<-'E' x\n\tone\n\tE\nls", &["cat", "x", "ls"]),
            ("cat <<<.env", &["cat", ".env"]),
            ("cat .en\\\nv", &["cat", ".env"]),
            ("echo $", &["echo", "$"]),
            ("cat 'open", &["cat", "open"]),
            ("echo $(echo (x", &["echo", "echo", "x", ""]),
        ] {
            assert_eq!(texts(command), expected, "{command}");
        }
        let words = of("cd sub && cat *.x; cat '*.y'", &|_| None);
        let marked = |mark: fn(&Word) -> bool| {
            let marked = words.iter().filter(|word| mark(word));
            marked.map(|word| word.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(marked(|word| word.entered), ["sub"]);
        assert_eq!(marked(|word| word.wild), ["*.x"]);
    }

    #[test]
    fn commands_in_commands_have_an_end() {
        let deep = "$(".repeat(10_000);
        assert!(texts(&deep).len() < 100);
        let many = "a ".repeat(100_000);
        assert_eq!(texts(&many).len(), MOST);
    }

    #[test]
    fn braces_make_names() {
        let mut made = braces("{a,b}.{c,d}");
        made.sort();
        assert_eq!(made, ["a.c", "a.d", "b.c", "b.d"]);
        assert_eq!(braces("a{b}c{"), ["a{b}c{"]);
        assert!(braces(&"{a,b}".repeat(50)).len() <= 202);
    }

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, name) in [
            ("*", "a"),
            (".e*", ".env"),
            ("a*c", "abbc"),
            ("a*b*c", "aXbYbc"),
            ("?x", "ax"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
            ("[]]x", "]x"),
            ("**", "ab"),
            ("", ""),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*", ".env"),
            ("?env", ".env"),
            ("a", "ab"),
            ("[a-c]x", "dx"),
            ("[!b]x", "bx"),
            ("[a", "a"),
            ("a*c", "ab"),
            ("?", ""),
            ("[", ""),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
        let hard = "a*".repeat(50) + "b";
        assert!(!fits(&hard, &"a".repeat(5_000)));
    }
}
