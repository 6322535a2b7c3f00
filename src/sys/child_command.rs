//! A command to start, what a started child is held by, and how it is ended.
#![allow(unsafe_code)]

#[cfg(not(windows))]
use crate::taken_variables;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

/// The variable with the server's key. Children do not inherit it, because the key gives access to the server.
pub const SERVER_KEY: &str = "GOOSE_SERVER__SECRET_KEY";

/// The command that [`Process`](super::process::Process) starts. `std::process::Command` is not used, because
/// its `spawn` blocks until exec succeeds, however long that takes, and gives no process id before.
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    pub(super) variables: BTreeMap<OsString, Option<OsString>>,
    dir: Option<PathBuf>,
    confinement: Option<Arc<dyn Confinement>>,
}

/// The waits before a child is killed, step by step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grace {
    /// After its stdin was closed, which is how MCP ends a server (basic/lifecycle, shutdown).
    pub stdin: Duration,
    /// After SIGTERM to its group. Windows has no such request, so there is no such wait.
    pub term: Duration,
}

impl Grace {
    /// For a server that has worked: Python servers take about a second to exit.
    pub const NORMAL: Grace = Grace {
        stdin: Duration::from_millis(1500),
        term: Duration::from_millis(1000),
    };
    /// For a server that did not start up.
    pub const SHORT: Grace = Grace {
        stdin: Duration::from_millis(100),
        term: Duration::from_millis(300),
    };
}

/// This process's ends of a child's pipes.
pub struct Pipes {
    /// The child's stdin. Closing it is the first step of ending the child.
    pub stdin: ChildStdin,
    /// The child's stdout.
    pub stdout: ChildStdout,
    /// The child's stderr.
    pub stderr: ChildStderr,
}

/// What a child does to itself before its program runs.
pub trait Confinement: Send + Sync {
    /// Confines this process; false if a step failed, whose error is that of the last system call.
    ///
    /// # Safety
    /// Only in a process that has just been forked: it makes system calls that are async-signal-safe, and nothing else.
    unsafe fn confine(&self) -> bool;
}

impl Command {
    /// A program, given by its path or by a name that is looked up in the absolute folders of the command's
    /// `PATH`. It inherits the variables and the working directory of this process.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Command {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            variables: BTreeMap::new(),
            dir: None,
            confinement: None,
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets a variable.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        let value = Some(value.as_ref().to_owned());
        self.variables.insert(name.as_ref().to_owned(), value);
        self
    }

    /// Sets variables.
    pub fn envs(
        &mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> &mut Self {
        for (name, value) in variables {
            self.env(name, value);
        }
        self
    }

    /// Removes a variable that the program would inherit.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.variables.insert(name.as_ref().to_owned(), None);
        self
    }

    /// Sets the working directory, which also resolves a relative path of the program.
    pub fn current_dir(&mut self, dir: impl AsRef<Path>) -> &mut Self {
        self.dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets what confines the program and whatever it starts.
    pub fn confined(&mut self, confinement: Arc<dyn Confinement>) -> &mut Self {
        self.confinement = Some(confinement);
        self
    }

    pub(super) fn confinement(&self) -> Option<Arc<dyn Confinement>> {
        self.confinement.clone()
    }

    /// The program.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// Whether the command sets or removes this variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.variables.contains_key(OsStr::new(name))
    }

    /// The working directory, if it is set.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The complete environment of the program.
    #[cfg(not(windows))]
    pub(super) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for name in taken_variables::taken() {
            all.remove(&name);
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => all.insert(name.clone(), value.clone()),
                None => all.remove(name),
            };
        }
        all
    }
}

/// Omits the values of variables, which may be secrets.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("variables", &self.variables.keys())
            .field("dir", &self.dir)
            .finish()
    }
}
