//! All faults of a recipe file at once, with their places, for the person who writes it. [`Recipe::check`] stops
//! at the first one.

use super::fields::MAX_SUB_RECIPES;
use super::includes::Includes;
use super::library::{self, MAX_FILE};
use super::value_position::{Position, Step, in_json, in_yaml, of_offset, offset_of};
use super::{Error, InputType, Parameter, Recipe, Requirement, Retry, Settings, SubRecipe};
use super::{fields, rendering, template};
use crate::extension::ExtensionConfig;
use crate::store;
use crate::store::files;
use crate::sys::paths;
use gosling_json_schema::Schema;
use minijinja::Environment;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The most faults that are reported.
const MAX_FAULTS: usize = 100;

/// How long the places are searched for. Each search parses the text again, which can take long if the text is
/// hostile.
const TIME_FOR_PLACES: Duration = Duration::from_secs(2);

/// A fault of a recipe file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is in the text; `None` if unknown.
    pub position: Option<Position>,
    /// The field, such as `parameters[0].default`; empty for the whole recipe.
    pub field: String,
    /// What is wrong there.
    pub reason: String,
}

/// `3:5: parameters[0].key: …`
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// The faults of the recipe in the file `path`, in the order of its text; empty if it is valid.
///
/// # Errors
/// [`Error::File`] when the file cannot be read.
pub fn of_file(path: &Path) -> Result<Vec<Fault>, Error> {
    let failed = |reason: String| Error::File {
        path: path.to_owned(),
        reason,
    };
    let (mut object, text) = match gosling_shared::read_object_with_text(path, MAX_FILE as u64) {
        Ok(Some(read)) => read,
        Ok(None) => return Err(failed("there is no such file".to_owned())),
        Err(store::Error::Broken {
            line,
            column,
            reason,
            ..
        }) if line > 0 => return Ok(vec![of_syntax(line, column, &reason)]),
        Err(store::Error::Broken { reason, .. }) => return Err(failed(reason)),
        Err(error) => return Err(failed(error.to_string())),
    };
    let mut around = Vec::new();
    if let Some(Value::Object(inner)) = object.get_mut("recipe") {
        object = std::mem::take(inner);
        around.push(Step::Key("recipe".to_owned()));
    }
    library::accept_numbers(&mut object);
    let mut found = Faults::default();
    let folder = files::parent(path);
    found.in_recipe(&object, folder);
    found.in_files_of_sub_recipes(&object, path);
    let is_json = path.extension().is_some_and(|it| it == "json");
    Ok(found.located(&text, &around, if is_json { in_json } else { in_yaml }))
}

fn of_syntax(line: usize, column: usize, reason: &str) -> Fault {
    let place = format!(" at line {line} column {column}");
    Fault {
        position: Some(Position {
            line,
            column: column.max(1),
        }),
        field: String::new(),
        reason: reason.replacen(&place, "", 1),
    }
}

/// A fault, before its position is known.
struct Found {
    path: Vec<Step>,
    /// A variable to which the fault belongs, which the template at the place uses.
    variable: Option<String>,
    reason: String,
}

#[derive(Default)]
struct Faults(Vec<Found>);

