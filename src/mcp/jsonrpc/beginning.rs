//! Messages that are cut off or broken: what their beginning says.

use super::Id;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// What is known of a message from its beginning.
#[derive(Debug, Default, PartialEq)]
pub struct Beginning {
    /// Its id.
    pub id: Option<Id>,
    /// What it is, apart from a notification.
    pub kind: Option<Kind>,
}

/// A message with an id.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// It has a method.
    Request,
    /// It has a result or an error.
    Response,
}

impl Beginning {
    /// Reads the beginning of a message as far as it is JSON.
    pub fn of(start: &[u8]) -> Self {
        let mut beginning = Beginning::default();
        // It ends with an error where the rest of the message is missing or is not JSON.
        let _ = serde_json::Deserializer::from_slice(start).deserialize_map(&mut beginning);
        beginning
    }
}

impl<'de> Visitor<'de> for &mut Beginning {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => {
                    self.id = Some(map.next_value()?);
                    continue;
                }
                "method" | "params" => self.kind = Some(Kind::Request),
                "result" | "error" => self.kind = Some(Kind::Response),
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
