//! A report for the developers of a client or of gosling: an archive with what a fault needs to be understood,
//! and without secrets.

use crate::activity::Entry;
use crate::agent::{Error, Registry};
use crate::features::FEATURES;
use crate::report_files;
use crate::store::{Secret, files};
use crate::sys::clock;
use crate::system_info::SystemInfo;
use crate::text::{Cut, redact, redact_excerpt};
use crate::zip::{DosTime, ZipWriter};
use gosling_shared::{
    read_object, redact_credentials, render_yaml_object, stored_secrets, url_userinfo,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How many log files are included, the newest first.
const LOG_FILES: usize = 5;

/// How many stored outputs of tools are included, the newest first.
const OUTPUTS: usize = 20;

/// How much of the end of one file is included, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// How much of the end of the messages is included, in bytes.
const MAX_MESSAGES: u64 = 64 << 20;

/// How much of the end of one file is in a report that is JSON, in bytes.
const MAX_IN_JSON: u64 = 1 << 20;

/// The largest JSON file that is read as a whole, in bytes. A larger one is left out.
const MAX_JSON: u64 = 8 << 20;

/// A line is redacted in pieces of this length, in bytes.
const MAX_PIECE: u64 = 1 << 20;

/// The least length of a value that is removed from texts, in bytes. A shorter one would remove parts of words.
const MIN_SECRET: usize = 4;

const REDACTED: &str = "[secret]";

/// The parts of a report, with the paths of its files. They are read when it is written.
pub(crate) struct Diagnostics {
    /// Names and complete texts.
    texts: Vec<(String, String)>,
    /// Names, paths, and how much of the end is included.
    files: Vec<(String, PathBuf, u64)>,
    secrets: Vec<String>,
}

impl Diagnostics {
    /// A report on the session: the system, the settings, the newest logs, and the session's files. It also
    /// works for a session or a configuration that cannot be read.
    ///
    /// # Errors
    /// [`Error::NoSession`] when the session does not exist.
    pub(crate) fn of_session(registry: &Registry, id: &str) -> Result<Diagnostics, Error> {
        let stores = registry.stores();
        let session_files =
            report_files::of_session(&stores.sessions, id, OUTPUTS).ok_or(Error::NoSession)?;
        stores.activity.record(&Entry {
            outcome: "reported",
            ..Entry::new("session", id)
        })?;
        let mut secrets = SecretValues::default();
        collect_secrets(registry, &mut secrets);
        let mut report = Diagnostics {
            texts: Vec::new(),
            files: Vec::new(),
            secrets: Vec::new(),
        };
        let config = match stores.config.all() {
            Ok(config) => yaml_text(redacted(Value::Object(config), &mut secrets)),
            Err(error) => format!("{error}\n"),
        };
        report.texts.push(("config.yaml".to_owned(), config));
        for (name, path) in session_files {
            if name.ends_with(".json") {
                let text = json_file(&path, &mut secrets);
                report.texts.push((name, text));
            } else {
                let limit = if name.ends_with(".jsonl") {
                    MAX_MESSAGES
                } else {
                    MAX_FILE
                };
                report.files.push((name, path, limit));
            }
        }
        for (name, path) in schedule_files(&stores.paths.data) {
            let text = json_file(&path, &mut secrets);
            report.texts.push((name, text));
        }
        let logs = newest_logs(&stores.paths.state.join("logs/server"));
        report
            .files
            .extend(logs.into_iter().map(|(name, path)| (name, path, MAX_FILE)));
        let system = system_text(
            &SystemInfo::of(registry),
            id,
            stores.sessions.goose_database(),
        );
        report.texts.insert(0, ("system.txt".to_owned(), system));
        report.secrets = secrets.into_patterns();
        Ok(report)
    }

    /// The report as JSON, in the form of Goose's clients since 1.41: of each file the last [`MAX_IN_JSON`] bytes.
    pub(crate) fn to_json(&self, registry: &Registry) -> Value {
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        let clean = |text: &str| redact_credentials(&redact(text, &self.secrets)).into_owned();
        for (name, text) in &self.texts {
            files.push(json!({"path": name, "content": clean(text), "truncated": false}));
        }
        for (name, path, limit) in &self.files {
            let read = Tail::open(path, (*limit).min(MAX_IN_JSON)).and_then(|tail| {
                let Some(mut tail) = tail else {
                    return Ok(None);
                };
                let mut text = Vec::new();
                let written = tail.write_redacted(&self.secrets, &mut text);
                written.map_err(|error| error.to_string())?;
                let text = String::from_utf8_lossy(&text).into_owned();
                Ok(Some(
                    json!({"path": name, "content": text, "truncated": tail.start > 0}),
                ))
            });
            match read {
                Ok(file) => files.extend(file),
                Err(reason) => errors.push(json!({"path": name, "message": reason})),
            }
        }
        let named = |wanted: &dyn Fn(&str) -> bool| {
            let mut found = files.iter();
            found
                .find(|file| file["path"].as_str().is_some_and(wanted))
                .cloned()
        };
        let parsed = |file: Option<Value>| {
            let text = file.map(|file| file["content"].clone());
            let text = text.as_ref().and_then(Value::as_str);
            text.and_then(|text| crate::json::from_str::<Value>(text).ok())
        };
        let is_session = |name: &str| name.ends_with(".json") && !name.starts_with("schedule");
        let config = named(&|name| name == "config.yaml").unwrap_or_default();
        let system = SystemInfo::of(registry);
        json!({
            "schemaVersion": 1,
            "generatedAt": clock::now_rfc3339(),
            "level": "full",
            "extensions": {"enabled": system.enabled_extensions},
            "system": system,
            "config": {
                "configPath": registry.stores().config.path(),
                "configYaml": config["content"],
                "truncated": false,
            },
            "session": parsed(named(&is_session)),
            "logs": {"server": named(&|name| name.starts_with("logs/")), "llm": []},
            "prompts": [],
            "schedule": parsed(named(&|name| name.starts_with("schedule"))),
            "scheduledRecipes": [],
            "files": files,
            "errors": errors,
        })
    }

    /// Writes the report as a ZIP archive. A file that cannot be read is replaced by the reason.
    ///
    /// # Errors
    /// Those of `out`, and when a file changes while it is read.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let time = DosTime::parse(&clock::now_rfc3339());
        let mut zip = ZipWriter::new(out, time);
        for (name, text) in &self.texts {
            let text = redact(text, &self.secrets);
            let text = redact_credentials(&text);
            zip.add(name, &mut |out| out.write_all(text.as_bytes()))?;
        }
        for (name, path, limit) in &self.files {
            match Tail::open(path, *limit) {
                Ok(None) => {}
                Ok(Some(mut tail)) => {
                    zip.add(name, &mut |out| tail.write_redacted(&self.secrets, out))?;
                }
                Err(error) => {
                    let text = format!("cannot be read: {error}\n");
                    zip.add(name, &mut |out| out.write_all(text.as_bytes()))?;
                }
            }
        }
        zip.finish()
    }
}

