//! The console: a page of the server itself, for a person with a key and a browser. An addition of gosling.
//!
//! - `page_files` serves the files in `page`, which are part of the program. They are plain HTML, CSS and JavaScript, and
//!   an example of a client: what they know, they ask the routes that every client has.
//! - `session_routes` adds those that were missing for it: the schema of a tool, what the server of an extension wrote to
//!   stderr, the restart of one extension.
#![forbid(unsafe_code)]

mod page_files;
mod session_routes;

use gosling_core::part::Part;
use gosling_core::{agent, api, extension, http, mcp, store, text};

/// What the console adds to gosling.
pub const PART: Part = Part {
    routes: Some(|router, registry| session_routes::routes(page_files::routes(router), registry)),
    ..Part::new("console")
};
