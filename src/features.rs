//! The Cargo features: what this build contains and what it leaves out.
//!
//! | feature | contains |
//! |---|---|
//! | `acp` | the Agent Client Protocol: the command `gosling acp` |
//! | `anthropic` | the provider `anthropic` and its wire protocol |
//! | `chat` | the commands `gosling chat`, `gosling call` and `gosling extensions`, and with `recipes` `gosling run` |
//! | `check` | the conformance checks of MCP servers: the command `gosling check`, and `POST /agent/check_extension` |
//! | `containers` | extensions in Docker or Podman |
//! | `deeplinks` | `goose://` links: the command `gosling deeplink`, and their installation through the API |
//! | `demo` | the command `gosling demo` and the builtin server `demo` |
//! | `desktop` | what the pages of Goose Desktop use besides chat and history: prompts, custom providers, diagnostics, the configuration's backups, user interfaces of MCP servers |
//! | `developer` | the builtin server `developer`: shell, editor, code analysis, screen |
//! | `google` | the provider `google` and its wire protocol |
//! | `inline-python` | extensions that are Python code in the configuration |
//! | `manual` | the pages that `gosling help TOPIC` prints, and the OpenAPI document |
//! | `memory` | the builtin server `memory` |
//! | `metrics` | `GET /metrics` |
//! | `ollama` | the provider `ollama` and its wire protocol |
//! | `pinning` | the comparison of the tools of a server with those that it had first |
//! | `recipes` | recipes: templates, links, folders, slash commands, runs, the command `gosling recipe`; prompts of the user |
//! | `schedules` | recipes that run at set times, and the command `gosling schedule`; needs `recipes` |
//! | `screening` | advisories about packages, and a list of allowed extensions; `gosling advisories` |
//! | `scripted` | the provider `scripted`, which answers from a file |
//! | `tls` | `https` to models and MCP servers, and `gosling agent --tls` |
//! | `todo` | the builtin server `todo`, and its checklist in the requests to the model |
//!
//! All are on by default. Those of the builtin servers enable the feature `builtin`, which contains what all of
//! them need: the command `gosling mcp`, and connections inside the process. The library modules
//! [`mcp::server`](crate::mcp::server), [`mcp_endpoint`](crate::api::mcp_endpoint), [`demo`](crate::builtin::demo)
//! and [`todo`](crate::builtin::todo) are in every build; the linker drops what the program does not use.
//!
//! A request for something that the build leaves out fails like a request for something unknown, and the error
//! ends with [`hint`].

macro_rules! features {
    ($($name:literal)*) => {
        /// The features with whether this build has them, in alphabetical order.
        pub const FEATURES: &[(&str, bool)] = &[$(($name, cfg!(feature = $name))),*];
    };
}

features! {
    "acp"
    "anthropic"
    "chat"
    "check"
    "containers"
    "deeplinks"
    "demo"
    "desktop"
    "developer"
    "google"
    "inline-python"
    "manual"
    "memory"
    "metrics"
    "ollama"
    "pinning"
    "recipes"
    "schedules"
    "screening"
    "scripted"
    "tls"
    "todo"
}

/// Whether `name` is a feature that this build leaves out.
pub fn is_left_out(name: &str) -> bool {
    FEATURES.contains(&(name, false))
}

/// The end of an error for something that the build leaves out with the feature `name`, from the semicolon
/// on; empty if the build has the feature or there is none of this name.
pub fn hint(name: &str) -> String {
    if is_left_out(name) {
        format!("; this gosling was built without it, `cargo build --features {name}` adds it")
    } else {
        String::new()
    }
}

/// The features of the builtin servers, which have their names.
pub const SERVERS: &[&str] = &["demo", "developer", "memory", "todo"];

/// The features of the providers, which have their names.
pub const PROVIDERS: &[&str] = &["anthropic", "google", "ollama", "scripted"];

/// As [`hint`], if `name` is one of `features`; empty for all other names.
pub fn hint_among(features: &[&str], name: &str) -> String {
    if features.contains(&name) {
        hint(name)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_manifest_is_listed() {
        let manifest = include_str!("../Cargo.toml");
        let default = manifest
            .lines()
            .find_map(|line| line.strip_prefix("default = "))
            .expect("the default features are on one line");
        let listed: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
        assert_eq!(default, format!("{listed:?}"));
    }

    #[test]
    fn only_what_is_left_out_has_a_hint() {
        assert_eq!(hint("nosuch"), "");
        for (name, is_built) in FEATURES {
            assert_eq!(hint(name).is_empty(), *is_built, "{name}");
        }
        assert_eq!(hint_among(SERVERS, "tls"), "");
        for name in SERVERS.iter().chain(PROVIDERS) {
            assert!(FEATURES.iter().any(|(feature, _)| feature == name));
        }
    }
}
