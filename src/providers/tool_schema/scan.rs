//! Whether a schema holds the rules, in one pass over its text, without a copy.

use super::SchemaRules;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Whether the schema of a tool's arguments holds the rules.
pub(crate) fn holds(schema: &str, rules: &SchemaRules) -> bool {
    let mut text = serde_json::Deserializer::from_str(schema);
    let node = Node {
        rules,
        is_top: true,
        may_be_list: false,
    };
    node.deserialize(&mut text).is_ok()
}

/// A schema, at the top or inside of another.
#[derive(Clone, Copy)]
struct Node<'r> {
    rules: &'r SchemaRules,
    is_top: bool,
    /// It stands under a keyword that takes a list of schemas, too.
    may_be_list: bool,
}

/// What stands under a keyword.
#[derive(Clone, Copy)]
enum Kind {
    /// A schema, or a list of schemas as older drafts have it in `items`.
    Schemas,
    /// Schemas by name.
    Named,
    /// The same, whose names are those of arguments.
    Properties,
    /// Names of arguments.
    Names,
    Type,
}

/// A rule does not hold. The caller drops the text.
fn broken<E: Error>() -> E {
    E::custom("the schema does not hold the rules")
}

fn kind(keyword: &str) -> Option<Kind> {
    Some(match keyword {
        "type" => Kind::Type,
        "properties" => Kind::Properties,
        "required" => Kind::Names,
        "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => Kind::Named,
        "items"
        | "prefixItems"
        | "additionalProperties"
        | "additionalItems"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "anyOf"
        | "oneOf"
        | "allOf" => Kind::Schemas,
        _ => return None,
    })
}

/// Keywords that no provider accepts at the top.
pub(super) const NOT_AT_TOP: [&str; 5] = ["anyOf", "oneOf", "allOf", "enum", "not"];

impl Node<'_> {
    fn inner(self, may_be_list: bool) -> Self {
        Node {
            is_top: false,
            may_be_list,
            ..self
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a schema")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        if self.is_top { Err(broken()) } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if !self.may_be_list {
            return Err(broken());
        }
        let inner = self.inner(false);
        while list.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut types, mut has_items, mut has_properties) = (Types::default(), false, false);
        while let Some(Key(keyword)) = map.next_key()? {
            if self.is_top && NOT_AT_TOP.contains(&&*keyword) {
                return Err(broken());
            }
            has_items |= keyword == "items";
            has_properties |= keyword == "properties";
            match kind(&keyword) {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(Kind::Type) => types = map.next_value_seed(TypesSeed)?,
                Some(Kind::Schemas) => map.next_value_seed(self.inner(true))?,
                Some(kind) => {
                    let node = self.inner(false);
                    map.next_value_seed(Members { node, kind })?;
                }
            }
        }
        let is_whole = !self.is_top || (types.is_object && !types.is_list && has_properties);
        if is_whole && (has_items || !types.has_array) {
            Ok(())
        } else {
            Err(broken())
        }
    }
}

/// The keys of a map, borrowed if they have no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        crate::lenient_json::JsonStr::deserialize(d).map(|text| Key(text.0))
    }
}

/// What `type` says.
#[derive(Clone, Copy, Default)]
struct Types {
    is_object: bool,
    has_array: bool,
    is_list: bool,
}

impl Types {
    fn add(&mut self, name: &str) {
        self.is_object |= name == "object";
        self.has_array |= name == "array";
    }
}

struct TypesSeed;

impl<'de> DeserializeSeed<'de> for TypesSeed {
    type Value = Types;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Types, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TypesSeed {
    type Value = Types;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type or a list of types")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Types, E> {
        let mut types = Types::default();
        types.add(name);
        Ok(types)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Types, A::Error> {
        let mut types = Types {
            is_list: true,
            ..Types::default()
        };
        let mut count = 0;
        while let Some(Key(name)) = list.next_element()? {
            types.add(&name);
            count += 1;
        }
        // A list of one type is refused by some.
        if count > 1 { Ok(types) } else { Err(broken()) }
    }
}

/// Schemas by name, or a list of names.
struct Members<'r> {
    node: Node<'r>,
    kind: Kind,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        match self.kind {
            Kind::Names => d.deserialize_seq(self),
            _ => d.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("schemas by name, or names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = map.next_key()? {
            let is_argument = matches!(self.kind, Kind::Properties);
            if is_argument && !self.node.rules.accepts_name(&name) {
                return Err(broken());
            }
            map.next_value_seed(self.node)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = list.next_element()? {
            if !self.node.rules.accepts_name(&name) {
                return Err(broken());
            }
        }
        Ok(())
    }
}
