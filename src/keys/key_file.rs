//! The file `config/keys.yaml`: the names of keys, their hashes and what they may do.
//!
//! Whatever in an entry is not understood makes its key invalid, because it could be a restriction.

use crate::key_text::{Hash, from_hex};
use crate::roles::Role;
use crate::store::{Config, Error, MAX_YAML, Paths, Result, YamlFile, files, parse_yaml};
use crate::sys::clock::{Utc, now_rfc3339, unix_seconds};
use crate::sys::{lock, to_hex};
use crate::text::printable;
use gosling_core::http::SERVER;
use gosling_core::part::Fact;
use std::sync::{Arc, Mutex};
use yaml_serde::{Mapping, Value};

/// Its name.
const FILE: &str = "keys.yaml";

/// The longest name of a key, in bytes.
const MAX_NAME: usize = 64;

/// The most keys.
const MAX_KEYS: usize = 1_000;

/// The longest time until a key ends, in seconds: a century.
const MAX_LIFETIME: i64 = 100 * 366 * 86_400;

/// A key, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) hash: Hash,
    /// When it was made or rotated, RFC 3339.
    pub(crate) created: String,
    /// From when on it is invalid.
    pub(crate) expires: Option<Utc>,
    /// Whether its client sees only the sessions that it has begun.
    pub(crate) own_sessions: bool,
}

impl Key {
    /// Whether its time is over.
    pub(crate) fn is_expired(&self) -> bool {
        let end = self.expires.map(Utc::unix_seconds);
        end.is_some_and(|end| end <= unix_seconds())
    }

    pub(crate) fn to_yaml(&self) -> Value {
        let mut fields = Mapping::new();
        let mut set = |name: &str, value: &str| fields.insert(name.into(), value.into());
        set("role", self.role.as_str());
        set("sha256", &to_hex(&self.hash));
        set("created", &self.created);
        if let Some(expires) = self.expires {
            set("expires", &expires.to_string());
        }
        if self.own_sessions {
            set("sessions", "own");
        }
        Value::Mapping(fields)
    }
}

/// An entry of the file: a key, or the name of an entry and why it is none.
pub(crate) type Entry = std::result::Result<Key, (String, String)>;

/// The entries, and the content that they were read from.
type ReadEntries = (Arc<Mapping>, Arc<[Entry]>);

/// The file.
#[derive(Debug)]
pub(crate) struct KeyFile {
    file: YamlFile,
    /// What was read, and from what.
    read: Mutex<Option<ReadEntries>>,
    /// What was logged last about a file that cannot be read.
    complaint: Mutex<String>,
}

impl KeyFile {
    /// That of these folders. Does no I/O.
    pub(crate) fn of(paths: &Paths) -> Self {
        KeyFile {
            file: YamlFile::secret(paths.config.join(FILE)),
            read: Mutex::default(),
            complaint: Mutex::default(),
        }
    }

