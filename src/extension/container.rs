//! Extensions in a container: their command is run by `docker exec` or `podman exec`, in a container that
//! runs already. CORE §8.1, §10.
//!
//! Nothing here starts anything: these are the words of a command, and what its end means.

use super::config::ExtensionConfig;
use super::environment::Environment;
use super::platform_extensions;
use super::program_lookup;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};

/// The longest name of a container.
const MAX_NAME: usize = 255;
/// What runs commands in containers, in the order in which it is looked for.
const RUNTIMES: [&str; 2] = ["docker", "podman"];
/// The setting of that name: the directory of the container's own.
const ITS_OWN: &str = ".";

/// Variables that an extension in a container may not have, as it would be the runtime's client that they
/// steer: the client hands its own variables on, so that no value is among its arguments, which everybody
/// on the machine can see. A name that ends in `*` stands for all that begin so.
const STEERS: [&str; 11] = [
    "DOCKER_*",
    "CONTAINER_*",
    "CONTAINERS_*",
    // Those that rootless podman tells itself.
    "_CONTAINERS_*",
    "PODMAN_*",
    "BUILDAH_*",
    // Podman's options of its storage, programs that it runs among them.
    "STORAGE_*",
    "SSH_*",
    "XDG_*",
    "HOME",
    "TMPDIR",
];

/// A container that runs already, by its name or id. It can be nothing else in a command: no option, no
/// path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container(String);

impl Container {
    /// The container of this name or id.
    ///
    /// # Errors
    /// When there can be none.
    pub fn named(name: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric();
        let fits = name.len() <= MAX_NAME
            && name.starts_with(plain)
            && name.chars().all(|c| plain(c) || "_.-".contains(c));
        match fits {
            true => Ok(Container(name.to_owned())),
            false => Err(format!(
                "{:?} cannot be the name or id of a container: those are at most {MAX_NAME} letters, \
                 digits, `_`, `.` and `-`, the first a letter or a digit",
                crate::text::printable(name, 100)
            )),
        }
    }

    /// Its name or id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// In which container the extensions of a session run, and how it is reached.
#[derive(Clone, Debug, Default)]
pub struct Containers {
    /// That of the session, as it is stored: it is read when an extension starts, so that one that makes no
    /// sense keeps extensions from starting, and never lets them start outside.
    pub session: Option<String>,
    /// The setting `GOOSE_CONTAINER_RUNTIME`: the runtime's client, by name or absolute path.
    pub runtime: Option<String>,
    /// The setting `GOOSE_CONTAINER_WORKDIR`: where extensions work, as seen from inside. The session's
    /// directory if absent, that of the container itself if it is `.`.
    pub working_dir: Option<String>,
    /// The setting `GOOSE_CONTAINER_GOSLING`: where this program is inside, for builtin extensions.
    pub gosling: Option<String>,
}

impl Containers {
    /// The way into the container that an extension is to run in, if there is one: its own, else the
    /// session's. Those that start no program have none, and `todo`, which only has the session's data.
    ///
    /// # Errors
    /// What is wrong with a name or a setting.
    pub(super) fn inside(
        &self,
        config: &ExtensionConfig,
        session_dir: &Path,
    ) -> Result<Option<Inside>, String> {
        let is_program = matches!(
            config,
            ExtensionConfig::Stdio(_)
                | ExtensionConfig::Builtin(_)
                | ExtensionConfig::Platform(_)
                | ExtensionConfig::InlinePython(_)
        );
        if !is_program || platform_extensions::only_has_data(config) {
            return Ok(None);
        }
        let name = match config.container() {
            Some(Value::String(name)) => name,
            None => match &self.session {
                Some(name) => name,
                None => return Ok(None),
            },
            Some(_) => {
                return Err("`container` is the name or id of a container, a text".to_owned());
            }
        };
        let session_dir = || {
            let dir = session_dir.to_str().map(str::to_owned);
            dir.ok_or("the session's working directory is not Unicode, so no container can have it")
        };
        let working_dir = match self.working_dir.as_deref().map(str::trim) {
            None | Some("") => Some(session_dir()?),
            Some(ITS_OWN) => None,
            Some(dir) if dir.starts_with('/') => Some(dir.to_owned()),
            Some(dir) => {
                return Err(format!(
                    "the setting GOOSE_CONTAINER_WORKDIR is {dir:?}; it has to be an absolute path inside \
                     the container, or `.` for the directory that the container itself has"
                ));
            }
        };
        Ok(Some(Inside {
            container: Container::named(name)?,
            runtime: self.runtime.clone(),
            working_dir,
            gosling: self.gosling.clone(),
        }))
    }
}

/// The way into a container.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) container: Container,
    runtime: Option<String>,
    /// Where commands work; where the container says, if absent.
    pub(super) working_dir: Option<String>,
    gosling: Option<String>,
}

