//! The parts of a program: whatever a build can leave out says itself what it adds.

use crate::activity::{Caller, Entry, Hold, Policy, Recorder, Ruling};
use crate::agent::prompt_kind::PromptKind;
use crate::agent::recipes::Recipes;
use crate::agent::{Registry, Stores};
use crate::builtin::builtin_server::{BuiltinServer, ShellCheck};
use crate::command_line::{Command, Failure};
use crate::extension::container::CreateRuntime;
use crate::extension::inline_python::CreatePythonRunner;
use crate::extension::pinning_check::CreatePinner;
use crate::extension::sandbox::{CreateSandbox, Level};
use crate::extension::screening_check::CreateScreener;
use crate::features;
use crate::http::{Encryption, Listener, Router};
use crate::provider::{Catalog, InProcessCatalog, InProcessProvider};
use crate::store::{Config, Paths};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde_json::Value;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// Adds routes to those of the API.
pub type AddRoutes = fn(Router, &Arc<Registry>) -> Router;

/// Creates the catalog of a server, with the providers that run in the process. The boolean is whether it runs offline.
pub type CreateCatalog = fn(&Stores, bool, Vec<InProcessProvider>) -> Box<dyn Catalog>;

/// Creates the recorder of a part, with the settings of the user; `None` if the user wants no record.
pub type CreateRecorder = fn(&Config, &Paths) -> Option<Arc<dyn Recorder>>;

/// Reads the file of the policy. If it cannot be used, why.
pub type OpenPolicy = fn(&Path) -> Result<Arc<dyn Policy>, String>;

/// What `gosling info` shows of a part.
pub enum Fact {
    /// Anything but a secret.
    Value(Value),
    /// A file or folder that no other user may use; it may not exist.
    Private(PathBuf),
    /// What is wrong, and what to do.
    Fault(String),
}

/// Says how a part stands, with a name for each fact. It writes and starts nothing.
pub type Inform = fn(&Config, &Paths) -> Vec<(&'static str, Fact)>;

/// Creates the work of a part for a server, unless a setting is wrong.
pub type CreateService = fn(&Arc<Registry>) -> Result<Box<dyn Service>, Failure>;

/// Takes an option of `gosling agent`, which `--` does not begin; false if the part does not have it.
pub type TakeOption = fn(&str, &mut lexopt::Parser) -> Result<bool, Failure>;

/// Opens the listeners that a service manager has handed over, and those that the user wants. Called after the options
/// and before threads are started.
pub type OpenListeners = fn() -> Result<Vec<Arc<dyn Listener>>, Failure>;

/// Reads the certificate and its key, in the files of the user or in a folder of gosling, and announces them.
pub type OpenEncryption = Box<dyn FnOnce(&Path) -> Result<Arc<dyn Encryption>, Box<dyn Error>>>;

/// Reads the variables. The boolean is whether an option wants encryption.
pub type WantEncryption = fn(bool) -> Result<Option<OpenEncryption>, Failure>;

/// Creates the log file of this process in a folder. It gets whole lines; the function takes what is wrong with the file.
pub type CreateLogFile = fn(PathBuf, fn(&str)) -> Box<dyn Write + Send>;

/// Runs a command in a shell, and ends all processes that it has started. If it fails, the reason with the end of its
/// output.
pub type RunCheck = fn(&ShellCheck<'_>, &Cancel) -> Result<(), String>;

/// What one part adds. The features of this crate have the same names, see [`crate::features`].
pub struct Part {
    /// The Cargo feature that contains it.
    pub feature: &'static str,
    /// Its commands.
    pub commands: &'static [Command],
    /// Adds its routes to those of the API.
    pub routes: Option<AddRoutes>,
    /// Its catalog of providers, with those of all parts that run in the process.
    pub catalog: Option<CreateCatalog>,
    /// Its providers that run in the process.
    pub providers: &'static [fn() -> InProcessProvider],
    /// Creates its work besides requests, for a server.
    pub service: Option<CreateService>,
    /// Its options of `gosling agent`.
    pub option: Option<TakeOption>,
    /// What listens elsewhere than at a host and port.
    pub listeners: Option<OpenListeners>,
    /// Removes the files that must not stay when a server ends at once.
    pub remove_files: Option<fn()>,
    /// What writes log records to a file.
    pub log_file: Option<CreateLogFile>,
    /// What encrypts the connections of servers.
    pub encryption: Option<WantEncryption>,
    /// Its builtin MCP servers.
    pub servers: &'static [BuiltinServer],
    /// Whether its pages show the user interfaces of MCP servers.
    pub shows_user_interfaces: bool,
    /// What runs extensions in containers.
    pub containers: Option<CreateRuntime>,
    /// What builds walls around extensions.
    pub sandbox: Option<CreateSandbox>,
    /// What runs inline Python.
    pub inline_python: Option<CreatePythonRunner>,
    /// Its pinning of the tools of extensions.
    pub pinner: Option<CreatePinner>,
    /// Its screening of what extensions start.
    pub screener: Option<CreateScreener>,
    /// Its record of what is done; all parts that have one record.
    pub recorder: Option<CreateRecorder>,
    /// The policy of the administrator.
    pub policy: Option<OpenPolicy>,
    /// Its shell, for the success checks of recipes.
    pub shell: Option<RunCheck>,
    /// Its recipes, for sessions.
    pub recipes: Option<&'static dyn Recipes>,
    /// Its prompts that the user can change.
    pub prompts: &'static [PromptKind],
    /// Its facts for `gosling info`.
    pub info: Option<Inform>,
    /// Its pages of the manual.
    pub topics: &'static [Topic],
}

impl Part {
    /// A part that adds nothing, for the fields that a part does not name.
    pub const fn new(feature: &'static str) -> Part {
        Part {
            feature,
            commands: &[],
            routes: None,
            catalog: None,
            providers: &[],
            service: None,
            option: None,
            listeners: None,
            remove_files: None,
            log_file: None,
            encryption: None,
            servers: &[],
            shows_user_interfaces: false,
            containers: None,
            sandbox: None,
            inline_python: None,
            pinner: None,
            screener: None,
            recorder: None,
            policy: None,
            shell: None,
            recipes: None,
            prompts: &[],
            info: None,
            topics: &[],
        }
    }
}

/// Work of a part besides requests, while a server runs.
pub trait Service: Send + Sync {
    /// Adds the routes that need it.
    fn routes(&self, router: Router) -> Router;
    /// Begins; the server listens already, at these places.
    ///
    /// # Errors
    /// The server cannot do what it was started for, and shall end.
    fn start(&self, places: &[String]) -> Result<(), Failure>;
    /// Ends, and waits for what runs.
    fn close(&self);
    /// A signal that ends the server has arrived: returns when what runs may be ended.
    fn drain(&self) {}
    /// SIGHUP has arrived; whether the server goes on.
    fn hang_up(&self) -> bool {
        false
    }
}

/// A page of the manual.
#[derive(Debug)]
pub struct Topic {
    /// What `gosling help` takes.
    pub name: &'static str,
    /// What the page is about, in less than a line.
    pub summary: &'static str,
    /// The page, in Markdown.
    pub text: &'static str,
}

static PARTS: OnceLock<&'static [&'static Part]> = OnceLock::new();

/// Sets the parts of this program. Only the first call has an effect: a program has one list.
pub fn set(parts: &'static [&'static Part]) {
    let _ = PARTS.set(parts);
}

