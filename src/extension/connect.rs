//! How an extension gets a connection to its server, at its activation and whenever it needs another.

use super::config::{ExtensionConfig, StreamableHttp, key};
use super::container::{Container, Inside};
use super::environment::Environment;
use super::manager::Context;
use super::platform_extensions;
use super::program_lookup;
use super::retry_policy::backoff;
use super::server_requests::SessionRequests;
use super::status::Location;
use super::subscriptions::Subscriptions;
use super::{Error, Phase, unsupported};
use crate::builtin;
use crate::mcp;
use crate::mcp::client::{Client, NotificationHandler, Options, RequestHandler};
use crate::mcp::pending_requests::RequestTimeouts;
use crate::mcp::server::InProcess;
use crate::mcp::transport::http::{HttpOptions, HttpTransport};
use crate::mcp::transport::stdio::{StdioOptions, StdioTransport};
use crate::mcp::transport::{Transport, TransportError};
use crate::mcp::types::{Root, Tool};
use crate::outbound::offline;
use crate::sys::cancel::Cancel;
use crate::sys::process::Command;
use crate::text::{printable, redact};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A server that is ready, and what it listed.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) tools: Arc<Vec<Tool>>,
    /// The server said that its list of tools has changed.
    pub(super) stale: Arc<AtomicBool>,
    /// None for one in this process.
    pub(super) place: Option<Location>,
    /// The container that it runs in, if it does.
    pub(super) container: Option<Container>,
    /// When it was ready.
    pub(super) since: Instant,
    secrets: Vec<String>,
}

impl Connection {
    /// Something that the server said, fit to be shown.
    pub(super) fn shown(&self, text: &str) -> String {
        shown(text, &self.secrets)
    }
}

fn shown(text: &str, secrets: &[String]) -> String {
    printable(&redact(text, secrets), 100)
}

/// Why there is no connection.
pub(super) struct ConnectError {
    pub(super) error: Error,
    pub(super) retry: RetryAdvice,
}

/// Whether another attempt may do better.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// Nothing says so.
    No,
    /// Nobody listens at the address.
    Refused,
    /// The server asks to come back after this time.
    Busy(Duration),
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        ConnectError {
            error,
            retry: RetryAdvice::No,
        }
    }
}

