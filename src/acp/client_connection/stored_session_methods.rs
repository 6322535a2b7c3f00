//! Goose's methods about stored sessions: `session/…`.

use super::ConnectionState;
use super::goose_params::{Outcome, Params, done};
use super::session_methods::describe;
use crate::agent::{Error, Registry};
use crate::conversation::{MAX_NAME, Message, Role};
use crate::error_objects::error_object;
use crate::http::Method;
use crate::mcp::jsonrpc::{ErrorObject, RawJson};
use crate::prompt_content;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
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
    let copied = (state.registry).copy(params.text("sessionId")?, until);
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

pub(crate) fn archive(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    set_archived(state, params.text("sessionId")?, true)
}

/// Puts the session away for the clients that show such sessions apart, or takes it back.
fn set_archived(state: &ConnectionState, id: &str, archived: bool) -> Outcome {
    let at = archived.then(clock::now_rfc3339);
    let sessions = &state.registry.stores().sessions;
    done(
        sessions
            .update(id, |session| session.archived_at = at)
            .map(drop),
    )
}

/// Ends the session's turn and agent, and puts it away.
pub(crate) fn close_and_archive(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let id = params.text("sessionId")?;
    state.stored(id)?;
    state.end_session(id);
    set_archived(state, id, true)
}

/// Sets the title, which a model never replaces, and answers the one that was stored.
pub(crate) fn set_title(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    rename(state, params, cancel)?;
    let session = state.stored(params.text("sessionId")?)?;
    Ok(json!({ "title": session.name }))
}

/// Whether the session has an agent, also one that rests.
pub(crate) fn status(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let id = params.text("sessionId")?;
    state.stored(id)?;
    let is_open = state.registry.status(id).is_ok();
    Ok(json!({"status": if is_open { "open" } else { "saved" }}))
}

pub(crate) fn unarchive(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    set_archived(state, params.text("sessionId")?, false)
}

pub(crate) fn update_project(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let project = params.value("projectId");
    let project = match project.as_str() {
        None if !project.is_null() => {
            return Err(params.invalid("projectId", "it is not a string"));
        }
        project => project,
    };
    let id = params.text("sessionId")?;
    done(set_project(&state.registry, id, project))
}

/// Puts the session in a project of the client, or in none.
///
/// # Errors
/// When there is no such session, the name is longer than [`MAX_NAME`], or it cannot be stored.
fn set_project(registry: &Registry, id: &str, project: Option<&str>) -> Result<(), Error> {
    if project.is_some_and(|project| project.chars().count() > MAX_NAME) {
        let reason = format!("a project's id has at most {MAX_NAME} characters");
        return Err(Error::Config { reason });
    }
    let project = project.map(str::to_owned);
    (registry.stores().sessions).update(id, |session| session.project_id = project)?;
    Ok(())
}

/// gosling publishes nothing.
pub(crate) fn share(_: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let why = "gosling shares no session over Nostr; export it and pass on the file";
    Err(params.invalid("relays", why))
}

/// Adds a message to the run of the session that the client knows of.
pub(crate) fn steer(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let (id, expected) = (params.text("sessionId")?, params.text("expectedRunId")?);
    let prompt = crate::json::from_value(params.value("prompt"));
    let prompt: Vec<RawJson> =
        prompt.map_err(|_| params.invalid("prompt", "it is no list of content blocks"))?;
    let contents = prompt_content::contents("_goose/unstable/session/steer", prompt, &|_| None)?;
    let no_run = || params.invalid("expectedRunId", "no run of the session is active");
    let turn = state.live.of(id).ok_or_else(no_run)?;
    if turn.run() != expected {
        let runs = json!({"expectedRunId": expected, "actualRunId": turn.run()});
        return Err(ErrorObject {
            data: serde_json::value::to_raw_value(&runs).ok(),
            ..params.invalid("expectedRunId", "another run of the session is active")
        });
    }
    let message = Message::new(Role::User, contents);
    let message = turn.steer(|| state.registry.steer(id, message));
    let message = message.map_err(error_object)?;
    Ok(json!({"runId": turn.run(), "messageId": message}))
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
