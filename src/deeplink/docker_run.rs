//! What a link may ask `docker` for.

use crate::extension::wrappers::{Given, Meaning};

/// Adds why a link may not start `docker` with these arguments.
pub(super) fn check(words: &[&str], blocked: &mut Vec<String>) {
    if !matches!(
        words,
        ["run", ..] | ["container", "run", ..] | ["mcp", "gateway", "run", ..]
    ) {
        blocked.push("a link may start docker only as `docker run`".to_owned());
    }
}

/// Adds what the options of `docker run` forbid, and what the user has to confirm. What no line allows here has to
/// be confirmed. `env` are the variables that the link gives the extension.
pub(super) fn options(
    options: &[Given<'_>],
    env: &[String],
    blocked: &mut Vec<String>,
    confirm: &mut Vec<String>,
) {
    for option in options {
        let (name, value) = (option.name, option.value.unwrap_or_default());
        match name {
            "e" | "env" if !value.contains('=') && !env.iter().any(|name| name == value) => confirm
                .push(format!(
                    "the container gets the variable {value:?} of this machine, which the link does not name as `env`"
                )),
            _ if option.meaning == Meaning::Harmless => {}
            "privileged" if value.eq_ignore_ascii_case("false") => {}
            _ if option.meaning == Meaning::Power => blocked.push(format!(
                "docker run --{name} gives the container power over this machine"
            )),
            "pid" if value == "host" => blocked.push(
                "docker run --pid=host shows the container the processes of this machine"
                    .to_owned(),
            ),
            "v" | "volume" => volume(value, blocked, confirm),
            "mount" => mount(value, blocked, confirm),
            "net" | "network" if matches!(value, "none" | "bridge" | "default") => {}
            _ => confirm.push(format!(
                "docker run with {:?} gives the container something of this machine or of another container",
                option.word
            )),
        }
    }
}

/// `SOURCE:TARGET[:OPTIONS]`, where a source without a slash is a volume of docker. Without a source, the volume is a
/// new one. On Windows a target may begin with a drive, elsewhere that is the name of a volume.
fn volume(value: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    let mut chars = value.chars();
    let windows = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('\\' | '/'));
    let after_drive = if windows { 2 } else { 0 };
    match value[after_drive..].find(':') {
        Some(at) => source(&value[..after_drive + at], blocked, confirm),
        None if windows => source(&value[..1], blocked, confirm),
        None => {}
    }
}

/// `type=bind,source=SOURCE,target=TARGET`, a line of CSV.
fn mount(value: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    for field in value.split(',') {
        let field = field.trim().trim_matches('"');
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        let value = value.trim_matches('"');
        match name.to_ascii_lowercase().as_str() {
            "source" | "src" => source(value, blocked, confirm),
            "target" | "dst" | "destination" | "readonly" | "ro" => {}
            "type" if matches!(value, "bind" | "volume" | "tmpfs") => {}
            // A driver can mount any part of this machine.
            "volume-opt" | "volume-driver" => blocked.push(format!(
                "docker run may not mount a volume with the option {field:?}"
            )),
            _ => confirm.push(format!(
                "{field:?} in a mount of docker run is not understood"
            )),
        }
    }
}

/// A part of this machine that the container sees.
fn source(path: &str, blocked: &mut Vec<String>, confirm: &mut Vec<String>) {
    let path = path.replace('\\', "/");
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    let has_parent = parts.contains(&"..");
    let is_drive = |part: &str| part.len() == 2 && part.ends_with(':');
    let is_root = parts.is_empty() || (parts.len() == 1 && is_drive(parts[0]));
    let is_absolute = path.starts_with('/') || parts.first().is_some_and(|part| is_drive(part));
    // The named pipes of Windows are sockets.
    let is_system = is_absolute
        && matches!(
            parts.as_slice(),
            [
                "etc" | "proc" | "sys" | "dev" | "run" | "boot" | "root" | "pipe",
                ..
            ] | ["var"]
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

#[cfg(test)]
mod tests;
