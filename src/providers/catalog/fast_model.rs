//! The model for names and summaries: the cheapest one of the same provider, without thinking.

use super::current_table::soon;
use super::model_table::{Model, longest_prefix};
use super::{Found, ProviderCatalog, provider_settings};
use crate::store::settings::FAST_MODEL;
use crate::sys::lock;
use gosling_core::provider::thinking_effort::EFFORT;
use gosling_core::provider::{Catalog, FastModel};
use std::collections::HashSet;
use std::slice;
use std::sync::{Arc, Mutex};

/// The setting's value for the session's own model.
const OFF: &str = "off";

/// The vendors who serve models of their own alone.
const OWN_MODELS: [&str; 6] = [
    "anthropic",
    "google",
    "mistral",
    "moonshot",
    "openai",
    "xai",
];

/// Models that their provider has refused, with its name.
pub(super) type RefusedModels = Arc<Mutex<HashSet<(String, String)>>>;

impl ProviderCatalog {
    /// The model for names and summaries in sessions of the model `own`, with room for `tokens`; `None` for `own`
    /// itself. `GOOSE_FAST_MODEL` names it. Without the setting only the vendor's own server is asked for another
    /// model: other servers have what they have.
    pub(super) fn cheaper_model(
        &self,
        provider: &str,
        own: &str,
        tokens: u64,
    ) -> Option<FastModel> {
        let named = FAST_MODEL.text(&self.config).ok().flatten();
        let name = match named.as_deref().map(str::trim) {
            Some(OFF) => return None,
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => self.cheapest(provider, own, tokens)?,
        };
        let key = (provider.to_owned(), name);
        if key.1 == own || lock(&self.facts.refused).contains(&key) {
            return None;
        }
        let mut config = self.model_config(provider, &key.1);
        let params = config.request_params.get_or_insert_default();
        params.insert(EFFORT.to_owned(), "off".into());
        let refused = self.facts.refused.clone();
        Some(FastModel {
            config,
            refused: Box::new(move || {
                lock(&refused).insert(key.clone());
            }),
        })
    }

    fn cheapest(&self, provider: &str, own: &str, tokens: u64) -> Option<String> {
        let Ok(Found::Builtin(spec)) = self.find(provider) else {
            return None;
        };
        // What a cloud's account may use is its own matter. Those who resell the models of many vendors are not asked
        // for one of a vendor that the user has not chosen.
        if !OWN_MODELS.contains(&spec.name) {
            return None;
        }
        let settings = provider_settings::resolve(spec, self.reader()).ok()?;
        if !provider_settings::is_at_vendor(spec, &settings.endpoint.url) {
            return None;
        }
        let models = self.facts.tables.of(spec.table_name());
        let told = (self.facts.listed).all(spec.name, &settings.endpoint.url);
        let is_served = |model: &Model| {
            let means = |name: &str| longest_prefix(slice::from_ref(model), name).is_some();
            told.is_empty() || told.iter().any(|(name, _)| means(name))
        };
        let found = cheapest(&models, own, tokens, &soon(), is_served);
        found.map(|model| model.name.clone())
    }
}

/// The cheapest model that is neither free, which comes with other conditions, nor retired before `date`, and has
/// room, and that the provider serves; `None` if `own` costs no more.
fn cheapest<'m>(
    models: &'m [Model],
    own: &str,
    tokens: u64,
    date: &str,
    is_served: impl Fn(&Model) -> bool,
) -> Option<&'m Model> {
    let price = |model: &Model| match model.price.as_slice() {
        // A summary reads much more than it writes.
        [Some(input), Some(output), ..] => Some(3.0 * input + output),
        _ => None,
    };
    let usable = models.iter().filter(|model| {
        let has_room = model.window >= tokens.saturating_mul(2);
        model.tools && !model.is_retired(date) && has_room && is_served(model)
    });
    let priced = usable.filter_map(|model| Some((price(model)?, model)));
    let (least, found) = priced
        .filter(|(price, _)| *price > 0.0)
        .min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let of_own = longest_prefix(models, own).and_then(price);
    of_own.is_none_or(|own| own > least).then_some(found)
}

#[cfg(test)]
mod tests;