/// The values of all secrets, of variables with secrets, and of the variables and headers of configured
/// extensions.
fn collect_secrets(registry: &Registry, secrets: &mut SecretValues) {
    let stores = registry.stores();
    for secret in stored_secrets(&stores.secrets) {
        secrets.add(secret.expose());
    }
    let declared: BTreeSet<String> = (registry.catalog().setting_names().into_iter())
        .filter_map(|(name, is_secret)| is_secret.then(|| name.to_uppercase()))
        .collect();
    for (name, value) in env::vars_os() {
        let name = name.to_string_lossy().to_uppercase();
        let is_declared = || stores.secrets.declares(&name).unwrap_or(true);
        if is_secret_name(&name) || declared.contains(&name) || is_declared() {
            secrets.add_text(&value.to_string_lossy());
        }
    }
    let entries = stores.config.extensions().unwrap_or_default().entries;
    for (_, entry) in entries {
        for name in entry["env_keys"].as_array().into_iter().flatten() {
            let value = name.as_str().and_then(|name| env::var(name).ok());
            secrets.add_text(&value.unwrap_or_default());
        }
    }
}

/// The end of a file as it was when it was opened.
struct Tail {
    file: File,
    start: u64,
    end: u64,
}

impl Tail {
    /// `None` if there is no such file.
    fn open(path: &Path, limit: u64) -> Result<Option<Self>, String> {
        let file = files::open(path).map_err(|error| error.to_string())?;
        let Some(file) = file else {
            return Ok(None);
        };
        let end = file.metadata().map_err(|error| error.to_string())?.len();
        Ok(Some(Tail {
            file,
            start: end.saturating_sub(limit),
            end,
        }))
    }

    /// Writes it line by line.
    fn write_redacted(&mut self, secrets: &[String], out: &mut dyn Write) -> io::Result<()> {
        if self.start > 0 {
            writeln!(out, "(The first {} bytes were left out.)", self.start)?;
        }
        self.file.seek(SeekFrom::Start(self.start))?;
        let mut reader = BufReader::new((&self.file).take(self.end - self.start));
        let mut piece = Vec::new();
        let mut is_cut = self.start > 0;
        loop {
            piece.clear();
            reader
                .by_ref()
                .take(MAX_PIECE)
                .read_until(b'\n', &mut piece)?;
            if piece.is_empty() {
                return Ok(());
            }
            let cut = Cut {
                before: is_cut,
                behind: !piece.ends_with(b"\n"),
            };
            is_cut = cut.behind;
            let text = redact_excerpt(&piece, cut, secrets);
            out.write_all(redact_credentials(&text).as_bytes())?;
        }
    }
}

