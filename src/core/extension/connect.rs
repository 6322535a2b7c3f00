//! Connects an extension to its MCP server, at its activation and after a lost connection.

#[cfg_attr(not(feature = "streamable-http"), path = "connect/without_http.rs")]
mod streamable_http;

use super::config::{ExtensionConfig, InlinePython, key};
use super::configured;
use super::configured_variables::Envs;
use super::container::Inside;
use super::context::Context;
use super::environment::{self, Environment};
use super::inline_python::PythonRunner;
use super::launch::depends_on_folder;
use super::offline_variables;
use super::pinning_check::Reviewed;
use super::platform_extensions;
use super::program_lookup;
use super::restart_policy::{FailureKind, backoff, classify_failure};
use super::sandbox::{self, Place, Sandbox};
use super::screening_check::Decision;
use super::start_folder;
use super::status::Location;
use super::{Error, Phase, unsupported};
use crate::activity::Entry;
use crate::builtin::{self, BuiltinContext, Connect};
use crate::features;
use crate::mcp;
use crate::mcp::client::{Client, NotificationHandler, Options, RequestTimeouts};
use crate::mcp::transport::stdio::{StdioOptions, StdioTransport};
use crate::mcp::transport::{Transport, TransportError};
use crate::mcp::types::{Implementation, Root, Tool};
use crate::store::Config;
use crate::sys::cancel::Cancel;
use crate::sys::process::Command;
use crate::text::{printable, redact};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The type of the resources that are user interfaces (SEP-1865).
pub const UI_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// A connection to an initialized MCP server, and the server's tools.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) tools: Reviewed,
    /// The server reported that its list of tools has changed.
    pub(super) stale: Arc<AtomicBool>,
    /// The server's process, if it is one of this machine.
    pub(super) process: Option<Arc<StdioTransport>>,
    /// Where the server runs; `None` for a server in this process.
    pub(super) location: Option<Location>,
    /// The container in which the server runs.
    pub(super) container: Option<String>,
    /// The walls around it.
    pub(super) sandbox: Option<sandbox::Level>,
    /// Whether another program may run in another working directory.
    pub(super) depends_on_folder: bool,
    /// What the screening found; `None` if the server installs no packages.
    pub(super) screening: Option<Decision>,
    /// When the server was initialized.
    pub(super) since: Instant,
    /// The secrets that its server got.
    pub(super) secrets: Vec<String>,
}

impl Connection {
    /// A connection that was never made.
    pub(super) fn closed(name: &str) -> Self {
        Connection {
            client: Client::closed(name),
            tools: Reviewed::default(),
            stale: Arc::default(),
            process: None,
            location: None,
            container: None,
            sandbox: None,
            depends_on_folder: true,
            screening: None,
            since: Instant::now(),
            secrets: Vec::new(),
        }
    }
}

/// Text of a server, shortened, escaped and with its secrets redacted.
pub(super) fn shown(text: &str, secrets: &[String]) -> String {
    printable(&redact(text, secrets), 100)
}

/// Why the connection failed, and what kind of failure it was: [`FailureKind::Refused`] and [`FailureKind::Busy`] may
/// end by themselves.
pub(super) struct ConnectError {
    pub(super) error: Error,
    pub(super) kind: FailureKind,
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        ConnectError {
            error,
            kind: FailureKind::Final,
        }
    }
}

/// A transport that is ready for `initialize`.
pub struct Started {
    /// The transport.
    pub transport: Arc<dyn Transport>,
    /// The same transport, if the server is a process.
    pub process: Option<Arc<StdioTransport>>,
    pub(super) location: Option<Location>,
    environment: Environment,
    screening: Option<Decision>,
    sandbox: Option<sandbox::Level>,
}

impl Started {
    pub(super) fn new(transport: Arc<dyn Transport>, environment: Environment) -> Self {
        Started {
            transport,
            process: None,
            location: None,
            environment,
            screening: None,
            sandbox: None,
        }
    }

    fn process(
        (transport, sandbox): (StdioTransport, Option<sandbox::Level>),
        environment: Environment,
    ) -> Self {
        let transport = Arc::new(transport);
        Started {
            sandbox,
            location: Some(Location::Pid(transport.pid())),
            process: Some(transport.clone()),
            ..Started::new(transport, environment)
        }
    }

    /// The secrets that the server got.
    pub fn secrets(&self) -> &[String] {
        self.environment.secrets()
    }
}

/// Logs how the phases of a start end, and how long they take.
struct StartLog {
    key: String,
    begin: Instant,
}

