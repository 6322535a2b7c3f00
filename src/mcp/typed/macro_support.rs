//! What [`arguments!`](crate::arguments) expands to. Not for anything else.

pub use super::argument::{Argument, Arguments, Mismatch, members};
pub use super::definitions::Definitions;
pub use super::field::Field;
pub use crate::__deserialize_argument as deserialize;
pub use serde;
pub use serde::ser::SerializeMap;
pub use serde_json::Value;

use super::field::describe;
use serde_json::json;

/// The schema of some texts.
pub fn texts(all: &[&str], docs: &[&str]) -> Value {
    let mut schema = json!({"type": "string", "enum": all});
    describe(&mut schema, docs);
    schema
}

/// The value is none of these texts.
pub fn none_of(value: &Value, all: &[&str]) -> Mismatch {
    let shown = gosling_text::printable(&value.to_string(), 100);
    Mismatch::new(format!("is {shown}, none of {}", all.join(", ")))
}
