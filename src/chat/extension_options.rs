//! Parses the options `--with-extension`, `--with-streamable-http` and `--with-builtin`.

use crate::builtin;
use crate::command_line::Failure;
use crate::extension::{ExtensionConfig, config};
use crate::features;
use crate::text::split_command;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Parses `[NAME=VALUE…] CMD [ARGS…]`, with shell quotes.
pub(super) fn command(line: &str) -> Result<ExtensionConfig, Failure> {
    let usage = |reason: &str| Failure::Usage(format!("--with-extension: {reason}"));
    let words = split_command::split(line).map_err(|reason| usage(&reason))?;
    let variables = words.iter().map_while(|word| variable(word));
    let envs: Map<String, Value> = variables
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let begin = words.iter().take_while(|word| variable(word).is_some());
    let (cmd, args) = words[begin.count()..]
        .split_first()
        .ok_or_else(|| usage("no command"))?;
    read(json!({
        "type": "stdio", "name": name_of(cmd, args), "cmd": cmd, "args": args, "envs": envs,
    }))
}

/// A Streamable HTTP server, which is named after its host.
pub(super) fn address(url: &str) -> Result<ExtensionConfig, Failure> {
    let host = match url.split_once("://") {
        Some(("http" | "https", rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        _ => "",
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() {
        let reason =
            format!("--with-streamable-http: {url:?} is not an http:// or https:// address");
        return Err(Failure::Usage(reason));
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    read(json!({"type": "streamable_http", "name": name, "uri": url}))
}

/// Builtin servers.
pub(super) fn builtins(names: &str) -> Result<Vec<ExtensionConfig>, Failure> {
    let names = names.split(',').map(str::trim);
    let named = names.filter(|name| !name.is_empty()).map(|name| {
        if !builtin::has(name) {
            let known = match &*builtin::names() {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            let hint = features::hint_among(features::SERVERS, name);
            return Err(Failure::Usage(format!(
                "--with-builtin: there is no {name:?}; there is {known}{hint}"
            )));
        }
        read(json!({"type": "builtin", "name": name, "bundled": true}))
    });
    named.collect()
}

/// Renames extensions whose keys would be equal.
pub(super) fn make_names_unique(configs: &mut [ExtensionConfig]) {
    let mut keys = HashSet::new();
    for config in configs {
        let name = config.name().to_owned();
        let mut free = name.clone();
        let mut n = 1;
        while !keys.insert(config::key(&free)) {
            n += 1;
            free = format!("{name}{n}");
        }
        if free != name {
            match config {
                ExtensionConfig::Stdio(config) => config.name = free,
                ExtensionConfig::StreamableHttp(config) => config.name = free,
                _ => {}
            }
        }
    }
}

fn read(config: Value) -> Result<ExtensionConfig, Failure> {
    ExtensionConfig::from_value(config).map_err(Failure::Usage)
}

/// Parses `NAME=VALUE`.
fn variable(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = name.chars().all(fine) && name.starts_with(|c: char| !c.is_ascii_digit());
    (named && !name.is_empty()).then_some((name, value))
}

/// The name of a stdio server: that of its program, or of the package that a package runner runs.
fn name_of(cmd: &str, args: &[String]) -> String {
    let stem = |path: &str| {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str());
        stem.unwrap_or(path).to_owned()
    };
    let name = match stem(cmd).as_str() {
        "npx" | "uvx" | "bunx" => args
            .iter()
            .find(|arg| !arg.starts_with('-'))
            .map(|package| package.rsplit('/').next().unwrap_or(package))
            .map(|package| package.split('@').next().unwrap_or(package).to_owned()),
        _ => None,
    };
    let name = name.unwrap_or_else(|| stem(cmd));
    if config::key(&name).is_empty() {
        "extension".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gosling_core::builtin::BuiltinServer;
    use gosling_core::part::{self, Part};

    fn stdio(line: &str) -> (String, String, Vec<String>, Vec<(String, String)>) {
        match command(line) {
            Ok(ExtensionConfig::Stdio(config)) => {
                let envs = config.envs.iter();
                let envs = envs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
                (config.name, config.cmd, config.args, envs)
            }
            Ok(other) => panic!("{line}: {other:?}"),
            Err(Failure::Usage(reason) | Failure::Failed(reason)) => panic!("{line}: {reason}"),
            Err(_) => panic!("{line}"),
        }
    }

    #[test]
    fn variables_come_before_the_command() {
        let (name, cmd, args, envs) = stdio("A=1 _B='two words' /bin/tool.py X=1 \"a b\"");
        assert_eq!((name.as_str(), cmd.as_str()), ("tool", "/bin/tool.py"));
        assert_eq!(args, ["X=1", "a b"]);
        let expected = [("A", "1"), ("_B", "two words")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(envs, expected);
        for bad in ["", "  ", "A=1", "'open"] {
            assert!(matches!(command(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn a_server_is_named_after_its_program_or_package() {
        for (line, name) in [
            (
                "npx -y @modelcontextprotocol/server-memory",
                "server-memory",
            ),
            ("uvx mcp-server-time@1.0 --x", "mcp-server-time"),
            ("npx", "npx"),
            ("1=2", "1=2"),
            ("/", "/"),
        ] {
            assert_eq!(stdio(line).0, name, "{line}");
        }
        for (url, name) in [
            ("http://localhost:8000/mcp", "localhost"),
            ("https://user:pw@mcp.example/x?y", "mcp.example"),
        ] {
            assert_eq!(
                address(url).ok().map(|c| c.name().to_owned()),
                Some(name.to_owned())
            );
        }
        for bad in ["", "localhost:80", "ftp://x/", "http:///x"] {
            assert!(matches!(address(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn two_of_the_same_name_are_told_apart() {
        let mut all: Vec<_> = ["/a/tool", "/b/tool", "tool2"]
            .into_iter()
            .filter_map(|line| command(line).ok())
            .collect();
        make_names_unique(&mut all);
        let names: Vec<_> = all.iter().map(ExtensionConfig::name).collect();
        assert_eq!(names, ["tool", "tool2", "tool22"]);
    }

    #[test]
    fn only_what_is_shipped_is_builtin() {
        const fn server(name: &'static str) -> BuiltinServer {
            BuiltinServer {
                name,
                connect: |_| panic!("it is not started"),
            }
        }
        const PART: Part = Part {
            servers: &[server("demo"), server("developer")],
            ..Part::new("builtin")
        };
        part::set(&[&PART]);
        let configs = builtins(" demo ,developer").ok().unwrap_or_default();
        assert_eq!(configs.len(), 2);
        assert!(matches!(builtins("demo,nosuch"), Err(Failure::Usage(_))));
    }
}
