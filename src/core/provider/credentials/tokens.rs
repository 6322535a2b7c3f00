//! What the providers share that fetch their tokens.

mod oauth_token;
mod signed_claims;
mod token_cache;
mod token_request;

pub(in crate::provider) use oauth_token::{fetch_token, parse_token};
pub(in crate::provider) use signed_claims::{Algorithm, pem_block, signed_claims};
pub(in crate::provider) use token_cache::{Fetched, TokenCache};
pub(in crate::provider) use token_request::{TIMEOUT, TokenRequest};
