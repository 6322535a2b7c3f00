//! The schemas of structs, which may contain themselves.

use super::field::describe;
use serde_json::{Map, Value, json};
use std::any::TypeId;

/// The types with a name in one schema. A struct that is within itself becomes an entry of `$defs`; all others stand
/// where they are used.
#[derive(Default)]
pub struct Definitions {
    /// The structs around the one that is described, the outermost first.
    open: Vec<Open>,
    defined: Vec<(TypeId, String, Value)>,
}

struct Open {
    id: TypeId,
    /// What a `$ref` to it says.
    place: String,
    is_referred: bool,
}

/// The members of a struct.
#[derive(Default)]
pub struct Members {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Members {
    /// Adds a member.
    ///
    /// # Panics
    /// There is one of this name.
    pub fn add(&mut self, name: &str, schema: Value, is_required: bool) {
        let before = self.properties.insert(name.to_owned(), schema);
        assert!(before.is_none(), "two members are called {name:?}");
        if is_required {
            self.required.push(name.into());
        }
    }
}

impl Definitions {
    /// The schema of a struct of this name, with the members that `add` adds.
    pub fn object<T: 'static>(
        &mut self,
        name: &str,
        docs: &[&str],
        add: impl FnOnce(&mut Self, &mut Members),
    ) -> Value {
        let id = TypeId::of::<T>();
        if let Some(open) = self.open.iter_mut().find(|open| open.id == id) {
            open.is_referred = true;
            return json!({"$ref": open.place});
        }
        if let Some((_, name, _)) = self.defined.iter().find(|defined| defined.0 == id) {
            return json!({"$ref": format!("#/$defs/{name}")});
        }
        let name = self.free_name(name);
        let place = if self.open.is_empty() {
            "#".to_owned()
        } else {
            format!("#/$defs/{name}")
        };
        self.open.push(Open {
            id,
            place: place.clone(),
            is_referred: false,
        });
        let mut members = Members::default();
        add(self, &mut members);
        let is_referred = self.open.pop().is_some_and(|open| open.is_referred);
        let mut schema = json!({"type": "object", "properties": members.properties});
        if !members.required.is_empty() {
            schema["required"] = members.required.into();
        }
        // The outermost one is described where it is used, such as by the description of a tool.
        if self.open.is_empty() {
            return schema;
        }
        describe(&mut schema, docs);
        if is_referred {
            self.defined.push((id, name, schema));
            return json!({"$ref": place});
        }
        schema
    }

    /// The name, with a number if a type of another module has it.
    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| {
            let place = format!("#/$defs/{name}");
            let mut open = self.open.iter();
            open.all(|open| open.place != place) && self.defined.iter().all(|it| it.1 != *name)
        };
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(is_free).unwrap_or_default()
    }

    /// The schema with its definitions.
    pub(super) fn complete(self, mut schema: Value) -> Value {
        if !self.defined.is_empty() {
            let named = self
                .defined
                .into_iter()
                .map(|(_, name, schema)| (name, schema));
            schema["$defs"] = named.collect::<Map<_, _>>().into();
        }
        schema
    }
}
