//! Validation of a recipe before it is used.

use super::{
    Error, InputType, Parameter, Recipe, Requirement, Retry, Settings, SubRecipe, template,
};
use crate::extension::ExtensionConfig;
use std::collections::BTreeSet;

/// Errs with the first error in `recipe`.
pub(super) fn check(recipe: &Recipe) -> Result<(), Error> {
    let fields = recipe.fields();
    let has_text =
        |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    if !has_text(&fields.instructions) && !has_text(&fields.prompt) {
        return Err(Error::Empty);
    }
    check_parameters(&fields.parameters)?;
    check_use(recipe)?;
    for extension in fields.extensions.iter().flatten() {
        ExtensionConfig::from_value(extension.clone())
            .and_then(|config| config.check_environment())
            .map_err(|reason| Error::Extension { reason })?;
    }
    if let Some((field, reason)) = fields.settings.as_ref().and_then(Settings::fault) {
        let reason = format!("settings.{field}: {reason}");
        return Err(Error::Shape { reason });
    }
    if let Some((field, check, reason)) = fields.retry.iter().flat_map(Retry::faults).next() {
        let check = check.map_or(String::new(), |index| format!("[{index}]"));
        let reason = format!("retry.{field}{check}: {reason}");
        return Err(Error::Shape { reason });
    }
    let sub_recipes = fields.sub_recipes.iter().cloned().enumerate();
    let sub_recipes: Vec<_> = sub_recipes.collect();
    if let Some((index, field, reason)) = SubRecipe::faults(&sub_recipes).into_iter().next() {
        let reason = format!("sub_recipes[{index}].{field}: {reason}");
        return Err(Error::Shape { reason });
    }
    match fields
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
    if keys.is_empty() {
        Ok(())
    } else {
        Err(Error::NoDefault { keys })
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
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The error of a recipe with these fields, a title and a description.
    fn error_of(mut fields: Value) -> Option<String> {
        fields["title"] = json!("T");
        fields["description"] = json!("D");
        let recipe: Recipe = serde_json::from_value(fields).unwrap();
        check(&recipe).err().map(|error| error.to_string())
    }

    fn parameter(key: &str, input_type: &str, requirement: &str) -> Value {
        json!({"key": key, "input_type": input_type, "requirement": requirement, "description": ""})
    }

    #[test]
    fn there_must_be_something_to_begin_with() {
        let expected = "Recipe must specify at least one of `instructions` or `prompt`.";
        for nothing in [
            json!({}),
            json!({"prompt": null}),
            json!({"instructions": " \n"}),
        ] {
            assert_eq!(error_of(nothing).as_deref(), Some(expected));
        }
        assert_eq!(error_of(json!({"prompt": "go"})), None);
        assert_eq!(error_of(json!({"instructions": "be"})), None);
    }

    #[test]
    fn parameters_must_make_sense() {
        let with = |parameters: Value| {
            error_of(json!({"prompt": "{{ a }}", "parameters": parameters})).unwrap_or_default()
        };
        assert_eq!(with(json!([parameter("a", "string", "required")])), "");
        let twice = [
            parameter("a", "string", "required"),
            parameter("a", "file", "required"),
        ];
        assert!(with(json!(twice)).contains("two parameters of the recipe have the key `a`"));
        let unset = json!([parameter("a", "number", "optional")]);
        assert!(with(unset).contains("a `default`, which is missing for `a`"));
        let choice = json!([parameter("a", "select", "required")]);
        assert!(with(choice).contains("give it `options`"));
        let mut file = parameter("a", "file", "optional");
        file["default"] = json!("/etc/passwd");
        assert!(with(json!([file])).contains("file parameters must not have a `default`"));
    }

    #[test]
    fn templates_and_parameters_must_match() {
        let error = error_of(json!({
            "prompt": "{{ a }} {{ recipe_dir }}",
            "activities": ["{{ b }}"],
            "parameters": [parameter("a", "string", "required"), parameter("c", "string", "required")],
        }))
        .unwrap();
        assert!(
            error.contains("the recipe uses `b`") && error.contains("a parameter `c`"),
            "{error}"
        );
        let error = error_of(json!({"prompt": "{% include 'x' %}"})).unwrap();
        assert!(
            error.contains("a recipe that is not in a file includes none"),
            "{error}"
        );
    }

    #[test]
    fn extensions_and_the_schema_of_the_answer_must_make_sense() {
        let error =
            error_of(json!({"prompt": "go", "extensions": [{"type": "stdio", "name": "x"}]}))
                .unwrap();
        assert!(error.contains("cmd"), "{error}");
        let error = error_of(json!({"prompt": "go", "response": {"json_schema": []}})).unwrap();
        assert!(error.contains("must be an object"), "{error}");
        assert_eq!(
            error_of(json!({"prompt": "go", "response": {"json_schema": {"type": "object"}}})),
            None
        );
    }
}
