//! `GET /sessions/search`: the sessions whose messages have some words. `search` reads the messages, one at a time;
//! `trigrams` has a small index of each session that was read, which tells whether it needs to be read again.
#![forbid(unsafe_code)]

mod search;
mod trigrams;

use gosling_core::agent::Registry;
use gosling_core::api::{cancel_of, with};
use gosling_core::http::{Access::Keyed, Error, Request, Response};
use gosling_core::part::Part;
use gosling_core::store::StoredSession;
use gosling_core::sys::clock::Utc;

pub use crate::search::{Query, search};

/// What the search adds to gosling.
pub const PART: Part = Part {
    routes: Some(|router, registry| router.get("/sessions/search", Keyed, with(registry, answer))),
    ..Part::new("search")
};

/// How many sessions a search finds unless the client says how many.
const DEFAULT_FOUND: usize = 10;

/// The longest text that is searched for, in bytes.
const MAX_QUERY: usize = 1_000;

fn answer(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let text = request.required_query("query")?;
    if text.len() > MAX_QUERY {
        let message = format!("`query` has at most {MAX_QUERY} bytes");
        return Err(Error::bad_request(message));
    }
    let limit = limit(request)?;
    let moment = |name: &str| match request.query(name) {
        None | Some("") => Ok(None),
        Some(text) => Utc::parse(text).map(Some).ok_or_else(|| {
            let example = "2026-11-21 or 2026-11-21T22:16:27Z";
            Error::bad_request(format!("`{name}` is not a date like {example}"))
        }),
    };
    let mut query =
        Query::new(text, limit).ok_or_else(|| Error::bad_request("`query` is empty"))?;
    query.after = moment("after_date")?;
    query.before = moment("before_date")?;
    let cancel = cancel_of(registry, request);
    let found = search(&registry.stores().sessions, &query, &cancel)?;
    let found: Vec<&StoredSession> = found.iter().map(AsRef::as_ref).collect();
    Ok(Response::json(&found))
}

fn limit(request: &Request) -> Result<usize, Error> {
    let Some(text) = request.query("limit").filter(|text| !text.is_empty()) else {
        return Ok(DEFAULT_FOUND);
    };
    let invalid = |_| Error::bad_request("`limit` is not a number of sessions");
    text.parse().map_err(invalid)
}
