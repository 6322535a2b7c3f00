//! What a provider behind HTTP asks and tells the catalog about its models.

use super::model_traits::ModelTraits;

/// The facts about the models of one provider.
pub(super) trait ModelFacts: Send + Sync {
    /// The traits of a model: those of the table, else what its name says.
    fn traits(&self, model: &str) -> ModelTraits;
    /// Learns from the body of a list of models.
    fn learn(&self, list: &[u8]);
    /// Learns the context of one model, in tokens.
    fn learn_window(&self, model: &str, window: u64);
}
