//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
//!
//! Comments cite what Goose's clients require as `CORE §7.4`, `SERVER §5.1` or `GUIDE §6`; [`manual::contract`]
//! explains these.
//!
//! # One tool call, through the modules
//!
//! A client sends `POST /agent/call_tool`. The request passes these modules:
//!
//! 1. [`http`] reads the request on the thread of its connection, with limits on every size and wait. It checks
//!    `Host`, key, path and method, in that order, before it reads the body. With `gosling agent --tls` the
//!    connection begins with a handshake, in the same thread; the certificate is that of `tls`.
//! 2. [`api`] converts the JSON to a call of the core. The modules below it know nothing of HTTP requests.
//! 3. [`agent::Registry`] returns the session's live [`agent::Agent`]. Only an explicit start or resume creates
//!    one.
//! 4. [`extension::Manager`] finds the extension of `key__tool` and checks the configured `available_tools`.
//! 5. [`mcp::Client`] assigns an id, registers a slot with a deadline and a [`sys::cancel::Cancel`]
//!    (`mcp::pending_requests`), and passes the message to its [`mcp::transport`]: the same thread writes one
//!    line to a child's stdin, or sends a POST.
//! 6. If the response arrives at once, the same thread reads it; otherwise the transport's reader thread parses
//!    it ([`mcp::jsonrpc`]) and wakes the slot. The result is not rebuilt: its parts are passed on as JSON
//!    text.
//! 7. [`http`] sends head and body with one write.
//!
//! [`extension::configured`] reads and sets the user's configured extensions, for [`api`] and for `gosling
//! extensions`. Before the program of an extension is started, [`extension::screening_check`] asks whether it may;
//! [`extension::pinning_check`] compares the tools that its server lists with those that it listed first.
//!
//! If an MCP server has exited or has forgotten its session, the first call that detects this reconnects. A
//! request is sent again only if it certainly did not reach the server or is harmless when repeated. The
//! servers of an idle session are ended and its agent is put away; its next request makes it again and reconnects
//! them.
//!
//! If the client disconnects during the call, the slot is cancelled, the MCP server gets
//! `notifications/cancelled`, and the thread is free. A stopped session and SIGTERM cancel the same token. One
//! thread creates all child processes and lives as long as the process; [`sys::process`] describes how children
//! end. If the server is killed, its [`sys::guardian`] ends them.
//!
//! # One turn, through the modules
//!
//! A client sends `POST /reply`. [`http`] and [`api`] work as above, but the response is an
//! [`http::EventStream`], which the connection's thread writes while the turn runs:
//!
//! 1. [`agent::Registry::reply`] begins a turn, which takes the session's [`store::TurnLock`], so that no other turn
//!    of the session runs, in this process or another, and opens its [`store::Journal`]. It appends the user's message
//!    with one write; from then on the message survives the process.
//! 2. For every request to the model, the turn builds the [`agent::system_prompt`], the history, repaired so
//!    that every call has a result, and the tools. If they fill too much of the model's context, the history is
//!    replaced by a summary first.
//! 3. The session's [`provider::Provider`] sends the request; the [`provider::Catalog`] knows it by its name. Of those
//!    in [`providers`] a `Protocol` serializes the request and decodes the stream, without I/O;
//!    a wrapper does the I/O, retries where that can help, and can be cancelled at any time. Each delta becomes
//!    an [`agent::Event`] at once; deltas that arrive in one read are sent with one write.
//! 4. Each tool call in the response is authorized by the mode, by the user's earlier decisions and by the
//!    tool's annotations; if needed, the turn asks the user. The calls run in parallel, each in its own thread,
//!    as described above. The turn's thread handles the servers' notifications and their requests to the model
//!    or the user while it waits for the calls.
//! 5. The results are appended to the journal and sent to the model, until the model makes no more calls. Then
//!    everything is made durable, and the last event ends the turn.
//!
//! A message that the user adds while the turn runs is in the journal at once, and reaches the model with the next
//! request, for which the turn goes on ([`agent::Registry::steer`]). Other fronts may follow the turn
//! ([`agent::SessionObserver`]): the pages of Goose Desktop see the turns of all clients.
//!
//! A client that disconnects is detected within a tenth of a second. The turn's token then cancels the request
//! to the model, every call and every wait for the user; the messages so far are in the journal.
//!
//! Other fronts run such turns, too: `session_events` for newer clients over HTTP, [`acp`] for editors and Goose
//! Desktop, `recipe_run` for recipes, of which the core knows the traits of [`agent::recipes`] alone.
//!
//! # Modules
//!
//! Dependencies point one way: [`cmd`] → [`http`] → [`api`], [`acp`] → [`agent`] → [`extension`] → [`mcp`] → [`sys`].
//! [`conversation`] and [`store`] are used from [`api`] down; `schedule` runs recipes, between [`api`] and
//! [`agent`]; `deeplink` reads `goose://` links, for [`api`] and [`cmd`]. [`builtin`] servers use [`mcp::server`];
//! [`extension`] runs them in this process. The processes of an extension that shall have walls
//! ([`extension::sandbox`]) get them between fork and exec; a builtin server with commands is a process of its own
//! then. ([`api`] uses the types of [`http`]: requests, responses, routes; [`acp`]
//! also its connections.) [`agent`] also calls the models behind [`provider`]; [`providers`], which has those
//! behind HTTP, and [`mcp`] send requests with [`outbound`]. `builtin::mcp_endpoint` serves an [`mcp::server`] over [`http`], for `gosling mcp NAME
//! --http`. [`http`] serves https with the certificate of `tls`, which keeps its files with [`store`]. `check`,
//! between [`agent`] and [`extension`], sends raw messages to an MCP server, right and wrong ones, and compares the
//! answers with the contract. [`text::json`] parses all JSON; text with it from outside passes one door there, behind
//! which it is Unicode and its numbers are finite. [`text`] makes text from outside safe to show. Every setting is an
//! entry of one table, [`store::settings`], which gives its type, range and default, and says what a wrong value leads
//! to.
//!
//! # Members
//!
//! The modules are in crates of their own, each with a manifest in its folder that says what it may use; so the
//! compiler holds the walls. From the bottom up:
//!
//! - [`sys`]: all `unsafe` code and all that differs between systems. Every other crate forbids `unsafe`.
//! - [`text`]: text and JSON from outside, without any I/O. `json_schema` validates values, over it.
//! - [`outbound`]: HTTP requests to models and MCP servers, over [`sys`] and [`text`].
//! - [`mcp`]: the protocol, over these three and usable without the rest: a client, a server, their transports.
//! - `builtin::demo`: a server for trying out clients, over [`mcp`]; also for the tests of a build without it.
//! - `core`: what every build has, from [`http`] and [`api`] to [`store`]. Arrows inside it are held by review.
//! - The parts, over `core` and `shared`: each is a crate that a build can leave out. What it adds to commands, routes,
//!   servers, the manual or a turn, it says itself in one value of the type [`part::Part`]; [`parts::PARTS`] lists
//!   those of this build, and nothing below knows their names. `core` asks them through [`part::all`].
//! - This crate: the command line and the list. It offers the members under the names of their folders.
//!
//! # Threads
//!
//! The server has these threads; [`acp`], `audit` and [`keys`] have more, which they name:
//!
//! - one accepts connections at each place where the server listens, and one serves each connection;
//! - one creates child processes, from the first child on, and one waits for the end of the guardian while
//!   there is one;
//! - one waits until a schedule is due or another process creates one, and one for each run of a schedule;
//! - one ends idle sessions' servers, from the first session on (the housekeeper);
//! - one waits for signals: the main thread, or another one in `gosling mcp NAME`, where the main thread reads
//!   stdin;
//! - one writes log records to stderr and one to the log file, each from the first record on;
//! - for each stdio MCP server, also in a container, one reads its stdout and one its stderr; a third writes to
//!   its stdin only while the server does not keep up;
//! - one for each running request over Streamable HTTP, and one for each request of an MCP server while the
//!   session answers it;
//! - one for each turn that does not end with its request, at most 256;
//! - one checks whether the clients of requests that wait are still connected, while there are any;
//! - one for each tool call of a turn, one for each event stream, which checks whether the client is still
//!   connected, and one while a session's name is generated. A model is called by the thread that waits for its
//!   response;
//! - one for each call of a builtin server. A command of [`builtin::developer`] has one that reads its output,
//!   and that of its background processes as long as they run, and one that sends its lines, since the client
//!   may be slow; `analyze` has one per core;
//! - one that reads the environments of other processes, while descendants of a child are searched for; and
//!   when all children have ended, one that repeats this search until no descendant is left.
//!
//! Every thread has a name and an owner that joins it, with these exceptions: the log writers, which end when
//! the pipe is closed; the checks of clients and their keys, which end a moment after there is nothing to check; the
//! searches, which end by themselves, late if a process blocks them; and the few that end with the process or with the
//! guardian.
//!
#![doc = include_str!("manual/embedding.md")]
#![forbid(unsafe_code)]

