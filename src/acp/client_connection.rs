//! One client's connection: dispatch, the table of its sessions, and its end. It does no I/O of its own.

mod client_tools;
mod config_options;
mod extension_methods;
mod goose_methods;
mod goose_params;
pub(super) mod live_turns;
mod prompt_turn;
mod provider_methods;
mod questions;
mod recipe_sessions;
mod route_methods;
mod session_methods;
mod session_workspace;
mod stored_session_methods;

pub use self::goose_methods::method_names;
pub(super) use self::prompt_turn::TurnUpdates;

use self::config_options::{EXTENSION, SetConfigOption};
use self::goose_methods::GooseMethod;
use self::goose_params::Params;
use self::live_turns::LiveTurns;
use self::prompt_turn::{BUSY, Prompt};
use self::session_methods::{Opened, SessionOnly};
use super::capabilities::{self, ClientCapabilities, Initialize};
use super::client_requests::ClientRequests;
use super::open_session::{OpenSession, RunningTurn};
use super::outbox::Outbox;
use super::updates;
use crate::activity::{Caller, Entry};
use crate::agent::{Registry, SessionObserver};
use crate::conversation::Session;
use crate::error_objects::{AUTHENTICATION_REQUIRED, error_object, invalid_params};
use crate::http::{Response, Router};
use crate::mcp::incoming_requests::{IncomingRequests, Limits, RequestGuard};
use crate::mcp::jsonrpc::beginning::{Beginning, Kind};
use crate::mcp::jsonrpc::{
    self, ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND,
    Malformed, Message, PARSE_ERROR, Payload,
};
use crate::mcp::server::params::read_params;
use crate::store::settings::PROVIDER;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

/// The longest message of a client, in bytes: a prompt with images.
pub(super) const MAX_MESSAGE: usize = 50 << 20;

/// A request of the client was cancelled by it.
const REQUEST_CANCELLED: i64 = -32800;

/// The most sessions that a connection keeps in mind. They are only forgotten, not closed.
const MAX_SESSIONS: usize = 10_000;

/// The connection of one client.
pub struct Connection {
    state: Arc<ConnectionState>,
}

/// What the threads of a connection share.
pub(super) struct ConnectionState {
    pub(super) registry: Arc<Registry>,
    /// Who is at the other end.
    caller: Caller,
    /// The routes of the HTTP API.
    pub(super) routes: Arc<Router>,
    /// The turns that Goose's clients follow.
    pub(super) live: Arc<LiveTurns>,
    pub(super) outbox: Outbox,
    pub(super) requests: ClientRequests,
    /// Distinguishes ids that this connection makes from those of others.
    pub(super) prefix: String,
    /// How many requests had null as their id.
    null_ids: AtomicU64,
    calls: Arc<IncomingRequests>,
    /// Cancelled at the end of the connection.
    pub(super) cancel: Cancel,
    client: OnceLock<ClientCapabilities>,
    /// Whether the client has logged out; it has to authenticate before it opens a session or sends a prompt.
    logged_out: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<OpenSession>>>,
}

impl Connection {
    /// The connection of a client that has just connected. Its messages are queued in `outbox`; `cancel` ends
    /// its turns. Goose's methods call `routes`, those of the HTTP API.
    pub fn new(
        registry: Arc<Registry>,
        routes: Arc<Router>,
        live: Arc<LiveTurns>,
        outbox: Outbox,
        cancel: &Cancel,
    ) -> Self {
        let state = Arc::new(ConnectionState {
            requests: ClientRequests::new(outbox.clone()),
            outbox,
            prefix: sys::random_hex(8).unwrap_or_default(),
            null_ids: AtomicU64::new(0),
            calls: Arc::new(IncomingRequests::new(Limits::CALLS, cancel)),
            cancel: cancel.child(),
            client: OnceLock::new(),
            logged_out: AtomicBool::new(false),
            sessions: Mutex::default(),
            caller: Caller {
                front: "acp",
                ..Caller::clone(&Caller::current())
            },
            registry,
            routes,
            live,
        });
        state.registry.observe(&state);
        Connection { state }
    }

