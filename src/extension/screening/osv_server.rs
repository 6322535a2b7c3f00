//! Questions to an OSV server: which advisories name a package.

use super::advisory::{Advisory, MAX_FILE, Malware, read_all};
use super::versions;
use crate::extension::packages::{Ecosystem, Version};
use crate::outbound::Fetch;
use crate::sys::cancel::Cancel;
use serde_json::json;
use std::time::Duration;

/// How long one question may take.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// What the server calls malware among the versions that a command line accepts.
///
/// # Errors
/// The server cannot be reached in time, or its answer is not one of OSV.
pub fn ask(
    endpoint: &str,
    (ecosystem, name, version): (Ecosystem, &str, &Version),
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Vec<Malware>, String> {
    let mut question = json!({"package": {"ecosystem": ecosystem.name(), "name": name}});
    if let Version::Exact(version) = version {
        question["version"] = version.as_str().into();
    }
    let request = Fetch {
        uri: &address(endpoint),
        body: Some(&question.to_string()),
        offline: false,
        timeout: timeout.min(TIMEOUT),
        max: MAX_FILE,
    };
    let advisories = read_all(&request.run(cancel)?)?;
    let mut all = Vec::new();
    for advisory in advisories {
        let Advisory::Malware { id, packages } = advisory else {
            continue;
        };
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
    Ok(all)
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
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_a_server_or_the_method() {
        for (endpoint, expected) in [
            ("https://api.osv.dev", "https://api.osv.dev/v1/query"),
            (" https://api.osv.dev/ ", "https://api.osv.dev/v1/query"),
            (
                "https://api.osv.dev/v1/query",
                "https://api.osv.dev/v1/query",
            ),
            ("http://127.0.0.1:80/osv", "http://127.0.0.1:80/osv"),
        ] {
            assert_eq!(address(endpoint), expected);
        }
    }
}
