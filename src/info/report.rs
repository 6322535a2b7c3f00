//! What is printed. Both forms are made of the same facts. Pure.

use crate::place::Place;
use crate::text::printable;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The longest text that is printed for a person, in characters.
const MAX_SHOWN: usize = 4_000;
/// The longest line of a list, in columns.
const COLUMNS: usize = 79;

/// Sections with rows, and what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Report {
    sections: Vec<Section>,
    faults: Vec<String>,
}

#[derive(Debug)]
struct Section {
    name: &'static str,
    rows: Vec<(&'static str, Shown)>,
}

#[derive(Debug)]
enum Shown {
    Value(Value),
    Place(Place),
}

impl Report {
    /// Begins a section.
    pub(crate) fn section(&mut self, name: &'static str) {
        let rows = Vec::new();
        self.sections.push(Section { name, rows });
    }

    /// Adds a row to the last section.
    pub(crate) fn value(&mut self, name: &'static str, value: impl Into<Value>) {
        self.row(name, Shown::Value(value.into()));
    }

    /// Adds the row of a file or folder, and what is wrong with it.
    pub(crate) fn place(&mut self, name: &'static str, place: Place) {
        if let Some(why) = &place.fault {
            self.fault(name, &format!("{}: {why}", place.path().display()));
        }
        self.row(name, Shown::Place(place));
    }

    fn row(&mut self, name: &'static str, shown: Shown) {
        if let Some(section) = self.sections.last_mut() {
            section.rows.push((name, shown));
        }
    }

    /// Adds what is wrong with something in the last section.
    pub(crate) fn fault(&mut self, name: &str, why: &str) {
        let section = self.sections.last().map_or("", |section| section.name);
        self.faults.push(format!("{section}.{name}: {why}"));
    }

    /// For a person: one line for each row, and the faults at the end.
    pub(crate) fn to_text(&self) -> String {
        let rows = self.sections.iter().flat_map(|section| &section.rows);
        let width = rows.map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for section in &self.sections {
            let _ = writeln!(out, "{}", section.name);
            for (name, shown) in &section.rows {
                let text = match shown {
                    Shown::Value(Value::Array(items)) => lines(items, width + 4),
                    Shown::Value(value) => in_words(value),
                    Shown::Place(place) => {
                        let path = place.path().to_string_lossy();
                        printable(&path, MAX_SHOWN) + place.note()
                    }
                };
                let _ = writeln!(out, "  {name:width$}  {text}");
            }
            out.push('\n');
        }
        if self.faults.is_empty() {
            return out + "nothing is wrong\n";
        }
        out += "wrong\n";
        for fault in &self.faults {
            let _ = writeln!(out, "  {}", printable(fault, MAX_SHOWN));
        }
        out
    }

    /// One object with an object for each section, and the list `faults`. All in ASCII, so that a terminal shows what
    /// is there.
    pub(crate) fn to_json(&self) -> String {
        let mut root = Map::new();
        for section in &self.sections {
            let rows = section.rows.iter().map(|(name, shown)| {
                let value = match shown {
                    Shown::Value(value) => value.clone(),
                    Shown::Place(place) => place.to_json(),
                };
                ((*name).to_owned(), value)
            });
            root.insert(section.name.to_owned(), Value::Object(rows.collect()));
        }
        root.insert("faults".to_owned(), self.faults.clone().into());
        in_ascii(&format!("{:#}\n", Value::Object(root)))
    }
}

/// A value as a person reads it.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => printable(text, MAX_SHOWN),
        other => printable(&other.to_string(), MAX_SHOWN),
    }
}

/// A list in lines, all but the first of which are indented.
fn lines(items: &[Value], indent: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    for item in items {
        let word = in_words(item);
        let length = word.chars().count();
        if !out.is_empty() {
            out.push(',');
            if column + length + 3 > COLUMNS {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else {
                out.push(' ');
                column += 2;
            }
        }
        out += &word;
        column += length;
    }
    if out.is_empty() {
        in_words(&Value::Null)
    } else {
        out
    }
}

/// JSON with everything but ASCII escaped.
fn in_ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // serde_json leaves DEL as it is.
        if c.is_ascii() && c != '\x7f' {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
