//! The manual: one page a topic, printed by `gosling help TOPIC` and part of this documentation.
//!
//! The pages are Markdown that also reads well as plain text, with lines of at most 80 columns. In a
//! page, a block marked `sh` runs as it is, without a network, in an empty root folder; `tests/manual.rs`
//! runs each of them. A block that cannot run there is marked `console`, and the text before it says what
//! it needs.

mod openapi_endpoint;

use gosling_core::part::{Part, Topic};

/// What the manual adds to gosling.
pub const PART: Part = Part {
    routes: Some(openapi_endpoint::routes),
    topics: TOPICS,
    ..Part::new("manual")
};

macro_rules! topic {
    ($name:literal, $summary:literal) => {
        Topic {
            name: $name,
            summary: $summary,
            text: include_str!(concat!($name, ".md")),
        }
    };
}

/// All pages, in the order in which `gosling help` lists them.
pub const TOPICS: &[Topic] = &[
    topic!("configuration", "files, settings and environment variables"),
    topic!(
        "models",
        "choosing a provider and a model; your own providers"
    ),
    topic!(
        "scripted",
        "answers from a file, to try a set-up without a model"
    ),
    topic!("chat", "`gosling chat`, in the terminal and through a pipe"),
    topic!("acp", "`gosling acp`, for Zed, JetBrains, Neovim and Emacs"),
    topic!(
        "desktop",
        "versions of Goose Desktop, and how to connect each"
    ),
    topic!(
        "recipes",
        "writing recipes: fields, parameters, templates, validation"
    ),
    topic!("runs", "`gosling run`, and what recipes do in a session"),
    topic!(
        "extensions",
        "MCP servers: their entries, names, restarts and refusals"
    ),
    topic!(
        "deeplinks",
        "goose:// links: what they install, what is blocked"
    ),
    topic!(
        "screening",
        "what extensions may run: malware, a list of allowed ones"
    ),
    topic!("pinning", "tools that change under their user"),
    topic!(
        "check",
        "`gosling check`: whether Goose can use your MCP server"
    ),
    topic!("builtins", "`developer`, `memory`, `todo` and `demo`"),
    topic!("containers", "running extensions in Docker or Podman"),
    topic!(
        "api",
        "all routes, and gosling's own additions with examples"
    ),
    topic!(
        "schedules",
        "recipes at set times: cron lines, time zones, runs"
    ),
    topic!(
        "interfaces",
        "pages of MCP servers, and what isolates them in a client"
    ),
    topic!(
        "tls",
        "serving https: certificates, Goose Desktop from 1.27 on"
    ),
    topic!("limits", "sizes, counts and timeouts"),
    topic!(
        "security",
        "keys, secrets, what is isolated and what is not"
    ),
    topic!("processes", "how MCP servers and their children end"),
    topic!(
        "logs",
        "where they are, what is in them, how long they are kept"
    ),
    topic!("metrics", "numbers for Prometheus"),
    topic!("features", "what a build can leave out"),
    topic!("embedding", "gosling as a library of a Rust program"),
    topic!(
        "contract",
        "what Goose's clients require, where it is met, and its tests"
    ),
];

#[doc = include_str!("configuration.md")]
pub mod configuration {}
#[doc = include_str!("models.md")]
pub mod models {}
#[doc = include_str!("recipes.md")]
pub mod recipes {}
#[doc = include_str!("runs.md")]
pub mod runs {}
#[doc = include_str!("scripted.md")]
pub mod scripted {}
#[doc = include_str!("chat.md")]
pub mod chat {}
#[doc = include_str!("acp.md")]
pub mod acp {}
#[doc = include_str!("desktop.md")]
pub mod desktop {}
#[doc = include_str!("tls.md")]
pub mod tls {}
#[doc = include_str!("pinning.md")]
pub mod pinning {}
#[doc = include_str!("extensions.md")]
pub mod extensions {}
#[doc = include_str!("deeplinks.md")]
pub mod deeplinks {}
#[doc = include_str!("screening.md")]
pub mod screening {}
#[doc = include_str!("check.md")]
pub mod check {}
#[doc = include_str!("builtins.md")]
pub mod builtins {}
#[doc = include_str!("containers.md")]
pub mod containers {}
#[doc = include_str!("api.md")]
pub mod api {}
#[doc = include_str!("schedules.md")]
pub mod schedules {}
#[doc = include_str!("interfaces.md")]
pub mod interfaces {}
#[doc = include_str!("limits.md")]
pub mod limits {}
#[doc = include_str!("security.md")]
pub mod security {}
#[doc = include_str!("processes.md")]
pub mod processes {}
#[doc = include_str!("logs.md")]
pub mod logs {}
#[doc = include_str!("metrics.md")]
pub mod metrics {}
#[doc = include_str!("features.md")]
pub mod features {}
#[doc = include_str!("embedding.md")]
pub mod embedding {}
#[doc = include_str!("contract.md")]
pub mod contract {}
