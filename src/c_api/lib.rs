//! gosling for programs in C and in what can call C. `gosling.h` beside this file says what each function does.
//!
//! A handle is an [`Arc`] or a [`Box`] that the caller has until it gives it back. No panic leaves a function: it is an
//! error like others. The events of a turn come from a thread of its own.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use gosling::agent::{Confirmation, Event, EventSink, EventWriter, Registry, Stores, TurnInput};
use gosling::conversation::{Message, Role};
use gosling::http::{Method, Request, Router};
use gosling::parts::PARTS;
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use gosling::sys::lock;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How many events wait to be taken before the turn pauses.
const MAX_EVENTS: usize = 1024;
/// How often a turn that pauses looks whether it was cancelled.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// What `gosling *` points to.
pub struct Gosling {
    registry: Arc<Registry>,
    router: Arc<Router>,
}

/// What `gosling_turn *` points to.
pub struct Turn {
    /// `None` once the turn is to end without being listened to.
    events: Mutex<Option<Receiver<Vec<u8>>>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

/// The options of `gosling_open`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    root: Option<PathBuf>,
    offline: bool,
}

/// Sends the events of a turn to who takes them.
struct Events {
    sender: Sender<Vec<u8>>,
    writer: EventWriter,
    cancel: Cancel,
}

impl EventSink for Events {
    fn event(&mut self, event: Event<'_>) {
        let mut json = Vec::new();
        if let Err(error) = self.writer.write(&event, &mut json) {
            let error = format!("an event cannot be written: {error}");
            json = serde_json::json!({"type": "Error", "error": error})
                .to_string()
                .into_bytes();
        }
        while let Err(error) = self.sender.send_timeout(json, LOOK_INTERVAL) {
            match error {
                // After the end the rest is wanted only by who still takes it.
                SendTimeoutError::Timeout(_) if self.cancel.is_cancelled() => return,
                SendTimeoutError::Timeout(rest) => json = rest,
                SendTimeoutError::Disconnected(_) => return self.cancel.cancel(),
            }
        }
    }

    fn flush(&mut self) {}
}

impl Gosling {
    fn open(options: Option<&str>) -> Result<Self, String> {
        let options: Options = match options {
            Some(options) => parsed("options", object("options", options)?)?,
            None => Options::default(),
        };
        let paths = match &options.root {
            Some(root) if root.as_os_str().is_empty() => {
                return Err("options: root is empty".to_owned());
            }
            Some(root) => Paths::under(root),
            None => Paths::from_env().map_err(|error| error.to_string())?,
        };
        ignore_broken_pipes();
        let registry = Registry::new(Stores::new(&paths), PARTS, options.offline);
        let registry = Arc::new(registry);
        let router = Arc::new(gosling::api::router(registry.clone()));
        Ok(Gosling { registry, router })
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<(u16, Vec<u8>), String> {
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err("the method is not in capitals".to_owned());
        }
        let method = method.parse::<Method>();
        let method = method.map_err(|_| "unknown method".to_owned())?;
        if !path.starts_with('/') {
            return Err("the path has no slash at its beginning".to_owned());
        }
        let mut request = Request::new(method, path);
        if let Some(body) = body {
            request = request.with_body("application/json", body);
        }
        let response = self.router.respond(request);
        Ok((response.status.0, response.body))
    }

    fn call_tool(&self, session: &str, tool: &str, arguments: &str) -> Result<String, String> {
        let arguments: Box<RawValue> = parsed("arguments", object("arguments", arguments)?)?;
        let agent = self.registry.active_agent(session);
        let agent = agent.map_err(|error| error.to_string())?;
        let result = agent.call(tool, &arguments, agent.cancel());
        let result = result.map_err(|error| error.to_string())?;
        serde_json::to_string(&result).map_err(|error| error.to_string())
    }

    fn start_turn(&self, session: &str, message: &str) -> Result<Turn, String> {
        let found = self.registry.files().session(session);
        found.map_err(|error| error.to_string())?;
        let (sender, receiver) = bounded(MAX_EVENTS);
        // It ends with the registry, too, even if no one takes its events.
        let cancel = self.registry.cancel().child();
        let mut events = Events {
            sender,
            writer: EventWriter::default(),
            cancel: cancel.clone(),
        };
        let (registry, session) = (self.registry.clone(), session.to_owned());
        let message = Message::text(Role::User, message);
        let thread = gosling::sys::spawn("turn".to_owned(), None, move || {
            let cancel = events.cancel.clone();
            let ended = caught(|| {
                // An error is the last event, too.
                let _ = registry.reply(&session, TurnInput::new(message), &mut events, &cancel);
                Ok(())
            });
            if let Err(error) = ended {
                events.event(Event::Error { error: &error });
            }
        });
        Ok(Turn {
            events: Mutex::new(Some(receiver)),
            cancel,
            thread: Some(thread.map_err(|error| error.to_string())?),
        })
    }
}