/// The values to remove from texts.
#[derive(Default)]
struct SecretValues(BTreeSet<String>);

impl SecretValues {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            Value::Null | Value::Bool(_) => {}
            scalar => self.add_text(&Secret::new(scalar.clone()).expose_text()),
        }
    }

    fn add_text(&mut self, text: &str) {
        if text.trim().len() >= MIN_SECRET {
            self.0.insert(text.to_owned());
        }
    }

    /// The values, also as they stand in JSON.
    fn into_patterns(self) -> Vec<String> {
        let mut patterns = Vec::new();
        for value in self.0 {
            let in_json = Value::from(value.as_str()).to_string();
            let in_json = in_json.strip_prefix('"').unwrap_or(&in_json);
            let in_json = in_json.strip_suffix('"').unwrap_or(in_json);
            if in_json != value {
                patterns.push(in_json.to_owned());
            }
            patterns.push(value);
        }
        patterns
    }
}

/// The value without secrets: those of fields with a secret's name, of headers and of variables. They are added
/// to `secrets`.
fn redacted(value: Value, secrets: &mut SecretValues) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| redacted(item, secrets))
            .collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value = match name.as_str() {
                    "envs" | "env" | "headers" => hidden(value, secrets),
                    name if is_secret_name(name) && !value.is_array() => hidden(value, secrets),
                    _ => redacted(value, secrets),
                };
                (name, value)
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::String(text) => {
            // The URL itself is redacted as a text.
            if let Some(userinfo) = url_userinfo(&text) {
                let password = userinfo.split_once(':').map_or(userinfo, |(_, it)| it);
                secrets.add_text(password);
            }
            Value::String(text)
        }
        other => other,
    }
}

/// The value with all texts and numbers in it removed.
fn hidden(value: Value, secrets: &mut SecretValues) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name, hidden(value, secrets)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => {
            secrets.add(&value);
            REDACTED.into()
        }
    }
}

/// Whether a field or variable of this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    const ENDS: &str =
        "_key -key apikey token secret password passwd passphrase credentials authorization cookie";
    let name = name.to_lowercase();
    ENDS.split(' ').any(|end| name.ends_with(end))
}

fn json_file(path: &Path, secrets: &mut SecretValues) -> String {
    match read_object(path, MAX_JSON) {
        Ok(Some(fields)) => {
            let fields = redacted(Value::Object(fields), secrets);
            serde_json::to_string_pretty(&fields).unwrap_or_default() + "\n"
        }
        Ok(None) => "There is no such file.\n".to_owned(),
        Err(error) => format!("{error}\n"),
    }
}

fn yaml_text(value: Value) -> String {
    let fields = value.as_object().cloned().unwrap_or_default();
    render_yaml_object(&fields).unwrap_or_else(|reason| format!("{reason}\n"))
}

fn schedule_files(data: &Path) -> Vec<(String, PathBuf)> {
    let files = report_files::newest(data, usize::MAX).into_iter();
    files
        .filter(|(name, _)| name.starts_with("schedule") && name.ends_with(".json"))
        .collect()
}

/// The newest log files, with their names in the report.
fn newest_logs(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(days) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = days.flatten().map(|day| day.file_name());
    let mut days: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    days.sort();
    let newest_first = days.iter().rev();
    let logs = newest_first.flat_map(|day| {
        let files = report_files::newest(&folder.join(day), usize::MAX).into_iter();
        let logs = files.filter(|(name, _)| name.starts_with("gosling-"));
        logs.map(move |(name, path)| (format!("logs/{day}/{name}"), path))
    });
    logs.take(LOG_FILES).collect()
}

fn system_text(info: &SystemInfo, id: &str, goose_database: Option<PathBuf>) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let left_out = FEATURES.iter().filter(|feature| !feature.is_built);
    let left_out: Vec<&str> = left_out.map(|feature| feature.name).collect();
    let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let names: BTreeSet<String> = names
        .filter(|name| name.to_lowercase().starts_with("goose_"))
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    let lines = [
        ("App version", format!("gosling {}", info.app_version)),
        ("Features left out", left_out.join(", ")),
        ("Operating system", info.os.to_owned()),
        ("OS version", info.os_version.clone()),
        ("Architecture", info.architecture.to_owned()),
        ("Time", clock::now_rfc3339()),
        ("Session", id.to_owned()),
        (
            "Sessions of Goose, which are not read",
            goose_database.map_or_else(|| "none".to_owned(), |file| file.display().to_string()),
        ),
        ("Provider", or_none(&info.provider)),
        ("Model", or_none(&info.model)),
        ("Enabled extensions", info.enabled_extensions.join(", ")),
        ("Variables of Goose that are set", names.join(", ")),
    ];
    let lines = lines
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests;