    /// Handles one message of the client. Answers are queued, now or later from another thread.
    pub fn receive(&self, message: &[u8]) {
        let caller = self.state.caller.clone();
        caller.asks(|| self.handle(message));
    }

    fn handle(&self, message: &[u8]) {
        match jsonrpc::parse(message, false) {
            Ok(Payload::One(Message::Request { id, method, params })) => {
                self.state.request(Some(id), &method, params.as_deref());
            }
            Ok(Payload::One(Message::Notification { method, params })) => {
                self.state.notified(&method, params.as_deref());
            }
            Ok(Payload::One(Message::Response { id, outcome })) => match id {
                Some(id) => self.state.requests.complete(&id, outcome),
                None => log::debug!("error of the client without an id"),
            },
            Ok(Payload::Batch(_)) => self.state.refuse_malformed(Malformed::Batch),
            // This protocol allows it.
            Err(Malformed::NullId { method, params }) => {
                let params = params.and_then(|json| RawValue::from_string(json).ok());
                self.state.request(None, &method, params.as_deref());
            }
            Err(malformed) => self.state.refuse_malformed(malformed),
        }
    }

    /// Refuses a message that is too long to be read: a request is answered with an error, and a response counts
    /// as an error. `start` is its beginning, which may have its id.
    pub fn refuse_long(&self, start: &[u8]) {
        let text = format!("The message has more than {MAX_MESSAGE} bytes");
        let error = ErrorObject::new(INVALID_REQUEST, text);
        let Beginning { id, kind } = Beginning::of(start);
        match (id, kind) {
            (Some(id), Some(Kind::Response)) => self.state.requests.complete(&id, Err(error)),
            (None, Some(Kind::Response)) => log::warn!("an answer of the client is too long"),
            (id, Some(Kind::Request)) => self.state.answer(id.as_ref(), Err(error)),
            _ => self.state.answer(None, Err(error)),
        }
    }

    /// Ends the connection: cancels its turns and waits for them, for `grace` at most. The sessions and their
    /// agents stay.
    pub fn close(&self, grace: Duration) {
        self.state.cancel.cancel();
        // First, so that no call does itself what the client has not answered.
        self.state.calls.withdraw_all();
        self.state.requests.close();
        self.state.calls.close(grace);
    }
}

impl SessionObserver for ConnectionState {
    /// Tells the client the name of a session that it has open.
    fn named(&self, id: &str, name: &str) {
        if lock(&self.sessions).contains_key(id) {
            let update = json!({"sessionUpdate": "session_info_update", "title": name});
            self.send_update(id, &update);
        }
    }
}

impl ConnectionState {
    /// What the client can do; nothing before `initialize`.
    pub(super) fn client(&self) -> &ClientCapabilities {
        static NONE: LazyLock<ClientCapabilities> = LazyLock::new(ClientCapabilities::default);
        self.client.get().unwrap_or(&NONE)
    }

    /// The session of this id. A stored one that the client has not opened is opened as it is.
    ///
    /// # Errors
    /// When there is no such session.
    pub(super) fn session(&self, id: &str) -> Result<Arc<OpenSession>, ErrorObject> {
        if let Some(session) = self.opened(id) {
            return Ok(session);
        }
        let stored = self.stored(id)?;
        Ok(self.remember(id, stored.working_dir))
    }

    /// The session as it is stored.
    pub(super) fn stored(&self, id: &str) -> Result<Session, ErrorObject> {
        let stored = self.registry.files().session(id);
        stored.map_err(error_object)
    }

    /// Runs work in a thread that the end of the connection waits for.
    ///
    /// # Errors
    /// When the thread cannot start.
    pub(super) fn spawn(
        &self,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        self.calls.spawn(name.to_owned(), work)
    }