impl Inside {
    /// The client of the container runtime: the one that the setting names, else docker or podman, those
    /// on PATH before those in the usual places.
    ///
    /// # Errors
    /// Says what was looked for.
    pub(super) fn runtime(&self) -> Result<PathBuf, String> {
        let places = [program_lookup::on_path(), program_lookup::usual_places()];
        runtime(self.runtime.as_deref(), &places)
    }

    /// The command that serves a builtin extension.
    pub(super) fn builtin(&self, name: &str) -> (&str, Vec<String>) {
        let gosling = self.gosling.as_deref().unwrap_or("gosling");
        (gosling, vec!["mcp".to_owned(), name.to_owned()])
    }

    /// The arguments of the runtime's client for this command: the names of the variables that it is to
    /// hand on, and no value of any.
    ///
    /// # Errors
    /// When a variable would change what the client does, or the command is empty.
    pub(super) fn arguments(
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
        words.extend([self.container.0.clone(), cmd.to_owned()]);
        words.extend_from_slice(args);
        Ok(words)
    }

    /// What to do about a server that did not come up, if that can be told from how the runtime's client
    /// ended and what it wrote. `status` is for example `exit status: 127`.
    pub(super) fn advice(&self, config: &ExtensionConfig, status: &str, stderr: &str) -> String {
        let container = &self.container;
        let said = stderr.to_ascii_lowercase();
        let absent = ["no such container", "no container with", "not running"];
        if absent.iter().any(|words| said.contains(words)) {
            return format!(
                "; it is to run in the container {container}, which has to be there and running: see \
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
                "gosling itself as {:?} (GOOSE_CONTAINER_GOSLING says where else it is)",
                self.builtin("").0
            ),
        };
        let place = match &self.working_dir {
            Some(dir) => format!(
                " and the directory {dir:?} (GOOSE_CONTAINER_WORKDIR says which else, `.` for its own)"
            ),
            None => String::new(),
        };
        format!(
            "; the container {container} needs {needed}{place} inside; what the container runtime said \
             is in the log"
        )
    }
}

/// A variable that would change what the client does, or which it would not take as a name.
fn check(name: &str) -> Result<(), String> {
    let hit = |pattern: &&&str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == **pattern,
    };
    if STEERS.iter().find(hit).is_some() {
        return Err(format!(
            "the environment variable `{name}` would steer the client of the container runtime, so an \
             extension in a container may not set it; give it to the container when that is made, or to \
             the command inside with `cmd: env`"
        ));
    }
    // To podman, a name with a star at its end is every variable that begins so.
    let odd = |c: char| c == '*' || c.is_whitespace() || c.is_control();
    match name.contains(odd) {
        true => Err(format!(
            "{name:?} cannot be an environment variable in a container: it has white space or a star in it"
        )),
        false => Ok(()),
    }
}

