//! Validation of a recipe before it is used.

use super::{
    Error, InputType, Parameter, Recipe, Requirement, Retry, Settings, SubRecipe, template,
};
use crate::extension::ExtensionConfig;
use std::collections::BTreeSet;

impl Recipe {
    /// Validates the recipe.
    ///
    /// # Errors
    /// The first error that is found.
    pub fn check(&self) -> Result<(), Error> {
        let fields = &self.fields;
        let has_text =
            |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        if !has_text(&fields.instructions) && !has_text(&fields.prompt) {
            return Err(Error::Empty);
        }
        check_parameters(&fields.parameters)?;
        check_use(self)?;
        for extension in fields.extensions.iter().flatten() {
            ExtensionConfig::from_value(extension.clone())
                .and_then(|config| config.check_environment())
                .map_err(Error::Extension)?;
        }
        if let Some((field, reason)) = fields.settings.as_ref().and_then(Settings::fault) {
            let reason = format!("settings.{field}: {reason}");
            return Err(Error::Shape(reason));
        }
        if let Some((field, check, reason)) = fields.retry.iter().flat_map(Retry::faults).next() {
            let check = check.map_or(String::new(), |index| format!("[{index}]"));
            let reason = format!("retry.{field}{check}: {reason}");
            return Err(Error::Shape(reason));
        }
        let sub_recipes = fields.sub_recipes.iter().cloned().enumerate();
        let sub_recipes: Vec<_> = sub_recipes.collect();
        if let Some((index, field, reason)) = SubRecipe::faults(&sub_recipes).into_iter().next() {
            let reason = format!("sub_recipes[{index}].{field}: {reason}");
            return Err(Error::Shape(reason));
        }
        match fields.output_schema() {
            Some(schema) if !schema.is_object() => Err(Error::Schema),
            _ => Ok(()),
        }
    }
}

fn check_parameters(parameters: &[Parameter]) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for parameter in parameters {
        let key = &parameter.key;
        if !known.insert(key) {
            return Err(Error::Duplicate(key.clone()));
        }
        let choices = parameter.options.as_deref().unwrap_or_default();
        if parameter.input_type == InputType::Select && choices.is_empty() {
            return Err(Error::NoOptions(key.clone()));
        }
    }
    let all = |wrong: fn(&Parameter) -> bool| -> Vec<String> {
        let wrong = parameters.iter().filter(|parameter| wrong(parameter));
        wrong.map(|parameter| parameter.key.clone()).collect()
    };
    let keys = all(|it| it.input_type == InputType::File && it.default.is_some());
    if !keys.is_empty() {
        return Err(Error::FileDefault(keys));
    }
    let keys = all(|it| it.requirement == Requirement::Optional && it.default.is_none());
    if keys.is_empty() {
        Ok(())
    } else {
        Err(Error::NoDefault(keys))
    }
}

/// Errs unless every variable is a parameter and every parameter is used.
fn check_use(recipe: &Recipe) -> Result<(), Error> {
    let parameters = recipe.fields().parameters.iter();
    let mut defined: BTreeSet<String> = parameters.map(|it| it.key.clone()).collect();
    let mut used = template::variables(&recipe.given)?;
    // It always has a value, whether it is declared or used.
    for names in [&mut defined, &mut used] {
        names.remove(template::RECIPE_DIR);
    }
    if used == defined {
        return Ok(());
    }
    Err(Error::Mismatch {
        undefined: used.difference(&defined).cloned().collect(),
        unused: defined.difference(&used).cloned().collect(),
    })
}

#[cfg(test)]
mod tests;
