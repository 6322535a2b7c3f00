//! The server side of MCP: what a server offers, and the protocol around it.
//!
//! A [`Server`] is an immutable description with handlers. A [`Connection`] is one client's state:
//! bytes in, bytes out, no I/O. [`serve_stdio`] and [`serve_memory`] are the loops around it.
//!
//! ```
//! use gosling::mcp::server::{Context, Server, Tool};
//! use gosling::mcp::types::CallToolResult;
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize)]
//! struct Greet {
//!     name: String,
//! }
//!
//! let server = Server::new("greeter", "1.0.0").tool(
//!     Tool::new("greet", "Greets someone by name.", |args: Greet, _: &Context| {
//!         Ok(CallToolResult::text(format!("Hello, {}!", args.name)))
//!     })
//!     .input(json!({
//!         "type": "object",
//!         "properties": {"name": {"type": "string"}},
//!         "required": ["name"]
//!     }))
//!     .quick(),
//! );
//! assert_eq!(server.name(), "greeter");
//! ```
//!
//! What the server answers where the specification leaves a choice:
//!
//! - Before `initialize` only `ping` is answered; other methods of the server are -32600. After it
//!   everything is, also before `notifications/initialized` has come: over HTTP the two may
//!   overtake each other.
//! - Whatever a tool says against a call is a result with `isError`, so that a model can correct
//!   itself (MCP 2025-11-25, server/tools, error handling): arguments that do not fit, a file that is
//!   missing. Misuse of the protocol is -32602: an unknown tool, or arguments that are not an object.
//!   See [`Connection::refusing`] for the exception.
//! - A cancelled request is not answered and its id is free again at once.

mod calls;
mod connection;
mod context;
mod in_process;
mod pagination;
mod prompt;
mod reply;
mod resource;
mod serve;
mod tool;

pub use connection::Connection;
pub use context::{Context, Level};
pub use in_process::InProcess;
pub use prompt::Prompt;
pub use reply::ReplySink;
pub use resource::{Contents, Resource, ResourceError, ResourceTemplate};
pub use serve::{serve_memory, serve_stdio, serve_stdio_process};
pub use tool::{Tool, ToolError};

use super::jsonrpc::RawJson;
use super::types::{self, Capability, Implementation, ServerCapabilities};
use serde::Serialize;
use serde_json::value::to_raw_value;
use std::sync::Arc;
use std::time::Duration;

/// How many calls of one client may run at the same time.
pub const MAX_CALLS: usize = 64;

/// The longest line that is read from stdin, in bytes, its end included.
pub const MAX_LINE: usize = 64 << 20;

/// How long the calls that still run when a client leaves may take to notice that they are
/// cancelled.
pub const GRACE: Duration = Duration::from_secs(3);

/// What a server offers: its name, and the tools, resources and prompts with their handlers.
/// Capabilities are declared for what is there and for nothing else.
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
}

/// Finds what there is now.
type Live<T> = Arc<dyn Fn(&Context) -> Vec<T> + Send + Sync>;

impl Server {
    /// A server that offers nothing yet.
    pub fn new(name: &str, version: &str) -> Self {
        Server {
            info: Implementation {
                name: name.to_owned(),
                title: None,
                version: version.to_owned(),
            },
            instructions: None,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            live_resources: None,
            live_prompts: None,
            logging: false,
            page_size: usize::MAX,
        }
    }

    /// Its name for people.
    pub fn title(mut self, title: &str) -> Self {
        self.info.title = Some(title.to_owned());
        self
    }

    /// How a model should use it.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool; its name must be new. MCP 2025-11-25, server/tools.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a resource; its URI must be new. MCP 2025-11-25, server/resources.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(Arc::new(resource));
        self
    }

    /// Adds a family of resources. Of several that match a URI, the first is read.
    pub fn template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(Arc::new(template));
        self
    }

    /// Adds a prompt; its name must be new. MCP 2025-11-25, server/prompts.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(Arc::new(prompt));
        self
    }

    /// Lists, behind the resources that are always there, those that `find` finds, anew for every
    /// listing. A [template](Server::template) has to read them. Handlers say with
    /// [`Context::resources_changed`] that there are others now.
    pub fn live_resources<F>(mut self, find: F) -> Self
    where
        F: Fn(&Context) -> Vec<types::Resource> + Send + Sync + 'static,
    {
        self.live_resources = Some(Arc::new(find));
        self
    }

    /// Offers also the prompts that `find` finds, anew for every request. One of them takes the place
    /// of a prompt of the same name that is always there.
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

    /// Lists at most `items` (at least one) at a time; without it a list is one page.
    /// MCP 2025-11-25, server/utilities/pagination.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// The name that it tells its clients.
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
                ..Capability::default()
            }),
            prompts: declared(self.live_prompts.is_some() || !self.prompts.is_empty()),
            logging: declared(self.logging),
            completions: None,
        }
    }
}

/// What serde found wrong, without the position: it counts from the start of a fragment that the
/// client never saw as such.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// The JSON text of what cannot fail to have one; `null` if it does.
fn raw(value: &impl Serialize) -> RawJson {
    to_raw_value(value).unwrap_or_default()
}
