//! `gosling extensions show`: one extension, without its secrets, and whether it works.

use super::launch_line::launch_line;
use super::redacted_config::{redacted_config, values_to_redact};
use super::{UNREADABLE, WIDTH, secrets_of};
use crate::agent::{Registry, Stores};
use crate::command_line::{Failure, failed, paths, print};
use crate::extension::configured::Entry;
use crate::extension::pinning_check::{Pinner, Pinning};
use crate::extension::screening_check::Screening;
use crate::extension::{Error, ExtensionConfig, Manager, Status, python_runner};
use crate::mcp::types::Tool;
use crate::store::Secrets;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::text::{printable, redact};
use gosling_core::part;
use gosling_shared::InMemoryData;
use gosling_shared::{
    configured_extensions, missing, quoted, redact_credentials, stored_secrets, words,
};
use serde_json::{Map, Value as Json, json};
use std::env;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// The id of the session that an extension sees in its trial.
const TRIAL: &str = "trial";

pub(super) fn run(parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut names, [start, offline, json]) = words(parser, 1, ["start", "offline", "json"])?;
    let name = names.pop().ok_or_else(|| missing("NAME"))?;
    sys::protect_memory();
    let paths = paths()?;
    let registry = Registry::new(Stores::new(&paths), part::all(), offline);
    let stores = registry.stores();
    let found = configured_extensions::find(&stores.config, &name).map_err(failed(UNREADABLE))?;
    let Some(entry) = found else {
        let name = printable(&name, WIDTH);
        return Err(Failure::Failed(format!(
            "no extension is called {name:?}; `gosling extensions list` shows the names"
        )));
    };
    let config = match &entry.config {
        Ok(config) => config,
        Err(reason) => {
            let name = printable(&name, WIDTH);
            let reason = printable(reason, WIDTH);
            return Err(Failure::Failed(format!(
                "the entry of {name:?} cannot be read: {reason}"
            )));
        }
    };
    let shown = Shown::new(&registry, config)?;
    let mut object = shown.describe(&registry, &entry, config)?;
    let mut failed_to_start = false;
    if start {
        gosling_shared::start_quiet_logging(&paths);
        let trial = shown.try_start(&registry, config)?;
        failed_to_start = trial["error"].is_string();
        object.insert("trial".to_owned(), trial);
        registry.close();
    }
    if let Some(pinner) = Pinning::read(&stores.config, &stores.paths).pinner() {
        object.insert("pins".to_owned(), shown.pins(pinner, config));
    }
    if json {
        print(&format!("{}\n", Json::Object(object)))?;
    } else {
        print(&in_words(&Json::Object(object)))?;
    }
    if failed_to_start {
        Err(Failure::Reported)
    } else {
        Ok(())
    }
}

/// An extension that has started.
struct Trial {
    /// Its state while it ran.
    status: Option<Status>,
    /// The tools that a session would have of it.
    tools: Vec<Tool>,
}

impl Trial {
    /// Starts an extension as a session in `working_dir` would, lists its tools, and ends it.
    ///
    /// # Errors
    /// Why it does not start. Nothing of it is left.
    fn run(
        registry: &Registry,
        config: &ExtensionConfig,
        working_dir: &Path,
        cancel: &Cancel,
    ) -> Result<Trial, Error> {
        let data = Arc::new(InMemoryData::default());
        let setup = registry.extension_setup();
        let manager = Manager::new(setup.context(TRIAL, working_dir, data));
        manager.add(config, cancel)?;
        let tools = manager.tools(None, cancel).into_iter();
        let tools = tools.map(|listed| listed.tool).collect();
        let status = manager.status().into_iter().next();
        manager.close();
        Ok(Trial { status, tools })
    }
}

/// What may be shown of an extension.
struct Shown {
    /// The names of its secrets, and whether each is set.
    needed: Vec<(String, bool)>,
    /// The values that are not shown.
    secrets: Vec<String>,
}

