//! What the providers share that fetch their tokens.

#[cfg(any(feature = "azure", feature = "databricks", feature = "vertex"))]
pub(in crate::provider) mod oauth_token;
#[cfg(any(feature = "azure", feature = "vertex"))]
pub(in crate::provider) mod signed_claims;
mod token_cache;
mod token_request;

pub(in crate::provider) use token_cache::{Fetched, TokenCache};
pub(in crate::provider) use token_request::{TIMEOUT, TokenRequest};
