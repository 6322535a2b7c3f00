//! What the tokens of a model cost.

use super::Catalog;
use crate::provider::Usage;

/// What the tokens of a model cost, in US dollars for a million.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    input: f64,
    output: f64,
    /// Input from the cache.
    cached: f64,
    /// Input that was written to the cache.
    written: f64,
}

impl Price {
    /// What this usage costs, in US dollars.
    pub fn of(self, usage: Usage) -> f64 {
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

impl Catalog {
    /// What the tokens of a model cost; `None` if its input or its output has no known price.
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_from_the_cache_has_its_own_price_and_is_not_paid_twice() {
        let price = Price {
            input: 2.5,
            output: 10.0,
            cached: 1.25,
            written: 5.0,
        };
        let usage = |input, cached, output| Usage {
            input: Some(input),
            cached: Some(cached),
            output: Some(output),
            ..Usage::default()
        };
        let cost = |usage| (price.of(usage) * 1e6).round();
        assert_eq!(cost(usage(1_000_000, 0, 100_000)), 3_500_000.0);
        assert_eq!(cost(usage(1_000_000, 400_000, 0)), 2_000_000.0);
        assert_eq!(cost(usage(100, 1_000, 0)), 125.0);
        assert_eq!(cost(Usage::default()), 0.0);
        let written = Usage {
            written: Some(200_000),
            ..usage(1_000_000, 400_000, 0)
        };
        assert_eq!(cost(written), 2_500_000.0);
    }
}