/// How often somebody who waits looks whether the caller is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl Context {
    /// As [`connect`](Self::connect), again and again until `end` while the server asks for that or, should
    /// it have been there before, while nobody listens at its address.
    ///
    /// # Errors
    /// As there.
    pub(super) fn connect_until(
        &self,
        end: Instant,
        was_there: bool,
        config: &ExtensionConfig,
        subscriptions: &Arc<Subscriptions>,
        cancel: &Cancel,
    ) -> Result<Connection, ConnectError> {
        let mut attempt = 0;
        loop {
            let failed = match self.connect(config, subscriptions, cancel) {
                Ok(connection) => return Ok(connection),
                Err(failed) => failed,
            };
            let wait = match failed.retry {
                RetryAdvice::Refused if was_there => backoff(attempt),
                RetryAdvice::Busy(asked) => asked.max(backoff(attempt)),
                RetryAdvice::No | RetryAdvice::Refused => return Err(failed),
            };
            attempt += 1;
            let next = Instant::now() + wait;
            if next >= end {
                return Err(failed);
            }
            while let Some(left) = next.checked_duration_since(Instant::now()) {
                if cancel.probe() {
                    let reason = "nobody waits for its server any more";
                    return Err(Error::new(config.name(), Phase::Cancelled, reason).into());
                }
                thread::sleep(left.min(POLL_INTERVAL));
            }
        }
    }

    /// Starts the server of an extension, or finds it, initializes it and asks for its tools.
    ///
    /// # Errors
    /// Why it did not come up. Nothing of it is left then.
    pub(super) fn connect(
        &self,
        config: &ExtensionConfig,
        subscriptions: &Arc<Subscriptions>,
        cancel: &Cancel,
    ) -> Result<Connection, ConnectError> {
        let name = config.name();
        let merged = |envs, keys| {
            let merged = Environment::merge(envs, keys, &*self.secrets);
            merged.map_err(|reason| Error::new(name, Phase::Config, reason))
        };
        let inside = (self.containers.inside(config, &self.working_dir))
            .map_err(|reason| Error::new(name, Phase::Config, reason))?;
        let (transport, place, environment): (Arc<dyn Transport>, _, _) = match config {
            ExtensionConfig::Stdio(stdio) => {
                let environment = merged(&stdio.envs, &stdio.env_keys)?;
                let line = (stdio.cmd.as_str(), &*stdio.args);
                let transport = self.stdio(config, line, &environment, inside.as_ref(), cancel)?;
                let place = Some(Location::Pid(transport.pid()));
                (Arc::new(transport), place, environment)
            }
            ExtensionConfig::StreamableHttp(http) => {
                let environment = merged(&http.envs, &http.env_keys)?;
                let transport = self.http(http, &environment)?;
                let place = Some(Location::Url(transport.origin().to_owned()));
                (Arc::new(transport), place, environment)
            }
            ExtensionConfig::Sse(_) => {
                let reason = "SSE is unsupported, migrate to streamable_http: set `type` to \
                              `streamable_http` and `uri` to the server's MCP endpoint";
                return Err(Error::new(name, Phase::Config, reason).into());
            }
            ExtensionConfig::Platform(_) if !platform_extensions::is_ours(&config.key()) => {
                let reason = unsupported::platform(&config.key());
                return Err(Error::new(name, Phase::Config, reason).into());
            }
            ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => {
                let server = builtin::server(&config.key(), &self.paths, &self.data, self.offline);
                let server = server.ok_or_else(|| {
                    Error::new(name, Phase::Config, unsupported::builtin(&config.key()))
                })?;
                let environment = Environment::default();
                match &inside {
                    None => (Arc::new(InProcess::new(server)), None, environment),
                    Some(way) => {
                        let (cmd, args) = way.builtin(&config.key());
                        let line = (cmd, &*args);
                        let transport =
                            self.stdio(config, line, &environment, Some(way), cancel)?;
                        let place = Some(Location::Pid(transport.pid()));
                        (Arc::new(transport), place, environment)
                    }
                }
            }
            ExtensionConfig::Frontend(_) => {
                return Err(missing(name, "server of a frontend extension").into());
            }
            ExtensionConfig::InlinePython(_) if inside.is_some() => {
                let reason = "inline Python cannot run in a container; make the code a file inside \
                              and use type `stdio`";
                return Err(Error::new(name, Phase::Config, reason).into());
            }
            ExtensionConfig::InlinePython(_) => {
                return Err(missing(name, "inline Python extension").into());
            }
        };
        let stale = Arc::new(AtomicBool::new(false));
        let listener = Arc::new(ListChanges {
            stale: stale.clone(),
            subscriptions: subscriptions.clone(),
        });
        let mut options = Options::new(name);
        options.timeouts = RequestTimeouts {
            idle: config.timeout(),
            total: config.timeout().max(self.limits.total),
        };
        // As the server sees it.
        let working_dir = match &inside {
            None => Some(self.working_dir.clone()),
            Some(inside) => inside.working_dir.as_ref().map(PathBuf::from),
        };
        let mut say = |key: &str, value: String| options.meta.insert(key.to_owned(), value.into());
        say("agent-session-id", self.session_id.clone());
        if let Some(dir) = &working_dir {
            say("agent-working-dir", dir.to_string_lossy().into_owned());
        }
        options.secrets = environment.secrets().to_vec();
        let roots = || working_dir.iter().filter_map(|dir| Root::of(dir));
        options.roots = self.roots.then(|| roots().collect());
        options.request_handler = self.request_handler.clone().map(|callbacks| {
            let extension = config.key();
            let answering = SessionRequests {
                extension,
                callbacks,
            };
            Arc::new(answering) as Arc<dyn RequestHandler>
        });
        let failed = |error: mcp::Error| ConnectError {
            error: start_error(config, inside.as_ref(), &error),
            retry: match error {
                mcp::Error::Transport(TransportError::Refused(_)) => RetryAdvice::Refused,
                mcp::Error::Transport(TransportError::TooManyRequests {
                    after: Some(after),
                    ..
                }) => RetryAdvice::Busy(after),
                _ => RetryAdvice::No,
            },
        };
        let client = Client::connect(transport, options, listener, cancel).map_err(failed)?;
        let tools = client.list_tools(cancel).map_err(failed)?;
        subscriptions.apply(name, &client, self.log_level, cancel);
        let info = &client.server().server_info;
        log::info!(
            "extension active name={name:?} server={:?} version={:?} protocol={} tools={}{}",
            shown(&info.name, environment.secrets()),
            shown(&info.version, environment.secrets()),
            client.server().protocol_version,
            tools.len(),
            inside.as_ref().map_or(String::new(), |inside| {
                format!(" container={}", inside.container)
            })
        );
        Ok(Connection {
            tools: Arc::new(without_duplicates(name, tools)),
            client,
            stale,
            place,
            container: inside.map(|inside| inside.container),
            since: Instant::now(),
            secrets: environment.secrets().to_vec(),
        })
    }

    /// Starts the command of an extension: here, or in its container by the client of the container
    /// runtime.
    fn stdio(
        &self,
        config: &ExtensionConfig,
        (cmd, args): (&str, &[String]),
        environment: &Environment,
        inside: Option<&Inside>,
        cancel: &Cancel,
    ) -> Result<StdioTransport, Error> {
        let name = config.name();
        let failed = |reason| Error::new(name, Phase::Setup, reason);
        let folders = program_lookup::search_path();
        let mut command = match inside {
            None => {
                let program = program_lookup::program(cmd, &self.working_dir).map_err(failed)?;
                let mut command = Command::new(program);
                command.args(args).current_dir(&self.working_dir);
                command
            }
            Some(inside) => {
                let words = inside.arguments(environment, cmd, args);
                let words = words.map_err(|reason| Error::new(name, Phase::Config, reason))?;
                let mut command = Command::new(inside.runtime().map_err(failed)?);
                // The client itself has no business in the project.
                command.args(words).current_dir("/");
                command
            }
        };
        if self.offline && inside.is_none() {
            command.envs(offline::variables());
        }
        command
            .env("AGENT_SESSION_ID", &self.session_id)
            .envs(program_lookup::child_path(&folders).map(|path| ("PATH", path)))
            .envs(environment.variables());
        let options = StdioOptions {
            start: config.timeout(),
            name: key(name),
            max_line: self.limits.message,
            secrets: environment.secrets().to_vec(),
        };
        StdioTransport::spawn(command, options, cancel).map_err(|e| match inside {
            _ if e.kind() == ErrorKind::Interrupted => {
                Error::new(name, Phase::Cancelled, e.to_string())
            }
            None => failed(program_lookup::explain(cmd, &folders, &e)),
            Some(_) => failed(format!("the container runtime could not be started: {e}")),
        })
    }

    fn http(
        &self,
        config: &StreamableHttp,
        environment: &Environment,
    ) -> Result<HttpTransport, Error> {
        let wrong = |reason: String| Error::new(&config.name, Phase::Config, reason);
        let mut options = HttpOptions::new(key(&config.name), &config.uri);
        for (header, value) in config.headers.iter() {
            let value = environment
                .expand(value)
                .map_err(|reason| wrong(format!("header `{header}`: {reason}")))?;
            if value.contains('$') {
                let name = &config.name;
                log::warn!("a `$` goes out as it is extension={name:?} header={header:?}");
            }
            options.headers.push((header.to_owned(), value));
        }
        options.offline = self.offline;
        options.max_message = self.limits.message;
        HttpTransport::new(options).map_err(|e| wrong(e.to_string()))
    }
}

