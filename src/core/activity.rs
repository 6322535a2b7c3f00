//! What is done here and who asked for it, for the part that records it ([`Part::recorder`](crate::part::Part)).
//!
//! Who asks is known in each thread: a front says it where it takes a request, and the threads that are started for the
//! request inherit it.

use crate::extension::sandbox::Level;
use crate::provider::Provider;
use crate::store;
use crate::sys::threads::{Origin, origin, with_origin};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Who asks for something.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Which front has taken the request: `http`, `acp`, `schedule`, or the name of a command.
    pub front: &'static str,
    /// The name of the key that the client has shown, as soon as it has been checked.
    pub key: OnceLock<String>,
    /// What the client may do, unless its key says that.
    pub rights: OnceLock<Rights>,
    /// The client's address.
    pub address: Option<SocketAddr>,
    /// The trace that the request is a part of: its `traceparent` and `tracestate` (W3C Trace Context).
    pub trace: Option<(Arc<str>, Arc<str>)>,
    /// The record of the turn that this is a part of.
    pub turn: Option<u64>,
    /// Whether something of this request was recorded.
    pub is_recorded: Arc<AtomicBool>,
    /// Set if the policy denied something: in how many seconds it may allow it, if that is known.
    pub denied: OnceLock<Option<u64>>,
}

/// What a client may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The name of its role, as that of a key.
    pub role: String,
    /// Whether it sees and uses the sessions alone that it has begun.
    pub own_sessions: bool,
}

impl Rights {
    /// Whether there is anything that it may not do.
    pub fn are_limited(&self) -> bool {
        self.role != "admin" || self.own_sessions
    }
}

/// The front of threads that no request has started.
static FRONT: OnceLock<&str> = OnceLock::new();

/// The front of this process, if it is a command of gosling.
pub fn front() -> Option<&'static str> {
    FRONT.get().copied()
}

/// Sets the front of this process. Only the first call has an effect.
pub fn set_front(front: &'static str) {
    let _ = FRONT.set(front);
}

impl Caller {
    /// Who asks in this thread.
    pub fn current() -> Arc<Caller> {
        let known = origin().and_then(|origin| origin.downcast().ok());
        known.unwrap_or_else(|| {
            Arc::new(Caller {
                front: front().unwrap_or_default(),
                ..Caller::default()
            })
        })
    }

    /// Works for this caller.
    pub fn asks<T>(self, work: impl FnOnce() -> T) -> T {
        with_origin(Some(Arc::new(self) as Origin), work)
    }
}

/// Something that happens, as it is recorded. Its texts may come from anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<'a> {
    /// What it is, for example `tool_call`.
    pub kind: &'static str,
    /// The number of the record that this one completes.
    pub of: Option<u64>,
    /// The session.
    pub session: &'a str,
    /// The extension.
    pub extension: &'a str,
    /// The tool, the setting or the route; what it is about.
    pub subject: &'a str,
    /// The call of the model, or what else connects records.
    pub request: &'a str,
    /// What it is done with, in JSON.
    pub arguments: &'a [u8],
    /// The working directory of the session, where it is known.
    pub working_dir: Option<&'a Path>,
    /// What was decided: `allowed` or `denied`.
    pub decision: &'static str,
    /// Who or what has decided: `mode`, `remembered`, `user`, `client` or `automatic`.
    pub by: &'static str,
    /// How it has ended: `ok`, or in which way it failed.
    pub outcome: &'a str,
    /// Why, in words.
    pub detail: &'a str,
    /// How long it has taken.
    pub took: Option<Duration>,
    /// The size of the result, in bytes.
    pub bytes: Option<usize>,
}

impl<'a> Entry<'a> {
    /// An entry of this kind about a session.
    pub fn new(kind: &'static str, session: &'a str) -> Self {
        Entry {
            kind,
            session,
            ..Entry::default()
        }
    }
}

/// Records what happens. Its methods return soon.
pub trait Recorder: fmt::Debug + Send + Sync {
    /// Records an entry of this caller, and returns the number of the record, if it keeps one.
    ///
    /// # Errors
    /// Why it cannot be recorded, if what cannot be recorded must not be done.
    fn record(&self, caller: &Caller, entry: &Entry<'_>) -> Result<Option<u64>, String>;

    /// Whether what cannot be recorded must not be done.
    fn is_required(&self) -> bool {
        false
    }
}

/// What the policy says of something that is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ruling {
    /// It may happen.
    Allow,
    /// It may happen if the user allows this very thing; why.
    Ask(String),
    /// It must not happen; why.
    Deny(String),
}

/// What is kept as long as something goes on, so that its end is noticed.
pub type Hold = Option<Box<dyn Any + Send>>;

