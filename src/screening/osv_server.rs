//! Questions to an OSV server: which advisories name a package.

use crate::advisory::{Advisory, MAX_FILE, Malware, read};
use crate::packages::{Ecosystem, Version};
use crate::sources::Found;
use crate::sys::cancel::Cancel;
use crate::versions;
use gosling_outbound::Fetch;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long one question may take.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// How many pages of an answer are read.
const MAX_PAGES: usize = 20;

/// What the server calls malware among the versions that a command line accepts. There is a fault if the server
/// cannot be reached in time, its answer is not one of OSV, or has too many pages.
pub fn ask(
    endpoint: &str,
    (ecosystem, name, version): (Ecosystem, &str, &Version),
    end: Instant,
    cancel: &Cancel,
) -> Found {
    let mut question = json!({"package": {"ecosystem": ecosystem.name(), "name": name}});
    if let Version::Exact(version) = version {
        question["version"] = version.as_str().into();
    }
    let end = end.min(Instant::now() + TIMEOUT);
    let mut found = Found::default();
    for _ in 0..MAX_PAGES {
        let page = page(endpoint, &question, end, cancel);
        let (advisories, next) = match page {
            Ok(page) => page,
            Err(fault) => {
                found.fault = Some(fault);
                return found;
            }
        };
        for advisory in advisories {
            if let Advisory::Malware { id, packages } = advisory {
                add(&mut found.malware, (ecosystem, name, version), id, packages);
            }
        }
        let Some(next) = next else {
            return found;
        };
        question["page_token"] = next.into();
    }
    found.fault = Some(format!(
        "the answer of the OSV server has more than {MAX_PAGES} pages"
    ));
    found
}

/// One page of an answer, and the token of the next one.
fn page(
    endpoint: &str,
    question: &Value,
    end: Instant,
    cancel: &Cancel,
) -> Result<(Vec<Advisory>, Option<String>), String> {
    let timeout = end.saturating_duration_since(Instant::now());
    if timeout.is_zero() {
        return Err("the OSV server takes too long".to_owned());
    }
    let request = Fetch {
        uri: &address(endpoint),
        body: Some(&question.to_string()),
        offline: false,
        timeout,
        max: MAX_FILE,
    };
    read_page(&request.run(cancel)?)
}

/// The advisories on a page, and the token of the next one. A page may have nothing but that.
fn read_page(text: &[u8]) -> Result<(Vec<Advisory>, Option<String>), String> {
    let mut page: Value = crate::json::from_slice(text).map_err(|error| error.to_string())?;
    let token = page
        .as_object_mut()
        .and_then(|page| page.shift_remove("next_page_token"));
    let next = match token {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token).filter(|token| !token.is_empty()),
        Some(_) => return Err("`next_page_token` is not a string".to_owned()),
    };
    Ok((read(&page)?, next))
}

/// Adds what an advisory says of the package.
fn add(
    all: &mut Vec<Malware>,
    (ecosystem, name, version): (Ecosystem, &str, &Version),
    id: String,
    packages: Vec<Malware>,
) {
    let is_it = |it: &Malware| it.ecosystem == ecosystem.name() && it.name == name;
    let before = all.len();
    if *version == Version::Open {
        all.extend(packages.into_iter().filter(is_it));
    }
    // The server has compared the version, or does not say which versions it means.
    if all.len() == before {
        all.push(Malware {
            ecosystem: ecosystem.name(),
            name: name.to_owned(),
            id,
            versions: versions::ALL.to_owned(),
        });
    }
}

/// The address of the method `query`: the setting, or what it has below a server.
fn address(endpoint: &str) -> String {
    let bare = endpoint.trim().trim_end_matches('/');
    let server = bare.split_once("://").map_or(bare, |(_, server)| server);
    if server.contains('/') {
        bare.to_owned()
    } else {
        format!("{bare}/v1/query")
    }
}

#[cfg(test)]
mod tests;
