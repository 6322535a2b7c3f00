//! What the tokens of a model cost.

use super::ProviderCatalog;
use crate::Usage;
use gosling_core::provider::Price;
use std::sync::Arc;

impl ProviderCatalog {
    /// What the tokens of a model cost; `None` if its input or its output has no known price.
    pub(super) fn known_price(&self, provider: &str, model: &str) -> Option<Price> {
        let found = self.find(provider).ok()?;
        let known = self.facts.model(found.table_name()?, model)?;
        let price = |kind: usize| known.price.get(kind).copied().flatten();
        let (input, output) = (price(0)?, price(1)?);
        let [cached, written] = [2, 3].map(|kind| price(kind).unwrap_or(input));
        let prices = TokenPrices {
            input,
            output,
            cached,
            written,
        };
        Some(Arc::new(move |usage| prices.of(usage)))
    }
}

/// What the tokens of a model cost, in US dollars for a million.
#[derive(Clone, Copy, Debug)]
struct TokenPrices {
    /// Input.
    input: f64,
    /// Output.
    output: f64,
    /// Input from the cache.
    cached: f64,
    /// Input that was written to the cache.
    written: f64,
}

impl TokenPrices {
    /// What this usage costs, in US dollars.
    fn of(self, usage: Usage) -> f64 {
        let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
        let cached = usage.cached.unwrap_or(0).min(input);
        let written = usage.written.unwrap_or(0).min(input - cached);
        let cost = (input - cached - written) as f64 * self.input
            + cached as f64 * self.cached
            + written as f64 * self.written
            + output as f64 * self.output;
        cost / 1e6
    }
}

#[cfg(test)]
mod tests;