#[cfg(not(feature = "builtin"))]
pub use gosling_core::builtin;
pub use gosling_core::{
    agent, api, command_line, conversation, extension, features, http, mcp, part, provider, store,
    sys, text,
};

/// Offers the members and modules of those features that are in this build.
macro_rules! offer {
    ($($feature:literal => $($module:ident)::+ as $name:ident,)*) => {
        $(
            #[cfg(feature = $feature)]
            pub use $($module)::+ as $name;
        )*
    };
}

offer! {
    "acp" => gosling_acp as acp,
    "builtin" => gosling_builtin as builtin,
    "check" => gosling_check as check,
    "deeplinks" => gosling_deeplink as deeplink,
    "keys" => gosling_keys as keys,
    "openai" => gosling_providers as providers,
    "openai" => gosling_providers::outbound as outbound,
    "pinning" => gosling_pinning as pinning,
    "policy" => gosling_policy as policy,
    "recipes" => gosling_recipes::recipe as recipe,
    "recipes" => gosling_recipes::recipe_run as recipe_run,
    "schedules" => gosling_recipes::schedule as schedule,
    "screening" => gosling_screening as screening,
    "tls" => gosling_core::tls as tls,
}

pub mod cmd;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "manual")]
pub mod manual;
pub mod parts;
