//! The policy of a process, which follows its file: a new one holds from the next decision on. One that cannot be used
//! is refused, and the old one stays.

use crate::activity::{Activity, Caller, Entry, Hold, Policy, Ruling};
use crate::agent::Mode;
use crate::decisions::{self, Call, Decided};
use crate::extension::sandbox::Level;
use crate::metered_provider::MeteredProvider;
use crate::policy_file::{self, Decision, LeastMode, Permission, PolicyFile, SandboxRule};
use crate::provider::Provider;
use crate::quotas::{Counted, Counts};
use crate::store::files;
use crate::sys::fs::Stamp;
use crate::sys::{effective_user, lock};
use crate::text::printable;
use crate::{configuration, json, trusted_file};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LivePolicy {
    path: PathBuf,
    user: Option<u32>,
    state: Mutex<State>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct State {
    policy: Arc<PolicyFile>,
    text: Vec<u8>,
    /// The state of the file when it was looked at last, and when that was.
    seen: Option<(Stamp, SystemTime)>,
    /// Why the file was refused when it was looked at last.
    fault: Option<String>,
}

impl LivePolicy {
    /// The policy in a file.
    ///
    /// # Errors
    /// Why it cannot be used, with the path, and line and column if they are known.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let path = std::path::absolute(path).map_err(|error| error.to_string())?;
        let (user, read_at) = (effective_user(), SystemTime::now());
        let read = read(&path, user).map_err(|why| {
            let path = printable(&path.display().to_string(), 1000);
            format!("the policy {path} cannot be used, so nothing is started: {why}")
        });
        let (policy, text, stamp) = read?;
        Ok(LivePolicy {
            path,
            user,
            state: Mutex::new(State {
                policy: Arc::new(policy),
                text,
                seen: Some((stamp, read_at)),
                fault: None,
            }),
            counts: Arc::default(),
        })
    }

    /// Reads the file again, also if it looks unchanged.
    ///
    /// # Errors
    /// Why it cannot be used; the earlier one holds.
    pub(crate) fn reload(&self) -> Result<(), String> {
        lock(&self.state).seen = None;
        self.current();
        let fault = lock(&self.state).fault.clone();
        fault.map_or(Ok(()), |why| {
            let why = printable(&why, 1000);
            Err(format!("refused, the earlier one holds: {why}"))
        })
    }

    /// The policy that holds now.
    fn current(&self) -> Arc<PolicyFile> {
        let now = SystemTime::now();
        let stamp = files::stamp(&self.path).ok().flatten();
        {
            let state = lock(&self.state);
            if let (Some((seen, at)), Some(stamp)) = (state.seen, stamp)
                && seen == stamp
                && stamp.is_settled(at)
            {
                return state.policy.clone();
            }
        }
        let read = read(&self.path, self.user);
        let mut state = lock(&self.state);
        state.seen = stamp.map(|stamp| (stamp, now));
        match read {
            Ok((policy, text, _)) => {
                if state.text != text || state.fault.is_some() {
                    log::warn!(
                        "policy taken path={:?} rules={}",
                        self.path,
                        policy.rules.len()
                    );
                    (state.policy, state.text) = (Arc::new(policy), text);
                }
                state.fault = None;
            }
            Err(why) => {
                if state.fault.as_ref() != Some(&why) {
                    log::error!(
                        "POLICY REFUSED, the earlier one holds path={:?} reason={:?}",
                        self.path,
                        printable(&why, 1000)
                    );
                }
                state.fault = Some(why);
            }
        }
        state.policy.clone()
    }
}

fn read(path: &Path, user: Option<u32>) -> Result<(PolicyFile, Vec<u8>, Stamp), String> {
    let (text, stamp) = trusted_file::read(path, policy_file::MAX_SIZE, user)?;
    let policy = policy_file::read(&text).map_err(|fault| fault.to_string())?;
    Ok((policy, text, stamp))
}

fn denied(what: &str) -> Ruling {
    Ruling::Deny(format!("the administrator's policy denies it: {what}"))
}

impl From<Decided> for Ruling {
    fn from(decided: Decided) -> Self {
        match decided.decision {
            Decision::Allow => Ruling::Allow,
            Decision::Ask => Ruling::Ask(decided.in_words()),
            Decision::Deny => Ruling::Deny(decided.in_words()),
        }
    }
}

pub(crate) fn key_of(caller: &Caller) -> &str {
    caller.key.get().map_or("", String::as_str)
}

/// Whether the caller is another program: a client of a server, or an editor.
fn is_client(caller: &Caller) -> bool {
    matches!(caller.front, "http" | "acp")
}