/// A path of keys and indices.
macro_rules! path {
    ($($step:expr),*) => { vec![$(Step::from($step)),*] };
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

impl Faults {
    fn add(&mut self, path: Vec<Step>, reason: impl Into<String>) {
        self.0.push(Found {
            path,
            variable: None,
            reason: reason.into(),
        });
    }

    fn in_recipe(&mut self, given: &Map<String, Value>, folder: &Path) {
        self.in_texts(given);
        self.in_parameters(given);
        self.in_templates(given, folder);
        for (index, extension) in self.items::<Value>(given, "extensions") {
            let config = ExtensionConfig::from_value(extension);
            if let Err(reason) = config.and_then(|config| config.check_environment()) {
                self.add(path!["extensions", index], reason);
            }
        }
        self.items::<String>(given, "activities");
        let settings = self.object::<Settings>(given, "settings");
        if let Some((field, reason)) = settings.as_ref().and_then(Settings::fault) {
            self.add(path!["settings", field], reason);
        }
        self.object::<fields::Author>(given, "author");
        self.in_response(given);
        self.in_retry(given);
        self.in_sub_recipes(given);
        if self.0.is_empty() {
            let recipe = Recipe::from_object(given.clone());
            let recipe = recipe.and_then(|recipe| recipe.with_includes(folder));
            let checked = recipe.and_then(|recipe| recipe.check());
            if let Err(error) = checked {
                self.add(path![], error.to_string());
            }
        }
    }

    fn in_texts(&mut self, given: &Map<String, Value>) {
        for field in ["title", "description"] {
            match given.get(field) {
                None => self.add(path![], format!("`{field}` is missing")),
                Some(Value::String(text)) if text.trim().is_empty() => {
                    self.add(path![field], "it is empty");
                }
                Some(Value::String(_)) => {}
                Some(Value::Number(_) | Value::Bool(_)) => {
                    self.add(path![field], "it is not text; put it in quotes");
                }
                Some(_) => self.add(path![field], "it is not text"),
            }
        }
        let mut is_empty = true;
        for field in ["instructions", "prompt"] {
            match given.get(field) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => is_empty &= text.trim().is_empty(),
                Some(_) => {
                    is_empty = false;
                    self.add(path![field], "it is not text");
                }
            }
        }
        if is_empty {
            self.add(
                path![],
                "`instructions` and `prompt` are missing; write one of them",
            );
        }
    }

    /// The items of the list `field` that have this type.
    fn items<T: DeserializeOwned>(
        &mut self,
        given: &Map<String, Value>,
        field: &str,
    ) -> Vec<(usize, T)> {
        let items = match given.get(field) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.add(path![field], "it is not a list");
                return Vec::new();
            }
        };
        let mut read = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match crate::json::from_value(item) {
                Ok(item) => read.push((index, item)),
                Err(error) => self.add(path![field, index], error.to_string()),
            }
        }
        read
    }

    fn object<T: DeserializeOwned>(
        &mut self,
        given: &Map<String, Value>,
        field: &str,
    ) -> Option<T> {
        let value = given.get(field).filter(|value| !value.is_null())?;
        match crate::json::from_value(value) {
            Ok(object) => Some(object),
            Err(error) => {
                self.add(path![field], error.to_string());
                None
            }
        }
    }

    fn in_parameters(&mut self, given: &Map<String, Value>) {
        let mut known = BTreeSet::new();
        for (index, parameter) in self.items::<Parameter>(given, "parameters") {
            let key = &parameter.key;
            if !known.insert(key.clone()) {
                let reason = format!("another parameter has the key `{key}`; rename one");
                self.add(path!["parameters", index, "key"], reason);
            }
            let options = parameter.options.as_deref().unwrap_or_default();
            if parameter.input_type == InputType::Select && options.is_empty() {
                let reason = format!("`{key}` is of type select; give it `options` to select from");
                self.add(path!["parameters", index], reason);
            }
            self.in_default(index, &parameter);
        }
    }

    fn in_default(&mut self, index: usize, parameter: &Parameter) {
        let key = &parameter.key;
        let place = path!["parameters", index, "default"];
        match (&parameter.default, parameter.input_type) {
            (Some(_), InputType::File) => self.add(
                place,
                format!(
                    "the file parameter `{key}` must not have a default, lest the recipe read a file unasked"
                ),
            ),
            (Some(default), _) => {
                let coerced = rendering::coerce(parameter, default.clone(), Path::new(""));
                if let Err(Error::Value { reason, .. }) = coerced {
                    self.add(place, reason);
                }
            }
            (None, _) if parameter.requirement == Requirement::Optional => self.add(
                path!["parameters", index],
                format!("`{key}` is optional and needs a `default`"),
            ),
            (None, _) => {}
        }
    }

    /// Templates that are not valid, variables without a parameter, and parameters that no template uses.
    fn in_templates(&mut self, given: &Map<String, Value>, folder: &Path) {
        let mut texts = Texts {
            used: BTreeMap::new(),
            includes: Includes::new(folder),
            environment: template::environment(template::MIN_SIZE),
            left: MAX_FILE,
            faults: Vec::new(),
        };
        for (field, value) in given {
            if field != template::NOT_RENDERED {
                texts.walk(value, path![field.as_str()]);
            }
        }
        let is_known = texts.faults.is_empty();
        self.0.append(&mut texts.faults);
        let mut declared = BTreeMap::new();
        let parameters = given.get("parameters").and_then(Value::as_array);
        for (index, parameter) in parameters.into_iter().flatten().enumerate() {
            if let Some(key) = parameter["key"].as_str() {
                declared.entry(key).or_insert(index);
            }
        }
        for (name, place) in &texts.used {
            if !declared.contains_key(name.as_str()) && name != template::RECIPE_DIR {
                self.0.push(Found {
                    path: place.clone(),
                    variable: Some(name.clone()),
                    reason: format!("uses `{name}`, which `parameters` does not declare"),
                });
            }
        }
        let unused = declared
            .iter()
            .filter(|(key, _)| is_known && !texts.used.contains_key(**key))
            .filter(|(key, _)| **key != template::RECIPE_DIR);
        for (key, index) in unused {
            let reason = format!("nothing uses the parameter `{key}`; remove it");
            self.add(path!["parameters", *index, "key"], reason);
        }
    }

    fn in_response(&mut self, given: &Map<String, Value>) {
        let Some(response) = self.object::<fields::ResponseForm>(given, "response") else {
            return;
        };
        let Some(schema) = response.json_schema else {
            return;
        };
        let place = path!["response", "json_schema"];
        if !schema.is_object() {
            return self.add(place, "it is not an object");
        }
        // A schema with templates can be checked when it is rendered.
        if !template::is_plain(&schema.to_string()) {
            return;
        }
        match Schema::new(schema) {
            Err(fault) => self.add(place, fault.to_string()),
            Ok(schema) if !schema.is_for_arguments() => self.add(
                place,
                "the output is the arguments of a tool, so it must allow an object (`type: object`)",
            ),
            Ok(_) => {}
        }
    }

    fn in_retry(&mut self, given: &Map<String, Value>) {
        let Some(retry) = self.object::<Retry>(given, "retry") else {
            return;
        };
        for (field, check, reason) in retry.faults() {
            let mut place = path!["retry", field];
            if let Some(index) = check {
                place.extend(path![index, "command"]);
            }
            self.add(place, reason);
        }
    }

    fn in_sub_recipes(&mut self, given: &Map<String, Value>) {
        let list = self.items::<SubRecipe>(given, "sub_recipes");
        for (index, field, reason) in SubRecipe::faults(&list) {
            self.add(path!["sub_recipes", index, field], reason);
        }
    }

    /// Files of sub-recipes that are no recipes or not allowed, and values that they do not take. `path` is the
    /// recipe's file.
    fn in_files_of_sub_recipes(&mut self, given: &Map<String, Value>, path: &Path) {
        let folder = files::parent(path);
        let items = given.get("sub_recipes").and_then(Value::as_array);
        let items = items.into_iter().flatten().take(MAX_SUB_RECIPES);
        let mut read = BTreeMap::new();
        for (index, item) in items.enumerate() {
            let Ok(sub) = crate::json::from_value::<SubRecipe>(item) else {
                continue;
            };
            if sub.path.trim().is_empty() || !template::is_plain(&sub.path) {
                continue;
            }
            let file = folder.join(&sub.path);
            let refusal = paths::refusal_from(folder, &sub.path);
            if let Some(reason) = refusal.or_else(|| forbidden(&file, path)) {
                self.add(path!["sub_recipes", index, "path"], reason);
                continue;
            }
            let recipe = read
                .entry(file)
                .or_insert_with_key(|file| library::load(file));
            let recipe = match recipe {
                Ok(recipe) => recipe,
                Err(error) => {
                    self.add(path!["sub_recipes", index, "path"], error.to_string());
                    continue;
                }
            };
            let parameters = &recipe.fields().parameters;
            for (key, _) in sub.values.iter().flatten() {
                if parameters.iter().all(|it| it.key != *key) {
                    let reason = format!("the sub-recipe has no parameter `{key}`");
                    let place = path!["sub_recipes", index, "values", key.as_str()];
                    self.add(place, reason);
                }
            }
        }
    }

    /// The faults with their positions in `text`, where the recipe is at `around`.
    fn located(
        self,
        text: &str,
        around: &[Step],
        find: fn(&str, &[Step]) -> Option<Position>,
    ) -> Vec<Fault> {
        let deadline = Instant::now() + TIME_FOR_PLACES;
        let faults = self.0.into_iter().take(MAX_FAULTS).map(|found| {
            let path = [around, &found.path].concat();
            let in_time = Instant::now() < deadline;
            let value = in_time.then(|| find(text, &path)).flatten();
            let variable = found.variable.as_deref();
            let used = value
                .zip(variable)
                .and_then(|(value, name)| use_of(text, value, name));
            Fault {
                position: used.or(value),
                field: shown(&found.path),
                reason: found.reason,
            }
        });
        let mut faults: Vec<Fault> = faults.collect();
        gosling_core::sorting::sort_by(&mut faults, |a, b| a.position.cmp(&b.position));
        faults
    }
}

