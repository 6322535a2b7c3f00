//! The table of settings: the type, the range and the default of each, and what a wrong value leads to.
//!
//! Whatever reads a setting reads it through its entry here, so that no value is ignored unnoticed: a wrong value of
//! a setting that decides where requests go is an error; any other is logged once, with its place, and replaced.
//! The settings of providers are entries of the same type in the provider catalog.

mod given;
mod names;
#[cfg(test)]
mod tests;

use super::{Config, Error, Result};
use crate::sys::lock;
use crate::text::printable;
pub use given::{Given, Pairs, Read};
pub use names::{in_file, misspelled};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{LazyLock, Mutex};
use yaml_serde::Mapping;

/// How many characters of a wrong value are shown.
const MAX_SHOWN: usize = 100;
/// How many different warnings are logged.
const MAX_WARNINGS: usize = 256;

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Its key in `config.yaml`, and the name of its variable.
    pub name: &'a str,
    /// What values it may have.
    pub kind: Kind,
    /// Its default as the manual states it; empty if there is none.
    pub default: &'static str,
    /// Whether it counts in the environment only.
    pub environment_only: bool,
    /// What a wrong value leads to.
    pub wrong: Wrong,
}

/// The type and the range of a setting.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Text, such as a name.
    Text,
    /// The path of a file or folder.
    Path,
    /// A URL, or a host with or without a port.
    Url,
    /// A key or a token. Its value is never shown.
    Secret,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// True or false.
    Switch,
    /// One of these words, in any case; the empty one stands for a blank value.
    Words(&'static [&'static str]),
    /// Names of files: a list, or text with names separated by commas.
    FileNames,
    /// HTTP headers, which this function reads: a mapping, or text with `NAME=VALUE`. Their values are never shown, and
    /// it must not repeat them.
    Headers(fn(&Value) -> Read<Pairs>),
    /// A list of `{command, recipe_path}`.
    Commands,
    /// A mapping of names to entries, which [`Config::extensions`] checks.
    Extensions,
}

/// What a wrong value of a setting leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// Requests that need the setting fail.
    Fails,
    /// It is logged, and the default is used.
    Default,
    /// It is logged, and this word is used: the user wanted some restriction.
    Restricts(&'static str),
}