    /// The session, if the client has opened or prompted it.
    pub(super) fn opened(&self, id: &str) -> Option<Arc<OpenSession>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Keeps a session that the client has opened. A running turn stays with it.
    pub(super) fn remember(&self, id: &str, working_dir: PathBuf) -> Arc<OpenSession> {
        let mut sessions = lock(&self.sessions);
        if let Some(session) = sessions.get(id) {
            session.set_working_dir(working_dir);
            return session.clone();
        }
        if sessions.len() >= MAX_SESSIONS {
            sessions.retain(|_, session| Arc::strong_count(session) > 1);
        }
        let session = Arc::new(OpenSession::new(id, working_dir));
        sessions.insert(id.to_owned(), session.clone());
        session
    }

    pub(super) fn forget(&self, id: &str) -> Option<Arc<OpenSession>> {
        lock(&self.sessions).remove(id)
    }

    /// Sends an update of the session `id`.
    pub(super) fn send_update(&self, id: &str, update: &Value) {
        self.outbox.send(updates::notification(id, update));
    }

    fn answer(&self, id: Option<&Id>, outcome: Result<Value, ErrorObject>) {
        let outcome = outcome.map(|result| self.visible(result));
        match jsonrpc::response(id, outcome.as_ref()) {
            Ok(message) => self.outbox.send(message),
            Err(error) => log::error!("an answer has no JSON form reason={error}"),
        }
    }

    /// What the client may see of a result.
    fn visible(&self, result: Value) -> Value {
        let mut seen = None;
        let _ = self.routes.of_client(|keys, name| {
            let mut response = Response::json(&result);
            keys.redact(name, &mut response);
            seen = Some(crate::json::from_slice(&response.body).unwrap_or_default());
            Ok(())
        });
        seen.unwrap_or(result)
    }

    fn refuse_malformed(&self, malformed: Malformed) {
        let (id, code) = match &malformed {
            Malformed::NotMessage {
                id: Some(id),
                is_answer: true,
                reason,
            } => {
                let error = ErrorObject::new(INVALID_REQUEST, reason.as_str());
                return self.requests.complete(id, Err(error));
            }
            Malformed::NotJson(_) => (None, PARSE_ERROR),
            Malformed::NotMessage { id, .. } => (id.as_ref(), INVALID_REQUEST),
            Malformed::NullId { .. } | Malformed::Batch | Malformed::LongBatch => {
                (None, INVALID_REQUEST)
            }
        };
        let text = match &malformed {
            Malformed::Batch | Malformed::LongBatch => {
                "The message is a batch; send one message at a time".to_owned()
            }
            malformed => format!("The message is {malformed}"),
        };
        self.answer(id, Err(ErrorObject::new(code, text)));
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelRequest {
            request_id: Id,
        }
        match method {
            "session/cancel" if self.permit(method, params).is_ok() => {
                if let Ok(SessionOnly { session_id }) = read_params(method, params) {
                    if let Some(turn) = self.live.of(&session_id) {
                        turn.cancel.cancel();
                    } else if let Some(session) = self.opened(&session_id) {
                        session.cancel_turn();
                    }
                }
            }
            "$/cancel_request" => {
                if let Ok(CancelRequest { request_id }) = read_params(method, params)
                    && let Some(cancel) = self.calls.token(&request_id)
                {
                    cancel.cancel();
                }
            }
            _ => log::debug!("notification ignored method={method:?}"),
        }
    }

