//! One client's connection: life cycle, dispatch, errors. No I/O. MCP 2025-11-25, basic and basic/lifecycle.

use super::client_questions::ClientQuestions;
use super::offered::Listener;
use super::pagination::Page;
use super::reply::{PendingReply, ReplySink, ReplyTarget};
use super::resource::not_found;
use super::{Context, Level, ResourceTemplate, Server, raw};
use crate::incoming_requests::{IncomingRequests, Limits, Refusal};
use crate::jsonrpc::{
    self, ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND,
    Malformed, Message, PARSE_ERROR, Payload, RawJson, UNUSABLE_ID, begins_with,
};
use crate::server::params::read_params as read;
use crate::types::{
    CallToolResult, GetPromptResult, Implementation, InitializeResult, ReadResourceResult, VERSIONS,
};
use gosling_sys::cancel::Cancel;
use gosling_sys::{caught, lock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The protocol state of one client. Threads may share it; dropping it cancels its calls.
pub struct Connection {
    server: Arc<Server>,
    version: Mutex<Option<&'static str>>,
    level: Option<Arc<Mutex<Level>>>,
    calls: Arc<IncomingRequests>,
    questions: Arc<ClientQuestions>,
    listener: Option<Arc<Listener>>,
    overtaking: bool,
    refusing: bool,
}

impl Connection {
    /// The connection of a new client. `cancel` ends its running calls.
    pub fn new(server: impl Into<Arc<Server>>, cancel: &Cancel) -> Self {
        let server = server.into();
        let level = server.logging.then(|| Arc::new(Mutex::new(Level::Info)));
        Connection {
            server,
            version: Mutex::default(),
            level,
            calls: Arc::new(IncomingRequests::new(Limits::CALLS, cancel)),
            questions: Arc::default(),
            listener: None,
            overtaking: false,
            refusing: false,
        }
    }

    /// Tells the client of [changes](Server::changing) through `sink`, once it has sent `notifications/initialized`.
    pub fn notifying(mut self, sink: ReplySink) -> Self {
        let listener = Arc::new(Listener::new(sink));
        self.server.listeners.add(&listener);
        self.listener = Some(listener);
        self
    }

    /// Whether something that the server offers [changes](Server::changing).
    pub fn has_changes(&self) -> bool {
        !self.server.changing.is_empty()
    }

    /// For a client whose messages may overtake each other, because each has its own HTTP connection: keeps
    /// cancellations that come before their call.
    pub fn overtaking(mut self) -> Self {
        self.overtaking = true;
        self
    }

    /// For a client that expects error -32602, instead of a result with `isError`, if a tool refuses a call:
    /// Goose answers `/agent/call_tool` with 500 then, and `/reply` with `"status": "error"`.
    pub fn refusing(mut self) -> Self {
        self.refusing = true;
        self
    }

    /// Handles one message or batch, without framing. Its answers and notifications go to `reply`, now or
    /// later from the thread of a call.
    pub fn receive(&self, message: &[u8], reply: &ReplySink) {
        self.receive_parsed(jsonrpc::parse(message, self.takes_batches()), reply);
    }

    /// Handles a message that is parsed already, see [`receive`](Self::receive).
    #[doc(hidden)]
    pub fn receive_parsed(&self, message: Result<Payload, Malformed>, reply: &ReplySink) {
        match message {
            Ok(Payload::One(message)) => self.dispatch(message, &ReplyTarget::alone(reply)),
            Ok(Payload::Batch(parts)) => {
                let target = ReplyTarget::batch(reply);
                for part in parts {
                    match part {
                        Ok(message) => self.dispatch(message, &target),
                        Err(malformed) => refuse(malformed, &target),
                    }
                }
            }
            Err(malformed) => refuse(malformed, &ReplyTarget::alone(reply)),
        }
    }

    /// The negotiated version; `None` before `initialize`.
    pub fn version(&self) -> Option<&'static str> {
        *lock(&self.version)
    }

    /// Whether the negotiated version has batches.
    pub fn takes_batches(&self) -> bool {
        self.version() == Some(jsonrpc::BATCHES)
    }

    /// The server.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Whether a call runs.
    pub fn is_busy(&self) -> bool {
        self.calls.is_busy()
    }

    /// Waits until all requests are answered, for `timeout` at most.
    pub fn settle(&self, timeout: Duration) {
        self.calls.settle(timeout);
    }

    /// Closes the connection: cancels the running calls, which get no answers, and waits for them, for
    /// `grace` at most. True if they all ended.
    pub fn close(&self, grace: Duration) -> bool {
        self.calls.withdraw_all();
        self.calls.close(grace) == 0
    }

    fn dispatch(&self, message: Message, target: &ReplyTarget) {
        match message {
            Message::Request { id, method, params } => {
                let target = target.clone();
                self.request(PendingReply { id, target }, &method, params.as_deref());
            }
            Message::Notification { method, params } => self.notified(&method, params.as_deref()),
            Message::Response { id, outcome } => self.questions.answered(id.as_ref(), outcome),
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: Id,
        }
        if method == "notifications/initialized"
            && let Some(listener) = &self.listener
        {
            listener.ready();
        }
        if method == "notifications/cancelled"
            && let Ok(Cancelled { request_id }) = read(method, params)
        {
            self.calls.withdraw(&request_id, self.overtaking);
        }
    }

    fn request(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        if let Err(error) = self.admit(&pending.id, name) {
            return pending.refuse(error);
        }
        let server = &self.server;
        match name {
            "ping" => pending.answer(Ok(Empty {})),
            "initialize" => pending.answer(self.initialize(name, params)),
            "logging/setLevel" => pending.answer(self.set_level(name, params)),
            "tools/list" => {
                let tools = server.tools.all();
                let tools = tools.iter().map(|tool| &tool.wire);
                pending.answer(self.list("tools", tools, name, params));
            }
            "resources/list" => self.list_resources(pending, name, params),
            "resources/templates/list" => {
                let templates = server.templates.all();
                let templates = templates.iter().map(|template| &template.wire);
                pending.answer(self.list("resourceTemplates", templates, name, params));
            }
            "prompts/list" => self.list_prompts(pending, name, params),
            "tools/call" => self.call_tool(pending, name, params),
            "resources/read" => self.read_resource(pending, name, params),
            "prompts/get" => self.get_prompt(pending, name, params),
            _ => pending.refuse(method_not_found(name)),
        }
    }

    /// Whether a method may be called now.
    fn admit(&self, id: &Id, name: &str) -> Result<(), ErrorObject> {
        let is_open = matches!(name, "ping" | "initialize");
        if !is_open && !self.is_declared(name) {
            return Err(method_not_found(name));
        }
        if !is_open && self.version().is_none() {
            let text = format!("`{name}` came before `initialize`; send that first");
            return Err(ErrorObject::new(INVALID_REQUEST, text));
        }
        if self.calls.is_running(id) {
            return Err(Refusal::IdInUse(id.clone()).into());
        }
        Ok(())
    }

    /// Whether the declared capabilities include a method.
    fn is_declared(&self, name: &str) -> bool {
        let declared = self.server.capabilities();
        let capability = match name {
            "logging/setLevel" => declared.logging,
            "tools/list" | "tools/call" => declared.tools,
            "resources/list" | "resources/templates/list" | "resources/read" => declared.resources,
            "prompts/list" | "prompts/get" => declared.prompts,
            _ => None,
        };
        capability.is_some()
    }

    fn initialize(
        &self,
        name: &str,
        params: Option<&RawValue>,
    ) -> Result<InitializeResult, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialize {
            protocol_version: String,
            #[serde(default)]
            capabilities: Option<RawJson>,
            #[serde(rename = "clientInfo")]
            _client_info: Option<Implementation>,
        }
        let requested: Initialize = read(name, params)?;
        let mut version = lock(&self.version);
        if version.is_some() {
            let text = "This connection is initialized already; open another one";
            return Err(ErrorObject::new(INVALID_REQUEST, text));
        }
        let known = VERSIONS
            .iter()
            .find(|known| **known == requested.protocol_version);
        let agreed = known.copied().unwrap_or(VERSIONS[0]);
        *version = Some(agreed);
        // A client that writes something else declares nothing.
        let declared = requested.capabilities.as_deref().map(RawValue::get);
        let declared = declared.and_then(|text| gosling_text::json::from_str(text).ok());
        self.questions.declared(declared.unwrap_or_default());
        Ok(InitializeResult {
            protocol_version: agreed.to_owned(),
            capabilities: self.server.capabilities(),
            server_info: self.server.info.clone(),
            instructions: self.server.instructions.clone(),
        })
    }

    fn set_level(&self, name: &str, params: Option<&RawValue>) -> Result<Empty, ErrorObject> {
        #[derive(Deserialize)]
        struct SetLevel {
            level: Level,
        }
        let SetLevel { level } = read(name, params)?;
        if let Some(least) = &self.level {
            *lock(least) = level;
        }
        Ok(Empty {})
    }

    fn list<'a, T>(
        &self,
        kind: &'static str,
        all: impl ExactSizeIterator<Item = &'a T>,
        name: &str,
        params: Option<&RawValue>,
    ) -> Result<Page<'a, T>, ErrorObject> {
        let List { cursor, .. } = read(name, params)?;
        Page::cut(kind, all, self.server.page_size, cursor.as_deref())
    }

    /// Lists items that `find` has to look for first, which may take a while. See [`list`](Self::list).
    fn list_found<T: Serialize>(
        &self,
        kind: &'static str,
        pending: PendingReply,
        name: &str,
        params: Option<&RawValue>,
        find: impl FnOnce(&Context) -> Vec<T> + Send + 'static,
    ) {
        let List { cursor, meta } = match read(name, params) {
            Ok(list) => list,
            Err(error) => return pending.refuse(error),
        };
        let size = self.server.page_size;
        let list = move |context: &Context| {
            let all = find(context);
            let page = Page::cut(kind, all.iter(), size, cursor.as_deref())?;
            Ok(Produced::Page(raw(&page)))
        };
        self.run(pending, name, meta, false, Box::new(list));
    }

    fn list_resources(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        let fixed = self.server.resources.all();
        let fixed = fixed.iter().map(|resource| &resource.wire);
        let Some(live) = self.server.live_resources.clone() else {
            return pending.answer(self.list("resources", fixed, name, params));
        };
        let mut all: Vec<_> = fixed.cloned().collect();
        self.list_found("resources", pending, name, params, move |context| {
            all.extend(live(context));
            all
        });
    }

    fn list_prompts(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        let fixed = self.server.prompts.all();
        let fixed = fixed.iter().map(|prompt| &prompt.wire);
        let Some(live) = self.server.live_prompts.clone() else {
            return pending.answer(self.list("prompts", fixed, name, params));
        };
        let mut all: Vec<_> = fixed.cloned().collect();
        self.list_found("prompts", pending, name, params, move |context| {
            let live: Vec<_> = live(context).into_iter().map(|it| it.wire).collect();
            all.retain(|fixed| live.iter().all(|it| it.name != fixed.name));
            all.extend(live);
            all
        });
    }

    fn call_tool(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct CallTool {
            name: String,
            arguments: Option<RawJson>,
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        let call: CallTool = match read(name, params) {
            Ok(call) => call,
            Err(error) => return pending.refuse(error),
        };
        let Some(tool) = self.server.tools.find(&call.name) else {
            let text = format!("Unknown tool: {}", call.name);
            return pending.refuse(ErrorObject::new(INVALID_PARAMS, text));
        };
        let arguments = (call.arguments).filter(|raw| !jsonrpc::is_empty_array(raw.get()));
        if arguments
            .as_ref()
            .is_some_and(|arguments| !begins_with(arguments.get(), '{'))
        {
            let text = "`arguments` must be an object";
            return pending.refuse(ErrorObject::new(INVALID_PARAMS, text));
        }
        let refusing = self.refusing;
        self.run(
            pending,
            &call.name,
            call.meta,
            tool.quick,
            Box::new(move |context| {
                let arguments = arguments.as_deref().map_or("{}", RawValue::get);
                tool.call(arguments, context, refusing).map(Produced::Call)
            }),
        );
    }

    fn read_resource(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct ReadResource {
            uri: String,
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        let ReadResource { uri, meta } = match read(name, params) {
            Ok(read) => read,
            Err(error) => return pending.refuse(error),
        };
        if let Some(resource) = self.server.resources.find(&uri) {
            let quick = resource.quick;
            let read = move |context: &Context| resource.read(context).map(Produced::Resource);
            return self.run(pending, &uri, meta, quick, Box::new(read));
        }
        let matching =
            |template: &Arc<ResourceTemplate>| Some((template.clone(), template.variables(&uri)?));
        match self.server.templates.all().iter().find_map(matching) {
            None => pending.refuse(not_found(&uri)),
            Some((template, variables)) => {
                let label = template.wire.name.clone();
                let quick = template.quick;
                let read = move |context: &Context| {
                    template
                        .read(&uri, variables, context)
                        .map(Produced::Resource)
                };
                self.run(pending, &label, meta, quick, Box::new(read));
            }
        }
    }

    fn get_prompt(&self, pending: PendingReply, name: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct GetPrompt {
            name: String,
            arguments: Option<BTreeMap<String, String>>,
            #[serde(rename = "_meta")]
            meta: Option<RawJson>,
        }
        let get: GetPrompt = match read(name, params) {
            Ok(get) => get,
            Err(error) => return pending.refuse(error),
        };
        let fixed = self.server.prompts.find(&get.name);
        let live = self.server.live_prompts.clone();
        let unknown = format!("Unknown prompt: {}", get.name);
        let unknown = ErrorObject::new(INVALID_PARAMS, unknown);
        if fixed.is_none() && live.is_none() {
            return pending.refuse(unknown);
        }
        let quick = live.is_none() && fixed.as_ref().is_some_and(|prompt| prompt.quick);
        let label = get.name.clone();
        let work = move |context: &Context| {
            let live = live.map(|live| live(context)).unwrap_or_default();
            let live = live.into_iter().find(|p| p.wire.name == get.name);
            let prompt = live.map(Arc::new).or(fixed).ok_or(unknown)?;
            let arguments = get.arguments.unwrap_or_default();
            prompt.get(arguments, context).map(Produced::Prompt)
        };
        self.run(pending, &label, get.meta, quick, Box::new(work));
    }

    /// Runs a handler, in this thread if it is quick, else in a new one, and sends its result unless the
    /// request was cancelled.
    fn run(
        &self,
        pending: PendingReply,
        label: &str,
        meta: Option<RawJson>,
        quick: bool,
        handler: Handler,
    ) {
        let guard = match self.calls.begin(&pending.id, ()) {
            Ok(Some(guard)) => guard,
            Ok(None) => return,
            Err(refusal) => return pending.refuse(refusal.into()),
        };
        let sink = pending.target.sink();
        let level = self.level.clone();
        let questions = (!quick).then(|| self.questions.clone());
        let context = Context::new(
            &self.server,
            sink,
            &guard.cancel,
            meta.as_deref(),
            label,
            level,
            questions,
        );
        let spare = (!quick).then(|| pending.clone());
        let work = move || {
            let outcome = caught(context.logger(), || handler(&context))
                .unwrap_or_else(|_| Err(handler_panicked(context.logger())));
            drop(context);
            if guard.finish() {
                pending.answer(outcome);
            } else {
                // The rest of the batch does not wait for this answer any more.
                drop(pending);
            }
            // Dropped last, because `close` may then join this thread.
            drop(guard);
        };
        let Some(pending) = spare else {
            return work();
        };
        let name = format!("mcp {} {label}", self.server.name());
        if let Err(e) = self.calls.spawn(name, work) {
            let text = format!("No thread could be started for `{label}`: {e}; try again later");
            pending.refuse(ErrorObject::new(INTERNAL_ERROR, text));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.calls.withdraw_all();
    }
}

#[derive(Serialize)]
struct Empty {}

type Handler = Box<dyn FnOnce(&Context) -> Result<Produced, ErrorObject> + Send>;

/// The result of a handler.
#[derive(Serialize)]
#[serde(untagged)]
enum Produced {
    Call(CallToolResult),
    Resource(ReadResourceResult),
    Prompt(GetPromptResult),
    Page(RawJson),
}

/// The parameters of every listing.
#[derive(Deserialize)]
struct List {
    cursor: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<RawJson>,
}

fn refuse(malformed: Malformed, target: &ReplyTarget) {
    let (id, code, text) = match malformed {
        Malformed::NotJson(reason) => (None, PARSE_ERROR, format!("Not JSON: {reason}")),
        Malformed::NotMessage { id, reason, .. } => (
            id,
            INVALID_REQUEST,
            format!("Not a JSON-RPC message: {reason}"),
        ),
        Malformed::NullId { .. } => {
            let text = format!("Not a JSON-RPC message: {UNUSABLE_ID}");
            (None, INVALID_REQUEST, text)
        }
        Malformed::Batch => {
            let legal = jsonrpc::BATCHES;
            let text = format!("Batches are only legal in {legal}; send one message at a time");
            (None, INVALID_REQUEST, text)
        }
        Malformed::LongBatch => {
            let most = jsonrpc::BATCH_PARTS;
            let text = format!("A batch may hold {most} messages; send the rest in another");
            (None, INVALID_REQUEST, text)
        }
    };
    target.answer(id.as_ref(), Err::<(), _>(ErrorObject::new(code, text)));
}

fn method_not_found(name: &str) -> ErrorObject {
    ErrorObject::new(METHOD_NOT_FOUND, format!("Method not found: {name}"))
}

fn handler_panicked(label: &str) -> ErrorObject {
    let text = format!("`{label}` panicked; this is a bug of the server, which keeps running");
    ErrorObject::new(INTERNAL_ERROR, text)
}