impl StartLog {
    fn new(config: &ExtensionConfig) -> Self {
        StartLog {
            key: printable(&config.key(), 100),
            begin: Instant::now(),
        }
    }

    fn phase_ended(&mut self, phase: &str, error: Option<&Error>) {
        let (key, now) = (&self.key, Instant::now());
        let ms = (now - self.begin).as_millis();
        self.begin = now;
        match error {
            None => log::info!("start phase ended extension={key:?} phase={phase} ms={ms}"),
            Some(error) => {
                let class = error.class_name().unwrap_or("cancelled");
                log::info!(
                    "start phase failed extension={key:?} phase={phase} class={class} ms={ms}"
                );
            }
        }
    }
}

impl Context {
    /// Calls [`connect`](Self::connect) until it succeeds, fails for good, or `end` has passed. Retries if
    /// the server is busy, and, with `was_connected`, if its address refuses connections.
    ///
    /// # Errors
    /// The last error of [`connect`](Self::connect), or `Cancelled`.
    pub(super) fn connect_until(
        &self,
        end: Instant,
        was_connected: bool,
        config: &ExtensionConfig,
        cancel: &Cancel,
    ) -> Result<Connection, ConnectError> {
        let mut attempt = 0;
        loop {
            let failed = match self.connect(config, cancel) {
                Ok(connection) => return Ok(connection),
                Err(failed) => failed,
            };
            let wait = match failed.kind {
                FailureKind::Refused if was_connected => backoff(attempt),
                FailureKind::Busy(delay) => delay.max(backoff(attempt)),
                _ => return Err(failed),
            };
            attempt += 1;
            let next = Instant::now() + wait;
            if next >= end {
                return Err(failed);
            }
            if cancel.wait_timeout(wait) {
                let reason = "the caller cancelled the wait for its server";
                return Err(Error::new(config.name(), Phase::Cancelled, reason).into());
            }
        }
    }

    /// Starts or reaches the server of an extension, initializes it and lists its tools.
    ///
    /// # Errors
    /// Why the server could not be started or reached. No process or connection is left.
    fn connect(
        &self,
        config: &ExtensionConfig,
        cancel: &Cancel,
    ) -> Result<Connection, ConnectError> {
        let name = config.name();
        let inside = self.inside(config)?;
        self.pinning.check(config)?;
        let depends_on_folder = depends_on_folder(config, &self.working_dir, inside.is_some());
        let mut log = StartLog::new(config);
        let started = self.start_transport(config, inside.as_deref(), cancel);
        log.phase_ended("setup", started.as_ref().err());
        let Started {
            transport,
            location,
            environment,
            screening,
            sandbox,
            process,
        } = started?;
        let stale = Arc::new(AtomicBool::new(false));
        let changes = Arc::new(ToolChanges(stale.clone()));
        let options = self.client_options(config, inside.as_deref(), environment.secrets());
        let failed = |cause| ConnectError {
            error: self.start_error(config, inside.as_deref(), &cause),
            kind: classify_failure(&cause, false),
        };
        let initialized = Client::connect(transport, options, changes, cancel).and_then(|client| {
            let tools = client.list_tools(cancel)?;
            Ok((client, tools))
        });
        let initialized = initialized.map_err(failed);
        log.phase_ended("initialize", initialized.as_ref().err().map(|it| &it.error));
        let (client, tools) = initialized?;
        // The server forgets it with the connection, and can be used without.
        let has_logging = client.server().capabilities.logging.is_some();
        if let Some(level) = self.log_level.filter(|_| has_logging)
            && let Err(error) = client.set_level(level, cancel)
        {
            log::warn!("log level could not be set extension={name:?} reason={error}");
        }
        let info = &client.server().server_info;
        log::info!(
            "extension active name={name:?} server={:?} version={:?} protocol={} tools={}{}",
            shown(&info.name, environment.secrets()),
            shown(&info.version, environment.secrets()),
            client.server().protocol_version,
            tools.len(),
            inside.as_deref().map_or(String::new(), |inside| {
                format!(" container={}", inside.container())
            })
        );
        let tools = Arc::new(without_duplicates(name, tools));
        Ok(Connection {
            tools: self.pinning.review(config, tools, environment.secrets()),
            client,
            stale,
            process,
            location,
            container: inside.map(|inside| inside.container().to_owned()),
            sandbox,
            depends_on_folder,
            screening,
            since: Instant::now(),
            secrets: environment.secrets().to_vec(),
        })
    }