const fn setting(name: &'static str, kind: Kind) -> Setting<'static> {
    Setting {
        name,
        kind,
        default: "",
        environment_only: false,
        wrong: Wrong::Default,
    }
}

/// A setting of which a wrong value is an error.
const fn essential(name: &'static str, kind: Kind) -> Setting<'static> {
    Setting {
        wrong: Wrong::Fails,
        ..setting(name, kind)
    }
}

const fn variable(name: &'static str, kind: Kind) -> Setting<'static> {
    Setting {
        environment_only: true,
        ..essential(name, kind)
    }
}

const fn words(
    name: &'static str,
    words: &'static [&'static str],
    wrong: &'static str,
) -> Setting<'static> {
    Setting {
        wrong: Wrong::Restricts(wrong),
        ..setting(name, Kind::Words(words))
    }
}

const fn count(name: &'static str, min: u64) -> Setting<'static> {
    setting(name, Kind::Count(min, u64::MAX))
}

impl<'a> Setting<'a> {
    const fn or(self, default: &'static str) -> Self {
        Setting { default, ..self }
    }
}

/// Declares each setting as a constant, and all of them as `ALL`.
macro_rules! settings {
    ($($id:ident = $setting:expr;)*) => {
        $(/// See the manual's pages `configuration`, `models` and `screening`.
        pub static $id: Setting<'static> = $setting;)*

        /// All settings but those of providers.
        pub static ALL: &[&Setting<'static>] = &[$(&$id),*];
    };
}

settings! {
    PROVIDER = essential("GOOSE_PROVIDER", Kind::Text);
    MODEL = essential("GOOSE_MODEL", Kind::Text);
    MODE = words("GOOSE_MODE", &["auto", "approve", "smart_approve", "chat"], "approve").or("auto");
    MAX_TURNS = count("GOOSE_MAX_TURNS", 0).or("1000");
    AUTO_COMPACT_THRESHOLD = setting("GOOSE_AUTO_COMPACT_THRESHOLD", Kind::Number(0.0, 1.0)).or("0.8");
    CONTEXT_LIMIT = count("GOOSE_CONTEXT_LIMIT", 1);
    TEMPERATURE = setting("GOOSE_TEMPERATURE", Kind::Number(0.0, 2.0));
    THINKING_EFFORT = setting("GOOSE_THINKING_EFFORT", Kind::Words(&["off", "low", "medium", "high", "max"]));
    CLAUDE_THINKING_ENABLED = setting("CLAUDE_THINKING_ENABLED", Kind::Switch).or("false");
    CLAUDE_THINKING_BUDGET = count("CLAUDE_THINKING_BUDGET", 1_024).or("16000");
    MAX_TOKENS = count("GOOSE_MAX_TOKENS", 1);
    FAST_MODEL = setting("GOOSE_FAST_MODEL", Kind::Text);
    LEAD_MODEL = essential("GOOSE_LEAD_MODEL", Kind::Text);
    LEAD_PROVIDER = essential("GOOSE_LEAD_PROVIDER", Kind::Text);
    LEAD_TURNS = setting("GOOSE_LEAD_TURNS", LEAD_COUNT).or("3");
    LEAD_FAILURE_THRESHOLD = setting("GOOSE_LEAD_FAILURE_THRESHOLD", LEAD_COUNT).or("2");
    LEAD_FALLBACK_TURNS = setting("GOOSE_LEAD_FALLBACK_TURNS", LEAD_COUNT).or("2");
    SCRIPT = essential("GOOSE_SCRIPT", Kind::Path);
    CONTEXT_FILE_NAMES = setting("CONTEXT_FILE_NAMES", Kind::FileNames).or("[\".goosehints\", \"AGENTS.md\"]");
    ELICITATION_TIMEOUT = count("GOOSE_ELICITATION_TIMEOUT", 0).or("300");
    APPROVAL_TIMEOUT = count("GOOSE_APPROVAL_TIMEOUT", 0).or("3600");
    FRONTEND_TIMEOUT = count("GOOSE_FRONTEND_TIMEOUT", 0).or("3600");
    SESSION_IDLE_SECS = count("GOOSE_SESSION_IDLE_SECS", 0).or("1800");
    SLASH_COMMANDS = setting("slash_commands", Kind::Commands);
    EXTENSIONS = setting("extensions", Kind::Extensions);
    MCP_MAX_TIMEOUT = count("GOOSE_MCP_MAX_TIMEOUT", 1).or("3600");
    MCP_MAX_MESSAGE = count("GOOSE_MCP_MAX_MESSAGE", 1).or("67108864");
    ENV_POLICY = words("GOOSE_ENV_POLICY", &["inherit", "clean", ""], "clean").or("inherit");
    MCP_ROOTS = setting("GOOSE_MCP_ROOTS", Kind::Switch).or("0");
    MCP_UI = setting("GOOSE_MCP_UI", Kind::Switch).or("1");
    MCP_LOG_LEVEL = setting("GOOSE_MCP_LOG_LEVEL", Kind::Words(LOG_LEVELS));
    CONTAINER_RUNTIME = essential("GOOSE_CONTAINER_RUNTIME", Kind::Path);
    CONTAINER_WORKDIR = essential("GOOSE_CONTAINER_WORKDIR", Kind::Path);
    CONTAINER_GOSLING = essential("GOOSE_CONTAINER_GOSLING", Kind::Path).or("gosling");
    EXTENSION_SANDBOX = words("GOOSE_EXTENSION_SANDBOX", &["off", "workspace", "strict", ""], "strict").or("off");
    INLINE_PYTHON_MCP = essential("GOOSE_INLINE_PYTHON_MCP", Kind::Text).or("mcp");
    INLINE_PYTHON_RUNNER = essential("GOOSE_INLINE_PYTHON_RUNNER", Kind::Text).or("uvx");
    ADVISORIES = essential("GOOSE_ADVISORIES", Kind::Path);
    SCREENING = words("GOOSE_SCREENING", &["warn", "strict", ""], "strict").or("warn");
    OSV_ENDPOINT = essential("OSV_ENDPOINT", Kind::Url);
    ALLOWLIST = essential("GOOSE_ALLOWLIST", Kind::Text);
    ALLOWLIST_WARNING = setting("GOOSE_ALLOWLIST_WARNING", Kind::Switch).or("false");
    TOOL_PINNING = words("GOOSE_TOOL_PINNING", &["warn", "strict", "off", ""], "strict").or("warn");
    AUDIT = words("GOOSE_AUDIT", &["on", "off", "required", ""], "required").or("on");
    AUDIT_ARGUMENTS = words("GOOSE_AUDIT_ARGUMENTS", &["hash", "values", ""], "hash").or("hash");
    AUDIT_SYNC = words("GOOSE_AUDIT_SYNC", &["none", "second", "each", ""], "each").or("none");
    AUDIT_FILE_SIZE = count("GOOSE_AUDIT_FILE_SIZE", 65_536).or("16777216");
    AUDIT_KEEP_DAYS = count("GOOSE_AUDIT_KEEP_DAYS", 0).or("365");
    SHARD = variable("GOOSE_SHARD", Kind::Text);
    DRAIN_SECONDS = count("GOOSE_DRAIN_SECONDS", 0).or("0");
    HOST = variable("GOOSE_HOST", Kind::Text).or("127.0.0.1");
    PORT = variable("GOOSE_PORT", Kind::Count(0, 65_535)).or("3000");
    LISTEN = variable("GOOSE_LISTEN", Kind::Text);
    TRUSTED_PROXIES = variable("GOOSE_TRUSTED_PROXIES", Kind::Text);
    PATH_PREFIX = variable("GOOSE_PATH_PREFIX", Kind::Text);
    ACCESS_LOG = setting("GOOSE_ACCESS_LOG", Kind::Switch).or("false");
    SERVER_KEY = variable("GOOSE_SERVER__SECRET_KEY", Kind::Secret);
    ALLOWED_HOSTS = variable("GOOSE_ALLOWED_HOSTS", Kind::Text);
    TLS = variable("GOOSE_TLS", Kind::Switch);
    TLS_CERT_PATH = variable("GOOSE_TLS_CERT_PATH", Kind::Path);
    TLS_KEY_PATH = variable("GOOSE_TLS_KEY_PATH", Kind::Path);
    PATH_ROOT = variable("GOOSE_PATH_ROOT", Kind::Path);
    SHELL = variable("GOOSE_SHELL", Kind::Text);
    RECIPE_PATH = variable("GOOSE_RECIPE_PATH", Kind::Path);
    LOG = variable("GOOSE_LOG", Kind::Text).or("info");
    LOG_FORMAT = variable("GOOSE_LOG_FORMAT", Kind::Words(&["text", "json", "journald"])).or("text");
    TODO_MAX_CHARS = Setting::<'static> { environment_only: true, ..count("GOOSE_TODO_MAX_CHARS", 0) }.or("50000");
}

const LEAD_COUNT: Kind = Kind::Count(0, u32::MAX as u64);

/// The levels of log messages (MCP server/utilities/logging).
const LOG_LEVELS: &[&str] = &[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// A value of a setting that has the right type.
#[derive(Clone, Debug, PartialEq)]
enum Parsed {
    Text(String),
    Count(u64),
    Number(f64),
    Switch(bool),
    Word(&'static str),
    List(Vec<String>),
    /// Headers, or commands with their recipes.
    Pairs(Pairs),
}

/// A wrong value of a setting, or a name that is wrong. It is one sentence, which contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether requests that need the setting fail.
    pub is_error: bool,
    text: String,
}

impl Fault {
    /// A fault that is no error.
    pub fn warning(text: String) -> Self {
        let is_error = false;
        Fault { is_error, text }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The setting of this name, other than those of providers.
pub fn find(name: &str) -> Option<&'static Setting<'static>> {
    ALL.iter().find(|setting| setting.name == name).copied()
}

/// Readers. A setting has the reader of its kind; the others find no value.
impl Setting<'_> {
    /// The text; `None` if it is not set or blank.
    ///
    /// # Errors
    /// [`Error::Setting`] when the value is wrong, and as [`Config::get`].
    pub fn text(&self, config: &Config) -> Result<Option<String>> {
        self.text_of(config.given(self.name)?)
    }

    /// As [`text`](Self::text), of a value that was read elsewhere.
    ///
    /// # Errors
    /// [`Error::Setting`] when the value is wrong.
    pub fn text_of(&self, given: Option<Given<'_>>) -> Result<Option<String>> {
        Ok(match self.parsed(given)? {
            Some(Parsed::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// As [`text`](Self::text); an error is noted in `fault`, for what would use the setting later.
    pub fn text_or_fault(&self, config: &Config, fault: &mut Option<String>) -> Option<String> {
        self.text(config).unwrap_or_else(|error| {
            fault.get_or_insert_with(|| error.to_string());
            None
        })
    }

    /// The whole number, of a setting with a default.
    pub fn count(&self, config: &Config) -> u64 {
        self.count_if_set(config).unwrap_or_default()
    }

    /// The whole number; `None` if it is not set and has no default.
    pub fn count_if_set(&self, config: &Config) -> Option<u64> {
        self.count_of(config.given(self.name))
    }

    /// As [`count_if_set`](Self::count_if_set), of a value that was read elsewhere.
    pub fn count_of(&self, given: Result<Option<Given<'_>>>) -> Option<u64> {
        match self.logged(given) {
            Some(Parsed::Count(count)) => Some(count),
            _ => None,
        }
    }

    /// The number; `None` if it is not set and has no default.
    pub fn number(&self, config: &Config) -> Option<f64> {
        match self.logged(config.given(self.name)) {
            Some(Parsed::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// Whether it is on.
    pub fn is_on(&self, config: &Config) -> bool {
        self.logged(config.given(self.name)) == Some(Parsed::Switch(true))
    }

    /// The word; empty if it is not set and has no default.
    pub fn word(&self, config: &Config) -> &'static str {
        match self.logged(config.given(self.name)) {
            Some(Parsed::Word(word)) => word,
            _ => "",
        }
    }

    /// The names.
    pub fn list(&self, config: &Config) -> Vec<String> {
        match self.logged(config.given(self.name)) {
            Some(Parsed::List(names)) => names,
            _ => Vec::new(),
        }
    }

    /// The pairs of a mapping of text: the headers, or each command with its recipe.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn pairs(&self, config: &Config) -> Result<Vec<(String, String)>> {
        self.pairs_of(config.given(self.name)?)
    }

    /// As [`pairs`](Self::pairs), of a value that was read elsewhere.
    ///
    /// # Errors
    /// [`Error::Setting`] when the value is wrong and a wrong value is an error.
    pub fn pairs_of(&self, given: Option<Given<'_>>) -> Result<Vec<(String, String)>> {
        Ok(match self.parsed(given)? {
            Some(Parsed::Pairs(pairs)) => pairs,
            _ => Vec::new(),
        })
    }

    /// As [`parsed`](Self::parsed). If the file cannot be read, that is logged and counts as a wrong value.
    fn logged(&self, given: Result<Option<Given<'_>>>) -> Option<Parsed> {
        given
            .and_then(|given| self.parsed(given))
            .unwrap_or_else(|error| {
                log::warn!("setting not read key={} reason={error}", self.name);
                self.fallback()
            })
    }

    fn parsed(&self, given: Option<Given<'_>>) -> Result<Option<Parsed>> {
        let Some(given) = given else {
            return Ok(self.fallback_if_unset());
        };
        let (parsed, wrong) = self.parse(&given);
        let Some(wrong) = wrong else {
            return Ok(parsed.or_else(|| self.fallback_if_unset()));
        };
        let fault = || self.fault(&given, &wrong, parsed.is_some()).text;
        if self.wrong == Wrong::Fails {
            return Err(Error::Setting { reason: fault() });
        }
        warn_once((self.name, &given.value), fault);
        Ok(parsed.or_else(|| self.fallback()))
    }

    fn fallback_if_unset(&self) -> Option<Parsed> {
        match self.kind {
            // What these stand for without a value is no value.
            Kind::Text | Kind::Path | Kind::Url | Kind::Secret => None,
            _ if self.default.is_empty() => None,
            _ => self.parse(&Given::of_variable(self.default)).0,
        }
    }

    /// What counts in the place of a wrong value.
    fn fallback(&self) -> Option<Parsed> {
        match self.wrong {
            Wrong::Restricts(word) => Some(Parsed::Word(word)),
            Wrong::Fails | Wrong::Default => self.fallback_if_unset(),
        }
    }

    /// The value, and what is wrong with it: both if only a part of it is wrong. Neither if it is blank.
    fn parse(&self, given: &Given<'_>) -> Read<Parsed> {
        let has_blank = matches!(self.kind, Kind::Words(words) if words.contains(&""));
        if given.is_blank() && !has_blank {
            return (None, None);
        }
        let value = &given.value;
        let parsed = match self.kind {
            Kind::Text | Kind::Path | Kind::Url => given.text().map(Parsed::Text),
            Kind::Secret => given.secret().map(Parsed::Text),
            Kind::Count(min, max) => given::whole_number(value)
                .filter(|count| (min..=max).contains(count))
                .map(Parsed::Count),
            Kind::Number(min, max) => given::number(value)
                .filter(|number| (min..=max).contains(number))
                .map(Parsed::Number),
            Kind::Switch => given::switch(value).map(Parsed::Switch),
            Kind::Words(words) => given::word(value, words).map(Parsed::Word),
            Kind::FileNames => return partly(given::file_names(&given.structure()), Parsed::List),
            Kind::Headers(read) => return partly(read(&given.structure()), Parsed::Pairs),
            Kind::Commands => return partly(given::commands(&given.structure()), Parsed::Pairs),
            // Its reader says what is wrong with it.
            Kind::Extensions => return (None, None),
        };
        match parsed {
            // YAML's null, written as a variable.
            Some(Parsed::Text(text)) if text.is_empty() => (None, None),
            Some(parsed) => (Some(parsed), None),
            None => (None, Some(format!("is {}", self.describe(value)))),
        }
    }

    /// What stands in the place of a right value. Text is quoted, unless it may be a secret.
    fn describe(&self, value: &Value) -> String {
        let is_secret = matches!(self.kind, Kind::Secret | Kind::Headers(_));
        match value {
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "a mapping".to_owned(),
            Value::Number(_) if is_secret => "a number".to_owned(),
            Value::Number(number) => format!("the number {number}"),
            Value::String(_) if is_secret => "text".to_owned(),
            Value::String(text) => format!("{:?}", printable(text, MAX_SHOWN)),
            other => other.to_string(),
        }
    }

    /// What is wrong with a value of the setting.
    pub fn fault_of(&self, given: &Given<'_>) -> Option<Fault> {
        let (parsed, wrong) = self.parse(given);
        wrong.map(|wrong| self.fault(given, &wrong, parsed.is_some()))
    }

    /// The sentence about a value. `wrong` is its predicate, such as `is a list`; `in_part` says that the rest of the
    /// value is right.
    fn fault(&self, given: &Given<'_>, wrong: &str, in_part: bool) -> Fault {
        let expected = match self.kind {
            Kind::Text | Kind::Secret => "text".to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Url => "a URL or a host".to_owned(),
            Kind::Count(min, u64::MAX) => format!("a whole number from {min}"),
            Kind::Count(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Number(min, max) => format!("a number from {min} to {max}"),
            Kind::Switch => "true or false".to_owned(),
            Kind::Words(words) => format!("one of {}", words.join(", ").trim_end_matches(", ")),
            Kind::FileNames => "a list of names of files, without folders".to_owned(),
            Kind::Headers(_) => "a mapping of names to text, or text such as NAME=VALUE".to_owned(),
            Kind::Commands => "a list of `{command: NAME, recipe_path: FILE}`".to_owned(),
            Kind::Extensions => String::new(),
        };
        let is_scalar = given.value.is_number() || given.value.is_boolean();
        let effect = match self.wrong {
            Wrong::Fails if given.is_in_file() && is_scalar => ": put it in quotes".to_owned(),
            Wrong::Fails => String::new(),
            Wrong::Restricts(word) => format!("; `{word}` is used"),
            Wrong::Default if in_part => "; the rest is used".to_owned(),
            Wrong::Default if self.default.is_empty() => "; it is not used".to_owned(),
            Wrong::Default => format!("; the default {} is used", self.default),
        };
        Fault {
            is_error: self.wrong == Wrong::Fails,
            text: format!(
                "{}{} {wrong}, but must be {expected}{effect}",
                self.name,
                given.place(self.name)
            ),
        }
    }
}

/// Wraps what could be read.
fn partly<T>(read: Read<T>, wrap: fn(T) -> Parsed) -> Read<Parsed> {
    (read.0.map(wrap), read.1)
}

/// Logs the text, if no warning with this key was logged before.
fn warn_once(key: impl Hash, text: impl FnOnce() -> String) {
    static LOGGED: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let mut logged = lock(&LOGGED);
    if logged.len() < MAX_WARNINGS && logged.insert(hasher.finish()) {
        drop(logged);
        log::warn!("{}", text());
    }
}

/// Logs, once each, the names in the file that have no effect although they look like settings.
pub(super) fn warn_of_names(path: &Path, root: &Mapping) {
    let names = root.keys().filter_map(yaml_serde::Value::as_str);
    log_once(in_file(path, names));
}

/// Logs, once each, the variables that have no effect although they look like settings.
pub(super) fn warn_of_variables() {
    log_once(variables().filter_map(|name| misspelled(&name, None)));
}

/// The names of this process's variables.
pub fn variables() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

fn log_once(faults: impl IntoIterator<Item = Fault>) {
    for fault in faults {
        warn_once(&fault.text, || fault.text.clone());
    }
}
