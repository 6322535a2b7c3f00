//! Extensions in a container: `docker exec` or `podman exec` runs their command in a running container. CORE
//! §8.1, §10.
//!
//! This part starts nothing: it builds the command line and explains how the command ended.
#![forbid(unsafe_code)]

use gosling_core::extension::container::{Inside, Runtime};
use gosling_core::extension::environment::Environment;
use gosling_core::extension::{ExtensionConfig, program_lookup};
use gosling_core::part::Part;
use gosling_core::store::Config;
use gosling_core::store::settings::{self, Setting};
use gosling_core::text::printable;
use gosling_shared::find_program;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What containers add to gosling.
pub const PART: Part = Part {
    containers: Some(|config| Arc::new(Settings::read(config))),
    ..Part::new("containers")
};

/// The longest name of a container, in bytes.
const MAX_NAME: usize = 255;
/// The container runtimes, in order of preference.
const RUNTIMES: [&str; 2] = ["docker", "podman"];
/// The value of `GOOSE_CONTAINER_WORKDIR` that stands for the container's own working directory.
const CONTAINER_OWN_DIR: &str = ".";

/// Variables that an extension in a container may not set, because they would change what the runtime's
/// client does: the client gets the variables in its own environment, so that their values do not appear in
/// its arguments, which every user of the machine can read. A name that ends in `*` matches every variable
/// with that prefix.
const RESERVED_VARIABLES: [&str; 11] = [
    "DOCKER_*",
    "CONTAINER_*",
    "CONTAINERS_*",
    // Set by rootless podman for itself.
    "_CONTAINERS_*",
    "PODMAN_*",
    "BUILDAH_*",
    // Podman's storage options, which can name programs to run.
    "STORAGE_*",
    "SSH_*",
    "XDG_*",
    "HOME",
    "TMPDIR",
];

/// The settings to reach containers.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// `GOOSE_CONTAINER_RUNTIME`: the runtime's client, by name or absolute path.
    runtime: Option<String>,
    /// `GOOSE_CONTAINER_WORKDIR`: the working directory inside the container. If absent the session's directory, if
    /// `.` the container's own.
    working_dir: Option<String>,
    /// `GOOSE_CONTAINER_GOSLING`: the path of gosling inside the container, for builtin extensions.
    gosling: Option<String>,
    /// Why one of these settings cannot be used; nothing starts in a container then.
    fault: Option<String>,
}

impl Settings {
    fn read(config: &Config) -> Self {
        let mut fault = None;
        let mut text = |setting: &Setting<'_>| setting.text_or_fault(config, &mut fault);
        Settings {
            runtime: text(&settings::CONTAINER_RUNTIME),
            working_dir: text(&settings::CONTAINER_WORKDIR),
            gosling: text(&settings::CONTAINER_GOSLING),
            fault,
        }
    }

    fn command(&self, container: &str, session_dir: &Path) -> Result<InContainer, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let session_dir = || {
            let dir = session_dir.to_str().map(str::to_owned);
            dir.ok_or("the session's working directory is not valid Unicode, so it cannot be used in a container")
        };
        let working_dir = match self.working_dir.as_deref().map(str::trim) {
            None | Some("") => Some(session_dir()?),
            Some(CONTAINER_OWN_DIR) => None,
            Some(dir) if dir.starts_with('/') => Some(dir.to_owned()),
            Some(dir) => {
                return Err(format!(
                    "the setting GOOSE_CONTAINER_WORKDIR is {dir:?}; it must be an absolute path inside the \
                     container, or `.` for the container's own working directory"
                ));
            }
        };
        self.check_name(container)?;
        Ok(InContainer {
            container: container.to_owned(),
            runtime: self.runtime.clone(),
            working_dir,
            gosling: self.gosling.clone(),
        })
    }
}

impl Runtime for Settings {
    fn check_name(&self, name: &str) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric();
        let fits = name.len() <= MAX_NAME
            && name.starts_with(plain)
            && name.chars().all(|c| plain(c) || "_.-".contains(c));
        if fits {
            return Ok(());
        }
        Err(format!(
            "{:?} cannot be the name or id of a container: those are at most {MAX_NAME} letters, digits, \
             `_`, `.` and `-`, the first a letter or a digit",
            printable(name, 100)
        ))
    }

    fn inside(&self, container: &str, session_dir: &Path) -> Result<Box<dyn Inside>, String> {
        let command = self.command(container, session_dir)?;
        Ok(Box::new(command))
    }
}

