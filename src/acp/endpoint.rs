//! `GET /acp`: the Agent Client Protocol over a WebSocket, as Goose Desktop speaks it from 1.41 on.

use crate::agent::Registry;
use crate::http::{Access, Error, Request, Response, Router, web_socket};
use crate::{MAX_WEB_SOCKET_MESSAGE, serve_web_socket};
use std::sync::Arc;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let registry = registry.clone();
    router.get("/acp", Access::TokenKeyed, move |request| {
        connect(&registry, request)
    })
}

/// Desktop finds out with a plain request whether its key is right, and expects 406 then.
fn connect(registry: &Arc<Registry>, request: &Request) -> Result<Response, Error> {
    if !web_socket::is_upgrade(request) {
        let error = Error::new(406, "Connect with a WebSocket: `/acp` has nothing else");
        return Err(error.header("Upgrade", "websocket"));
    }
    let registry = registry.clone();
    web_socket::accept(request, MAX_WEB_SOCKET_MESSAGE, move |socket| {
        serve_web_socket(&registry, socket);
    })
}
