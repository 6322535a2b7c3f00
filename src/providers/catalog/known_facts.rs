//! What the catalog knows of models: the table, and what providers have told of theirs.

use super::current_table::{FILE, ModelTables};
use super::fast_model::RefusedModels;
use super::listed_models::ListedModels;
use super::model_table::{Model, ModelEndpoint, longest_prefix};
use crate::listed_limits::{ListedLimits, listed_limits};
use crate::model_facts::ModelFacts;
use crate::model_traits::ModelTraits;
use std::path::Path;
use std::sync::Arc;

/// What is known of all models.
#[derive(Default)]
pub(super) struct KnownFacts {
    pub(super) tables: ModelTables,
    pub(super) listed: ListedModels,
    pub(super) refused: RefusedModels,
}

impl KnownFacts {
    /// With the files in this folder.
    pub(super) fn new(data: &Path) -> Self {
        KnownFacts {
            tables: ModelTables::new(data.join(FILE)),
            listed: ListedModels::new(data),
            refused: RefusedModels::default(),
        }
    }

    /// The entry of a model in the table.
    pub(super) fn model(&self, table: &str, name: &str) -> Option<Model> {
        longest_prefix(&self.tables.of(table), name).cloned()
    }
}

/// What is known of the models of one provider.
pub(super) struct ProviderFacts {
    pub(super) all: Arc<KnownFacts>,
    pub(super) provider: String,
    /// The provider of the table that has its models.
    pub(super) table: String,
    pub(super) url: String,
}

impl ModelFacts for ProviderFacts {
    fn traits(&self, model: &str) -> ModelTraits {
        let by_name = ModelTraits::of(model);
        // Only OpenAI's rows say which models refuse a temperature, and only they and those of Copilot, which of
        // OpenAI's protocols a model needs.
        let is_openai = self.table == "openai";
        if !is_openai && self.table != "github_copilot" {
            return by_name;
        }
        match self.all.model(&self.table, model) {
            Some(known) => ModelTraits {
                reasons: if is_openai {
                    known.thinking
                } else {
                    by_name.reasons
                },
                needs_responses: known.endpoint == ModelEndpoint::Responses,
                ..by_name
            },
            None => by_name,
        }
    }

    fn learn(&self, list: &[u8]) {
        let limits = listed_limits(list);
        (self.all.listed).learn(&self.provider, &self.url, limits);
    }

    fn learn_window(&self, model: &str, window: u64) {
        let known = self.all.listed.of(&self.provider, model);
        if known.is_some_and(|known| known.window == window) {
            return;
        }
        let mut limits = self.all.listed.all(&self.provider, &self.url);
        limits.retain(|(name, _)| name != model);
        let output = known.and_then(|known| known.output);
        limits.push((model.to_owned(), ListedLimits { window, output }));
        (self.all.listed).learn(&self.provider, &self.url, limits);
    }
}
