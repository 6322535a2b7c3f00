//! One member of a struct: its name, its schema and its reading.

use super::argument::{Argument, Mismatch};
use super::definitions::{Definitions, Members};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A member of a struct.
pub struct Field<T> {
    name: &'static str,
    docs: &'static [&'static str],
    range: Option<Range<T>>,
    default: Option<T>,
}

struct Range<T> {
    least: Value,
    most: Value,
    contains: Box<dyn Fn(&T) -> bool>,
}

/// A number, or one that may be missing, whose range can be limited.
pub trait Ranged {
    /// The type of the limits.
    type Limit: PartialOrd + Serialize + 'static;

    /// The number.
    fn number(&self) -> Option<&Self::Limit>;
}

macro_rules! ranged {
    ($($type:ty),*) => {
        $(impl Ranged for $type {
            type Limit = $type;

            fn number(&self) -> Option<&$type> {
                Some(self)
            }
        })*
    };
}

ranged!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f64);

impl<T: Ranged> Ranged for Option<T> {
    type Limit = T::Limit;

    fn number(&self) -> Option<&T::Limit> {
        self.as_ref().and_then(T::number)
    }
}

impl<T: Argument> Field<T> {
    /// A member of this name, with the lines of its documentation. The name may be a raw identifier.
    pub fn new(name: &'static str, docs: &'static [&'static str]) -> Self {
        Field {
            name: name.strip_prefix("r#").unwrap_or(name),
            docs,
            range: None,
            default: None,
        }
    }

    /// Sets another name than that of the field.
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// The name in JSON.
    pub fn json_name(&self) -> &'static str {
        self.name
    }

    /// Limits the range.
    pub fn range(mut self, range: RangeInclusive<T::Limit>) -> Self
    where
        T: Ranged,
    {
        self.range = Some(Range {
            least: json!(range.start()),
            most: json!(range.end()),
            contains: Box::new(move |value| {
                value.number().is_none_or(|number| range.contains(number))
            }),
        });
        self
    }

    /// Sets what the missing member stands for.
    pub fn default(mut self, value: T) -> Self {
        self.default = Some(value);
        self
    }

    /// Adds the member to those of its struct.
    ///
    /// # Panics
    /// There is one of its name, or its default is not within its range.
    pub fn add_to(self, members: &mut Members, definitions: &mut Definitions) {
        let mut schema = T::member_schema(definitions);
        if let Some(range) = &self.range {
            schema["minimum"] = range.least.clone();
            schema["maximum"] = range.most.clone();
        }
        let is_required = self.default.is_none() && T::missing().is_none();
        if let Some(default) = &self.default {
            if let Err(wrong) = self.check(default) {
                panic!("the default of {wrong}");
            }
            schema["default"] = json!(default);
        }
        describe(&mut schema, self.docs);
        members.add(self.name, schema, is_required);
    }

    /// Takes the member out of the members of an object and reads it.
    ///
    /// # Errors
    /// It does not fit, or it is missing and must be there.
    pub fn take(self, members: &mut Map<String, Value>) -> Result<T, Mismatch> {
        let is_optional = self.default.is_some() || T::missing().is_some();
        let given = members.swap_remove(self.name);
        let Some(given) = given.filter(|given| !(given.is_null() && is_optional)) else {
            let absent = self.default.or_else(T::missing);
            return absent.ok_or_else(|| Mismatch::new("is missing").within(self.name));
        };
        let value = T::read(given).map_err(|wrong| wrong.within(self.name))?;
        self.check(&value)?;
        Ok(value)
    }

    fn check(&self, value: &T) -> Result<(), Mismatch> {
        match &self.range {
            Some(range) if !(range.contains)(value) => Err(range.mismatch(value).within(self.name)),
            _ => Ok(()),
        }
    }
}

impl<T: Serialize> Range<T> {
    fn mismatch(&self, value: &T) -> Mismatch {
        let (least, most): (&dyn Display, &dyn Display) = (&self.least, &self.most);
        Mismatch::new(format!("is {}, not within {least} to {most}", json!(value)))
    }
}

/// Sets the description to the text of a documentation comment: its lines are joined, and its paragraphs stay apart.
pub(super) fn describe(schema: &mut Value, docs: &[&str]) {
    let mut text = String::new();
    for line in docs.iter().flat_map(|doc| doc.split('\n')).map(str::trim) {
        let is_break = line.is_empty() || text.is_empty() || text.ends_with('\n');
        text.push_str(if is_break { "" } else { " " });
        text.push_str(if line.is_empty() { "\n" } else { line });
    }
    if let Some(schema) = schema.as_object_mut().filter(|_| !text.trim().is_empty()) {
        // The last one, behind what it describes.
        schema.shift_remove("description");
        schema.insert("description".to_owned(), text.trim().into());
    }
}
