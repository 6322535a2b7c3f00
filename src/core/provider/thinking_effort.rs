//! How much a model thinks before it answers, as the user says it. What that means for a model, its provider knows.

use super::{Catalog, ModelConfig};
use crate::store::{Config, settings};

/// The request parameter in which a session keeps its effort, as in Goose.
pub const EFFORT: &str = "thinking_effort";

/// The efforts, by their names in settings.
pub const EFFORTS: &[&str] = &["off", "low", "medium", "high", "max"];

/// Adds what the settings say of a model's thinking, unless the model has parameters of its own for it;
/// `name` is the provider's.
pub fn add_settings(config: &Config, catalog: &dyn Catalog, name: &str, model: &mut ModelConfig) {
    let given = model.request_params.get_or_insert_default();
    if !given.contains_key("thinking") && !given.contains_key(EFFORT) {
        let effort = settings::THINKING_EFFORT.word(config);
        if effort.is_empty() {
            given.extend(catalog.thinking_params(name, &model.model_name))
        } else {
            drop(given.insert(EFFORT.to_owned(), effort.into()))
        }
    }
    let given = model.request_params.take();
    model.request_params = given.filter(|given| !given.is_empty());
}
