//! Whether a recipe makes sense, before anything is done with it.

use super::{Error, InputType, Parameter, Recipe, Requirement, template};
use crate::extension::ExtensionConfig;
use std::collections::BTreeSet;

/// The first thing that is wrong with `recipe`, if there is one.
pub(super) fn check(recipe: &Recipe) -> Result<(), Error> {
    let model = recipe.model();
    let says = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    if !says(&model.instructions) && !says(&model.prompt) {
        return Err(Error::Empty);
    }
    check_parameters(&model.parameters)?;
    check_use(recipe)?;
    for extension in model.extensions.iter().flatten() {
        ExtensionConfig::from_value(extension.clone())
            .map_err(|reason| Error::Extension { reason })?;
    }
    match model
        .response
        .as_ref()
        .and_then(|it| it.json_schema.as_ref())
    {
        Some(schema) if !schema.is_object() => Err(Error::Schema),
        _ => Ok(()),
    }
}

fn check_parameters(parameters: &[Parameter]) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for parameter in parameters {
        let key = &parameter.key;
        if !known.insert(key) {
            return Err(Error::Duplicate { key: key.clone() });
        }
        let choices = parameter.options.as_deref().unwrap_or_default();
        if parameter.input_type == InputType::Select && choices.is_empty() {
            return Err(Error::NoOptions { key: key.clone() });
        }
    }
    let all = |wrong: fn(&Parameter) -> bool| -> Vec<String> {
        let wrong = parameters.iter().filter(|parameter| wrong(parameter));
        wrong.map(|parameter| parameter.key.clone()).collect()
    };
    let keys = all(|it| it.input_type == InputType::File && it.default.is_some());
    if !keys.is_empty() {
        return Err(Error::FileDefault { keys });
    }
    let keys = all(|it| it.requirement == Requirement::Optional && it.default.is_none());
    match keys.is_empty() {
        true => Ok(()),
        false => Err(Error::NoDefault { keys }),
    }
}

/// Every variable is a parameter, and every parameter is used.
fn check_use(recipe: &Recipe) -> Result<(), Error> {
    let parameters = recipe.model().parameters.iter();
    let defined: BTreeSet<String> = parameters.map(|it| it.key.clone()).collect();
    let mut used = template::variables(&recipe.given)?;
    used.remove(template::RECIPE_DIR);
    if used == defined {
        return Ok(());
    }
    Err(Error::Mismatch {
        undefined: used.difference(&defined).cloned().collect(),
        unused: defined.difference(&used).cloned().collect(),
    })
}