/// What [`Turn::next`] finds; the numbers of `enum gosling_state`.
#[derive(Clone, Copy)]
enum State {
    Event = 0,
    Waiting = 1,
    Ended = 2,
    Invalid = 3,
}

impl Turn {
    fn next(&self, wait: Option<Duration>) -> Result<Vec<u8>, State> {
        let Some(events) = lock(&self.events).clone() else {
            return Err(State::Ended);
        };
        match wait {
            Some(wait) => events.recv_timeout(wait).map_err(|error| match error {
                RecvTimeoutError::Timeout => State::Waiting,
                RecvTimeoutError::Disconnected => State::Ended,
            }),
            None => events.recv().map_err(|_| State::Ended),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.cancel.cancel();
        lock(&self.events).take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn parsed<'t, T: Deserialize<'t>>(name: &str, text: &'t str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))
}

/// The text of this name, which is a JSON object: only names say what its values are.
fn object<'t>(name: &str, text: &'t str) -> Result<&'t str, String> {
    let is_object = text.trim_start().starts_with('{');
    is_object
        .then_some(text)
        .ok_or_else(|| format!("{name} is not an object"))
}

/// Ignores SIGPIPE as programs in Rust do, unless the program has said what is to happen.
fn ignore_broken_pipes() {
    #[cfg(unix)]
    // SAFETY: `old` is written before it is read, and there is no handler that could be called.
    unsafe {
        let mut old = std::mem::zeroed::<libc::sigaction>();
        let is_known = libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut old) == 0;
        if is_known && old.sa_sigaction == libc::SIG_DFL {
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        }
    }
}

/// Runs `work`; a panic is an error.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let caught = gosling::sys::caught("function for C", work);
    caught.unwrap_or_else(|reason| Err(format!("gosling has panicked: {reason}")))
}

/// The text for the caller; what comes behind a zero byte is cut off, which no JSON has.
fn given(text: impl Into<Vec<u8>>) -> *mut c_char {
    let mut text = text.into();
    if let Some(zero) = text.iter().position(|byte| *byte == 0) {
        text.truncate(zero);
    }
    CString::new(text).map_or(ptr::null_mut(), CString::into_raw)
}

/// The argument of this name; `None` if it is NULL.
///
/// # Safety
/// The pointer is NULL, or to a text with a zero byte at its end that lives and does not change for `'a`.
unsafe fn optional<'a>(name: &str, text: *const c_char) -> Result<Option<&'a str>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as this function demands.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str().map_err(|_| format!("{name} is not UTF-8"))?;
    Ok(Some(text))
}

/// The argument of this name.
///
/// # Safety
/// As [`optional`].
unsafe fn required<'a>(name: &str, text: *const c_char) -> Result<&'a str, String> {
    // SAFETY: as this function demands.
    let text = unsafe { optional(name, text) }?;
    text.ok_or_else(|| format!("{name} is NULL"))
}

/// What a handle points to.
///
/// # Safety
/// The pointer is NULL, or from the function that makes these handles and not yet given back.
unsafe fn handle<'a, T>(handle: *const T) -> Result<&'a T, String> {
    // SAFETY: as this function demands.
    unsafe { handle.as_ref() }.ok_or_else(|| "the handle is NULL".to_owned())
}

/// Tells the error of a function whose caller wants to know it.
///
/// # Safety
/// The pointer is NULL, or may be written.
unsafe fn tell<T>(result: Result<T, String>, error: *mut *mut c_char) -> Option<T> {
    let (value, text) = match result {
        Ok(value) => (Some(value), ptr::null_mut()),
        Err(text) => (None, given(text)),
    };
    if error.is_null() {
        // SAFETY: it was just made by `given`, or is NULL.
        unsafe { gosling_free(text) };
    } else {
        // SAFETY: as this function demands.
        unsafe { error.write(text) };
    }
    value
}

/// Opens the folders of gosling.
///
/// # Safety
/// As `gosling.h` says of all functions: pointers are NULL or valid, and handles not yet given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_open(
    options: *const c_char,
    error: *mut *mut c_char,
) -> *mut Gosling {
    // SAFETY: the caller's pointers, as the header demands.
    unsafe {
        let opened = caught(|| Gosling::open(optional("options", options)?));
        tell(opened, error).map_or(ptr::null_mut(), |opened| Box::into_raw(Box::new(opened)))
    }
}