/// The policy of the administrator. Its methods return soon.
pub trait Policy: fmt::Debug + Send + Sync {
    /// What it says of something that is about to happen.
    fn rule(&self, caller: &Caller, entry: &Entry<'_>) -> Ruling;

    /// Counts something that it allows and that happens now.
    ///
    /// # Errors
    /// Why it must not happen: too much has happened already.
    fn count(&self, caller: &Caller, entry: &Entry<'_>) -> Result<Hold, String>;

    /// The provider, which asks its models for the caller of this thread as far as the policy allows.
    fn meter(&self, _: &Activity, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        provider
    }

    /// The least strict mode that sessions may have.
    fn least_mode(&self) -> &'static str;

    /// Whether no connection may leave this machine.
    fn is_offline(&self) -> bool;

    /// The least walls around extensions, and whether entries of extensions may have exceptions from them.
    fn least_sandbox(&self) -> (Level, bool);
}

/// The recorders of what is done with some files, of which the user may want none, and the policy, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    recorders: Arc<[Arc<dyn Recorder>]>,
    policy: Option<Arc<dyn Policy>>,
}

/// Something that has begun and was recorded.
#[must_use = "the record lacks its end"]
pub struct Begun<'a> {
    activity: Activity,
    entry: Entry<'a>,
    begin: Instant,
    _hold: Hold,
}

impl Activity {
    /// What these recorders record and this policy allows.
    pub fn new(
        recorders: impl Into<Arc<[Arc<dyn Recorder>]>>,
        policy: Option<Arc<dyn Policy>>,
    ) -> Self {
        let recorders = recorders.into();
        Activity { recorders, policy }
    }

    /// The policy, if there is one.
    pub fn policy(&self) -> Option<&dyn Policy> {
        self.policy.as_deref()
    }

    /// Checks what is not recorded when it happens. A denial is recorded.
    ///
    /// # Errors
    /// Why the policy denies it.
    pub fn check(&self, entry: &Entry<'_>) -> Result<(), String> {
        self.permitted(&Caller::current(), entry).map(drop)
    }

    fn permitted(&self, caller: &Caller, entry: &Entry<'_>) -> Result<Hold, String> {
        let Some(policy) = &self.policy else {
            return Ok(None);
        };
        let counted = match policy.rule(caller, entry) {
            Ruling::Ask(why) if entry.by != "user" => Err(why + ", and no user can be asked here"),
            Ruling::Deny(why) => Err(why),
            _ => policy.count(caller, entry),
        };
        counted.inspect_err(|why| {
            let _ = caller.denied.set(None);
            self.note(Entry {
                arguments: b"",
                decision: "denied",
                by: "policy",
                outcome: "denied",
                detail: why,
                ..*entry
            });
        })
    }

    /// Records what has happened.
    pub fn note(&self, entry: Entry<'_>) {
        // It has happened already; the recorder logs why there is no record.
        let _ = self.write(&entry);
    }

    /// Records what has happened if nothing else of the request was recorded.
    pub fn note_unless_recorded(&self, entry: Entry<'_>) {
        if !Caller::current().is_recorded.load(Ordering::Relaxed) {
            self.note(entry);
        }
    }

    /// Records what is about to happen, and returns the number of the record.
    ///
    /// # Errors
    /// Why it must not happen: [`Denied`](store::Error::Denied) or [`Unrecorded`](store::Error::Unrecorded).
    pub fn record(&self, entry: &Entry<'_>) -> store::Result<Option<u64>> {
        let permitted = self.permitted(&Caller::current(), entry);
        permitted.map_err(store::Error::Denied)?;
        self.write(entry).map_err(store::Error::Unrecorded)
    }

    fn write(&self, entry: &Entry<'_>) -> Result<Option<u64>, String> {
        let caller = Caller::current();
        caller.is_recorded.store(true, Ordering::Relaxed);
        // Each of them gets it, also if another one cannot record it.
        let mut recorded = Ok(None);
        for recorder in &*self.recorders {
            let next = recorder.record(&caller, entry);
            recorded = recorded.and_then(|known| Ok(known.or(next?)));
        }
        recorded
    }

    /// As [`begin`](Self::begin) if what cannot be recorded must not be done.
    ///
    /// # Errors
    /// Why it must not happen.
    pub fn begin_if_required<'a>(&self, entry: Entry<'a>) -> Result<Option<Begun<'a>>, String> {
        if !self.recorders.iter().any(|it| it.is_required()) {
            return self.check(&entry).map(|()| None);
        }
        self.begin(entry).map(Some)
    }

    /// Records what is about to happen. [`Begun::end`] completes the record.
    ///
    /// # Errors
    /// Why it must not happen.
    pub fn begin<'a>(&self, mut entry: Entry<'a>) -> Result<Begun<'a>, String> {
        let hold = self.permitted(&Caller::current(), &entry)?;
        entry.of = self.write(&entry)?;
        Ok(Begun {
            activity: self.clone(),
            entry,
            begin: Instant::now(),
            _hold: hold,
        })
    }
}

impl Begun<'_> {
    /// Works as a part of this turn.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let turn = self.entry.of;
        let caller = Caller::clone(&Caller::current());
        Caller { turn, ..caller }.asks(work)
    }

    /// Records how it has ended.
    pub fn end(self, outcome: &str, detail: &str, bytes: Option<usize>) {
        self.activity.note(Entry {
            request: "",
            arguments: b"",
            decision: "",
            by: "",
            outcome,
            detail,
            bytes,
            took: Some(self.begin.elapsed()),
            ..self.entry
        });
    }
}

#[cfg(test)]
mod tests;
