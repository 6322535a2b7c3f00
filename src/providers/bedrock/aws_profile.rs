//! The files of AWS's own programs: `~/.aws/credentials` and `~/.aws/config`.

use super::sigv4::AwsKey;
use crate::credentials::Parameters;
use crate::sys::fs::read_start;
use std::path::PathBuf;

/// The most bytes of a file that are read.
const MAX_FILE: u64 = 64 << 10;

/// The values of one profile; empty if there is none.
pub(super) struct Profile {
    pub(super) name: String,
    /// Those of the file of keys first.
    values: Vec<(String, String)>,
}

impl Profile {
    /// The profile that the settings name, or `default`. Files that cannot be read count as empty.
    pub(super) fn read(parameters: &Parameters) -> Self {
        Self::named(
            parameters,
            parameters.get("AWS_PROFILE").unwrap_or("default"),
        )
    }

    /// The profile of this name.
    pub(super) fn named(parameters: &Parameters, name: &str) -> Self {
        let keys = text_of(parameters, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let mut values = section(&keys, &[name]);
        let titles = [name.to_owned(), format!("profile {name}")];
        // Only the default profile may lack the word.
        let titles: Vec<&str> = match name {
            "default" => titles.iter().map(String::as_str).collect(),
            _ => vec![&titles[1]],
        };
        let config = text_of(parameters, "AWS_CONFIG_FILE", "config");
        values.extend(section(&config, &titles));
        Profile {
            name: name.to_owned(),
            values,
        }
    }

    /// What profiles share that have one login.
    pub(super) fn sso_session(parameters: &Parameters, name: &str) -> Self {
        let config = text_of(parameters, "AWS_CONFIG_FILE", "config");
        Profile {
            name: name.to_owned(),
            values: section(&config, &[&format!("sso-session {name}")]),
        }
    }

    /// Its name, for errors.
    pub(super) fn title(&self) -> String {
        self.name.escape_debug().take(60).collect()
    }

    /// A value, if it is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.as_str());
        value.filter(|value| !value.is_empty())
    }

    /// Its key, if it contains one.
    pub(super) fn key(&self) -> Option<AwsKey> {
        Some(AwsKey {
            id: self.get("aws_access_key_id")?.to_owned(),
            secret: self.get("aws_secret_access_key")?.to_owned(),
            session_token: self.get("aws_session_token").map(str::to_owned),
        })
    }

    /// What the profile gets its key from, if gosling cannot do that.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        let kinds = ["role_arn", "credential_process"];
        kinds.into_iter().find(|kind| self.get(kind).is_some())
    }
}

/// The text of the file that a setting names, or of the one in `~/.aws`.
fn text_of(parameters: &Parameters, setting: &str, file: &str) -> String {
    let path = match parameters.get(setting) {
        Some(path) => Some(PathBuf::from(path)),
        None => std::env::home_dir().map(|home| home.join(".aws").join(file)),
    };
    path.and_then(read_file).unwrap_or_default()
}

/// The text of a file, if it is not too long.
pub(super) fn read_file(path: PathBuf) -> Option<String> {
    let text = read_start(&path, MAX_FILE + 1).ok()?;
    let fits = text.len() as u64 <= MAX_FILE;
    String::from_utf8(text).ok().filter(|_| fits)
}

/// The values of the sections of these titles. Indented lines belong to the value above, and none of those that are
/// read here has any.
fn section(text: &str, titles: &[&str]) -> Vec<(String, String)> {
    let mut is_inside = false;
    let mut values = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(title) = trimmed.strip_prefix('[') {
            let title = title.split(']').next().unwrap_or_default();
            let words: Vec<&str> = title.split_whitespace().collect();
            is_inside = titles.contains(&words.join(" ").as_str());
        } else if is_inside && let Some((name, value)) = trimmed.split_once('=') {
            let value = value.split(" #").next().unwrap_or_default();
            values.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    values
}

#[cfg(test)]
mod tests;
