//! The fields of a request's body, of which the user's own parameters replace any, and those are left out that the
//! server refuses.

use super::request_form::RequestForm;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// Writes an object field by field.
pub(super) struct BodyFields<'p, M> {
    pub(super) map: M,
    params: Option<&'p Map<String, Value>>,
    form: &'p RequestForm,
}

impl<'p, M: SerializeMap> BodyFields<'p, M> {
    pub(super) fn new(
        map: M,
        params: Option<&'p Map<String, Value>>,
        form: &'p RequestForm,
    ) -> Self {
        BodyFields { map, params, form }
    }

    /// Writes a field, unless a parameter replaces it or the server refuses it.
    pub(super) fn write(&mut self, key: &str, value: impl Serialize) -> Result<(), M::Error> {
        match self.params {
            Some(params) if params.contains_key(key) => Ok(()),
            _ if !self.form.accepts(key) => Ok(()),
            _ => self.map.serialize_entry(key, &value),
        }
    }

    /// Writes the parameters, except those that `map` already contains in a field.
    pub(super) fn end(mut self, except: &[&str]) -> Result<M::Ok, M::Error> {
        for (key, value) in self.params.into_iter().flatten() {
            if !except.contains(&key.as_str()) && self.form.accepts(key) {
                self.map.serialize_entry(key, value)?;
            }
        }
        self.map.end()
    }
}

/// The JSON text of a body with the user's own parameters, each put in its place by `set`, without those that the
/// server refuses.
#[cfg(any(feature = "anthropic", feature = "google"))]
pub(super) fn with_parameters(
    body: &impl Serialize,
    params: Option<&Map<String, Value>>,
    form: &RequestForm,
    mut set: impl FnMut(&mut Value, &str, &Value),
) -> serde_json::Result<Vec<u8>> {
    let has_params = params.is_some_and(|params| !params.is_empty());
    if !has_params && form.left_out.is_empty() {
        return serde_json::to_vec(body);
    }
    let mut merged = crate::json::to_value(body)?;
    for (name, value) in params.into_iter().flatten() {
        set(&mut merged, name, value);
    }
    // Gemini and Bedrock have them one level deeper.
    for at in [
        "",
        "/generationConfig",
        "/inferenceConfig",
        "/additionalModelRequestFields",
    ] {
        if let Some(Value::Object(fields)) = merged.pointer_mut(at) {
            fields.retain(|name, _| form.accepts(name));
        }
    }
    serde_json::to_vec(&merged)
}