    fn request(self: &Arc<Self>, id: Option<Id>, method: &str, params: Option<&RawValue>) {
        if self.client.get().is_none() && method != "initialize" {
            let text = format!("`{method}` came before `initialize`; send that first");
            return self.answer(id.as_ref(), Err(ErrorObject::new(INVALID_REQUEST, text)));
        }
        if method != "initialize"
            && let Err(error) = self.permit(method, params)
        {
            return self.answer(id.as_ref(), Err(error));
        }
        if method != "initialize" {
            let recorded = self.registry.stores().activity.record(&Entry {
                subject: method,
                ..Entry::new("request", "")
            });
            if let Err(reason) = recorded {
                return self.answer(
                    id.as_ref(),
                    Err(ErrorObject::new(INTERNAL_ERROR, reason.to_string())),
                );
            }
        }
        let key = id.clone().unwrap_or_else(|| self.key_without_id());
        let guard = match self.calls.begin(&key, ()) {
            Ok(Some(guard)) => guard,
            Ok(None) => return,
            Err(refusal) => return self.answer(id.as_ref(), Err(refusal.into())),
        };
        let pending = PendingAnswer {
            state: self.clone(),
            id,
            guard,
        };
        let opens = ["session/new", "session/load", "session/resume"].contains(&method);
        if self.logged_out.load(Ordering::Relaxed) && (opens || method == "session/prompt") {
            let text = "You have logged out; authenticate first";
            return pending.answer(Err(ErrorObject::new(AUTHENTICATION_REQUIRED, text)));
        }
        match method {
            "initialize" => pending.answer(self.initialize(method, params)),
            "authenticate" => pending.answer(self.authenticate(method, params)),
            "logout" => {
                self.logged_out.store(true, Ordering::Relaxed);
                pending.answer(Ok(json!({})));
            }
            "session/list" => pending.read_and_run(method, params, Self::list_sessions),
            "session/set_mode" => {
                let result = read_params(method, params);
                pending.answer(result.and_then(|params| self.set_mode(&params)));
            }
            "session/set_config_option" => match read_params::<SetConfigOption>(method, params) {
                // An extension takes time to start.
                Ok(params) if params.config_id.starts_with(EXTENSION) => {
                    pending.run(method, move |state, cancel| {
                        state.set_extension_option(&params, cancel)
                    });
                }
                Ok(params) => pending.answer(self.set_config_option(&params)),
                Err(error) => pending.answer(Err(error)),
            },
            "session/set_model" => {
                let result = read_params(method, params);
                pending.answer(result.and_then(|params| self.set_model(&params)));
            }
            "session/new" => pending.open(method, params, Self::new_session),
            "session/load" | "session/resume" => pending.open(method, params, Self::open_stored),
            "session/close" => pending.read_and_run(method, params, Self::close_session),
            "session/delete" => pending.read_and_run(method, params, Self::delete_session),
            "session/prompt" => match read_params(method, params) {
                Ok(params) => self.prompt(pending, params),
                Err(error) => pending.answer(Err(error)),
            },
            _ => match GooseMethod::find(method) {
                Some(found) => match Params::read(method, params) {
                    Ok(params) => {
                        pending.run(method, move |state, cancel| {
                            found.run(state, &params, cancel)
                        });
                    }
                    Err(error) => pending.answer(Err(error)),
                },
                None => {
                    let text = format!("Method not found: {method}");
                    pending.answer(Err(ErrorObject::new(METHOD_NOT_FOUND, text)));
                }
            },
        }
    }

    /// Fails unless the key of the client permits the method with these parameters.
    fn permit(&self, method: &str, params: Option<&RawValue>) -> Result<(), ErrorObject> {
        let permitted = self.routes.of_client(|keys, name| {
            let operation = format!("acp {method}");
            keys.permit(name, &operation)?;
            let params = params.map_or("", RawValue::get).as_bytes();
            keys.permit_request(name, &operation, &[], params)
        });
        let permitted = permitted.and_then(|()| self.routes.check(|| format!("acp {method}")));
        permitted.map_err(|error| {
            let activity = &self.registry.stores().activity;
            activity.note_unless_recorded(Entry {
                subject: method,
                outcome: "denied",
                detail: &error.message,
                ..Entry::new("refused", "")
            });
            route_methods::error_object(error)
        })
    }