    /// All entries, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn entries(&self) -> Result<Arc<[Entry]>> {
        let mapping = self.file.load()?;
        let mut read = lock(&self.read);
        if let Some((of, entries)) = &*read
            && Arc::ptr_eq(of, &mapping)
        {
            return Ok(entries.clone());
        }
        let entries: Arc<[Entry]> = read_entries(&mapping).into();
        for (name, reason) in entries.iter().filter_map(|it| it.as_ref().err()) {
            log::warn!(
                "key not valid name={} reason={reason}",
                printable(name, MAX_NAME)
            );
        }
        *read = Some((mapping, entries.clone()));
        Ok(entries)
    }

    /// Reads the file if it has changed.
    ///
    /// # Errors
    /// Which keys are not valid, and why.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let entries = self.entries();
        let entries =
            entries.map_err(|error| format!("no key but the server's is valid: {error}"))?;
        let wrong = entries.iter().filter_map(|it| it.as_ref().err());
        let wrong =
            wrong.map(|(name, why)| format!("{} is not valid: {why}", printable(name, MAX_NAME)));
        let wrong: Vec<_> = wrong.collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("; "))
        }
    }

    /// The keys whose time is not over; none while the file cannot be read.
    pub(crate) fn valid(&self) -> Vec<Key> {
        let entries = self.entries();
        let complaint = entries
            .as_ref()
            .err()
            .map(Error::to_string)
            .unwrap_or_default();
        let mut last = lock(&self.complaint);
        if *last != complaint {
            if !complaint.is_empty() {
                log::error!("no key but the server's is valid reason={complaint}");
            }
            *last = complaint;
        }
        let entries = entries.unwrap_or_default();
        let keys = entries.iter().filter_map(|it| it.as_ref().ok());
        keys.filter(|key| !key.is_expired()).cloned().collect()
    }

    /// Adds a key, after `show`, which may be called again, has shown it.
    ///
    /// # Errors
    /// When there is one of this name, it cannot be shown, or the file cannot be read or written.
    pub(crate) fn add(&self, key: &Key, mut show: impl FnMut(&Key) -> Result<()>) -> Result<()> {
        self.file.edit(|mapping| {
            let name = Value::from(key.name.as_str());
            if mapping.contains_key(&name) {
                let reason = format!("there is a key {}; rotate or revoke it", key.name);
                return Err(Error::Refused(reason));
            }
            let others = mapping
                .keys()
                .filter(|it| it.as_str() != Some(files::FORMAT));
            if others.count() >= MAX_KEYS {
                let reason = format!("there are {MAX_KEYS} keys; revoke one");
                return Err(Error::Refused(reason));
            }
            show(key)?;
            mapping.insert(name, key.to_yaml());
            mapping.insert(files::FORMAT.into(), 1.into());
            Ok(())
        })
    }

    /// Gives a key another text, and another end if there is one, after `show`, which may be called again, has shown it.
    ///
    /// # Errors
    /// When there is no valid entry of this name, it cannot be shown, or the file cannot be read or written.
    pub(crate) fn rotate(
        &self,
        name: &str,
        hash: Hash,
        expires: Option<Utc>,
        mut show: impl FnMut(&Key) -> Result<()>,
    ) -> Result<()> {
        self.file.edit(|mapping| {
            let unknown = |reason: &str| {
                Error::Refused(format!("the key {} {reason}", printable(name, MAX_NAME)))
            };
            let entry = mapping.get(name).ok_or_else(|| unknown("does not exist"))?;
            let mut key =
                read_entry(&name.into(), entry).map_err(|(_, reason)| unknown(&reason))?;
            key.hash = hash;
            key.created = now_rfc3339();
            key.expires = expires.or(key.expires);
            if key.is_expired() {
                return Err(unknown(
                    "has expired; say with --expires when the new one does",
                ));
            }
            show(&key)?;
            mapping.insert(name.into(), key.to_yaml());
            Ok(())
        })
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// When there is none of this name, or the file cannot be read or written.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.file.edit(|mapping| {
            let is_entry = name != files::FORMAT;
            let removed = is_entry.then(|| mapping.shift_remove(name)).flatten();
            removed.map(drop).ok_or_else(|| {
                let name = printable(name, MAX_NAME);
                Error::Refused(format!(
                    "there is no key {name:?}; `gosling keys list` prints all"
                ))
            })
        })
    }
}

/// Fails unless a key may have this name, with the reason.
pub(crate) fn check_name(name: &str) -> std::result::Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!(
            "its name must have at most {MAX_NAME} letters, digits, `.`, `_` and `-` of ASCII, and begin with a \
             letter or digit"
        ));
    }
    if name == files::FORMAT {
        return Err(format!("`{name}` is not the name of a key"));
    }
    if name == SERVER {
        return Err(format!("`{SERVER}` is the name of the server's own key"));
    }
    Ok(())
}

/// Fails if a key of this role cannot be restricted to its own sessions, with the reason.
pub(crate) fn check_own_sessions(role: Role) -> std::result::Result<(), String> {
    if role > Role::Chat {
        return Err(format!(
            "who may {role} reaches every session through the settings; only `read` and `chat` can be restricted to \
             their own"
        ));
    }
    Ok(())
}

