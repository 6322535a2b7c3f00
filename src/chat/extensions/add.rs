//! `gosling extensions add`: writes a new extension into the configuration.

use super::launch_line::launch_line;
use super::{HELP, WIDTH, read_file, refused, say_missing};
use crate::agent::Stores;
use crate::command_line::{Failure, failed, logging, paths, print, text};
use crate::extension::configured;
use crate::extension::screening_check::{Outcome, Screening};
use crate::extension::{ExtensionConfig, is_reserved, python_runner};
use crate::store::{Config, Paths};
use crate::sys::cancel::Cancel;
use crate::text::{after_http_scheme, printable};
use gosling_shared::parse_yaml_object;
use lexopt::prelude::*;
use serde_json::{Map, Value as Json, json};

/// The largest file with an entry, in bytes.
const MAX_FILE: u64 = 1 << 20;

#[derive(Default)]
struct Options {
    /// The name, the command and its arguments.
    words: Vec<String>,
    url: Option<String>,
    headers: Map<String, Json>,
    envs: Map<String, Json>,
    env_keys: Vec<String>,
    timeout: Option<u64>,
    description: Option<String>,
    file: Option<String>,
    disabled: bool,
    replace: bool,
    yes: bool,
    offline: bool,
}

pub(super) fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("url") => options.url = Some(text(parser.value()?)?),
            Long("header") => pair("--header", parser.value()?, &mut options.headers)?,
            Long("env") => pair("--env", parser.value()?, &mut options.envs)?,
            Long("env-key") => options.env_keys.push(text(parser.value()?)?),
            Long("timeout") => options.timeout = Some(parser.value()?.parse()?),
            Long("description") => options.description = Some(text(parser.value()?)?),
            Long("file") => options.file = Some(text(parser.value()?)?),
            Long("disabled") => options.disabled = true,
            Long("replace") => options.replace = true,
            Long("yes") => options.yes = true,
            Long("offline") => options.offline = true,
            Short('h') | Long("help") => return print(HELP),
            Value(word) => options.words.push(text(word)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let (config, enabled) = match options.file.take() {
        Some(file) => from_file(&file, &options)?,
        None => (from_options(&mut options)?, true),
    };
    add(&config, enabled && !options.disabled, &options)
}

/// Reads `KEY=VALUE`. Errors do not show the value.
fn pair(
    option: &str,
    value: std::ffi::OsString,
    pairs: &mut Map<String, Json>,
) -> Result<(), Failure> {
    let wrong = || Failure::Usage(format!("{option} takes KEY=VALUE"));
    let value = value.into_string().map_err(|_| wrong())?;
    let (key, value) = value.split_once('=').ok_or_else(wrong)?;
    pairs.insert(key.to_owned(), value.into());
    Ok(())
}

fn from_options(options: &mut Options) -> Result<ExtensionConfig, Failure> {
    let usage = |reason: &str| Err(Failure::Usage(reason.to_owned()));
    let mut words = std::mem::take(&mut options.words).into_iter();
    let Some(name) = words.next() else {
        return usage("no NAME given");
    };
    let mut config = match (options.url.take(), words.next()) {
        (Some(url), None) => {
            if after_http_scheme(&url).is_none() {
                return usage("--url takes an address that begins with http:// or https://");
            }
            json!({"type": "streamable_http", "name": name, "uri": url, "headers": options.headers})
        }
        (None, Some(_)) if !options.headers.is_empty() => {
            return usage("--header belongs to --url");
        }
        (None, Some(cmd)) => {
            let args: Vec<String> = words.collect();
            json!({"type": "stdio", "name": name, "cmd": cmd, "args": args})
        }
        _ => return usage("give `-- CMD [ARGS...]`, --url or --file, and only one of them"),
    };
    config["description"] = options.description.take().unwrap_or_default().into();
    config["envs"] = std::mem::take(&mut options.envs).into();
    config["env_keys"] = std::mem::take(&mut options.env_keys).into();
    config["timeout"] = options.timeout.into();
    ExtensionConfig::from_value(config).map_err(Failure::Usage)
}

/// Reads an entry as the configuration has it. Its field `enabled` may be missing.
fn from_file(file: &str, options: &Options) -> Result<(ExtensionConfig, bool), Failure> {
    let has_others = !options.words.is_empty()
        || options.url.is_some()
        || !options.headers.is_empty()
        || !options.envs.is_empty()
        || !options.env_keys.is_empty()
        || options.timeout.is_some()
        || options.description.is_some();
    if has_others {
        let reason = "with --file, the entry is in the file; leave out NAME and the options for it";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let content = read_file(file, MAX_FILE)?;
    let invalid = |reason: String| {
        let reason = printable(&reason, WIDTH);
        Failure::Failed(format!("the entry is not valid: {reason}"))
    };
    let content = String::from_utf8(content).map_err(|_| invalid("it is not UTF-8".to_owned()))?;
    let is_json = content.trim_start().starts_with('{');
    let read = if is_json {
        crate::json::from_str(&content).map_err(|error| error.to_string())
    } else {
        parse_yaml_object(&content)
    };
    let mut entry = read.map_err(invalid)?;
    let enabled = match entry.shift_remove("enabled") {
        None => true,
        Some(Json::Bool(enabled)) => enabled,
        Some(_) => return Err(invalid("`enabled` is neither true nor false".to_owned())),
    };
    let config = ExtensionConfig::from_json(entry).map_err(invalid)?;
    Ok((config, enabled))
}

fn add(config: &ExtensionConfig, enabled: bool, options: &Options) -> Result<(), Failure> {
    let paths = paths()?;
    let stores = Stores::new(&paths);
    let settings = &stores.config;
    let name = printable(config.name(), WIDTH);
    confirm(config, settings, &paths, options)?;
    let stored = configured::set(settings, config.name(), config, enabled, options.replace);
    let existed = stored.map_err(refused)?;
    if existed && !options.replace {
        return Err(Failure::Failed(format!(
            "there is an extension {name:?} already; --replace replaces it"
        )));
    }
    let done = if existed { "replaced" } else { "added" };
    let state = if enabled { "" } else { ", disabled" };
    print(&format!("{done} {name}{state}\n"))?;
    say_missing(config, &stores.secrets)
}

/// Refuses what may not start, and without `--yes` what the user should know before.
fn confirm(
    config: &ExtensionConfig,
    settings: &Config,
    paths: &Paths,
    options: &Options,
) -> Result<(), Failure> {
    let mut reasons = Vec::new();
    let is_foreign = !matches!(
        config,
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_)
    );
    if is_foreign && is_reserved(&config.key()) {
        reasons.push(format!(
            "{:?} is also the name of an extension that is part of Goose or gosling; this one is another",
            config.name()
        ));
    }
    let python = python_runner(settings);
    let line = launch_line(config, python.as_deref()).map_err(failed("not added"))?;
    if let Some((cmd, args)) = line.as_deref().and_then(<[String]>::split_first) {
        let screening = Screening::read(settings, paths, options.offline);
        if let Some(decision) = screening.decide(config, (cmd, args), &Cancel::new()) {
            if decision.decision == Outcome::Refused {
                let reason = printable(&decision.reason(), WIDTH);
                return Err(Failure::Failed(format!("not added: {reason}")));
            }
            reasons.extend(decision.reasons);
        }
    }
    for reason in &reasons {
        let reason = printable(reason, WIDTH);
        logging::say(&format!("gosling: {reason}\n"));
    }
    if reasons.is_empty() || options.yes {
        return Ok(());
    }
    let reason = "not added: read the reasons, then repeat it with --yes";
    Err(Failure::Failed(reason.to_owned()))
}
