//! What the tokens of a model cost.

use super::ProviderCatalog;
use gosling_core::provider::Price;

impl ProviderCatalog {
    /// What the tokens of a model cost; `None` if its input or its output has no known price.
    pub(super) fn known_price(&self, provider: &str, model: &str) -> Option<Price> {
        let found = self.find(provider).ok()?;
        let known = self.facts.model(found.table_name()?, model)?;
        let price = |kind: usize| known.price.get(kind).copied().flatten();
        let (input, output) = (price(0)?, price(1)?);
        let [cached, written] = [2, 3].map(|kind| price(kind).unwrap_or(input));
        Some(Price {
            input,
            output,
            cached,
            written,
        })
    }
}
