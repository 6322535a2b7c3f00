//! The command: prints what a service needs, made for this program.

use crate::command_line::{Command, Failure, failed, print, text};
use crate::shard::MAX_SERVERS;
use lexopt::prelude::*;
use std::env;

pub(crate) const COMMAND: Command = Command {
    name: "service",
    summary: "units, manifests and proxies for the server",
    help: HELP,
    run,
};

const HELP: &str = "\
usage: gosling service KIND [--socket | --shards NUMBER]

Prints what runs the server as a service, or stands before it:

  systemd      the unit for systemd, which runs this program as a user of its
               own with nothing but its state folder, tells it when the server
               is ready, and ends a server that hangs
  container    the build file of an image with nothing but gosling
  kubernetes   a StatefulSet with probes, a volume and a read-only root, and its
               Service
  nginx        the part of nginx's configuration for a proxy
  haproxy      the same for HAProxy

What to do with it: `gosling help service`.

options:
  --socket     the unit with sockets that systemd opens for the server
  --shards NUMBER
               HAProxy before so many servers that share the sessions, or a
               pod for each of them (`gosling help scale`)
  -h, --help   show this
";

/// What is printed as it is, by its name.
const FILES: [(&str, &str); 4] = [
    ("container", include_str!("printed/Containerfile")),
    ("kubernetes", KUBERNETES),
    ("nginx", include_str!("printed/nginx.conf")),
    ("haproxy", include_str!("printed/haproxy.cfg")),
];

const KUBERNETES: &str = include_str!("printed/kubernetes.yaml");
/// What several servers have in the place of these lines.
const KUBERNETES_SHARDS: [(&str, &str); 4] = [
    (
        "  selector: {app.kubernetes.io/name: gosling}\n  ports:\n",
        "  selector: {app.kubernetes.io/name: gosling}\n  # Each pod has a name, also while it is not ready.\n  \
         clusterIP: None\n  publishNotReadyAddresses: true\n  ports:\n",
    ),
    (
        "  # Sessions are files of one server: more replicas are more servers.\n  replicas: 1\n",
        "  # As many as GOOSE_SHARD says, and HAProxy.\n  replicas: @shards@\n",
    ),
    (
        "terminationGracePeriodSeconds: 30\n",
        "terminationGracePeriodSeconds: 60\n",
    ),
    (
        "            - {name: GOOSE_LOG_FORMAT, value: json}\n",
        "            - {name: GOOSE_LOG_FORMAT, value: json}\n            - {name: GOOSE_DRAIN_SECONDS, value: \"45\"}\n            \
         # The addresses of HAProxy's pods.\n            - {name: GOOSE_TRUSTED_PROXIES, value: 10.0.0.0/8}\n            \
         # Kubernetes from 1.28 on.\n            - name: SHARD\n              valueFrom: {fieldRef: {fieldPath: \
         \"metadata.labels['apps.kubernetes.io/pod-index']\"}}\n            - {name: GOOSE_SHARD, value: \
         $(SHARD)/@shards@}\n",
    ),
];

/// The unit; `@program@` stands for the path of this program.
const UNIT: &str = include_str!("printed/gosling.service");
const SOCKET: &str = include_str!("printed/gosling.socket");

/// HAProxy before several servers, and the part of each; `@shards@`, `@shard@` and `@port@` stand for numbers.
const SHARDS: &str = include_str!("printed/haproxy_shards.cfg");
const SHARD: &str = include_str!("printed/haproxy_shard.cfg");
/// The port of the first server in it.
const FIRST_PORT: u32 = 3_000;

fn run(mut parser: lexopt::Parser, _: Option<String>) -> Result<(), Failure> {
    let (mut kind, mut socket, mut shards) = (None, false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("socket") => socket = true,
            Long("shards") => shards = Some(parse_shards(&text(parser.value()?)?)?),
            Value(value) if kind.is_none() => kind = Some(text(value)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let kind = kind.unwrap_or_default();
    if let Some(shards) = shards {
        return match &*kind {
            "haproxy" if !socket => print(&haproxy(shards)),
            "kubernetes" if !socket => print(&kubernetes(shards)),
            _ => Err(Failure::Usage(
                "`--shards` is for `haproxy` and `kubernetes`".to_owned(),
            )),
        };
    }
    if kind == "systemd" {
        return if socket { print(SOCKET) } else { unit() };
    }
    let file = FILES.iter().find(|(name, _)| *name == kind && !socket);
    let Some((_, text)) = file else {
        let wrong = "name what to print: `systemd` (with or without --socket), `container`, `kubernetes`, `nginx` or \
                     `haproxy`";
        return Err(Failure::Usage(wrong.to_owned()));
    };
    print(text)
}

fn parse_shards(text: &str) -> Result<u32, Failure> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=MAX_SERVERS).contains(number));
    number.ok_or_else(|| Failure::Usage(format!("--shards: {text:?} is not 1 to {MAX_SERVERS}")))
}

/// HAProxy's configuration for so many servers.
fn haproxy(shards: u32) -> String {
    let mut text = SHARDS.replace("@shards@", &shards.to_string());
    for shard in 0..shards {
        let port = FIRST_PORT + shard;
        let part = SHARD.replace("@shard@", &shard.to_string());
        text.push_str(&part.replace("@port@", &port.to_string()));
    }
    text
}

/// The manifest with a pod for each of so many servers, which HAProxy finds by their names.
fn kubernetes(shards: u32) -> String {
    let mut text = KUBERNETES.to_owned();
    for (one, several) in KUBERNETES_SHARDS {
        text = text.replace(one, &several.replace("@shards@", &shards.to_string()));
    }
    text
}

fn unit() -> Result<(), Failure> {
    let program = env::current_exe().map_err(failed("no path of this program"))?;
    let program = program
        .to_str()
        .ok_or_else(|| Failure::Failed(format!("the path {} is not Unicode", program.display())))?;
    print(&UNIT.replace("@program@", &quoted(program)))
}

/// A path as systemd reads one in a command line: specifiers, variables and quotes mean nothing.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for c in path.chars() {
        match c {
            '%' | '$' => text.extend([c, c]),
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_quoted_for_systemd() {
        assert_eq!(quoted("/usr/bin/gosling"), "/usr/bin/gosling");
        assert_eq!(quoted("/a b/%h/$x\"\\"), r#""/a b/%%h/$$x\"\\""#);
        assert_eq!(quoted("/a\nExecStart=x"), "\"/a\\nExecStart=x\"");
    }
}
