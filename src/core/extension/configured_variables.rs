//! The environment variables of an extension in the configuration.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Environment variables in the order of the configuration: a JSON object of strings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Envs(Map<String, Value>);

impl Envs {
    /// The variables and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }
}

impl<'de> Deserialize<'de> for Envs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(d)?;
        match map.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(Envs(map)),
            Some((key, _)) => Err(serde::de::Error::custom(format_args!(
                "the value of `{key}` is not a string; put it in quotes"
            ))),
        }
    }
}
