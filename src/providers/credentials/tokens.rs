//! What the providers share that fetch their tokens.

#[cfg(any(feature = "azure", feature = "databricks", feature = "vertex"))]
pub(crate) mod oauth_token;
#[cfg(any(feature = "azure", feature = "vertex"))]
pub(crate) mod signed_claims;
mod token_cache;
mod token_request;

pub(crate) use token_cache::{Fetched, TokenCache};
pub(crate) use token_request::{TIMEOUT, TokenRequest};