    /// The error for a server that failed to start, with advice if it runs in a container.
    fn start_error(
        &self,
        config: &ExtensionConfig,
        inside: Option<&dyn Inside>,
        error: &mcp::Error,
    ) -> Error {
        let mut failed = Error::from_mcp(config.name(), true, error);
        let (status, stderr) = match error {
            mcp::Error::Transport(TransportError::Exited { status, stderr })
            | mcp::Error::Unsent(TransportError::Exited { status, stderr }) => {
                (&**status, &**stderr)
            }
            _ => ("", ""),
        };
        if let Some(inside) = inside {
            failed.message += &inside.advice(config, status, stderr);
        } else if !status.is_empty() {
            failed.message += start_folder::advice(config);
        }
        if matches!(config, ExtensionConfig::InlinePython(_))
            && let Some(runner) = &self.inline_python
        {
            runner.explain(&mut failed, stderr);
        }
        failed
    }

    /// A transport to the server of an extension, on which nothing has been sent.
    ///
    /// # Errors
    /// Why the server could not be started.
    pub fn open(&self, config: &ExtensionConfig, cancel: &Cancel) -> Result<Started, Error> {
        let inside = self.inside(config)?;
        self.start_transport(config, inside.as_deref(), cancel)
    }

    /// Checks whether the policy allows the extension, also by its command line or address.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) fn check_policy(&self, config: &ExtensionConfig) -> Result<(), Error> {
        if self.activity.policy().is_none() {
            return Ok(());
        }
        let own = configured::list(&Config::new(&self.paths));
        let mut own = own.into_iter().flat_map(|own| own.entries);
        let is_configured = own.any(|own| own.config.as_ref() == Ok(config));
        let checked = self.activity.check(&Entry {
            extension: config.name(),
            subject: config.kind(),
            arguments: config.to_value().to_string().as_bytes(),
            working_dir: Some(&self.working_dir),
            by: if is_configured { "user" } else { "client" },
            ..Entry::new("extension_start", &self.session_id)
        });
        checked.map_err(|reason| Error::forbidden(config.name(), reason))
    }

    fn sandbox(&self, config: &ExtensionConfig) -> Result<Option<&dyn Sandbox>, Error> {
        let sandbox = self.sandboxing.around(config);
        sandbox.map_err(|reason| Error::forbidden(config.name(), reason))
    }

    fn inside(&self, config: &ExtensionConfig) -> Result<Option<Box<dyn Inside>>, Error> {
        let inside = self.containers.inside(config, &self.working_dir);
        inside.map_err(|reason| Error::new(config.name(), Phase::Config, reason))
    }

    /// Makes the transport to the server of an extension: starts its process, or prepares its address.
    fn start_transport(
        &self,
        config: &ExtensionConfig,
        inside: Option<&dyn Inside>,
        cancel: &Cancel,
    ) -> Result<Started, Error> {
        self.check_policy(config)?;
        let name = config.name();
        let invalid = |reason: &str| Err(Error::new(name, Phase::Config, reason));
        match config {
            ExtensionConfig::Stdio(stdio) => {
                let environment = self.environment(name, &stdio.envs, &stdio.env_keys)?;
                let line = (stdio.cmd.as_str(), &*stdio.args);
                let screening = self.screening.check(config, line, cancel)?;
                let transport = self.stdio(config, line, &environment, inside, cancel)?;
                Ok(Started {
                    screening,
                    ..Started::process(transport, environment)
                })
            }
            ExtensionConfig::StreamableHttp(http) => streamable_http::start(self, http),
            ExtensionConfig::Sse(_) => invalid(
                "SSE is unsupported, migrate to streamable_http: set `type` to `streamable_http` and \
                 `uri` to the server's MCP endpoint",
            ),
            ExtensionConfig::Platform(_) if !platform_extensions::is_ours(&config.key()) => {
                invalid(&unsupported::platform(&config.key()))
            }
            ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => {
                self.start_builtin(config, inside, cancel)
            }
            ExtensionConfig::Frontend(_) => invalid("the client runs its tools; it has no server"),
            ExtensionConfig::InlinePython(python) => match self.inline_python.as_deref() {
                None => {
                    let hint = features::hint("inline-python");
                    invalid(&format!("no Python code can be run{hint}"))
                }
                Some(_) if inside.is_some() => invalid(
                    "inline Python cannot run in a container; make the code a file inside and use type \
                     `stdio`",
                ),
                Some(runner) => self.start_inline_python(config, (python, runner), cancel),
            },
        }
    }

    /// Starts the launcher of inline Python.
    fn start_inline_python(
        &self,
        config: &ExtensionConfig,
        (python, runner): (&InlinePython, &dyn PythonRunner),
        cancel: &Cancel,
    ) -> Result<Started, Error> {
        let words = runner.words(python)?;
        let (cmd, args) = words
            .split_first()
            .map_or(("", words.as_slice()), |(cmd, args)| (cmd, args));
        let screening = self.screening.check(config, (cmd, args), cancel)?;
        let launch = runner.prepare(python)?;
        let environment = Environment::default();
        let line = (launch.cmd.as_str(), &*launch.args);
        let started = self.stdio(config, line, &environment, None, cancel);
        let (transport, sandbox) = started.map_err(|mut failed| {
            runner.explain(&mut failed, "");
            failed
        })?;
        let transport = transport.owning(launch.folder);
        Ok(Started {
            screening,
            ..Started::process((transport, sandbox), environment)
        })
    }

    /// Starts a builtin server: in this process, or as one in the container or behind walls.
    fn start_builtin(
        &self,
        config: &ExtensionConfig,
        inside: Option<&dyn Inside>,
        cancel: &Cancel,
    ) -> Result<Started, Error> {
        let key = config.key();
        let wrong = |reason: String| Error::new(config.name(), Phase::Config, reason);
        let own = self.servers.get(&key);
        let server = builtin::servers().find(|server| server.name == key);
        let connect: &Connect = match (own, &server) {
            (Some(own), _) => &**own,
            (None, Some(server)) => &server.connect,
            (None, None) => return Err(wrong(unsupported::builtin(&key))),
        };
        let environment = Environment::default();
        if own.is_some() && (inside.is_some() || self.sandbox(config)?.is_some()) {
            let reason = "this program has its server, which runs in no container or sandbox";
            return Err(wrong(reason.to_owned()));
        }
        let (cmd, args) = if let Some(inside) = inside {
            inside.builtin(&key)
        } else if let Some(sandbox) = self.sandbox(config)? {
            sandbox.builtin(&key).map_err(wrong)?
        } else {
            let connected = connect(&BuiltinContext {
                paths: &self.paths,
                data: &self.data,
                offline: self.offline,
            });
            return Ok(Started::new(connected, environment));
        };
        let transport = self.stdio(config, (&cmd, &*args), &environment, inside, cancel)?;
        Ok(Started::process(transport, environment))
    }

    pub(super) fn environment(
        &self,
        name: &str,
        envs: &Envs,
        env_keys: &[String],
    ) -> Result<Environment, Error> {
        Environment::merge(envs, env_keys, &*self.secrets).map_err(|reason| {
            let plain = envs.iter().map(|(variable, _)| variable);
            let variables = plain.chain(env_keys.iter().map(String::as_str));
            Error {
                class: Some(environment::class_of(variables)),
                ..Error::new(name, Phase::Config, reason)
            }
        })
    }

    /// The options of the MCP client for one server.
    fn client_options(
        &self,
        config: &ExtensionConfig,
        inside: Option<&dyn Inside>,
        secrets: &[String],
    ) -> Options {
        let own = Implementation::new("gosling", env!("CARGO_PKG_VERSION"));
        let mut options = Options::new(config.name(), own);
        options.timeouts = RequestTimeouts {
            idle: config.timeout(),
            total: config.timeout().max(self.limits.total),
        };
        // The working directory as the server sees it.
        let working_dir = match inside {
            None => Some(self.working_dir.clone()),
            Some(inside) => inside.working_dir().map(PathBuf::from),
        };
        let mut set_meta =
            |key: &str, value: String| options.meta.insert(key.to_owned(), value.into());
        set_meta("agent-session-id", self.session_id.clone());
        if let Some(dir) = &working_dir {
            set_meta("agent-working-dir", dir.to_string_lossy().into_owned());
        }
        options.secrets = secrets.to_vec();
        // A container sees no other folder.
        let more = inside.is_none().then_some(&self.more_roots);
        let all = || working_dir.iter().chain(more.into_iter().flatten());
        let roots = || all().filter_map(|dir| Root::of(dir));
        options.roots = self.roots.then(|| roots().collect());
        if self.user_interfaces {
            let ui = json!({ "io.modelcontextprotocol/ui": { "mimeTypes": [UI_MIME_TYPE] } });
            options.capabilities.insert("extensions".to_owned(), ui);
        }
        let handlers = self.request_handlers.as_ref();
        options.request_handler = handlers.map(|make| make(config.key()));
        options
    }

    /// Starts the command of an extension, on this machine, perhaps behind walls, or with the container runtime's
    /// client.
    fn stdio(
        &self,
        config: &ExtensionConfig,
        (cmd, args): (&str, &[String]),
        environment: &Environment,
        inside: Option<&dyn Inside>,
        cancel: &Cancel,
    ) -> Result<(StdioTransport, Option<sandbox::Level>), Error> {
        let name = config.name();
        let forbidden = |reason| Error::forbidden(name, reason);
        let sandbox = self.sandbox(config)?;
        let mut walls = None;
        let failed = |reason| Error::new(name, Phase::Setup, reason);
        let folders = program_lookup::search_path();
        let mut command = match inside {
            None => {
                let folder = self.start_folder(config, (cmd, args))?;
                let program = program_lookup::program(cmd, &self.working_dir).map_err(failed)?;
                if let Some(sandbox) = sandbox {
                    let place = Place {
                        working_dir: &self.working_dir,
                        folder: &folder,
                        program: &program,
                        files: match config {
                            ExtensionConfig::InlinePython(_) => args,
                            _ => &[],
                        },
                    };
                    walls = sandbox.walls(config, place).map_err(forbidden)?;
                }
                let mut command = Command::new(program);
                command.args(args).current_dir(folder);
                let is_strict =
                    (walls.as_ref()).is_some_and(|it| it.level == sandbox::Level::Strict);
                self.inherited.apply(&mut command, is_strict);
                command
            }
            Some(_) if sandbox.is_some() => {
                let reason = "the runtime of its container cannot be reached from a sandbox, which \
                    is wanted for it; choose one of both";
                return Err(forbidden(reason.to_owned()));
            }
            Some(inside) => {
                let arguments = inside.arguments(environment, cmd, args);
                let arguments =
                    arguments.map_err(|reason| Error::new(name, Phase::Config, reason))?;
                let mut command = Command::new(inside.client().map_err(failed)?);
                // The runtime's client does not need the project's directory.
                command.args(arguments).current_dir("/");
                command
            }
        };
        if self.offline && inside.is_none() {
            command.envs(offline_variables::for_children());
        }
        command
            .env("AGENT_SESSION_ID", &self.session_id)
            .envs(program_lookup::child_path(&folders).map(|path| ("PATH", path)))
            .envs(environment.variables());
        let level = walls.as_ref().map(|walls| walls.level);
        if let Some(walls) = &walls {
            walls.confine(&mut command);
        }
        let mut options = StdioOptions::new(&key(name));
        options.start = config.timeout();
        options.max_line = self.limits.message;
        options.secrets = environment.secrets().to_vec();
        let spawned =
            StdioTransport::spawn(command, options, cancel).map_err(|e| match inside {
                _ if e.kind() == ErrorKind::Interrupted => {
                    Error::new(name, Phase::Cancelled, e.to_string())
                }
                None => failed(program_lookup::explain(cmd, &folders, &e)),
                Some(_) => failed(format!("the container runtime could not be started: {e}")),
            })?;
        Ok((spawned.owning(walls.map(|walls| walls.folder)), level))
    }

    /// The folder in which the command of an extension starts.
    fn start_folder(
        &self,
        config: &ExtensionConfig,
        line: (&str, &[String]),
    ) -> Result<PathBuf, Error> {
        let folder = start_folder::ensure(config, line, &self.working_dir, &self.paths.state);
        let folder = folder.map_err(|reason| Error::new(config.name(), Phase::Config, reason))?;
        if folder != self.working_dir {
            let key = config.key();
            log::info!(
                "extension starts in a folder of its own extension={key:?} folder={folder:?}"
            );
        }
        Ok(folder)
    }
}

/// Removes tools whose name occurred before, because they could not be called.
pub(super) fn without_duplicates(extension: &str, mut tools: Vec<Tool>) -> Vec<Tool> {
    let mut seen = HashSet::new();
    let mut duplicates = Vec::new();
    tools.retain(|tool| {
        let first = seen.insert(tool.name.clone());
        if !first {
            duplicates.push(tool.name.clone());
        }
        first
    });
    if let Some(first) = duplicates.first() {
        log::warn!(
            "removed tools with duplicate names extension={extension:?} count={} first={:?}",
            duplicates.len(),
            printable(first, 100)
        );
    }
    tools
}

/// Notices that the tools of one connection have changed. Resources and prompts are listed on demand.
struct ToolChanges(Arc<AtomicBool>);

impl NotificationHandler for ToolChanges {
    fn notification(&self, method: &str, _: Option<&RawValue>, _: Option<i64>) {
        if method == "notifications/tools/list_changed" {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}
