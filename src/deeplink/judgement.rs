//! Whether the extension of a link may be installed.

use super::query::placeholders;
use super::{Error, ErrorClass, ExtensionLink, LinkTransport, docker_run, error};
use crate::extension::screening_check::{Decision, Outcome};
use crate::extension::wrappers::{Meaning, program_name};
use crate::extension::{ExtensionConfig, config, is_reserved};
use crate::link_variables::refusal_in_link;
use gosling_outbound::is_loopback_url;
use gosling_screening::launchers::{Launch, is_interpreter};
use gosling_screening::packages::Package;
use serde::Serialize;
use serde_json::{Value, json};

/// The programs that a link may start, by exactly these names.
const COMMANDS: &str = "cu docker jbang npx npx.cmd uvx goosed gosling i-ching-mcp-server";

/// Servers of `gosling mcp` and `goosed mcp` that give the model neither commands nor files of this machine.
const HARMLESS_SERVERS: [&str; 4] = ["autovisualiser", "memory", "todo", "tutorial"];

/// Headers that the MCP client sets itself.
const OWN_HEADERS: &str = "host connection content-length content-type transfer-encoding accept mcp-session-id \
    mcp-protocol-version last-event-id";

/// Whether an extension may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Judgement {
    /// At once.
    #[serde(rename = "EXTENSION_ALLOWED")]
    Allowed,
    /// Once the user has confirmed it.
    #[serde(rename = "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED")]
    ConfirmRequired,
    /// Not at all.
    #[serde(rename = "EXTENSION_BLOCKED")]
    Blocked,
    /// The link is not valid.
    #[serde(rename = "EXTENSION_INVALID_PAYLOAD")]
    InvalidPayload,
}

/// A link after its classification, as clients and programs get it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Whether it may be installed.
    pub judgement: Judgement,
    /// The class of the error, if it may not.
    pub class: Option<ErrorClass>,
    /// Why, one sentence each, and what else the user should know.
    pub reasons: Vec<String>,
    /// The secrets and headers without a value. The extension cannot start before they are set.
    pub needs_configuration: Vec<String>,
    /// The configuration, if it may be installed.
    pub config: Option<ExtensionConfig>,
}

impl Judged {
    /// With what the screening of the packages found.
    pub(super) fn screened(mut self, decision: Decision) -> Self {
        match decision.decision {
            Outcome::Allowed => self,
            Outcome::Warned => {
                self.judgement = self.judgement.max(Judgement::ConfirmRequired);
                self.reasons.splice(0..0, decision.reasons);
                self
            }
            Outcome::Refused => error(ErrorClass::SecurityBlocked, decision.reason()).into(),
        }
    }
}

impl From<Error> for Judged {
    fn from(error: Error) -> Self {
        let blocked = error.class == ErrorClass::SecurityBlocked;
        Judged {
            judgement: if blocked {
                Judgement::Blocked
            } else {
                Judgement::InvalidPayload
            },
            class: Some(error.class),
            reasons: vec![error.reason],
            needs_configuration: Vec::new(),
            config: None,
        }
    }
}

/// What is known of a secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownSecret {
    /// It has a value.
    pub is_set: bool,
    /// The provider or the other extension that it belongs to.
    pub owner: Option<String>,
}

/// The reasons found so far.
#[derive(Default)]
struct Findings {
    /// They forbid the installation.
    blocked: Vec<String>,
    /// They need a confirmation.
    confirm: Vec<String>,
    /// The user should know them.
    notes: Vec<String>,
}

