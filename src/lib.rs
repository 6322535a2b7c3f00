//! gosling: a synchronous server that speaks Goose's HTTP API and runs MCP extensions.
//!
//! Comments cite what Goose's clients require as `CORE §7.4`, `SERVER §5.1` or `GUIDE §6`; [`manual::contract`]
//! explains these.
//!
//! # One tool call, through the rooms
//!
//! A client sends `POST /agent/call_tool`. This is the way of the request, and the tour of the crate:
//!
//! 1. [`http`] reads it on the thread of its connection, with limits on every size and wait, checks
//!    `Host`, key, path and method in that order, and only then reads the body.
//! 2. [`api`] turns the JSON into a call of the core. Nothing below it knows of HTTP requests.
//! 3. [`agent::Registry`] has the session's live [`agent::Agent`]; it never makes one by accident.
//! 4. [`extension::Manager`] finds the owner of `key__tool` and checks the configuration's
//!    `available_tools`.
//! 5. [`mcp::Client`] draws an id, registers a slot with a deadline and a [`sys::cancel::Cancel`]
//!    ([`mcp::pending_requests`]), and hands the message to its [`mcp::transport`]: one line to a child's stdin,
//!    written by this same thread, or a POST.
//! 6. The same thread reads the answer, if it comes at once; otherwise the transport's reader thread
//!    takes it apart ([`mcp::jsonrpc`]) and wakes the slot. The result is never rebuilt: its parts go
//!    back through the rooms as the JSON text that came.
//! 7. [`http`] sends head and body with one write.
//!
//! A server that died, or forgot its session, is connected again by the first call that finds it so;
//! only what certainly did not reach it, or does no harm twice, is sent again. A session that nobody uses
//! gives its servers back, and they return the same way.
//!
//! If the client hangs up meanwhile, the slot notices, the server is told `notifications/cancelled`,
//! and the thread is free. If the session is stopped or the process gets SIGTERM, the same token ends
//! the same wait. Children are made by one thread that lives as long as the process and end as
//! [`sys::process`] describes; a [`sys::guardian`] sees to those of a server that was killed.
//!
//! # One turn, through the rooms
//!
//! A client sends `POST /reply`. [`http`] and [`api`] do as above, but the answer is an
//! [`http::EventStream`], written while the turn runs in the connection's thread:
//!
//! 1. [`agent::Registry::reply`] takes the session's [`store::Journal`] and its [`store::TurnLock`], so
//!    that no other turn, in this process or another, has them meanwhile, and appends what the user
//!    said: one write, and it outlives the process.
//! 2. What the model is to see is made anew for every question: the [`agent::system_prompt`], the history,
//!    repaired so that it adds up, and the tools. If it fills too much of the model's context, a summary
//!    takes its place first.
//! 3. [`provider`] asks the model. A `Protocol` writes the request and reads the stream, with no I/O in
//!    it; a shell does the I/O, tries again where that may help, and can be cancelled at any moment. Each
//!    piece of text is an [`agent::Event`] at once; those that came with one read go out with one write.
//! 4. The calls in the answer are judged by mode, by what the user said before, and by what the tool says
//!    of itself; the user is asked where that is wanted. They run side by side, each in a thread, over
//!    the way of a tool call above. What servers say meanwhile, and what they ask of the model or the
//!    user, meets the turn where it waits for them.
//! 5. The answers go to the journal and back to the model, until it asks for no more. Then everything
//!    is made durable, and the last event says that the turn is over.
//!
//! A client that hangs up is noticed within a tenth of a second. The token that is cancelled then ends
//! the question to the model, every call and every wait for an answer; what was said is in the journal.
//!
//! # The rooms
//!
//! Arrows go one way: [`cmd`] → [`http`] → [`api`] → [`agent`] → [`extension`] → [`mcp`] → [`sys`], with
//! [`conversation`], [`recipe`] and [`store`] used from [`api`] down, and [`builtin`] servers, which
//! [`extension`] has in this process, standing on [`mcp::server`]. ([`api`] shares the vocabulary of
//! [`http`]: requests, responses, routes.) [`agent`] also asks the models behind [`provider`]; that and
//! [`mcp`] send their HTTP requests with [`outbound`]. [`api::mcp_endpoint`] puts an [`mcp::server`] behind [`http`],
//! for `gosling mcp NAME --http`. `json` reads every JSON text, and [`text`] makes fit to be shown what comes
//! from outside.
//!
//! # Where the threads are
//!
//! One accepts, one serves each connection, one makes children (from the first child on), one waits for the end
//! of the guardian (while there is one), one looks after idle sessions (from the first session on), one waits for
//! signals: the main one, which reads stdin instead in `gosling mcp NAME`, where another waits for them. One
//! writes log records to stderr and one to the log file (each from the first record on). Each stdio server, in a
//! container too, has one thread that reads its stdout and one for its stderr; a third writes only while the
//! server does not keep up. Each request over Streamable HTTP has one while it is under way, and so has each
//! request of a server while the session answers it. Each call of a turn has one, each event stream one that
//! looks after its client, and a session's name is made in one; a model is asked by the very thread that waits
//! for its answer.
//!
//! A builtin server has one for each call. A command of [`builtin::developer`] has one that reads what it prints,
//! and what it left in the background for as long as that goes on, and one that tells its lines while there are
//! any, since the client may be slow to take them; `analyze` has one for each core. The search for what a child
//! has left behind has one that reads the environments of other processes. When all children have ended, one
//! searches now and then for what they have left, until nothing is. Every thread has a name and an owner that
//! joins it, apart from those writers, which end by themselves when the pipe is closed, those searches, which end
//! by themselves too, however late where a process holds them up, and the few that end with the process or with
//! the guardian.
//!
//! # What input takes in memory
//!
//! Every size is bounded, but what is read may take more memory than its text. For the parsers that outsiders
//! reach, this is the most that was held at once beside the text, as a multiple of it, for the worst texts
//! that are known; `cargo test --lib memory_ratio -- --nocapture --include-ignored` measures it again, and
//! fails if one grows. The texts are of 1 MiB, or as long as they may be. Values of JSON take up to ninety
//! times their text; their memory is reckoned as they are built, so that 16 MiB of it are taken whatever the
//! text, and more only up to 32 times the text.
//!
//! | what is read | multiple | of at most |
//! |---|---|---|
//! | head of a request | 23 | 64 KiB, and 100 fields |
//! | body of a request, as bytes, until its route reads it | 2 | 50 MiB, and none without the key |
//! | JSON held as values: 1 MiB of it, 8 MiB | 36, 25 | 50 MiB in a body, 64 MiB from an MCP server |
//! | message of JSON-RPC | 18 | 64 MiB, 50 MiB over HTTP |
//! | batch of JSON-RPC, in the version that has them | 1 | the same, and 1,000 messages |
//! | event stream, before its events are read | 3 | 64 MiB for an event |
//! | answer of a model: OpenAI, Anthropic, Google, Ollama | 38, 2, 23, 34 | 64 MiB |
//! | refusal of a model, its list of models | 93, 6 | 64 KiB, 4 MiB |
//! | session to import | 36 | 50 MiB |
//! | recipe link | 49 | 512 KiB |
//! | YAML of a recipe | 133 | 256 KiB |
//! | templates of a recipe, all that they make included | | 8 MiB in all |
//! | patch | 48 | 2 MiB |
//! | words of a shell command, its braces | 70, 33 | 128 KiB; a shorter one takes no more in all |
//!
//! # Embedding
//!
//! The server in a program of one's own, here on a free port until it is told to stop:
//!
//! ```
//! use gosling::agent::{Registry, Stores};
//! use gosling::http::{AccessControl, Limits, Server};
//! use gosling::store::Paths;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! # let root = std::env::temp_dir().join(format!("gosling-doc-{}", std::process::id()));
//! let paths = Paths::under(&root);
//! let stores = Stores::new(&paths);
//! let registry = Arc::new(Registry::new(stores, false));
//! let router = gosling::api::router(registry.clone());
//! let guard = AccessControl::new(Some(b"a secret of your own".to_vec()), Vec::new());
//! let server = Server::bind(("127.0.0.1", 0), router, guard, Limits::default())?;
//! println!("http://{}", server.local_addr());
//!
//! server.stop(Duration::from_secs(1));
//! registry.close();
//! # let _ = std::fs::remove_dir_all(&root);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Or without HTTP, a turn of a conversation; here the model is a script that repeats what it hears:
//!
//! ```
//! use gosling::agent::{Event, EventSink, ModelChoice, Registry, Start, Stores};
//! use gosling::conversation::{Message, Role};
//! use gosling::store::Paths;
//! use gosling::sys::cancel::Cancel;
//!
//! struct Heard(String);
//!
//! impl EventSink for Heard {
//!     fn event(&mut self, event: Event<'_>) {
//!         if let Event::Message { message, .. } = event {
//!             self.0 += &message.concat_text();
//!         }
//!     }
//!     fn flush(&mut self) {}
//! }
//!
//! # let root = std::env::temp_dir().join(format!("gosling-turn-{}", std::process::id()));
//! let registry = Registry::new(Stores::new(&Paths::under(&root)), true);
//! let session = registry.start(Start {
//!     working_dir: std::env::temp_dir(),
//!     ..Start::default()
//! })?;
//! registry.set_model(&session.id, ModelChoice {
//!     provider: "scripted".to_owned(),
//!     ..ModelChoice::default()
//! })?;
//! let mut heard = Heard(String::new());
//! let message = Message::text(Role::User, "good morning");
//! registry.reply(&session.id, message, None, &mut heard, &Cancel::new());
//! assert!(heard.0.contains("good morning"));
//! registry.close();
//! # let _ = std::fs::remove_dir_all(&root);
//! # Ok::<(), gosling::agent::Error>(())
//! ```
//!
//! So that children cannot outlive the program even if it is killed, its `main` begins as
//! [`cmd::main`] does: it becomes the guardian when it is started as one, and otherwise says that it
//! can ([`sys::guardian`]). A key that comes in the environment is taken out of it with
//! [`sys::take_variable`], and [`sys::protect_memory`] keeps children from reading it elsewhere. Records go to the `log` façade; the program chooses the logger.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod agent;
pub mod api;
pub mod builtin;
pub mod cmd;
pub mod conversation;
pub mod extension;
pub mod features;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(all(test, not(fuzzing)))]
mod fuzzing;
pub mod http;
mod json;
pub mod manual;
pub mod mcp;
#[cfg(test)]
mod memory_ratio;
pub mod outbound;
#[cfg(test)]
mod property_testing;
pub mod provider;
#[cfg(feature = "recipes")]
pub mod recipe;
#[cfg(not(feature = "recipes"))]
#[path = "recipe/feature_disabled.rs"]
pub mod recipe;
pub mod store;
pub mod sys;
pub mod text;
