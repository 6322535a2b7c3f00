//! The manual: one page a topic, printed by `gosling help TOPIC` and part of this documentation.
//!
//! The pages are Markdown that also reads well as plain text, with lines of at most 80 columns. In a
//! page, a block marked `sh` runs as it is, without a network, in an empty root folder; `tests/manual.rs`
//! runs each of them. A block that cannot run there is marked `console`, and the text before it says what
//! it needs.

use gosling_core::http::{Access::Keyed, Error, Request, Response};
use gosling_core::part::{Part, Topic};

/// What the manual adds to gosling.
pub const PART: Part = Part {
    routes: Some(|router, _| router.get("/openapi.json", Keyed, openapi)),
    topics: TOPICS,
    ..Part::new("manual")
};

/// `GET /openapi.json`: the API as an OpenAPI 3.0 document, with gosling's additions. Not part of Goose's API.
fn openapi(_: &Request) -> Result<Response, Error> {
    let document = include_str!("openapi.json");
    Ok(Response::bytes("application/json", document))
}

/// The text of a page, and the programs that it shows, which are files of their own: a heading, the language, and the
/// file.
macro_rules! page {
    ($name:ident $([$heading:literal $language:literal $file:literal])*) => {
        concat!(
            include_str!(concat!(stringify!($name), ".md")),
            $("\n## ", $heading, "\n\n```", $language, "\n", include_str!($file), "```\n",)*
        )
    };
}

/// Makes each page a topic, and a module whose documentation it is.
macro_rules! pages {
    ($($name:ident $summary:literal $([$($program:tt)*])*;)*) => {
        /// All pages, in the order in which `gosling help` lists them.
        pub const TOPICS: &[Topic] = &[$(
            Topic {
                name: stringify!($name),
                summary: $summary,
                text: page!($name $([$($program)*])*),
            },
        )*];

        $(
            #[doc = page!($name $([$($program)*])*)]
            pub mod $name {}
        )*
    };
}

pages! {
    install "packages, images, static programs; updates without a network";
    configuration "files, settings and environment variables";
    models "choosing a provider and a model; your own providers";
    scripted "answers from a file, to try a set-up without a model";
    chat "`gosling chat`, in the terminal and through a pipe";
    acp "`gosling acp`, for Zed, JetBrains, Neovim and Emacs";
    desktop "versions of Goose Desktop, and how to connect each";
    recipes "writing recipes: fields, parameters, templates, validation";
    runs "`gosling run`, and what recipes do in a session";
    extensions "MCP servers: their entries, names, restarts and refusals";
    deeplinks "goose:// links: what they install, what is blocked";
    screening "what extensions may run: malware, a list of allowed ones";
    pinning "tools that change under their user";
    check "`gosling check`: whether Goose can use your MCP server";
    builtins "`developer`, `memory`, `todo` and `demo`";
    containers "running extensions in Docker or Podman";
    sandbox "walls around extensions: what they keep out, and what not";
    api "all routes, and gosling's own additions with examples";
    schedules "recipes at set times: cron lines, time zones, runs";
    interfaces "pages of MCP servers, and what isolates them in a client";
    tls "serving https: certificates, Goose Desktop from 1.27 on";
    limits "sizes, counts and timeouts";
    security "keys, secrets, what is isolated and what is not";
    keys "keys of clients: roles, own sessions, tickets for URLs";
    processes "how MCP servers and their children end";
    logs "where they are, what is in them, how long they are kept";
    policy "what the administrator allows, and clients cannot loosen";
    audit "who did what: the record of calls, changes and refusals";
    backup "backups of a root, restoring one, versions of files";
    console "`/console`: chat, tools, extensions and numbers in a browser";
    service "running it under systemd: unit, notifications, probes";
    scale "more than one server: shards behind HAProxy, upgrades, figures";
    migration "moving in from goosed";
    info "`gosling info`: versions, folders, what is on, what is wrong";
    metrics "numbers for Prometheus";
    features "what a build can leave out";
    platforms "processors, small hosts, old kernels, static programs";
    release "`gosling version` and `verify-release`: checking what you got";
    embedding "gosling as a library of a program in Rust or C"
        ["A model of your own" "rust" "embedding/model.rs"]
        ["An MCP server of your own" "rust" "embedding/server.rs"]
        ["Authentication of your own" "rust" "embedding/authentication.rs"]
        ["A store of your own" "rust" "embedding/store.rs"]
        ["A user of your own, who answers an MCP server" "rust" "embedding/user.rs"]
        ["In C" "c" "embedding/program.c"];
    hosts "gosling as a child of a program in C, Go, JavaScript or Python"
        ["Python" "python" "hosts/host.py"]
        ["JavaScript, for Node.js" "js" "hosts/host.mjs"]
        ["Go" "go" "hosts/host.go"]
        ["C" "c" "hosts/host.c"];
    contract "what Goose's clients require, where it is met, and its tests";
}