    /// A key for the table of calls, for a request whose id is null.
    fn key_without_id(&self) -> Id {
        let n = self.null_ids.fetch_add(1, Ordering::Relaxed);
        Id::String(format!("{} null {n}", self.prefix))
    }

    fn initialize(
        self: &Arc<Self>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Value, ErrorObject> {
        let params: Initialize = read_params(method, params)?;
        if !params.has_version() {
            return Err(invalid_params(method, "`protocolVersion` is not a number"));
        }
        if self.client.set(params.capabilities()).is_err() {
            let text = "This connection is initialized already; open another one";
            return Err(ErrorObject::new(INVALID_REQUEST, text));
        }
        // Those who follow turns are asked, too.
        if self.client().is_goose && self.permit("session/prompt", None).is_ok() {
            self.live.add(self);
        }
        Ok(capabilities::initialize_result(self.client()))
    }

    fn authenticate(&self, method: &str, params: Option<&RawValue>) -> Result<Value, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Authenticate {
            method_id: String,
        }
        let Authenticate { method_id } = read_params(method, params)?;
        let log_in = || {
            self.logged_out.store(false, Ordering::Relaxed);
            Ok(json!({}))
        };
        let config = &self.registry.stores().config;
        let has_provider = || matches!(PROVIDER.text(config), Ok(Some(_)));
        match method_id.as_str() {
            capabilities::NO_AUTHENTICATION => log_in(),
            capabilities::CONFIGURE_MODEL if has_provider() => log_in(),
            capabilities::CONFIGURE_MODEL => Err(ErrorObject::new(
                AUTHENTICATION_REQUIRED,
                capabilities::how_to_configure(),
            )),
            other => {
                let text = format!("Invalid `methodId`: there is no method {other:?}");
                Err(ErrorObject::new(INVALID_PARAMS, text))
            }
        }
    }

    /// Begins a turn. The session is claimed here, in the thread that reads, so that a cancellation that
    /// follows at once finds the turn.
    fn prompt(self: &Arc<Self>, pending: PendingAnswer, params: Prompt) {
        let session = match self.session(&params.session_id) {
            Ok(session) => session,
            Err(error) => return pending.answer(Err(error)),
        };
        let is_goose = self.client().is_goose;
        let cancel = if is_goose {
            self.registry.cancel().child()
        } else {
            pending.guard.cancel.clone()
        };
        // The turn may be that of another window.
        let is_free = !is_goose || self.live.of(&session.id).is_none();
        let Some(turn) = is_free.then(|| session.begin_turn(&cancel)).flatten() else {
            return pending.answer(if is_goose {
                Ok(self.refuse_busy(&session.id))
            } else {
                Err(ErrorObject::new(INVALID_REQUEST, BUSY))
            });
        };
        if is_goose {
            return self.prompt_live(pending, session, turn, params, cancel);
        }
        pending.run("session/prompt", move |state, cancel| {
            let result = state.run_prompt(&session, params, cancel);
            // The next prompt may follow the answer at once.
            drop(turn);
            result
        });
    }
}

impl ConnectionState {
    /// Whether the turns of this connection go on without it, because it ends.
    pub(super) fn leaves_turns(&self) -> bool {
        self.cancel.is_cancelled() && self.client().is_goose
    }