/// Decides whether the extension of a link may be installed. `secret` tells what is known of the secret of a
/// name, and `is_program` whether this machine has a program of a name.
pub fn classify(
    link: &ExtensionLink,
    secret: &dyn Fn(&str) -> KnownSecret,
    is_program: &dyn Fn(&str) -> bool,
) -> Judged {
    let mut found = Findings::default();
    if is_reserved(&config::key(&link.name)) {
        found.confirm(format!(
            "{:?} is also the name of an extension that is part of Goose or gosling; this one is another",
            link.name
        ));
    }
    let mut names: Vec<&str> = link.env.iter().map(String::as_str).collect();
    match &link.transport {
        LinkTransport::Stdio { cmd, args } => found.stdio(cmd, args, &link.env, is_program),
        LinkTransport::StreamableHttp { url, headers } => {
            found.url(url);
            found.headers(headers);
            for (_, value) in headers {
                names.extend(placeholders(value));
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    let mut needs = Vec::new();
    for name in &names {
        let known = secret(name);
        found.variable(name, &known, &link.transport);
        if !known.is_set {
            needs.push((*name).to_owned());
        }
    }
    if let LinkTransport::StreamableHttp { headers, .. } = &link.transport {
        let empty = headers.iter().filter(|(_, value)| value.is_empty());
        needs.extend(empty.map(|(name, _)| name.clone()));
    }
    for name in &link.ignored_values {
        found.notes.push(format!(
            "the link has a value for {name}, which is ignored; set the secret yourself"
        ));
    }
    found.judge(needs, || to_config(link, &names))
}

impl Findings {
    fn judge(self, needs: Vec<String>, config: impl FnOnce() -> Option<ExtensionConfig>) -> Judged {
        if !self.blocked.is_empty() {
            return Judged {
                judgement: Judgement::Blocked,
                class: Some(ErrorClass::SecurityBlocked),
                reasons: self.blocked,
                needs_configuration: Vec::new(),
                config: None,
            };
        }
        let mut reasons = self.confirm;
        let judgement = if reasons.is_empty() {
            Judgement::Allowed
        } else {
            Judgement::ConfirmRequired
        };
        reasons.extend(self.notes);
        Judged {
            judgement,
            class: None,
            reasons,
            needs_configuration: needs,
            config: config(),
        }
    }

    fn block(&mut self, reason: impl Into<String>) {
        self.blocked.push(reason.into());
    }

    fn confirm(&mut self, reason: impl Into<String>) {
        self.confirm.push(reason.into());
    }

    fn stdio(
        &mut self,
        cmd: &str,
        args: &[String],
        env: &[String],
        is_program: &dyn Fn(&str) -> bool,
    ) {
        if !COMMANDS.split(' ').any(|it| it == cmd) {
            let commands = COMMANDS.replace(' ', ", ");
            self.block(format!(
                "a link may not start {cmd:?}, but only {commands}, by exactly these names"
            ));
            return;
        }
        for arg in args {
            let is_code = |c: char| matches!(c, ';' | '|' | '&' | '`') || is_batch(cmd, c);
            let expands = arg.contains("$(") || arg.contains("${");
            if expands || arg.contains(is_code) {
                self.block(format!(
                    "the argument {arg:?} has characters that a shell would run as code"
                ));
            }
        }
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match (cmd, words.as_slice()) {
            ("docker", ["mcp", "gateway", "run"]) => return,
            ("docker", words) => docker_run::check(words, &mut self.blocked),
            ("gosling" | "goosed", words) => self.own_program(cmd, words),
            ("cu", ["stdio"]) | ("i-ching-mcp-server", []) => {}
            ("jbang", [reference, ..]) if is_java(reference) => {}
            ("npx" | "npx.cmd", _) => self.npx(args),
            ("uvx", _) => {}
            _ => self.unclear(cmd, words.first().copied().unwrap_or_default()),
        }
        let Some(launch) = Launch::read(cmd, args) else {
            return;
        };
        if cmd == "docker" {
            docker_run::options(&launch.options, env, &mut self.blocked, &mut self.confirm);
        } else {
            self.options(cmd, &launch);
            self.program(cmd, &launch);
            self.same_name(cmd, &launch, is_program);
        }
        for package in &launch.packages {
            if let Package::Elsewhere { source } = package {
                self.confirm(format!(
                    "{source:?} is not a package of a public registry, but a repository, an archive or a path"
                ));
            }
        }
        if let Some(word) = launch.unclear {
            self.unclear(cmd, word);
        }
    }

    fn unclear(&mut self, cmd: &str, word: &str) {
        self.confirm(format!(
            "{word:?} after {cmd} is not understood, so it is not known what {cmd} installs and runs"
        ));
    }

    /// Only the servers that are part of the program: its other commands run what their arguments say.
    fn own_program(&mut self, cmd: &str, words: &[&str]) {
        match words {
            ["mcp", server] if HARMLESS_SERVERS.contains(server) => {}
            ["mcp", server] => self.confirm(format!(
                "{cmd} mcp {server} can give the model a shell, and the files of this machine"
            )),
            ["mcp", rest @ ..] => self.unclear(cmd, rest.last().unwrap_or(&"mcp")),
            _ => self.block(format!("a link may start {cmd} only as `{cmd} mcp SERVER`")),
        }
    }

    /// `--call` is refused behind the package, too: older versions of `npx` read it there.
    fn npx(&mut self, args: &[String]) {
        let is_option = |arg: &&String| arg.starts_with('-') && *arg != "--";
        let before_package = args.iter().take_while(is_option).count();
        for (at, arg) in args.iter().enumerate() {
            if is_option(&arg) && runs_command(arg, at < before_package) {
                self.block(format!("npx with {arg:?} runs a command line"));
            }
        }
    }

    fn options(&mut self, cmd: &str, launch: &Launch<'_>) {
        for option in &launch.options {
            let word = option.word;
            let is_python = matches!(option.name, "p" | "python");
            match option.meaning {
                Meaning::Code => self.block(format!(
                    "{cmd} with {word:?} can run other code than the package's"
                )),
                Meaning::Source => self.confirm(format!(
                    "{word:?} makes {cmd} install packages from another source"
                )),
                // A version of Python, not a program.
                Meaning::Machine if is_python && option.value.is_some_and(is_python_version) => {}
                Meaning::Machine => self.confirm(format!(
                    "{word:?} makes {cmd} use a file, a folder or a program of this machine"
                )),
                _ => {}
            }
        }
    }

    fn program(&mut self, cmd: &str, launch: &Launch<'_>) {
        let candidates = launch.candidates.iter().map(Package::name);
        let programs = launch.program.as_deref().into_iter().chain(candidates);
        for program in programs.filter(|program| is_interpreter(program)) {
            self.block(format!(
                "{cmd} {program} runs code that the arguments or a file contain"
            ));
        }
        if let Some(program) = launch.program.as_ref().filter(|_| launch.is_foreign) {
            let packages = launch.packages.iter().map(Package::name);
            let packages = packages.collect::<Vec<_>>().join(", ");
            self.confirm(format!(
                "{cmd} runs the program {program:?}, which the packages that it installs ({packages}) need not contain"
            ));
        }
        for arg in launch.operands.iter().skip(1) {
            let first = arg.split_whitespace().next().unwrap_or_default();
            if is_interpreter(&program_name(first)) {
                self.confirm(format!(
                    "the argument {arg:?} names a program that runs code or other programs"
                ));
            }
        }
    }

    /// A program of this machine runs where the package does not bring one of its name, and `npx` prefers those in the
    /// folder for the programs of npm, which may be /usr/bin.
    fn same_name(&mut self, cmd: &str, launch: &Launch<'_>, is_program: &dyn Fn(&str) -> bool) {
        let first = launch.operands.first().map(|first| before_version(first));
        let mut names = first.into_iter().chain(launch.program.as_deref());
        if let Some(name) = names.find(|name| !name.contains('/') && is_program(name)) {
            self.confirm(format!(
                "this machine has a program {name:?}, which {cmd} can run in place of the package"
            ));
        }
    }

    fn url(&mut self, url: &str) {
        let Some((scheme @ ("http" | "https"), _)) = url.split_once("://") else {
            self.block("`url` does not begin with http:// or https://");
            return;
        };
        let authority = host(url);
        if url.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
            self.block("`url` has a backslash or white space");
        } else if authority.contains('@') {
            self.block("`url` has a user name or password; use `header`");
        } else if !is_authority(authority) {
            self.block("`url` has no valid host and port");
        } else if scheme == "http" && !is_loopback_url(url) {
            self.confirm(format!(
                "requests to http://{authority} are not encrypted: everybody on the way can read and change them"
            ));
        }
    }

    fn headers(&mut self, headers: &[(String, String)]) {
        for (at, (name, _)) in headers.iter().enumerate() {
            let is_name = |other: &str| other.eq_ignore_ascii_case(name);
            if OWN_HEADERS.split(' ').any(is_name) {
                self.block(format!("the header {name:?} may not be set"));
            }
            if headers[..at].iter().any(|(earlier, _)| is_name(earlier)) {
                self.block(format!("the header {name:?} is given twice"));
            }
        }
    }

    fn variable(&mut self, name: &str, known: &KnownSecret, transport: &LinkTransport) {
        if let Some(reason) = refusal_in_link(name) {
            self.block(format!(
                "the environment variable {name} may not be set, because {reason}"
            ));
        } else if known.is_set {
            let receiver = match transport {
                LinkTransport::Stdio { cmd, .. } => format!("the program that {cmd} starts"),
                LinkTransport::StreamableHttp { url, .. } => format!("the server {}", host(url)),
            };
            let owner = known.owner.as_ref();
            let owner = owner.map_or(String::new(), |owner| format!(", which belongs to {owner}"));
            self.confirm(format!(
                "{receiver} gets the value that {name} has on this machine{owner}"
            ));
        }
    }
}

/// The name of a program without a version, extras or a bound of the version.
fn before_version(specifier: &str) -> &str {
    let is_end = |c: char| "@[<>=!~(; ".contains(c);
    specifier.split(is_end).next().unwrap_or_default()
}

/// Whether `uvx` takes this for a version of Python: one to three numbers below 256. It takes other text for a path,
/// too.
fn is_python_version(text: &str) -> bool {
    let is_number =
        |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && part.parse::<u8>().is_ok();
    text.split('.').count() <= 3 && text.split('.').all(is_number)
}

/// The host and port of a URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

/// Whether the command interpreter of Windows, which runs `npx.cmd`, would interpret this character.
fn is_batch(cmd: &str, c: char) -> bool {
    cmd.ends_with(".cmd") && matches!(c, '<' | '>' | '^' | '%' | '!' | '"')
}

/// Whether `jbang` takes this for an alias in a catalog (`name@user/repository`), or for a package of Maven
/// (`group:artifact:version`).
fn is_java(reference: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
    };
    match reference.split_once('@') {
        Some((alias, catalog)) => is_name(alias) && catalog.split('/').all(is_name),
        None => reference.split(':').count() > 2 && reference.split(':').all(is_name),
    }
}

/// Whether `npx` reads this argument as `--call` or `-c`: npm accepts abbreviations, any number of dashes, and
/// several short options in one argument.
fn runs_command(arg: &str, before_package: bool) -> bool {
    let name = arg.trim_start_matches('-').split('=').next();
    let name = name.unwrap_or_default();
    let is_abbreviation = !name.is_empty() && "call".starts_with(&name.to_ascii_lowercase());
    let is_cluster = !arg.starts_with("--")
        && name.len() <= 6
        && name.bytes().all(|b| b.is_ascii_alphabetic())
        && name.contains('c');
    is_abbreviation || (before_package && is_cluster)
}

/// Whether this is a host and an optional port of a URL. Names in other scripts must be written in ASCII, so
/// that nobody mistakes one for another.
fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, rest)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (
                "ip6",
                rest.strip_prefix(':').or(rest.is_empty().then_some("1")),
            ),
            _ => return false,
        },
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("1")),
        },
    };
    let is_host = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let port = port.filter(|port| port.bytes().all(|b| b.is_ascii_digit()));
    !host.is_empty()
        && host.bytes().all(is_host)
        && !host.starts_with('.')
        && port
            .and_then(|port| port.parse::<u16>().ok())
            .is_some_and(|port| port > 0)
}

fn to_config(link: &ExtensionLink, env_keys: &[&str]) -> Option<ExtensionConfig> {
    let mut config = json!({
        "name": link.name,
        "description": link.description,
        "env_keys": env_keys,
        "timeout": link.timeout,
    });
    match &link.transport {
        LinkTransport::Stdio { cmd, args } => {
            config["type"] = "stdio".into();
            config["cmd"] = cmd.as_str().into();
            config["args"] = json!(args);
        }
        LinkTransport::StreamableHttp { url, headers } => {
            config["type"] = "streamable_http".into();
            config["uri"] = url.as_str().into();
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| (name.clone(), value.as_str().into()));
            config["headers"] = Value::Object(headers.collect());
        }
    }
    if let Some(notes) = &link.installation_notes {
        config["installation_notes"] = notes.as_str().into();
    }
    ExtensionConfig::from_value(config).ok()
}

#[cfg(test)]
mod tests;
