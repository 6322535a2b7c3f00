//! The settings that a recipe has for its session.

use crate::conversation::Session;
use crate::recipe;
use serde_json::Value;

/// A setting of the session's recipe.
pub(super) fn recipe_setting(session: &Session, key: &str) -> Option<String> {
    recipe_settings(session)[key].as_str().map(str::to_owned)
}

/// The settings of the session's recipe. They are rendered only if they contain a template, since that takes
/// the whole recipe.
pub(super) fn recipe_settings(session: &Session) -> Value {
    let settings = |recipe: &Value| recipe["settings"].clone();
    let given = session.recipe.as_ref().map(settings).unwrap_or_default();
    let texts = given.as_object().into_iter().flatten();
    let is_template = |value: &Value| value.as_str().is_some_and(|text| text.contains('{'));
    if !texts.into_iter().any(|(_, value)| is_template(value)) {
        return given;
    }
    let rendered = recipe::apply(session).ok().flatten();
    rendered.as_ref().map_or(given, settings)
}
