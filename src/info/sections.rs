//! The facts, in sections.

use crate::command_line::serve::{allowed_hosts, parse_port, variable};
use crate::command_line::{Failure, tls};
use crate::features::{FEATURES, Feature};
use crate::part::{self, Fact, SYSTEM_POLICY};
use crate::place::Place;
use crate::report::Report;
use crate::store::settings::{self, HOST, PORT, Setting};
use crate::store::{Config, MAX_YAML, Paths, files, parse_yaml};
use crate::sys::{effective_user, host, os_version};
use gosling_core::agent::Mode;
use gosling_shared::value_and_name_faults;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What the facts are about.
pub(crate) struct Surroundings {
    /// The folders.
    pub(crate) paths: Paths,
    /// The policy, in place of that of the system.
    pub(crate) policy: Option<PathBuf>,
    /// Whether the environment has the key of the server.
    pub(crate) has_key: bool,
}

/// All facts.
pub(crate) fn collect(about: &Surroundings) -> Report {
    let mut report = Report::default();
    program(&mut report);
    system(&mut report);
    folders(&mut report, &about.paths);
    files(&mut report, &about.paths);
    let least = policy(&mut report, about.policy.as_deref());
    server(&mut report, about.has_key);
    let config = Config::new(&about.paths);
    settings(&mut report, &config, least);
    for part in part::all() {
        let Some(inform) = part.info else { continue };
        report.section(part.feature);
        for (name, fact) in inform(&config, &about.paths) {
            match fact {
                Fact::Value(value) => report.value(name, value),
                Fact::Private(path) => report.place(name, Place::private(path)),
                Fact::Fault(why) => report.fault(name, &why),
            }
        }
    }
    report
}

fn program(report: &mut Report) {
    report.section("program");
    report.value("version", env!("CARGO_PKG_VERSION"));
    let path = std::env::current_exe().ok();
    report.value("path", path.map(|path| path.display().to_string()));
    report.value("os", std::env::consts::OS);
    report.value("architecture", std::env::consts::ARCH);
    report.value("user", effective_user());
    let (built, left_out): (Vec<_>, Vec<_>) = FEATURES.iter().partition(|it| it.is_built);
    let names = |features: Vec<&Feature>| -> Value {
        features.into_iter().map(|feature| feature.name).collect()
    };
    report.value("features", names(built));
    report.value("left_out", names(left_out));
}

/// The system, and what it lacks. None of that is wrong.
fn system(report: &mut Report) {
    report.section("system");
    let host = host();
    report.value("machine", host.machine);
    report.value("bits", usize::BITS);
    report.value("kernel", os_version());
    report.value("memory", host.memory);
    report.value("memory_limit", host.memory_limit);
    report.value("missing", host.missing);
}

fn folders(report: &mut Report, paths: &Paths) {
    report.section("folders");
    report.place("config", Place::folder(paths.config.clone()));
    report.place("data", Place::folder(paths.data.clone()));
    report.place("state", Place::folder(paths.state.clone()));
    report.place("sessions", Place::folder(paths.data.join("sessions")));
    let logs = paths.state.join("logs").join("server");
    report.place("logs", Place::folder(logs));
}

/// The files of the configuration, and whether they can be read.
fn files(report: &mut Report, paths: &Paths) {
    report.section("files");
    for (name, is_secret) in [
        ("config.yaml", false),
        ("secrets.yaml", true),
        ("permission.yaml", false),
    ] {
        let place = Place::private(paths.config.join(name));
        let unreadable = place.exists().then(|| unreadable(place.path(), is_secret));
        report.place(name, place);
        if let Some(why) = unreadable.flatten() {
            report.fault(name, &why);
        }
    }
}

/// Why a YAML file cannot be used. Its mode is not corrected, as it is where the secrets are needed.
fn unreadable(path: &Path, is_secret: bool) -> Option<String> {
    let content = match files::read_file(path, MAX_YAML) {
        Ok(content) => content?.0,
        Err(error) => return Some(error.to_string()),
    };
    let flaw = parse_yaml(&content).err()?;
    let reason = if is_secret {
        "it is not valid YAML"
    } else {
        &*flaw.reason
    };
    Some(match flaw.place {
        (0, _) => reason.to_owned(),
        (line, column) => format!("line {line}, column {column}: {reason}"),
    })
}

/// The policy, opened as for a server; returns the least strict mode that it allows.
fn policy(report: &mut Report, file: Option<&Path>) -> Mode {
    report.section("policy");
    let opened = part::open_policy(file);
    let policy = opened.as_ref().ok().and_then(|()| part::policy());
    let state = match (&opened, &policy) {
        (Err(_), _) => "unusable",
        (Ok(()), Some(_)) => "in_force",
        (Ok(()), None) => "none",
    };
    report.value("state", state);
    let file = file.unwrap_or(Path::new(SYSTEM_POLICY));
    report.value("file", file.display().to_string());
    if let Err(why) = &opened {
        report.fault("file", why);
    }
    let least = policy.as_ref().map(|policy| policy.least_mode());
    report.value("least_mode", least);
    report.value("offline", policy.as_ref().map(|it| it.is_offline()));
    let walls = policy.map(|policy| policy.least_sandbox().0);
    report.value("least_sandbox", json!(walls));
    least.map_or(Mode::Auto, Mode::named)
}

/// Where `gosling agent` would listen without options.
fn server(report: &mut Report, has_key: bool) {
    report.section("server");
    let host = or_fault(report, "host", variable(HOST.name)).flatten();
    report.value("host", host.unwrap_or_else(|| HOST.default.to_owned()));
    let port = variable(PORT.name).and_then(|port| {
        let port = port.as_deref().unwrap_or(PORT.default);
        parse_port(PORT.name, port)
    });
    let port = or_fault(report, "port", port);
    report.value("port", port);
    let tls = tls::wanted(false).map(|open| open.is_some());
    let tls = or_fault(report, "tls", tls);
    report.value("tls", tls);
    let hosts = or_fault(report, "allowed_hosts", allowed_hosts());
    report.value("allowed_hosts", hosts.unwrap_or_default());
    report.value("key_is_given", has_key);
}

fn settings(report: &mut Report, config: &Config, least: Mode) {
    report.section("settings");
    let mut text = |name, setting: &Setting<'_>| {
        // What is wrong with the value is among the faults of all settings.
        report.value(name, setting.text(config).ok().flatten());
    };
    text("provider", &settings::PROVIDER);
    text("model", &settings::MODEL);
    let mode = Mode::named(settings::MODE.word(config)).max(least);
    report.value("mode", mode.as_str());
    report.value("secrets", "file");
    // A file that cannot be read is a fault of `files`.
    for fault in value_and_name_faults(config, &[]).unwrap_or_default() {
        report.fault("faults", &fault.to_string());
    }
}

/// The value, or its fault in the report.
fn or_fault<T>(report: &mut Report, name: &str, found: Result<T, Failure>) -> Option<T> {
    match found {
        Ok(value) => Some(value),
        Err(Failure::Usage(why) | Failure::Failed(why)) => {
            report.fault(name, &why);
            None
        }
        Err(_) => None,
    }
}