/// Why the recipe in the file `path` may not have `sub` as a sub-recipe.
fn forbidden(sub: &Path, path: &Path) -> Option<&'static str> {
    let (sub, path) = (sub.canonicalize().ok()?, path.canonicalize().ok()?);
    let folder = files::parent(&path);
    let mut around = folder.ancestors();
    let is_of_project = around.any(|folder| folder.ends_with(".goose/recipes"));
    if sub == path {
        Some("it is this recipe itself, which would run itself without end")
    } else if is_of_project && !sub.starts_with(folder) {
        Some("the recipe of a project may only run recipes below its folder")
    } else {
        None
    }
}

/// The variables of templates, each with the first text that uses it.
struct Texts {
    used: BTreeMap<String, Vec<Step>>,
    includes: Includes,
    environment: Environment<'static>,
    /// How much text may still be read, in bytes: aliases can repeat a text of the file.
    left: usize,
    faults: Vec<Found>,
}

impl Texts {
    fn walk(&mut self, value: &Value, place: Vec<Step>) {
        match value {
            Value::String(text) => self.text(text, place),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, [&place[..], &[Step::from(index)]].concat());
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.walk(field, [&place[..], &[Step::from(key.as_str())]].concat());
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, place: Vec<Step>) {
        let variables = match self.left.checked_sub(text.len()) {
            Some(left) => {
                self.left = left;
                let text = self.includes.in_text(text);
                text.and_then(|text| template::variables_of(&self.environment, &text))
            }
            // One fault is enough.
            None if self.left == 0 => return,
            None => {
                self.left = 0;
                Err(Error::TooLarge)
            }
        };
        match variables {
            Ok(names) => {
                for name in names {
                    self.used.entry(name).or_insert_with(|| place.clone());
                }
            }
            Err(error) => self.faults.push(Found {
                path: place,
                variable: None,
                reason: error.into_reason(),
            }),
        }
    }
}

/// The place of the variable `name` in the first tag behind `position` that uses it.
fn use_of(text: &str, position: Position, name: &str) -> Option<Position> {
    let mut begin = offset_of(text, position)?;
    loop {
        let rest = text.get(begin..)?;
        let tag = ["{{", "{%"]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min()?;
        let end = ["}}", "%}"]
            .iter()
            .filter_map(|mark| rest[tag..].find(mark));
        let end = tag + end.min()?;
        let inside = &rest[tag..end];
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let found = inside.match_indices(name).find(|(at, _)| {
            let before = inside[..*at].chars().next_back();
            let after = inside[at + name.len()..].chars().next();
            ![before, after].into_iter().flatten().any(is_word)
        });
        if let Some((at, _)) = found {
            return of_offset(text, begin + tag + at);
        }
        begin += end + 2;
    }
}

/// The path as text: `parameters[0].key`.
fn shown(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

#[cfg(test)]
mod tests;
