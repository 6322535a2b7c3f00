//! The values that a shell command assigns to variables, as far as its text shows them. A variable has all of its
//! values at the same time, because the order of execution is not known. Pure: no I/O.

use super::work_budget::WorkBudget;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The most values of a variable, the most variables, and the longest value in bytes. The rest is ignored.
const MAX_VALUES: usize = 32;
const MAX_NAMES: usize = 256;
const MAX_VALUE: usize = 4 << 10;

/// The cost of looking up a variable, in steps, in addition to its values.
const LOOKUP_COST: usize = 64;

/// The name that stands for all positional parameters.
const POSITIONAL: &str = "@";

/// Words that may precede the name of a program.
const PREFIX_WORDS: [&str; 13] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin",
    "exec",
];

pub(super) struct Variables<'a> {
    /// The budget for the whole command.
    pub(super) budget: WorkBudget,
    /// The variables of the environment.
    environment: &'a dyn Fn(&str) -> Option<String>,
    values: RefCell<BTreeMap<String, Vec<String>>>,
    functions: RefCell<BTreeSet<String>>,
    changed: Cell<bool>,
}

/// `NAME=VALUE` or `NAME+=VALUE`.
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    value: &'a str,
    appends: bool,
}

/// The assignment that a word makes, if it makes one.
pub(super) fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (name, value) = word.split_once('=')?;
    let (name, appends) = match name.strip_suffix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let name = name.split('[').next().unwrap_or_default();
    let is_name = |name: &str| {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    is_name(name).then_some(Assignment {
        name,
        value,
        appends,
    })
}

/// The length of the variable name at the beginning of the text, in characters, all of which are ASCII.
pub(super) fn name_length(text: impl Iterator<Item = char>) -> usize {
    let mut text = text.peekable();
    match text.peek() {
        Some('@' | '*' | '0'..='9') => 1,
        _ => {
            let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            text.take_while(is_part).count()
        }
    }
}

/// The name of the program that a command runs; empty if it runs none.
pub(super) fn program_name(command: &[Vec<String>]) -> &str {
    program_and_arguments(command)
        .first()
        .map_or("", |word| &word[0])
}

/// The program and its arguments.
fn program_and_arguments(command: &[Vec<String>]) -> &[Vec<String>] {
    let is_before = |word: &Vec<String>| {
        PREFIX_WORDS.contains(&word[0].as_str()) || assignment(&word[0]).is_some()
    };
    let before = command.iter().take_while(|word| is_before(word)).count();
    &command[before..]
}

impl<'a> Variables<'a> {
    pub(super) fn new(environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Variables {
            budget: WorkBudget::new(),
            environment,
            values: RefCell::default(),
            functions: RefCell::default(),
            changed: Cell::new(false),
        }
    }

    /// Whether a value has been added since the last call.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.take()
    }

    /// The possible values of a variable, at least one; the first is the value from the environment.
    pub(super) fn values(&self, name: &str) -> Vec<String> {
        let name = key(name);
        if !self.budget.take(LOOKUP_COST) {
            return vec![String::new()];
        }
        let mut values = vec![(self.environment)(name).unwrap_or_default()];
        if let Some(own) = self.values.borrow().get(name) {
            values.extend_from_slice(own);
        }
        self.budget.copy(values.iter().map(String::len).sum());
        values
    }

    pub(super) fn assign(&self, name: &str, value: &str) {
        let name = key(name);
        let mut all = self.values.borrow_mut();
        if value.len() > MAX_VALUE || (all.len() >= MAX_NAMES && !all.contains_key(name)) {
            return;
        }
        if !self.budget.take(LOOKUP_COST) || !self.budget.copy(value.len()) {
            return;
        }
        let values = all.entry(name.to_owned()).or_default();
        if values.len() < MAX_VALUES && !values.iter().any(|known| known == value) {
            self.budget.keep(value.len());
            values.push(value.to_owned());
            self.changed.set(true);
        }
    }

    /// Records a function, whose arguments are positional parameters.
    pub(super) fn define(&self, name: &str) {
        let mut functions = self.functions.borrow_mut();
        if functions.len() < MAX_NAMES && functions.insert(name.to_owned()) {
            self.changed.set(true);
        }
    }

    /// Records the assignment that one word of a command makes.
    pub(super) fn learn_word(&self, word: &str) {
        let Some(assigned) = assignment(word) else {
            return;
        };
        if assigned.appends {
            for before in self.values(assigned.name) {
                self.assign(assigned.name, &(before + assigned.value));
            }
        } else {
            self.assign(assigned.name, assigned.value);
        }
    }

    /// Records what a whole command assigns; `input` is what it reads from here-strings.
    pub(super) fn learn(&self, command: &[Vec<String>], input: &[String]) {
        let Some((program, arguments)) = program_and_arguments(command).split_first() else {
            return;
        };
        let assign_all = |name: &str, words: &[Vec<String>]| {
            words
                .iter()
                .flatten()
                .for_each(|value| self.assign(name, value));
        };
        match program[0].as_str() {
            "for" | "select" => {
                if let [name, _in, values @ ..] = arguments {
                    assign_all(&name[0], values);
                    for value in values.iter().flatten() {
                        value
                            .split_whitespace()
                            .for_each(|part| self.assign(&name[0], part));
                    }
                }
            }
            "read" => {
                let names = arguments.iter().filter(|name| !name[0].starts_with('-'));
                for name in names.take_while(|_| self.budget.is_left()) {
                    for input in input {
                        self.assign(&name[0], input);
                        input
                            .split_whitespace()
                            .for_each(|part| self.assign(&name[0], part));
                    }
                }
            }
            "function" => {
                if let Some(name) = arguments.first() {
                    self.define(&name[0]);
                }
            }
            "set" => assign_all(POSITIONAL, arguments),
            name if self.functions.borrow().contains(name) => assign_all(POSITIONAL, arguments),
            _ => {
                // `sh -c 'COMMAND' NAME ARGUMENT…`
                let script = arguments.iter().position(|word| word[0] == "-c");
                if let Some(behind) = script.and_then(|at| arguments.get(at + 2..)) {
                    assign_all(POSITIONAL, behind);
                }
            }
        }
    }
}

fn key(name: &str) -> &str {
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '*') {
        POSITIONAL
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_have_a_name() {
        let parsed = |word| assignment(word).map(|it| (it.name, it.value, it.appends));
        assert_eq!(parsed("F=.env"), Some(("F", ".env", false)));
        assert_eq!(parsed("_f1+=a=b"), Some(("_f1", "a=b", true)));
        assert_eq!(parsed("A[2]="), Some(("A", "", false)));
        for none in ["", "=", "F", "1F=x", "--file=x", "a.b=c", "a b=c"] {
            assert_eq!(parsed(none), None, "{none}");
        }
    }

    #[test]
    fn values_are_bounded() {
        let variables = Variables::new(&|_| None);
        for n in 0..1_000 {
            variables.assign("A", &n.to_string());
            variables.assign(&format!("N{n}"), "x");
        }
        variables.assign("B", &"x".repeat(MAX_VALUE + 1));
        assert_eq!(variables.values("A").len(), MAX_VALUES + 1);
        assert_eq!(variables.values("B"), [""]);
        assert_eq!(variables.values.borrow().len(), MAX_NAMES);
    }
}
