//! The members of a record, written to its line. Serde would do it with five times the instructions, and it is done
//! twice for each call of a tool.

use serde::Serialize;

/// The members of a JSON object.
pub(crate) struct Members<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
    /// Names come from elsewhere, and may have quotes in them.
    has_odd_names: bool,
}

impl<'o> Members<'o> {
    /// Begins an object, which the caller ends.
    pub(crate) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Members {
            out,
            is_first: true,
            has_odd_names: false,
        }
    }

    /// Goes on in an object that has members.
    pub(crate) fn more(out: &'o mut Vec<u8>) -> Self {
        Members {
            out,
            is_first: false,
            has_odd_names: false,
        }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        if self.has_odd_names {
            self.string(name);
        } else {
            self.quoted(name);
        }
        self.out.push(b':');
    }

    fn string(&mut self, text: &str) {
        // Without a branch for each byte, so that many are looked at together.
        let is_odd = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, |odd, byte| odd | is_odd(byte)) {
            self.json(&text);
            return;
        }
        self.quoted(text);
    }

    fn quoted(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    fn json(&mut self, value: &impl Serialize) {
        // Numbers and texts always have a form, and the buffer takes all of it.
        let _ = serde_json::to_writer(&mut *self.out, value);
    }

    /// A text; nothing if it is empty.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.name(name);
            self.string(text);
        }
    }

    /// A text of letters, digits and their like alone, which needs no look at its bytes; nothing if it is empty.
    pub(crate) fn plain(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.name(name);
            self.quoted(text);
        }
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &str, number: u64) {
        self.name(name);
        self.digits(number);
    }

    fn digits(&mut self, number: u64) {
        let (mut digits, mut at, mut rest) = ([b'0'; 20], 20, number);
        while rest > 0 || at == 20 {
            at -= 1;
            digits[at] += (rest % 10) as u8;
            rest /= 10;
        }
        self.out.extend_from_slice(&digits[at..]);
    }

    /// A text that tells a type and a size.
    pub(crate) fn sized(&mut self, name: &str, kind: &'static str, size: usize) {
        self.name(name);
        for part in ["\"", kind, " of "] {
            self.out.extend_from_slice(part.as_bytes());
        }
        self.digits(size as u64);
        self.out.push(b'"');
    }

    /// A number; nothing if there is none.
    pub(crate) fn optional(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(name, number);
        }
    }

    /// Members that have been written elsewhere, each with a comma before it.
    pub(crate) fn append(&mut self, members: &[u8]) {
        self.out.extend_from_slice(members);
    }

    /// Another value.
    pub(crate) fn value(&mut self, name: &str, value: &impl Serialize) {
        self.name(name);
        self.json(value);
    }

    /// An object with these members, whose names come from elsewhere.
    pub(crate) fn object_of_any(&mut self, name: &str, members: impl FnOnce(&mut Members<'_>)) {
        self.object(name, |out| {
            out.has_odd_names = true;
            members(out);
        });
    }

    /// An object with these members.
    pub(crate) fn object(&mut self, name: &str, members: impl FnOnce(&mut Members<'_>)) {
        self.name(name);
        members(&mut Members::begin(self.out));
        self.out.push(b'}');
    }
}