impl Policy for LivePolicy {
    fn rule(&self, caller: &Caller, entry: &Entry<'_>) -> Ruling {
        let asking = [key_of(caller), caller.front];
        match entry.kind {
            "tool_call" => {
                let call = Call {
                    key: asking[0],
                    front: asking[1],
                    extension: entry.extension,
                    tool: entry.subject,
                    arguments: entry.arguments,
                    directory: entry.working_dir,
                };
                decisions::call(&self.current(), &call).into()
            }
            // Resources and prompts. `ask` is for calls of tools alone.
            "extension_request" => {
                let request = Call {
                    key: asking[0],
                    front: asking[1],
                    extension: entry.extension,
                    directory: entry.working_dir,
                    ..Call::default()
                };
                match decisions::call(&self.current(), &request) {
                    it if it.decision == Decision::Deny => it.into(),
                    _ => Ruling::Allow,
                }
            }
            "extension_start" => {
                let policy = self.current();
                let is_foreign = is_client(caller) && entry.by == "client";
                if is_foreign && policy.clients.extensions == Permission::Deny {
                    return denied("clients use only extensions that are configured");
                }
                match json::from_slice::<Value>(entry.arguments) {
                    Ok(started) => decisions::extension(&policy, asking, &started).into(),
                    Err(_) => denied("its configuration cannot be read"),
                }
            }
            "model" | "model_request" => {
                let model = [entry.extension, entry.subject];
                decisions::model(&self.current(), asking, model).into()
            }
            "operation" => {
                let is_meant = is_client(caller) && configuration::changes(entry.subject);
                if is_meant && self.current().clients.configuration == Permission::Deny {
                    denied("clients change no configuration")
                } else {
                    Ruling::Allow
                }
            }
            "setting" => change(&self.current(), caller, entry),
            "session" if entry.outcome == "imported" => {
                if is_client(caller) && self.current().clients.import == Permission::Deny {
                    denied("clients import no sessions")
                } else {
                    Ruling::Allow
                }
            }
            _ => Ruling::Allow,
        }
    }

    fn count(&self, caller: &Caller, entry: &Entry<'_>) -> Result<Hold, String> {
        let counted: &[Counted] = match entry.kind {
            "tool_call" => &[Counted::Call],
            // Those of subagents belong to the turn that runs them.
            "turn" if caller.turn.is_none() => &[Counted::Tokens, Counted::Turn],
            "turn" | "model_request" => &[Counted::Tokens],
            "session" if matches!(entry.outcome, "created" | "copied" | "imported") => {
                &[Counted::Session]
            }
            _ => return Ok(None),
        };
        let (policy, key) = (self.current(), key_of(caller));
        let mut hold = None;
        for what in counted {
            let counted = self.counts.count(&policy.quotas, key, *what);
            let turn = counted.map_err(|used_up| {
                let _ = caller.denied.set(used_up.seconds);
                used_up.reason
            })?;
            hold = turn.map(|turn| Box::new(turn) as _);
        }
        Ok(hold)
    }

    fn meter(&self, activity: &Activity, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        Arc::new(MeteredProvider {
            provider,
            activity: activity.clone(),
            caller: Caller::clone(&Caller::current()),
            counts: self.counts.clone(),
        })
    }

    fn least_mode(&self) -> &'static str {
        mode_of(self.current().least_mode).as_str()
    }

    fn is_offline(&self) -> bool {
        self.current().offline
    }

    fn least_sandbox(&self) -> (Level, bool) {
        let SandboxRule { least, exceptions } = self.current().sandbox.clone();
        (least, exceptions == Permission::Allow)
    }
}

fn mode_of(least: LeastMode) -> Mode {
    match least {
        LeastMode::Auto => Mode::Auto,
        LeastMode::SmartApprove => Mode::SmartApprove,
        LeastMode::Approve => Mode::Approve,
        LeastMode::Chat => Mode::Chat,
    }
}

/// What a policy says of the change of a setting.
fn change(policy: &PolicyFile, caller: &Caller, entry: &Entry<'_>) -> Ruling {
    let least = mode_of(policy.least_mode);
    if matches!(entry.subject, "goose_mode" | "GOOSE_MODE") && entry.outcome == "set" {
        let wanted = json::from_slice::<String>(entry.arguments).unwrap_or_default();
        let wanted = wanted.trim().to_ascii_lowercase();
        let known = Mode::ALL.into_iter().find(|mode| mode.as_str() == wanted);
        if known.is_some_and(|mode| mode < least) {
            let least = least.as_str();
            return denied(&format!("the mode {wanted} is less strict than {least}"));
        }
    }
    // Of a session alone, not of a file.
    if entry.extension.is_empty() || !is_client(caller) {
        return Ruling::Allow;
    }
    let is_extension = entry.subject == "extensions" || entry.subject.starts_with("extensions.");
    if policy.clients.configuration == Permission::Deny {
        return denied("clients change no configuration");
    }
    if is_extension && policy.clients.extensions == Permission::Deny {
        return denied("clients configure no extensions");
    }
    Ruling::Allow
}