fn runtime(wanted: Option<&str>, places: &[Vec<PathBuf>; 2]) -> Result<PathBuf, String> {
    // A relative path would mean another program in every project.
    let find =
        |name: &str, folders: &[PathBuf]| program_lookup::find(name, Path::new("/"), folders);
    if let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) {
        let found = find(wanted, &places.concat());
        return found.map_err(|reason| format!("the setting GOOSE_CONTAINER_RUNTIME: {reason}"));
    }
    let mut found = places
        .iter()
        .flat_map(|folders| RUNTIMES.iter().filter_map(|name| find(name, folders).ok()));
    found.next().ok_or_else(|| {
        "it is to run in a container, but neither `docker` nor `podman` was found; install one of \
         them, or name it in the setting GOOSE_CONTAINER_RUNTIME"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: Value) -> ExtensionConfig {
        ExtensionConfig::from_value(value).unwrap()
    }

    fn stdio() -> Value {
        json!({"type": "stdio", "name": "one", "cmd": "serve", "args": ["-x"]})
    }

    fn inside(containers: &Containers, value: Value) -> Result<Option<Inside>, String> {
        containers.inside(&config(value), Path::new("/work"))
    }

    fn session(name: &str) -> Containers {
        Containers {
            session: Some(name.to_owned()),
            ..Containers::default()
        }
    }

    #[test]
    fn a_name_can_be_nothing_else() {
        for name in ["box", "0a_b.c-d", &"a".repeat(255)] {
            assert_eq!(Container::named(name).unwrap().as_str(), name);
        }
        let long = "a".repeat(256);
        for name in [
            "",
            "-it",
            "--privileged",
            ".",
            "_a",
            "a b",
            "a/b",
            "a\nb",
            "ä",
            "bö",
            "a=b",
            "a\0",
            &long,
        ] {
            let error = Container::named(name).unwrap_err();
            assert!(error.contains("cannot be the name"), "{error}");
        }
    }

    #[test]
    fn programs_run_inside_and_nothing_else_does() {
        let name = |containers: &Containers, value: Value| {
            let inside = inside(containers, value).unwrap();
            inside.map(|inside| inside.container.0)
        };
        let own = || {
            let mut own = stdio();
            own["container"] = "its-own".into();
            own
        };
        let (outside, boxed) = (Containers::default(), session("box"));
        assert_eq!(name(&outside, stdio()), None);
        assert_eq!(name(&outside, own()).unwrap(), "its-own");
        assert_eq!(name(&boxed, own()).unwrap(), "its-own");
        for (value, expected) in [
            (stdio(), true),
            (json!({"type": "builtin", "name": "developer"}), true),
            (json!({"type": "platform", "name": "developer"}), true),
            (
                json!({"type": "inline_python", "name": "p", "code": ""}),
                true,
            ),
            (json!({"type": "builtin", "name": "todo"}), false),
            (json!({"type": "platform", "name": "Todo"}), false),
            (
                json!({"type": "streamable_http", "name": "h", "uri": "http://x"}),
                false,
            ),
            (json!({"type": "frontend", "name": "f", "tools": []}), false),
        ] {
            assert_eq!(name(&boxed, value.clone()).is_some(), expected, "{value}");
        }
    }

    #[test]
    fn what_makes_no_sense_never_runs_outside() {
        assert!(inside(&session("-v"), stdio()).is_err());
        let mut odd = stdio();
        odd["container"] = json!(7);
        assert!(inside(&Containers::default(), odd).is_err());
        let mut relative = session("box");
        relative.working_dir = Some("work".to_owned());
        let error = inside(&relative, stdio()).unwrap_err();
        assert!(error.contains("GOOSE_CONTAINER_WORKDIR"), "{error}");
    }

    fn environment(envs: Value) -> Environment {
        let envs = serde_json::from_value(envs).unwrap();
        Environment::merge(&envs, &[], &|_| Ok(None)).unwrap()
    }

    fn arguments(containers: &Containers, envs: Value) -> Result<String, String> {
        let inside = inside(containers, stdio()).unwrap().unwrap();
        let args = ["-x".to_owned(), "a b".to_owned()];
        let words = inside.arguments(&environment(envs), "serve", &args)?;
        Ok(words.join("|"))
    }

    #[test]
    fn values_of_variables_are_no_arguments() {
        assert_eq!(
            arguments(&session("box"), json!({"B": "secret", "A": "other"})).unwrap(),
            "exec|-i|-w|/work|-e|A|-e|B|-e|AGENT_SESSION_ID|box|serve|-x|a b"
        );
        let elsewhere = |dir: &str| Containers {
            working_dir: Some(dir.to_owned()),
            ..session("box")
        };
        for (dir, expected) in [
            (
                "/src",
                "exec|-i|-w|/src|-e|AGENT_SESSION_ID|box|serve|-x|a b",
            ),
            (".", "exec|-i|-e|AGENT_SESSION_ID|box|serve|-x|a b"),
            (" ", "exec|-i|-w|/work|-e|AGENT_SESSION_ID|box|serve|-x|a b"),
        ] {
            assert_eq!(arguments(&elsewhere(dir), json!({})).unwrap(), expected);
        }
    }

    #[test]
    fn variables_that_steer_the_client_are_refused() {
        for name in [
            "DOCKER_HOST",
            "CONTAINER_HOST",
            "HOME",
            "XDG_RUNTIME_DIR",
            "STORAGE_OPTS",
            "_CONTAINERS_USERNS_CONFIGURED",
            "A*",
            "A B",
        ] {
            let error = arguments(&session("box"), json!({name: "hunter22"})).unwrap_err();
            assert!(error.contains(name) && !error.contains("hunter"), "{error}");
        }
        for name in [
            "DOCKER",
            "HOMES",
            "MY_HOME",
            "npm_config_a:b",
            "HTTPS_PROXY",
        ] {
            let words = arguments(&session("box"), json!({name: "x"})).unwrap();
            assert!(words.contains(&format!("|-e|{name}|")), "{words}");
        }
    }

    #[test]
    fn the_runtime_is_looked_for_on_path_first() {
        let folder = |names: &[&str]| {
            let random = crate::sys::random_hex(8).unwrap();
            let folder = std::env::temp_dir().join(format!("gosling-runtime-{random}"));
            std::fs::create_dir(&folder).unwrap();
            for name in names {
                std::os::unix::fs::symlink("/bin/sh", folder.join(name)).unwrap();
            }
            folder
        };
        let (both, podman, none) = (
            folder(&["podman", "docker"]),
            folder(&["podman"]),
            folder(&[]),
        );
        let list = |folders: &[&PathBuf]| folders.iter().map(|f| (*f).clone()).collect::<Vec<_>>();
        for (on_path, usual, expected) in [
            (list(&[&podman, &both]), list(&[]), both.join("docker")),
            (
                list(&[&none, &podman]),
                list(&[&both]),
                podman.join("podman"),
            ),
            (list(&[&none]), list(&[&both]), both.join("docker")),
        ] {
            assert_eq!(runtime(None, &[on_path, usual]), Ok(expected));
        }
        let places = [list(&[&both]), list(&[&podman])];
        assert_eq!(runtime(Some("podman"), &places), Ok(both.join("podman")));
        assert_eq!(runtime(Some(" "), &places), Ok(both.join("docker")));
        let path = podman.join("podman");
        assert_eq!(runtime(path.to_str(), &places), Ok(path));
        let error = runtime(Some("nerdctl"), &places).unwrap_err();
        assert!(error.contains("GOOSE_CONTAINER_RUNTIME"), "{error}");
        let error = runtime(None, &[list(&[&none]), list(&[])]).unwrap_err();
        assert!(error.contains("neither `docker` nor `podman`"), "{error}");
        for folder in [both, podman, none] {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn the_end_of_the_client_is_explained() {
        let boxed = session("box");
        let advice = |value: Value, status: &str, stderr: &str| {
            let inside = inside(&boxed, value.clone()).unwrap().unwrap();
            inside.advice(&config(value), status, stderr)
        };
        let builtin = json!({"type": "builtin", "name": "developer"});
        for (value, status, stderr, expected) in [
            (
                stdio(),
                "exit status: 1",
                "Error: No such container: box",
                "docker ps -a",
            ),
            (
                stdio(),
                "exit status: 1",
                "container box is not running",
                "docker ps -a",
            ),
            (stdio(), "exit status: 127", "", "the command \"serve\""),
            (
                stdio(),
                "exit status: 126",
                "",
                "\"/work\" (GOOSE_CONTAINER_WORKDIR",
            ),
            (
                builtin.clone(),
                "exit status: 127",
                "",
                "GOOSE_CONTAINER_GOSLING",
            ),
            (stdio(), "exit status: 3", "boom", "(in the container box)"),
        ] {
            let advice = advice(value, status, stderr);
            assert!(
                advice.contains(expected) && advice.contains("box"),
                "{advice}"
            );
        }
    }
}
