//! Fuzz targets for recipes: their JSON, links and templates.

use super::{InputType, Recipe, deeplink, template};
use crate::json;
use crate::text::fuzz_input::texts;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Checks that a recipe passes through a link unchanged, and that rendering it is deterministic.
pub fn recipe(input: &[u8]) {
    let [text, value] = texts(input);
    if let Ok(recipe) = Recipe::from_link(&text) {
        through_link(&recipe);
    }
    let Ok(recipe) = json::from_str::<Recipe>(&text) else {
        return;
    };
    let given = json::from_str::<Value>(&text).expect("what holds a recipe is JSON");
    assert_eq!(recipe.clone().into_value(), given);
    through_link(&recipe);
    let checked = recipe.check();
    let parameters = &recipe.fields().parameters;
    if parameters
        .iter()
        .any(|parameter| parameter.input_type == InputType::File)
    {
        // Rendering would read a file.
        return;
    }
    let values = parameters.iter().map(|parameter| {
        let value = match parameter.input_type {
            InputType::Select => parameter.options.iter().flatten().next().cloned(),
            InputType::Number => Some("1".to_owned()),
            InputType::Boolean => Some("true".to_owned()),
            InputType::Date => Some("2026-12-01".to_owned()),
            InputType::String | InputType::File => Some(value.clone()),
        };
        (parameter.key.clone(), Value::from(value))
    });
    let values: Map<String, Value> = values.collect();
    let rendered = recipe.render(&values, Path::new("/nowhere"));
    assert_eq!(rendered, recipe.render(&values, Path::new("/nowhere")));
    if let (Ok(()), Ok(rendered)) = (checked, rendered) {
        assert_eq!(rendered.fields().parameters, *parameters);
        assert_eq!(
            rendered.fields().instructions.is_some(),
            recipe.fields().instructions.is_some()
        );
        assert_eq!(
            rendered.fields().prompt.is_some(),
            recipe.fields().prompt.is_some()
        );
    }
}

fn through_link(recipe: &Recipe) {
    let link = recipe.to_link();
    if link.len() <= deeplink::MAX_LINK {
        assert_eq!(Recipe::from_link(&link).as_ref(), Ok(recipe));
        assert_eq!(
            Recipe::from_link(&format!(" {link}==\n")).as_ref(),
            Ok(recipe)
        );
    }
}

/// Checks that a template stays within its limits, gives the same result each time, and does not evaluate its
/// values.
pub fn template(input: &[u8]) {
    let [text, value] = texts(input);
    let recipe = Map::from_iter([("prompt".to_owned(), Value::from(text.clone()))]);
    let names = template::variables(&recipe);
    let mut values: BTreeMap<String, String> = ["a", "b", "recipe_dir"]
        .map(|name| (name.to_owned(), value.clone()))
        .into();
    for name in names.iter().flatten() {
        values.insert(name.clone(), value.clone());
    }
    let filled = template::fill_in(&recipe, &values);
    assert_eq!(filled, template::fill_in(&recipe, &values));
    if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        assert_eq!(filled.as_ref(), Ok(&recipe));
    }
    if filled.is_ok() {
        assert!(names.is_ok(), "it runs and has no names: {names:?}");
    }
    let around = [("prompt".to_owned(), Value::from("a{{ a }}b"))];
    let filled = template::fill_in(&Map::from_iter(around), &values);
    let expected = Value::from(format!("a{value}b"));
    assert_eq!(
        filled.map(|mut filled| filled.remove("prompt")),
        Ok(Some(expected))
    );
}