impl Shown {
    fn new(registry: &Registry, config: &ExtensionConfig) -> Result<Self, Failure> {
        let store: &Secrets = &registry.stores().secrets;
        let unreadable = "the secrets";
        let needed = secrets_of(config, store).map_err(failed(unreadable))?;
        let mut secrets = values_to_redact(config);
        let stored = stored_secrets(store);
        secrets.extend(stored.iter().map(|it| it.expose_text().into_owned()));
        for (name, _) in &needed {
            let secret = store.get(name).map_err(failed(unreadable))?;
            secrets.extend(secret.map(|it| it.expose_text().into_owned()));
        }
        Ok(Shown { needed, secrets })
    }

    fn text(&self, text: &str) -> String {
        redact(&redact_credentials(text), &self.secrets)
    }

    fn describe(
        &self,
        registry: &Registry,
        entry: &Entry,
        config: &ExtensionConfig,
    ) -> Result<Map<String, Json>, Failure> {
        let stores = registry.stores();
        let python = python_runner(&stores.config);
        let (line, error) = match launch_line(config, python.as_deref()) {
            Ok(line) => (line, None),
            Err(error) => (None, Some(self.text(&error.to_string()))),
        };
        let mut screening = Json::Null;
        if let Some((cmd, args)) = line.as_deref().and_then(<[String]>::split_first)
            && let Some(mut decision) = Screening::read(
                &stores.config,
                &stores.paths,
                registry.is_offline(),
            )
            .decide(config, (cmd, args), &Cancel::new())
        {
            let texts = decision.packages.iter_mut().chain(&mut decision.reasons);
            texts.for_each(|text| *text = self.text(text));
            screening = crate::json::to_value(&decision).unwrap_or_default();
        }
        let line = line.map(|words| words.iter().map(|it| self.text(it)).collect::<Vec<_>>());
        let secrets = self.needed.iter().cloned();
        let secrets: Map<String, Json> = secrets.map(|(name, set)| (name, set.into())).collect();
        let described = json!({
            "key": entry.key,
            "enabled": entry.enabled,
            "config": redacted_config(config, &self.secrets),
            "secrets": secrets,
            "launch": line,
            "launch_error": error,
            "screening": screening,
        });
        match described {
            Json::Object(object) => Ok(object),
            _ => Ok(Map::new()),
        }
    }

    /// Describes which tools are pinned, and how those differ that the extension listed last.
    fn pins(&self, pinner: &dyn Pinner, config: &ExtensionConfig) -> Json {
        let mut pinned = match pinner.pinned(config) {
            Ok(Some(pinned)) => pinned,
            Ok(None) => return Json::Null,
            Err(error) => return json!({"error": error.to_string()}),
        };
        for change in pinned["changes"].as_array_mut().into_iter().flatten() {
            for field in ["tool", "before", "after"] {
                if let Some(Json::String(text)) = change.get_mut(field) {
                    *text = self.text(text);
                }
            }
        }
        pinned
    }

    /// Starts the extension, and describes how that ended.
    fn try_start(&self, registry: &Registry, config: &ExtensionConfig) -> Result<Json, Failure> {
        let working_dir = env::current_dir().map_err(failed("no working directory"))?;
        let trial = match Trial::run(registry, config, &working_dir, &Cancel::new()) {
            Ok(trial) => trial,
            Err(error) => {
                return Ok(json!({
                    "error": self.text(&error.to_string()), "class": error.class_name(),
                }));
            }
        };
        let tools = trial.tools.iter().map(|tool| {
            let description = tool.description.as_deref().map(|it| self.text(it));
            json!({"name": self.text(&tool.name), "description": description})
        });
        let status = trial.status.as_ref();
        let withheld = status
            .and_then(|it| it.pinning.as_ref())
            .map_or(json!(0), |it| it["withheld"].clone());
        let version = status.and_then(|it| it.protocol_version.as_deref());
        let server = status.and_then(|it| it.server.as_ref());
        let server = server.map(|server| {
            json!({"name": self.text(&server.name), "version": self.text(&server.version)})
        });
        Ok(json!({
            "server": server,
            "protocol_version": version,
            "tools": tools.collect::<Vec<_>>(),
            "withheld": withheld,
        }))
    }
}

