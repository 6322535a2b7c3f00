//! MCP server: the description of a server, and the protocol.
//!
//! A [`Server`] is an immutable description with handlers. A [`Connection`] is the state of one client and
//! does no I/O. [`serve_stdio`] and [`serve_memory`] are loops that serve a connection.
//!
//! ```
//! use gosling_mcp::arguments;
//! use gosling_mcp::server::{Context, Server, Tool};
//!
//! arguments! {
//!     struct Greet {
//!         name: String,
//!     }
//! }
//!
//! let greet = Tool::typed("greet", "Greets someone by name.", |args: Greet, _: &Context| {
//!     Ok(format!("Hello, {}!", args.name))
//! });
//! let server = Server::new("greeter", "1.0.0").tool(greet.quick());
//! assert_eq!(server.name(), "greeter");
//! ```
//!
//! Choices where the specification leaves one:
//!
//! - Before `initialize` the server answers only `ping`; its other methods are -32600. After `initialize` it
//!   answers all of them, even before `notifications/initialized`: over HTTP the two may overtake each other.
//! - Every objection of a tool to a call is a result with `isError`, so that a model can correct itself
//!   (MCP 2025-11-25, server/tools, error handling): invalid arguments, a missing file. Misuse of the
//!   protocol is -32602: an unknown tool, or arguments that are not an object. See
//!   [`Connection::refusing`] for the exception.
//! - A cancelled request gets no answer, and its id may be reused at once.

mod argument_type;
mod audience;
mod client_questions;
mod client_requests;
mod context;
mod in_process;
mod level;
pub mod memory;
mod pagination;
pub mod params;
mod prompt;
mod reply;
mod request_dispatch;
mod resource;
mod serve;
mod tool;
mod typed_form;
mod typed_tool;

pub use client_questions::AskError;
pub use client_requests::is_notification;
pub use context::Context;
pub use in_process::InProcess;
pub use level::Level;
pub use prompt::Prompt;
pub use reply::ReplySink;
pub use request_dispatch::Connection;
pub use resource::{Contents, Resource, ResourceError, ResourceTemplate};
pub use serve::{serve_memory, serve_stdio, serve_stdio_process};
pub use tool::{Tool, ToolError};
pub use typed_form::Filled;
pub use typed_tool::{Reply, Structured};

use super::incoming_requests::Limits;
use super::jsonrpc::RawJson;
use super::types::{self, Capability, Implementation, ServerCapabilities};
use params::reason;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use std::sync::Arc;
use std::time::Duration;

/// The most calls of one client that run at the same time.
pub const MAX_CALLS: usize = Limits::CALLS.answered;

/// The longest line that is read from stdin, in bytes, including its end.
pub const MAX_LINE: usize = 64 << 20;

/// How long cancelled calls may take to end when their client leaves.
pub const GRACE: Duration = Duration::from_secs(3);

/// The description of a server: name, tools, resources and prompts with their handlers. It declares only the
/// capabilities that it uses.
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    tools: Vec<Arc<Tool>>,
    resources: Vec<Arc<Resource>>,
    templates: Vec<Arc<ResourceTemplate>>,
    prompts: Vec<Arc<Prompt>>,
    live_resources: Option<Live<types::Resource>>,
    live_prompts: Option<Live<Prompt>>,
    logging: bool,
    page_size: usize,
    holds_state: Option<Arc<HoldsState>>,
}

/// Finds the current items.
type Live<T> = Arc<dyn Fn(&Context) -> Vec<T> + Send + Sync>;

/// Whether a server that was unused for this time holds something that its end would lose.
type HoldsState = dyn Fn(Duration) -> bool + Send + Sync;

impl Server {
    /// A server without tools, resources and prompts.
    pub fn new(name: &str, version: &str) -> Self {
        Server {
            info: Implementation::new(name, version),
            instructions: None,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            live_resources: None,
            live_prompts: None,
            logging: false,
            page_size: usize::MAX,
            holds_state: None,
        }
    }

    /// Sets what tells whether the server, unused for the given time, holds something that its end would lose.
    /// Without it, the server of an idle session may be ended and made again.
    pub fn holding(
        mut self,
        holds_state: impl Fn(Duration) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.holds_state = Some(Arc::new(holds_state));
        self
    }