/// Reads when a key ends: a moment (RFC 3339, or a date in UTC), or after how many minutes, hours, days or weeks from
/// now on, as `90m`, `12h`, `30d`, `4w`.
pub(crate) fn read_end(text: &str, now: i64) -> std::result::Result<Utc, String> {
    let units = [("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)];
    let of_unit = |(unit, seconds): (&str, i64)| {
        let count: u32 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Utc::from_unix(
            now.saturating_add(i64::from(count).saturating_mul(seconds)),
        ))
    };
    // `+5d` is a number to the parser.
    let begins = text.starts_with(|c: char| c.is_ascii_digit());
    let end = begins.then(|| {
        units
            .into_iter()
            .find_map(of_unit)
            .or_else(|| Utc::parse(text))
    });
    let end = end.flatten().ok_or_else(|| {
        format!(
            "{:?} is neither a time like 2027-01-31T12:00:00Z nor a span like 12h, 30d or 4w",
            printable(text, MAX_NAME)
        )
    })?;
    let left = end.unix_seconds() - now;
    if !(1..=MAX_LIFETIME).contains(&left) {
        return Err(format!("{end} is not within the next hundred years"));
    }
    Ok(end)
}

/// The file and how many keys it has. The file is read as it is: its mode is not corrected.
pub(crate) fn facts(_: &Config, paths: &Paths) -> Vec<(&'static str, Fact)> {
    let path = paths.config.join(FILE);
    let mut facts = vec![("file", Fact::Private(path.clone()))];
    let content = match files::read_file(&path, MAX_YAML) {
        Ok(content) => content.map(|(content, _)| content).unwrap_or_default(),
        Err(error) => {
            facts.push(("file", Fact::Fault(error.to_string())));
            return facts;
        }
    };
    let Ok(mapping) = parse_yaml(&content) else {
        let why = "it is not valid YAML, so no key but the server's is valid: correct it";
        facts.push(("file", Fact::Fault(why.to_owned())));
        return facts;
    };
    let entries = read_entries(&mapping);
    let count = |is_it: &dyn Fn(&Entry) -> bool| {
        let count = entries.iter().filter(|entry| is_it(entry)).count();
        Fact::Value(count.into())
    };
    let is_expired = |entry: &Entry| entry.as_ref().is_ok_and(Key::is_expired);
    facts.push(("valid", count(&|it| it.is_ok() && !is_expired(it))));
    facts.push(("expired", count(&is_expired)));
    facts.push(("not_understood", count(&|it| it.is_err())));
    facts
}

/// Reads all entries of the file.
pub(crate) fn read_entries(mapping: &Mapping) -> Vec<Entry> {
    let entries = mapping.iter();
    let entries = entries.filter(|(name, _)| name.as_str() != Some(files::FORMAT));
    let entries = entries.map(|(name, entry)| read_entry(name, entry));
    entries.collect()
}

fn read_entry(name: &Value, entry: &Value) -> Entry {
    let shown = || name.as_str().unwrap_or("?").to_owned();
    read_key(name, entry).map_err(|reason| (shown(), reason))
}

fn read_key(name: &Value, entry: &Value) -> std::result::Result<Key, String> {
    let name = name.as_str().ok_or("its name is not text")?;
    check_name(name)?;
    let fields = entry.as_mapping().ok_or("it is not a mapping")?;
    let known = ["role", "sha256", "created", "expires", "sessions"];
    for field in fields.keys() {
        let field = field.as_str().unwrap_or("?");
        if !known.contains(&field) {
            return Err(format!(
                "it has an unknown field `{}`",
                printable(field, MAX_NAME)
            ));
        }
    }
    let text = |name: &str| match fields.get(name) {
        None => Ok(None),
        Some(value) => {
            let text = value.as_str().map(Some);
            text.ok_or_else(|| format!("its `{name}` is not text"))
        }
    };
    let role = text("role")?.and_then(Role::named);
    let role = role.ok_or("its `role` is not one of metrics, read, chat, configure and admin")?;
    let hash = text("sha256")?.and_then(from_hex);
    let expires = text("expires")?.map(|it| Utc::parse(it).ok_or("its `expires` is not a time"));
    let own_sessions = match text("sessions")? {
        None | Some("all") => false,
        Some("own") => true,
        Some(_) => return Err("its `sessions` is neither `own` nor `all`".to_owned()),
    };
    if own_sessions {
        check_own_sessions(role)?;
    }
    let created = text("created")?.unwrap_or_default();
    Ok(Key {
        name: name.to_owned(),
        role,
        hash: hash.ok_or("its `sha256` has not 64 hexadecimal digits")?,
        created: printable(created, MAX_NAME),
        expires: expires.transpose()?,
        own_sessions,
    })
}

#[cfg(test)]
mod tests;