/// The parts of this program, in the order of its list; none before [`set`].
pub fn all() -> &'static [&'static Part] {
    PARTS.get().copied().unwrap_or_default()
}

/// Reads something again.
type Reload = Box<dyn Fn() -> Result<(), String> + Send>;

static RELOADS: Mutex<Vec<(&str, Reload)>> = Mutex::new(Vec::new());

/// Adds what [`reload`] reads again, and its name. It says why it could not be read, and what holds now.
pub fn on_reload(name: &'static str, read: impl Fn() -> Result<(), String> + Send + 'static) {
    lock(&RELOADS).push((name, Box::new(read)));
}

/// Reads again what may change while this process runs. What could not be read, and why.
pub fn reload() -> Vec<String> {
    let read = |(name, read): &(&str, Reload)| Some(format!("{name}: {}", read().err()?));
    lock(&RELOADS).iter().filter_map(read).collect()
}

static POLICY: OnceLock<Option<Arc<dyn Policy>>> = OnceLock::new();

pub use crate::sys::SYSTEM_POLICY;

/// Opens the policy of this process, in a file or that of the system, if it exists. Only the first call has an effect.
///
/// # Errors
/// Why it cannot be used; nothing must be done then.
pub fn open_policy(file: Option<&Path>) -> Result<(), String> {
    let system = Path::new(SYSTEM_POLICY);
    let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let has_one = !system.symlink_metadata().is_err_and(is_missing);
    let file = file.or_else(|| has_one.then_some(system));
    let hint = || format!("no policy can be enforced{}", features::hint("policy"));
    let open = |file| all().iter().find_map(|part| part.policy).ok_or_else(hint)?(file);
    let _ = POLICY.set(file.map(open).transpose()?);
    Ok(())
}

/// The policy of this process. Without [`open_policy`], it is that of the system; if that cannot be used, it denies all.
pub fn policy() -> Option<Arc<dyn Policy>> {
    if POLICY.get().is_none()
        && let Err(why) = open_policy(None)
    {
        let _ = POLICY.set(Some(Arc::new(NothingAllowed(why))));
    }
    POLICY.get().cloned().flatten()
}

/// Stands for a policy that cannot be used.
#[derive(Debug)]
struct NothingAllowed(String);

impl Policy for NothingAllowed {
    fn rule(&self, _: &Caller, _: &Entry<'_>) -> Ruling {
        Ruling::Deny(self.0.clone())
    }

    fn count(&self, _: &Caller, _: &Entry<'_>) -> Result<Hold, String> {
        Err(self.0.clone())
    }

    fn least_mode(&self) -> &'static str {
        "chat"
    }

    fn is_offline(&self) -> bool {
        true
    }

    fn least_sandbox(&self) -> (Level, bool) {
        (Level::Strict, false)
    }
}

/// The catalog of providers of this program, that of a part or one of those of parts that run in the process.
pub fn catalog(stores: &Stores, offline: bool) -> Box<dyn Catalog> {
    let own = all().iter().flat_map(|part| part.providers);
    let own = own.map(|make| make()).collect();
    match all().iter().find_map(|part| part.catalog) {
        Some(create) => create(stores, offline, own),
        None => Box::new(InProcessCatalog::new(stores.config.clone(), own)),
    }
}
