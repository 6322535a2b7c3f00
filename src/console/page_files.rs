//! `/console` and `/console/{file}`: the page and its files. They contain nothing but what every copy of gosling has, so
//! they need no key; the page asks its user for one and keeps it in memory.

use crate::http::Access::Keyless;
use crate::http::{Error, Request, Response, Router};

/// What the page may do: run and show its own files, ask this server, frame its pages for MCP Apps, and show images that
/// are in an answer. No text becomes markup, whichever way (Trusted Types), and no page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const PAGE: &str = include_str!("page/console.html");

/// Makes the table of the other files.
macro_rules! files {
    ($($kind:literal: $($name:literal)+;)+) => {
        /// The other files: their names, their types and their contents.
        const FILES: &[(&str, &str, &str)] = &[$($(
            ($name, $kind, include_str!(concat!("page/", $name))),
        )+)+];
    };
}

files! {
    "text/css; charset=utf-8": "console.css";
    "text/javascript; charset=utf-8":
        "apps.js" "audit.js" "chat.js" "console.js" "elements.js" "event_stream.js" "extensions.js" "messages.js"
        "numbers.js" "questions.js" "schema_form.js" "server.js" "sessions.js" "tools.js";
}

pub(crate) fn routes(router: Router) -> Router {
    router
        .get("/console", Keyless, |_| {
            Ok(file("text/html; charset=utf-8", PAGE))
        })
        .get("/console/{file}", Keyless, named)
}

fn named(request: &Request) -> Result<Response, Error> {
    let name = request.param("file");
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (_, kind, content) =
        found.ok_or_else(|| Error::not_found("The console has no such file"))?;
    Ok(file(kind, content))
}

fn file(kind: &str, content: &'static str) -> Response {
    Response::bytes(kind, content)
        .header("Content-Security-Policy", POLICY)
        .header("Cross-Origin-Opener-Policy", "same-origin")
        .header("Referrer-Policy", "no-referrer")
        .header("X-Content-Type-Options", "nosniff")
        // A newer program has newer files.
        .header("Cache-Control", "no-store")
}
