//! What Goose offers and gosling does not: its tunnel, sign-in with vendors, telemetry, dictation, models in the
//! same process, gateways. Clients ask for these on their own and get the shape that they expect, with nothing
//! in it.

use crate::http::{Access::Keyed, Error, Request, Response, Router};
use serde::Deserialize;
use serde_json::json;

pub(super) fn routes(router: Router) -> Router {
    router
        .get("/tunnel/status", Keyed, tunnel_status)
        .post("/tunnel/start", Keyed, start_tunnel)
        .post("/tunnel/stop", Keyed, |_| Ok(Response::empty(200)))
        .post("/handle_openrouter", Keyed, |_| {
            Ok(sign_in("OpenRouter", "provider `openrouter`"))
        })
        .post("/handle_tetrate", Keyed, |_| {
            Ok(sign_in("Tetrate", "custom provider for it"))
        })
        .post("/handle_nanogpt", Keyed, |_| {
            Ok(sign_in("NanoGPT", "provider `nano-gpt`"))
        })
        .post("/sessions/import/nostr", Keyed, |_| {
            Err(Error::bad_request(
                "gosling fetches no session from Nostr: import the text of an exported one",
            ))
        })
        .post("/sessions/{session_id}/share/nostr", Keyed, |_| {
            Err(Error::bad_request(
                "gosling shares no session over Nostr: export it and pass on the file",
            ))
        })
        .post("/telemetry/event", Keyed, drop_event)
        // After 1.24: configured dictation, models on this machine, running gateways.
        .get("/dictation/config", Keyed, |_| {
            Ok(Response::json(&json!({})))
        })
        .get("/local-inference/models", Keyed, |_| Ok(none()))
        .get("/gateway/status", Keyed, |_| Ok(none()))
}

#[derive(Deserialize)]
struct Event {
    #[expect(dead_code, reason = "required, but dropped")]
    event_name: String,
}

fn none() -> Response {
    Response::json(&json!([]))
}

fn tunnel_status(_: &Request) -> Result<Response, Error> {
    Ok(Response::json(
        &json!({ "state": "disabled", "url": "", "hostname": "", "secret": "" }),
    ))
}

fn start_tunnel(_: &Request) -> Result<Response, Error> {
    Err(Error::bad_request(
        "gosling has no tunnel: to reach it from another machine, put a proxy with TLS in front of it",
    ))
}

/// Vendors' sign-in pages call back to a server of Goose's makers.
fn sign_in(vendor: &str, provider: &str) -> Response {
    let message = format!(
        "gosling cannot sign in to {vendor} with a browser: create a key on its site and enter it for the \
         {provider}"
    );
    Response::json(&json!({ "success": false, "message": message }))
}

/// Accepts an event and drops it: gosling collects nothing and sends nothing.
fn drop_event(request: &Request) -> Result<Response, Error> {
    let _: Event = request.json()?;
    Ok(Response::empty(202))
}