/// Ends all agents, and frees the handle.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_close(gosling: *mut Gosling) {
    if gosling.is_null() {
        return;
    }
    // SAFETY: it is from `gosling_open`, and given back with this call.
    let gosling = unsafe { Box::from_raw(gosling) };
    let _ = caught(|| {
        gosling.registry.close();
        drop(gosling);
        Ok(())
    });
}

/// Calls a route of the HTTP API.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_request(
    gosling: *const Gosling,
    method: *const c_char,
    path: *const c_char,
    body: *const c_char,
    status: *mut c_int,
) -> *mut c_char {
    // SAFETY: the caller's pointers, as the header demands.
    unsafe {
        let answer = caught(|| {
            let gosling = handle(gosling)?;
            let method = required("method", method)?;
            gosling.request(method, required("path", path)?, optional("body", body)?)
        });
        let (code, body) = answer.map_or((0, ptr::null_mut()), |(code, body)| (code, given(body)));
        if !status.is_null() {
            status.write(code.into());
        }
        body
    }
}

/// Calls a tool.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_call_tool(
    gosling: *const Gosling,
    session: *const c_char,
    tool: *const c_char,
    arguments: *const c_char,
    error: *mut *mut c_char,
) -> *mut c_char {
    // SAFETY: the caller's pointers, as the header demands.
    unsafe {
        let called = caught(|| {
            let (session, tool) = (required("session", session)?, required("tool", tool)?);
            handle(gosling)?.call_tool(session, tool, required("arguments", arguments)?)
        });
        tell(called, error).map_or(ptr::null_mut(), given)
    }
}

/// Starts a turn.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_turn_start(
    gosling: *const Gosling,
    session: *const c_char,
    message: *const c_char,
    error: *mut *mut c_char,
) -> *mut Turn {
    // SAFETY: the caller's pointers, as the header demands.
    unsafe {
        let started = caught(|| {
            let session = required("session", session)?;
            handle(gosling)?.start_turn(session, required("message", message)?)
        });
        tell(started, error).map_or(ptr::null_mut(), |turn| Box::into_raw(Box::new(turn)))
    }
}

/// Takes the next event of a turn.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_turn_next(
    turn: *const Turn,
    ms: c_int,
    state: *mut c_int,
) -> *mut c_char {
    let wait = u64::try_from(ms).ok().map(Duration::from_millis);
    // SAFETY: the caller's pointers, as the header demands.
    unsafe {
        let next = caught(|| Ok(handle(turn)?.next(wait)));
        let (found, event) = match next.unwrap_or(Err(State::Invalid)) {
            Ok(event) => (State::Event, given(event)),
            Err(state) => (state, ptr::null_mut()),
        };
        if !state.is_null() {
            state.write(found as c_int);
        }
        event
    }
}

/// Lets a turn end.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_turn_cancel(turn: *const Turn) {
    // SAFETY: the caller's pointer, as the header demands.
    let _ = caught(|| unsafe { handle(turn) }.map(|turn| turn.cancel.cancel()));
}

/// Waits for the end of a turn, and frees the handle.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_turn_end(turn: *mut Turn) {
    if !turn.is_null() {
        // SAFETY: it is from `gosling_turn_start`, and given back with this call.
        let turn = unsafe { Box::from_raw(turn) };
        let _ = caught(|| {
            drop(turn);
            Ok(())
        });
    }
}

/// 1 if somebody has waited for an answer, 0 if not, -1 if it is not valid.
fn outcome(answered: Result<bool, String>) -> c_int {
    answered.map_or(-1, c_int::from)
}

/// Answers the question whether a tool may be called.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_approve(
    gosling: *const Gosling,
    session: *const c_char,
    request: *const c_char,
    action: *const c_char,
) -> c_int {
    // SAFETY: the caller's pointers, as the header demands.
    outcome(caught(|| unsafe {
        let action = Value::from(required("action", action)?);
        let answer = Confirmation::deserialize(action).map_err(|error| error.to_string())?;
        let questions = handle(gosling)?
            .registry
            .questions(required("session", session)?);
        Ok(questions.confirm(required("request", request)?, answer))
    }))
}

/// Answers an elicitation.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_answer(
    gosling: *const Gosling,
    session: *const c_char,
    request: *const c_char,
    data: *const c_char,
) -> c_int {
    // SAFETY: the caller's pointers, as the header demands.
    outcome(caught(|| unsafe {
        let data = optional("data", data)?.map(|data| parsed("data", object("data", data)?));
        let questions = handle(gosling)?
            .registry
            .questions(required("session", session)?);
        Ok(questions.answer(required("request", request)?, data.transpose()?))
    }))
}

/// Frees a text.
///
/// # Safety
/// As [`gosling_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gosling_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it is from `given`, and given back with this call.
        drop(unsafe { CString::from_raw(text) });
    }
}
