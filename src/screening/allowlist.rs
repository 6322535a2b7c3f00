//! The list of allowed extensions, in Goose's format: `extensions`, a list of `id` and `command`.

use crate::store::files;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::text::{after_http_scheme, printable, split_command};
use gosling_outbound::Fetch;
use gosling_shared::parse_yaml_object;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The largest list, in bytes.
const MAX_LIST: u64 = 256 << 10;
/// How long the request for a list may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a list from an address is used before it is requested again.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// When a request that failed is repeated, while there is an older list.
const RETRY: Duration = Duration::from_secs(60);

/// The command lines that may start.
#[derive(Debug, PartialEq)]
pub struct Allowlist {
    commands: Vec<Vec<String>>,
}

/// The last list from an address.
struct Fetched {
    address: String,
    list: Arc<Allowlist>,
    used_until: Instant,
}

static FETCHED: Mutex<Option<Fetched>> = Mutex::new(None);

impl Allowlist {
    /// The list in a file, or at an address, where it is requested at most once an hour.
    ///
    /// # Errors
    /// It cannot be read. A list that was fetched before stays in use if its address fails.
    pub fn load(source: &str, offline: bool, cancel: &Cancel) -> Result<Arc<Self>, String> {
        let source = source.trim();
        if after_http_scheme(source).is_some() {
            return Self::fetch(source, offline, cancel);
        }
        let path = Path::new(source);
        let read = files::read_file(path, MAX_LIST).map_err(|error| error.to_string())?;
        let (text, _) = read.ok_or_else(|| format!("{} does not exist", path.display()))?;
        let list = Self::parse(&text).map_err(|fault| format!("{}: {fault}", path.display()))?;
        Ok(Arc::new(list))
    }

    fn fetch(address: &str, offline: bool, cancel: &Cancel) -> Result<Arc<Self>, String> {
        current(&FETCHED, address, Instant::now(), || {
            let request = Fetch {
                uri: address,
                body: None,
                offline,
                timeout: TIMEOUT,
                max: MAX_LIST,
            };
            let list = Self::parse(&request.run(cancel)?);
            list.map_err(|fault| format!("the text at its address is not one: {fault}"))
        })
    }

    /// Reads a list.
    ///
    /// # Errors
    /// It is not YAML of this form.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
        let fields = parse_yaml_object(text)?;
        let entries = match fields.get("extensions") {
            Some(Value::Array(entries)) => entries,
            _ => return Err("it has no list `extensions`".to_owned()),
        };
        let read = |(n, entry): (usize, &Value)| {
            let command = entry["command"].as_str().unwrap_or_default();
            let words = split_command::split(command);
            let fault = |fault: String| format!("the `command` of entry {}: {fault}", n + 1);
            match words.map_err(fault)? {
                words if words.is_empty() => Err(fault("it is missing or empty".to_owned())),
                words => Ok(normalized(words)),
            }
        };
        let commands = entries.iter().enumerate().map(read);
        let commands = commands.collect::<Result<_, _>>();
        commands
            .map(|commands| Allowlist { commands })
            .map_err(|fault| printable(&fault, 200))
    }

    /// Whether a command line is on the list: with all its arguments, and no others.
    pub fn allows(&self, cmd: &str, args: &[String]) -> bool {
        let words = [cmd.to_owned()].into_iter().chain(args.iter().cloned());
        let line = normalized(words.collect());
        self.commands.contains(&line)
    }
}

/// The list at this address: the last one, if it is not too old, else the one that `request` gets. No lock is
/// held meanwhile.
fn current(
    fetched: &Mutex<Option<Fetched>>,
    address: &str,
    now: Instant,
    request: impl FnOnce() -> Result<Allowlist, String>,
) -> Result<Arc<Allowlist>, String> {
    let earlier = {
        let fetched = lock(fetched);
        let earlier = fetched.as_ref().filter(|it| it.address == address);
        earlier.map(|it| (it.list.clone(), it.used_until))
    };
    if let Some((list, until)) = &earlier
        && now < *until
    {
        return Ok(list.clone());
    }
    let (list, age) = match (request(), earlier) {
        (Ok(list), _) => (Arc::new(list), MAX_AGE),
        (Err(fault), Some((list, _))) => {
            log::warn!("the earlier list of allowed extensions stays in use reason={fault:?}");
            (list, RETRY)
        }
        (Err(fault), None) => return Err(fault),
    };
    *lock(fetched) = Some(Fetched {
        address: address.to_owned(),
        list: list.clone(),
        used_until: now + age,
    });
    Ok(list)
}

/// The words without what differs between systems and says nothing: a suffix of Windows of a program without a
/// path, and the `-y` of `npx`.
fn normalized(mut words: Vec<String>) -> Vec<String> {
    let program = words[0].trim();
    let is_name = !program.contains(['/', '\\']);
    let suffix = [".cmd", ".exe", ".bat"].into_iter().find(|suffix| {
        let end = program
            .len()
            .checked_sub(suffix.len())
            .and_then(|at| program.get(at..));
        is_name && end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    });
    let length = program.len() - suffix.map_or(0, str::len);
    words[0] = program[..length].to_owned();
    if words[0] == "npx" {
        let mut before_package = true;
        words.retain(|word| {
            let is_yes = before_package && matches!(word.as_str(), "-y" | "--yes");
            before_package &= word == "npx" || word.starts_with('-') && word != "--";
            !is_yes
        });
    }
    words
}

#[cfg(test)]
mod tests;