/// Why a server did not come up, and what a container may have to do with it.
fn start_error(config: &ExtensionConfig, inside: Option<&Inside>, error: &mcp::Error) -> Error {
    let mut failed = Error::from_mcp(config.name(), true, error);
    if let Some(inside) = inside {
        let (status, stderr) = match error {
            mcp::Error::Transport(TransportError::Exited { status, stderr })
            | mcp::Error::Unsent(TransportError::Exited { status, stderr }) => {
                (&**status, &**stderr)
            }
            _ => ("", ""),
        };
        failed.message += &inside.advice(config, status, stderr);
    }
    failed
}

/// The first tool of each name; the others could never be called.
pub(super) fn without_duplicates(extension: &str, mut tools: Vec<Tool>) -> Vec<Tool> {
    let (mut seen, mut twice) = (HashSet::new(), Vec::new());
    tools.retain(|tool| {
        let first = seen.insert(tool.name.clone());
        if !first {
            twice.push(tool.name.clone());
        }
        first
    });
    if let Some(first) = twice.first() {
        log::warn!(
            "left out tools that are listed twice extension={extension:?} count={} first={:?}",
            twice.len(),
            printable(first, 100)
        );
    }
    tools
}

/// Hears what has changed. Lists of resources and prompts are asked for anew whenever they are
/// wanted, so nothing has to be done about those.
struct ListChanges {
    stale: Arc<AtomicBool>,
    subscriptions: Arc<Subscriptions>,
}

impl NotificationHandler for ListChanges {
    fn notification(&self, method: &str, params: Option<&RawValue>, _: Option<i64>) {
        match method {
            "notifications/tools/list_changed" => self.stale.store(true, Ordering::SeqCst),
            "notifications/resources/updated" => self.subscriptions.notify_updated(params),
            _ => {}
        }
    }
}

fn missing(name: &str, what: &str) -> Error {
    let reason = format!(
        "this {what} is not available in this build of gosling; disable it, or use an MCP server of \
         type `stdio`"
    );
    Error::new(name, Phase::Setup, reason)
}