/// How to run a command in a container.
#[derive(Debug, PartialEq, Eq)]
struct InContainer {
    /// The name or id of a running container. It is checked, so that it cannot be read as an option or a path.
    container: String,
    runtime: Option<String>,
    /// The working directory inside; if absent the container's own.
    working_dir: Option<String>,
    gosling: Option<String>,
}

impl Inside for InContainer {
    fn container(&self) -> &str {
        &self.container
    }

    fn working_dir(&self) -> Option<&str> {
        self.working_dir.as_deref()
    }

    /// The container runtime's client: the one of the setting, else docker or podman, looked up on PATH and
    /// then in the usual directories.
    fn client(&self) -> Result<PathBuf, String> {
        let places = [program_lookup::on_path(), program_lookup::usual_folders()];
        runtime(self.runtime.as_deref(), &places)
    }

    fn builtin(&self, name: &str) -> (String, Vec<String>) {
        let gosling = self.gosling.as_deref().unwrap_or("gosling");
        (gosling.to_owned(), vec!["mcp".to_owned(), name.to_owned()])
    }

    fn arguments(
        &self,
        environment: &Environment,
        cmd: &str,
        args: &[String],
    ) -> Result<Vec<String>, String> {
        if cmd.trim().is_empty() {
            return Err("`cmd` is empty; it names the program to run".to_owned());
        }
        let mut words = vec!["exec".to_owned(), "-i".to_owned()];
        if let Some(dir) = &self.working_dir {
            words.extend(["-w".to_owned(), dir.clone()]);
        }
        let names = environment.variables().map(|(name, _)| name);
        for name in names.chain(["AGENT_SESSION_ID"]) {
            check(name)?;
            words.extend(["-e".to_owned(), name.to_owned()]);
        }
        words.extend([self.container.clone(), cmd.to_owned()]);
        words.extend_from_slice(args);
        Ok(words)
    }

    fn advice(&self, config: &ExtensionConfig, status: &str, stderr: &str) -> String {
        let container = &self.container;
        let stderr = stderr.to_ascii_lowercase();
        let absent = ["no such container", "no container with", "not running"];
        if absent.iter().any(|words| stderr.contains(words)) {
            return format!(
                "; it runs in the container {container}, which must exist and be running: see \
                 `docker ps -a` or `podman ps -a`"
            );
        }
        let started = !matches!(status, "exit status: 126" | "exit status: 127");
        if started {
            return format!(" (in the container {container})");
        }
        let needed = match config {
            ExtensionConfig::Stdio(stdio) => format!("the command {:?}", stdio.cmd),
            _ => format!(
                "gosling itself as {:?} (GOOSE_CONTAINER_GOSLING sets another path)",
                self.builtin("").0
            ),
        };
        let place = match &self.working_dir {
            Some(dir) => format!(
                " and the directory {dir:?} (GOOSE_CONTAINER_WORKDIR sets another, `.` for its own)"
            ),
            None => String::new(),
        };
        format!(
            "; the container {container} needs {needed}{place} inside; the output of the container \
             runtime is in the log"
        )
    }
}

/// Rejects a variable that would change what the client does.
fn check(name: &str) -> Result<(), String> {
    let hit = |pattern: &&&str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == **pattern,
    };
    if RESERVED_VARIABLES.iter().find(hit).is_some() {
        return Err(format!(
            "the environment variable `{name}` would change what the client of the container runtime \
             does, so an extension in a container may not set it; set it when the container is created, or \
             for the command inside with `cmd: env`"
        ));
    }
    Ok(())
}

fn runtime(wanted: Option<&str>, places: &[Vec<PathBuf>; 2]) -> Result<PathBuf, String> {
    // A relative path would be another program in each project.
    let find = |name: &str, folders: &[PathBuf]| find_program(name, Path::new("/"), folders);
    if let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) {
        let found = find(wanted, &places.concat());
        return found.map_err(|reason| format!("the setting GOOSE_CONTAINER_RUNTIME: {reason}"));
    }
    let mut found = places
        .iter()
        .flat_map(|folders| RUNTIMES.iter().filter_map(|name| find(name, folders).ok()));
    found.next().ok_or_else(|| {
        "it runs in a container, but neither `docker` nor `podman` was found; install one of \
         them, or name it in the setting GOOSE_CONTAINER_RUNTIME"
            .to_owned()
    })
}

#[cfg(test)]
mod tests;