    pub(super) fn holds_state(&self, unused: Duration) -> bool {
        self.holds_state.as_ref().is_some_and(|holds| holds(unused))
    }

    /// Sets the name for users.
    pub fn title(mut self, title: &str) -> Self {
        self.info.title = Some(title.to_owned());
        self
    }

    /// Sets the instructions for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool. MCP 2025-11-25, server/tools.
    ///
    /// # Panics
    /// The tool has no name, or there is one of its name.
    pub fn tool(mut self, tool: Tool) -> Self {
        let name = &tool.wire.name;
        let names = self.tools.iter().map(|tool| &tool.wire.name);
        check_unique("tool", name, names);
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a resource. MCP 2025-11-25, server/resources.
    ///
    /// # Panics
    /// The resource has no URI, or there is one with its URI.
    pub fn resource(mut self, resource: Resource) -> Self {
        let uris = self.resources.iter().map(|resource| &resource.wire.uri);
        check_unique("resource", &resource.wire.uri, uris);
        self.resources.push(Arc::new(resource));
        self
    }

    /// Adds a resource template. If several match a URI, the first one is used.
    ///
    /// # Panics
    /// There is the same template already.
    pub fn template(mut self, template: ResourceTemplate) -> Self {
        let uris = self.templates.iter().map(|known| &known.wire.uri_template);
        check_unique("template", &template.wire.uri_template, uris);
        self.templates.push(Arc::new(template));
        self
    }

    /// Adds a prompt. MCP 2025-11-25, server/prompts.
    ///
    /// # Panics
    /// The prompt has no name, or there is one of its name.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        let names = self.prompts.iter().map(|prompt| &prompt.wire.name);
        check_unique("prompt", &prompt.wire.name, names);
        self.prompts.push(Arc::new(prompt));
        self
    }

    /// Also lists the resources that `find` returns, after the fixed ones; called for every listing. A
    /// [template](Server::template) has to read them. Handlers report changes with
    /// [`Context::resources_changed`].
    pub fn live_resources<F>(mut self, find: F) -> Self
    where
        F: Fn(&Context) -> Vec<types::Resource> + Send + Sync + 'static,
    {
        self.live_resources = Some(Arc::new(find));
        self
    }

    /// Also offers the prompts that `find` returns; called for every request. They take precedence over fixed
    /// prompts of the same name.
    pub fn live_prompts<F>(mut self, find: F) -> Self
    where
        F: Fn(&Context) -> Vec<Prompt> + Send + Sync + 'static,
    {
        self.live_prompts = Some(Arc::new(find));
        self
    }

    /// Declares that handlers send log messages. MCP 2025-11-25, server/utilities/logging.
    pub fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Sets the page size of listings, at least 1; without it a listing is one page. MCP 2025-11-25,
    /// server/utilities/pagination.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    fn capabilities(&self) -> ServerCapabilities {
        let declared = |offered: bool| offered.then(Capability::default);
        let live = self.live_resources.is_some();
        let resources = live || !(self.resources.is_empty() && self.templates.is_empty());
        ServerCapabilities {
            tools: declared(!self.tools.is_empty()),
            resources: resources.then(|| Capability {
                list_changed: live.then_some(true),
            }),
            prompts: declared(self.live_prompts.is_some() || !self.prompts.is_empty()),
            logging: declared(self.logging),
            completions: None,
        }
    }
}

/// Panics if something has no name, or the name of another one: clients could not call it.
fn check_unique<'n>(what: &str, name: &str, known: impl IntoIterator<Item = &'n String>) {
    assert!(!name.is_empty(), "a {what} of the server has no name");
    let is_new = known.into_iter().all(|known| known != name);
    assert!(is_new, "the server has two of the {what} {name:?}");
}

/// Panics if no object can be read as the type that a handler takes.
fn check_argument<A: DeserializeOwned>(of: &str) {
    assert!(
        argument_type::reads_objects::<A>(),
        "the handler of {of:?} takes {}, which no object can be read as",
        std::any::type_name::<A>()
    );
}

/// The JSON text of a value; `null` if it cannot be written.
fn raw(value: &impl Serialize) -> RawJson {
    to_raw_value(value).unwrap_or_default()
}
