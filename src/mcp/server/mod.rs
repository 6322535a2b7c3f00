//! MCP server: the description of a server, and the protocol.
//!
//! A [`Server`] is a description with handlers, whose lists may change while it runs. A [`Connection`] is the state of one client and
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
mod offered;
mod pagination;
#[doc(hidden)]
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
#[doc(hidden)]
pub use client_requests::is_notification;
pub use context::Context;
pub use in_process::InProcess;
pub use level::Level;
pub use offered::{ChangeError, Listing};
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
use offered::{Listeners, Offered};
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
    tools: Offered<Tool>,
    resources: Offered<Resource>,
    templates: Offered<ResourceTemplate>,
    prompts: Offered<Prompt>,
    changing: Vec<Listing>,
    listeners: Listeners,
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
            tools: Offered::default(),
            resources: Offered::default(),
            templates: Offered::default(),
            prompts: Offered::default(),
            changing: Vec::new(),
            listeners: Listeners::default(),
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
    pub fn tool(self, tool: Tool) -> Self {
        possible(self.tools.add(tool));
        self
    }

    /// Adds a resource. MCP 2025-11-25, server/resources.
    ///
    /// # Panics
    /// The resource has no URI, or there is one with its URI.
    pub fn resource(self, resource: Resource) -> Self {
        possible(self.resources.add(resource));
        self
    }

    /// Adds a resource template. If several match a URI, the first one is used.
    ///
    /// # Panics
    /// There is the same template already.
    pub fn template(self, template: ResourceTemplate) -> Self {
        possible(self.templates.add(template));
        self
    }

    /// Adds a prompt. MCP 2025-11-25, server/prompts.
    ///
    /// # Panics
    /// The prompt has no name, or there is one of its name.
    pub fn prompt(self, prompt: Prompt) -> Self {
        possible(self.prompts.add(prompt));
        self
    }

    /// Declares that these lists change while clients are connected: [`add_tool`](Self::add_tool) and the like may be
    /// called then.
    pub fn changing(mut self, lists: &[Listing]) -> Self {
        self.changing.extend(lists);
        self
    }

    /// Adds a tool while clients are connected, and tells them that the list has changed.
    ///
    /// # Errors
    /// The server does not declare that its tools change, or the tool's name is taken or empty.
    pub fn add_tool(&self, tool: Tool) -> Result<(), ChangeError> {
        self.change(Listing::Tools, || self.tools.add(tool))
    }

    /// Removes a tool, see [`add_tool`](Self::add_tool). Its running calls go on.
    ///
    /// # Errors
    /// The server does not declare that its tools change, or it has none of this name.
    pub fn remove_tool(&self, name: &str) -> Result<(), ChangeError> {
        self.change(Listing::Tools, || self.tools.remove(name))
    }

    /// Adds a resource, see [`add_tool`](Self::add_tool).
    ///
    /// # Errors
    /// As `add_tool`.
    pub fn add_resource(&self, resource: Resource) -> Result<(), ChangeError> {
        self.change(Listing::Resources, || self.resources.add(resource))
    }

    /// Removes the resource with this URI, see [`remove_tool`](Self::remove_tool).
    ///
    /// # Errors
    /// As `remove_tool`.
    pub fn remove_resource(&self, uri: &str) -> Result<(), ChangeError> {
        self.change(Listing::Resources, || self.resources.remove(uri))
    }

    /// Adds a prompt, see [`add_tool`](Self::add_tool).
    ///
    /// # Errors
    /// As `add_tool`.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), ChangeError> {
        self.change(Listing::Prompts, || self.prompts.add(prompt))
    }

    /// Removes a prompt, see [`remove_tool`](Self::remove_tool).
    ///
    /// # Errors
    /// As `remove_tool`.
    pub fn remove_prompt(&self, name: &str) -> Result<(), ChangeError> {
        self.change(Listing::Prompts, || self.prompts.remove(name))
    }

    /// Tells the clients that what [`live_resources`](Self::live_resources) or [`live_prompts`](Self::live_prompts)
    /// finds has changed.
    ///
    /// # Errors
    /// The server does not declare that this list changes.
    pub fn announce(&self, list: Listing) -> Result<(), ChangeError> {
        self.change(list, || Ok(()))
    }

    fn change(
        &self,
        list: Listing,
        change: impl FnOnce() -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        if !self.changing.contains(&list) {
            return Err(ChangeError::NotDeclared(list));
        }
        change()?;
        self.listeners.tell(list);
        Ok(())
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
        let declared = |list: Listing, is_offered: bool| {
            // Handlers report changes of live resources.
            let is_live = list == Listing::Resources && self.live_resources.is_some();
            let list_changed = (is_live || self.changing.contains(&list)).then_some(true);
            (is_offered || list_changed.is_some()).then_some(Capability { list_changed })
        };
        let no_resources = self.resources.all().is_empty() && self.templates.all().is_empty();
        let prompts = self.live_prompts.is_some() || !self.prompts.all().is_empty();
        ServerCapabilities {
            tools: declared(Listing::Tools, !self.tools.all().is_empty()),
            resources: declared(Listing::Resources, !no_resources),
            prompts: declared(Listing::Prompts, prompts),
            logging: self.logging.then(Capability::default),
            completions: None,
        }
    }
}

/// Panics if something cannot be offered: clients could not call it.
fn possible(added: Result<(), ChangeError>) {
    if let Err(why) = added {
        panic!("{why}");
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
