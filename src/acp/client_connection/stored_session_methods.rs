//! Goose's methods about stored sessions: `session/…`.

use super::ConnectionState;
use super::goose_params::{Outcome, Params, done};
use super::session_methods::describe;
use crate::error_objects::error_object;
use crate::http::Method;
use crate::sys::cancel::Cancel;
use serde_json::json;
use std::path::PathBuf;

pub(crate) fn info(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let mut session = state.stored(params.text("sessionId")?)?;
    state.registry.models().show(&mut session);
    Ok(json!({ "session": describe(&session) }))
}

pub(crate) fn rename(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    done((state.registry).rename(params.text("sessionId")?, params.text("title")?))
}

/// Copies a session, up to a moment if one is given.
pub(crate) fn fork(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let until = params.value("_meta")["conversationBefore"].as_i64();
    let copied = state
        .registry
        .files()
        .copy(params.text("sessionId")?, until);
    let id = copied.map_err(error_object)?;
    let session = state.stored(&id)?;
    state.remember(&id, session.working_dir.clone());
    let mut result = state.state_of(&session);
    result["sessionId"] = id.into();
    Ok(result)
}

/// Removes the messages from a moment on.
pub(crate) fn truncate(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let from = params.value("truncateFrom").as_i64();
    let from = from.ok_or_else(|| params.invalid("truncateFrom", "it is not a number"))?;
    done((state.registry).truncate(params.text("sessionId")?, Some(from)))
}

/// Imports an exported session. Goose's clients can also name one that was shared over Nostr, which gosling does
/// not fetch.
pub(crate) fn import(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let text = params.text("input")?;
    let is_link =
        text.trim_start().starts_with("nevent1") || text.trim_start().starts_with("goose:");
    if is_link || *params.value("source") == *"nostr" {
        let why = "gosling takes the text of an exported session, and fetches none from Nostr";
        return Err(params.invalid("input", why));
    }
    let body = json!({ "json": text });
    let session = state.call_route(Method::Post, "/sessions/import", &[], &body, cancel)?;
    Ok(json!({
        "sessionId": session["id"],
        "title": session["name"],
        "updatedAt": session["updated_at"],
        "messageCount": session["message_count"],
    }))
}

pub(crate) fn update_working_dir(
    state: &ConnectionState,
    params: &Params,
    cancel: &Cancel,
) -> Outcome {
    let (id, dir) = (params.text("sessionId")?, params.text("workingDir")?);
    let body = json!({"session_id": id, "working_dir": dir});
    state.call_route(
        Method::Post,
        "/agent/update_working_dir",
        &[],
        &body,
        cancel,
    )?;
    if let Some(session) = state.opened(id) {
        session.set_working_dir(PathBuf::from(dir.trim()));
    }
    Ok(json!({}))
}