/// The object of `--json` in words.
fn in_words(object: &Json) -> String {
    let config = &object["config"];
    let mut words = Words(String::new());
    words.line("name", config["name"].as_str());
    words.line("key", object["key"].as_str());
    words.line("type", config["type"].as_str());
    let is_enabled = object["enabled"] == true;
    words.line("enabled", Some(if is_enabled { "yes" } else { "no" }));
    if config["bundled"] == true {
        words.line("bundled", Some("yes"));
    }
    words.line("description", config["description"].as_str());
    let launch = object["launch"].as_array();
    let word = |word: &Json| quoted(word.as_str().unwrap_or_default());
    let launch = launch.map(|line| line.iter().map(word).collect::<Vec<_>>().join(" "));
    words.line("starts", launch.as_deref());
    words.line("cannot start", object["launch_error"].as_str());
    words.line("connects to", config["uri"].as_str());
    words.pairs("header", &config["headers"]);
    words.pairs("variable", &config["envs"]);
    for (name, is_set) in object["secrets"].as_object().into_iter().flatten() {
        let is_set = if is_set == true { "set" } else { "not set" };
        words.line("secret", Some(&format!("{name}: {is_set}")));
    }
    let timeout = config["timeout"].as_u64().map(|it| format!("{it} s"));
    words.line("timeout", timeout.as_deref());
    words.list("only the tools", &config["available_tools"]);
    let screening = &object["screening"];
    words.list("packages", &screening["packages"]);
    words.line("screening", screening["decision"].as_str());
    for reason in screening["reasons"].as_array().into_iter().flatten() {
        words.line("screening", reason.as_str());
    }
    if let Some(trial) = object.get("trial") {
        words.trial(trial);
    }
    words.pins(&object["pins"]);
    words.0
}

struct Words(String);

impl Words {
    fn line(&mut self, what: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let _ = writeln!(self.0, "{what}: {}", printable(text, WIDTH));
        }
    }

    fn pairs(&mut self, what: &str, pairs: &Json) {
        for (name, value) in pairs.as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            self.line(what, Some(&format!("{name}={value}")));
        }
    }

    fn list(&mut self, what: &str, texts: &Json) {
        let texts = texts.as_array().into_iter().flatten();
        let texts: Vec<&str> = texts.filter_map(Json::as_str).collect();
        self.line(what, Some(&texts.join(", ")));
    }

    fn pins(&mut self, pins: &Json) {
        self.line("pinned tools cannot be read", pins["error"].as_str());
        if let Some(count) = pins["tools"].as_u64() {
            self.line("pinned tools", Some(&count.to_string()));
        }
        if pins["launch_changed"] == true {
            self.line(
                "changed",
                Some("what it starts or connects to; its tools were those of another"),
            );
        }
        for change in pins["changes"].as_array().into_iter().flatten() {
            self.line("changed", Some(&change_in_words(change)));
        }
    }

    fn trial(&mut self, trial: &Json) {
        if let Some(error) = trial["error"].as_str() {
            return self.line("does not start", Some(error));
        }
        let server = &trial["server"];
        let part = |name: &str| server[name].as_str().unwrap_or_default();
        let version = trial["protocol_version"].as_str().unwrap_or_default();
        let started = format!("{} {}, MCP {version}", part("name"), part("version"));
        self.line(
            "started",
            Some(if server.is_null() { "yes" } else { &started }),
        );
        for tool in trial["tools"].as_array().into_iter().flatten() {
            let description = tool["description"].as_str().unwrap_or_default();
            let description = description.lines().next().unwrap_or_default();
            let name = tool["name"].as_str().unwrap_or_default();
            self.line("tool", Some(format!("{name}  {description}").trim_end()));
        }
        if let Some(withheld) = trial["withheld"].as_u64().filter(|count| *count > 0) {
            let text = format!("{withheld}, see `changed`");
            self.line("withheld tools", Some(&text));
        }
    }
}

/// A change of a tool, as one line.
pub(super) fn change_in_words(change: &Json) -> String {
    let text = |field: &str| change[field].as_str();
    let mut line = text("tool").unwrap_or_default().to_owned();
    let parts = change["parts"].as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(Json::as_str).collect();
    let _ = write!(line, ": {}", text("change").unwrap_or_default());
    if !parts.is_empty() {
        let _ = write!(line, " {}", parts.join(", "));
    }
    for field in ["before", "after"] {
        if let Some(text) = text(field) {
            let _ = write!(line, "; {field}: {text:?}");
        }
    }
    line
}