    /// The same for one of Goose's clients: its turn runs in a thread that outlives the connection.
    fn prompt_live(
        self: &Arc<Self>,
        pending: PendingAnswer,
        session: Arc<OpenSession>,
        turn: RunningTurn,
        params: Prompt,
        cancel: Cancel,
    ) {
        let (state, id) = (self.clone(), pending.id.clone());
        let spawned = sys::spawn("acp turn".to_owned(), None, move || {
            let of_request = pending.guard.cancel.clone();
            let (connection, of_turn) = (state.clone(), cancel.clone());
            let _hook = of_request.on_cancel(move || {
                if !connection.leaves_turns() {
                    of_turn.cancel();
                }
            });
            let run = || state.run_prompt(&session, params, &cancel);
            let outcome = sys::caught("prompt of a client", run);
            // The next prompt may follow the answer at once.
            drop(turn);
            pending.answer(outcome.unwrap_or_else(|_| Err(panicked())));
        });
        if let Err(error) = spawned {
            let text = format!("No thread could be started: {error}; try again later");
            self.answer(id.as_ref(), Err(ErrorObject::new(INTERNAL_ERROR, text)));
        }
    }
}

/// A request that is not answered yet.
struct PendingAnswer {
    state: Arc<ConnectionState>,
    /// `None` for null.
    id: Option<Id>,
    guard: RequestGuard,
}

impl PendingAnswer {
    fn answer(self, outcome: Result<Value, ErrorObject>) {
        if self.guard.finish() {
            self.state.answer(self.id.as_ref(), outcome);
        }
    }

    /// Answers with the result of `work`, which runs in a thread of its own.
    fn run<W>(self, method: &str, work: W)
    where
        W: FnOnce(&Arc<ConnectionState>, &Cancel) -> Result<Value, ErrorObject> + Send + 'static,
    {
        self.spawn(method, move |pending| {
            let (state, cancel) = (pending.state.clone(), pending.guard.cancel.clone());
            let outcome = sys::caught("request of a client", || work(&state, &cancel));
            pending.answer(outcome.unwrap_or_else(|_| Err(panicked())));
        });
    }

    /// The same with the parameters of the method, if they can be read.
    fn read_and_run<P: DeserializeOwned + Send + 'static>(
        self,
        method: &str,
        params: Option<&RawValue>,
        work: fn(&ConnectionState, &P) -> Result<Value, ErrorObject>,
    ) {
        match read_params(method, params) {
            Ok(params) => self.run(method, move |state, _| work(state, &params)),
            Err(error) => self.answer(Err(error)),
        }
    }

    /// The same for a request that opens a session; what follows the opening runs in the same thread.
    fn open<P: DeserializeOwned + Send + 'static>(
        self,
        method: &str,
        params: Option<&RawValue>,
        work: fn(&Arc<ConnectionState>, &str, P, &Cancel) -> Result<Opened, ErrorObject>,
    ) {
        let params = match read_params(method, params) {
            Ok(params) => params,
            Err(error) => return self.answer(Err(error)),
        };
        let name = method.to_owned();
        self.spawn(method, move |pending| {
            let (state, cancel) = (pending.state.clone(), pending.guard.cancel.clone());
            let work = || work(&state, &name, params, &cancel);
            let outcome = sys::caught("request that opens a session", work);
            match outcome.unwrap_or_else(|_| Err(panicked())) {
                Ok(_) if cancel.is_cancelled() => {
                    let error = ErrorObject::new(REQUEST_CANCELLED, "The request was cancelled");
                    pending.answer(Err(error));
                }
                Ok(mut opened) => {
                    pending.answer(Ok(opened.result.take()));
                    state.after_opening(opened, &state.cancel);
                }
                Err(error) => pending.answer(Err(error)),
            }
        });
    }

    fn spawn(self, method: &str, work: impl FnOnce(PendingAnswer) + Send + 'static) {
        let calls = self.state.calls.clone();
        let (state, id) = (self.state.clone(), self.id.clone());
        if let Err(error) = calls.spawn(format!("acp {method}"), move || work(self)) {
            let text = format!("No thread could be started: {error}; try again later");
            state.answer(id.as_ref(), Err(ErrorObject::new(INTERNAL_ERROR, text)));
        }
    }
}

fn panicked() -> ErrorObject {
    ErrorObject::new(
        INTERNAL_ERROR,
        "The agent failed at this request; its log says how",
    )
}
