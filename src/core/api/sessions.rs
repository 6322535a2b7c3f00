//! `/sessions`: list, search, read, rename, fork, export, import and delete stored sessions.

use super::{Route, is_desktop_since, json_body};
use crate::agent::{self, Registry};
use crate::conversation::Session;
use crate::http::Method::{Delete, Get, Post, Put};
use crate::http::{Error, Request, Response};
use crate::store::{StoredSession, Summary};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const SESSION: &str = "/sessions/{session_id}";

pub(super) const ROUTES: &[Route] = &[
    (Get, "/sessions", list),
    (Get, "/sessions/insights", insights),
    (Post, "/sessions/import", import),
    (Get, SESSION, get),
    (Delete, SESSION, delete),
    (Get, "/sessions/{session_id}/extensions", extensions),
    (Get, "/sessions/{session_id}/export", export),
    (Post, "/sessions/{session_id}/fork", fork),
    (Put, "/sessions/{session_id}/name", rename),
    (
        Put,
        "/sessions/{session_id}/user_recipe_values",
        recipe_values,
    ),
];

/// The sessions that clients list.
fn listed(registry: &Registry) -> Result<Vec<Arc<Summary>>, Error> {
    let mut sessions = registry.stores().sessions.list()?;
    sessions.retain(|session| session.is_listed);
    Ok(sessions)
}

/// The whole list, or a part of it: `limit` and `offset` are gosling's own.
fn list(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let (offset, limit) = (count(request, "offset")?, count(request, "limit")?);
    let page = listed(registry)?.into_iter().skip(offset.unwrap_or(0));
    let page = page.take(limit.unwrap_or(usize::MAX));
    let page: Vec<_> = registry.stores().sessions.read(page).collect();
    let page: Vec<&StoredSession> = page.iter().map(AsRef::as_ref).collect();
    Ok(Response::json(&BTreeMap::from([("sessions", page)])))
}

/// The number of sessions in a parameter, if it is there.
fn count(request: &Request, name: &str) -> Result<Option<usize>, Error> {
    let text = request.query(name).filter(|text| !text.is_empty());
    let invalid = |_| Error::bad_request(format!("`{name}` is not a number of sessions"));
    text.map(|text| text.parse().map_err(invalid)).transpose()
}

fn insights(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let sessions = listed(registry)?;
    let tokens = (sessions.iter()).fold(0i64, |sum, it| sum.saturating_add(it.tokens));
    let insights = json!({"totalSessions": sessions.len(), "totalTokens": tokens});
    Ok(Response::json(&insights))
}

fn import(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Import { json: String });
    Ok(with_warnings(&registry.files().import(&json)?))
}

/// The session with an additional field `warnings`: what an import left out. Goose's clients ignore unknown fields.
pub(super) fn with_warnings(session: &Session) -> Response {
    #[derive(Serialize)]
    struct WithWarnings<'a> {
        #[serde(flatten)]
        session: &'a Session,
        warnings: Vec<String>,
    }
    match session.extension_data.imported() {
        None => Response::json(session),
        Some(imported) => Response::json(&WithWarnings {
            session,
            warnings: imported.warnings(),
        }),
    }
}

fn get(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("session_id");
    let session = registry.files().session_with_messages(id)?;
    Ok(Response::json(&SessionAnswer::new(request, session)))
}

/// A session, and its tokens as Goose's API has them from 1.39 on.
#[derive(Serialize)]
pub(super) struct SessionAnswer {
    #[serde(flatten)]
    session: Session,
    #[serde(flatten)]
    tokens: Option<Tokens>,
}

#[derive(Serialize)]
struct Tokens {
    usage: Usage,
    accumulated_usage: Usage,
}

#[derive(Serialize)]
struct Usage {
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    total_tokens: Option<i64>,
}

impl SessionAnswer {
    /// The answer for the client that has sent the request.
    pub(super) fn new(request: &Request, session: Session) -> Self {
        let tokens = is_desktop_since(request, (1, 39)).then_some(Tokens {
            usage: Usage {
                input_tokens: session.input_tokens,
                output_tokens: session.output_tokens,
                total_tokens: session.total_tokens,
            },
            accumulated_usage: Usage {
                input_tokens: session.accumulated_input_tokens,
                output_tokens: session.accumulated_output_tokens,
                total_tokens: session.accumulated_total_tokens,
            },
        });
        SessionAnswer { session, tokens }
    }
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    registry.delete(request.param("session_id"))?;
    Ok(Response::empty(200))
}

fn extensions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let session = registry.files().session(request.param("session_id"))?;
    let extensions = session.enabled_extensions();
    Ok(Response::json(&json!({ "extensions": extensions })))
}

/// The session as a JSON string that holds the text of the file.
fn export(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let session = registry.files().export(request.param("session_id"))?;
    let text = crate::json::to_value(&session)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .map_err(|error| Error::internal(format!("the session cannot be exported: {error}")))?;
    Ok(Response::json(&text))
}

fn fork(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => ForkRequest { timestamp: Option<i64>, truncate: bool, copy: bool });
    if truncate && timestamp.is_none() {
        return Err(Error::bad_request("truncate=true requires a timestamp"));
    }
    let id = request.param("session_id");
    let until = timestamp.filter(|_| truncate);
    let id = if copy {
        registry.copy(id, until)?
    } else {
        registry.truncate(id, until)?;
        id.to_owned()
    };
    Ok(Response::json(&json!({ "sessionId": id })))
}

/// 200 even if there is no such session, as goosed answers.
fn rename(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Name { name: String });
    match registry.rename(request.param("session_id"), &name) {
        Ok(()) | Err(agent::Error::NoSession) => Ok(Response::empty(200)),
        Err(error) => Err(error.into()),
    }
}

fn recipe_values(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Values {
        #[serde(rename = "userRecipeValues")]
        values: BTreeMap<String, String>,
    });
    let values = values.into_iter().map(|(name, value)| (name, value.into()));
    let id = request.param("session_id");
    let recipe = registry.files().set_recipe_values(id, values.collect())?;
    Ok(Response::json(&json!({ "recipe": recipe })))
}
