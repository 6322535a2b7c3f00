//! What the providers share that fetch their tokens.

mod token_cache;
mod token_request;

pub(in crate::provider) use token_cache::{Fetched, TokenCache};
pub(in crate::provider) use token_request::{TIMEOUT, TokenRequest};

use super::Parameters;

impl Parameters {
    /// The value of a setting, if it is set and not blank.
    pub(in crate::provider) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let value = found.map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }
}
