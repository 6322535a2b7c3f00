//! What a link may ask `docker` for.

/// Short options of `docker run` without a value; several may stand in one argument.
const FLAGS: &str = "itdPq";

/// Long options of `docker run` without a value, besides `--privileged`.
const LONG_FLAGS: [&str; 14] = [
    "detach",
    "disable-content-trust",
    "help",
    "init",
    "interactive",
    "no-healthcheck",
    "oom-kill-disable",
    "publish-all",
    "quiet",
    "read-only",
    "rm",
    "sig-proxy",
    "tty",
    "use-api-socket",
];

/// Options that give the container power over this machine.
const POWERS: [&str; 9] = [
    "cap-add",
    "cgroup-parent",
    "cgroupns",
    "device",
    "device-cgroup-rule",
    "security-opt",
    "userns",
    "use-api-socket",
    "volumes-from",
];

/// Options that share something with this machine if their value is `host`.
const SHARED: [&str; 4] = ["ipc", "net", "network", "uts"];

/// Adds why a link may not start `docker` with these arguments, and what the user has to confirm.
pub(super) fn check(args: &[String], blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let options = match words.as_slice() {
        ["run", options @ ..] | ["container", "run", options @ ..] => options,
        ["mcp", "gateway", "run", ..] => return,
        _ => {
            blocked.push("a link may start docker only as `docker run`".to_owned());
            return;
        }
    };
    for (name, value) in read(options) {
        let value = value.unwrap_or_default();
        match name {
            "privileged" if !value.eq_ignore_ascii_case("false") => blocked.push(
                "docker run --privileged gives the container all power over this machine"
                    .to_owned(),
            ),
            "pid" if value == "host" => blocked.push(
                "docker run --pid=host shows the container the processes of this machine"
                    .to_owned(),
            ),
            "v" | "volume" => volume(value, blocked, confirm),
            "mount" => mount(value, blocked, confirm),
            "env-file" => confirm.push(format!(
                "docker gives the variables in the file {value:?} to the container"
            )),
            _ if POWERS.contains(&name) => blocked.push(format!(
                "docker run --{name} gives the container power over this machine"
            )),
            _ if SHARED.contains(&name) && value == "host" => confirm.push(format!(
                "docker run --{name}=host shares this machine's {name} with the container"
            )),
            _ => {}
        }
    }
}

/// The options before the image, without dashes, and their values.
fn read<'a>(args: &[&'a str]) -> Vec<(&'a str, Option<&'a str>)> {
    let mut found = Vec::new();
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        if !arg.starts_with('-') || arg == "--" || arg == "-" {
            break;
        }
        if let Some(long) = arg.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => found.push((name, Some(value))),
                None if long == "privileged" || LONG_FLAGS.contains(&long) => {
                    found.push((long, None));
                }
                None => found.push((long, args.next())),
            }
            continue;
        }
        // Flags, then at most one option with a value, which is the rest or the next argument.
        let cluster = &arg[1..];
        let Some(at) = cluster.find(|c| !FLAGS.contains(c)) else {
            continue;
        };
        let length = cluster[at..].chars().next().map_or(1, char::len_utf8);
        let rest = cluster[at + length..].trim_start_matches('=');
        let name = &cluster[at..at + length];
        let value = if rest.is_empty() {
            args.next()
        } else {
            Some(rest)
        };
        found.push((name, value));
    }
    found
}

/// `SOURCE:TARGET[:OPTIONS]`, where a source without a slash is a volume of docker.
fn volume(value: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    let mut chars = value.chars();
    let windows = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('\\' | '/'));
    let after_drive = if windows { 2 } else { 0 };
    if let Some(at) = value[after_drive..].find(':') {
        source(&value[..after_drive + at], blocked, confirm);
    }
}

/// `type=bind,source=SOURCE,target=TARGET`, a line of CSV.
fn mount(value: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    for field in value.split(',') {
        let field = field.trim().trim_matches('"');
        let (name, value) = field.split_once('=').unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if matches!(name.as_str(), "source" | "src") {
            source(value.trim_matches('"'), blocked, confirm);
        }
    }
}

/// A part of this machine that the container sees.
fn source(path: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    let path = path.replace('\\', "/");
    if !path.contains(['/', '~', '.', '$']) {
        return;
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    let has_parent = parts.contains(&"..");
    let is_drive = |part: &str| part.len() == 2 && part.ends_with(':');
    let is_root = parts.is_empty() || (parts.len() == 1 && is_drive(parts[0]));
    let is_absolute = path.starts_with('/') || parts.first().is_some_and(|part| is_drive(part));
    let is_system = is_absolute
        && matches!(
            parts.as_slice(),
            ["etc" | "proc" | "sys" | "dev" | "run" | "boot" | "root", ..]
                | ["var"]
                | ["var", "run" | "lib", ..]
        );
    let is_socket = parts.last().is_some_and(|part| part.ends_with(".sock"));
    if (is_root && is_absolute) || has_parent || is_system || is_socket {
        blocked.push(format!(
            "docker run may not give {path:?} of this machine to the container"
        ));
    } else {
        confirm.push(format!(
            "the container can read and write {path:?} of this machine"
        ));
    }
}
