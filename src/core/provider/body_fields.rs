//! The fields of a request's body, of which the user's own parameters replace any.

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// Writes an object field by field.
pub(super) struct BodyFields<'p, M> {
    pub(super) map: M,
    params: Option<&'p Map<String, Value>>,
}

impl<'p, M: SerializeMap> BodyFields<'p, M> {
    pub(super) fn new(map: M, params: Option<&'p Map<String, Value>>) -> Self {
        BodyFields { map, params }
    }

    /// Writes a field, unless a parameter replaces it.
    pub(super) fn write(&mut self, key: &str, value: impl Serialize) -> Result<(), M::Error> {
        match self.params {
            Some(params) if params.contains_key(key) => Ok(()),
            _ => self.map.serialize_entry(key, &value),
        }
    }

    /// Writes the parameters, except those that `map` already contains in a field.
    pub(super) fn end(mut self, except: &[&str]) -> Result<M::Ok, M::Error> {
        for (key, value) in self.params.into_iter().flatten() {
            if !except.contains(&key.as_str()) {
                self.map.serialize_entry(key, value)?;
            }
        }
        self.map.end()
    }
}
