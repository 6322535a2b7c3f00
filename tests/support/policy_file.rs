//! The file of a policy that a server or a command uses.
#![allow(dead_code)] // Each test file uses its own part.

use crate::support::server::{RunningServer, Server, gosling};
use crate::support::system::{is_root, set_mode};
use crate::support::{TempDir, temp_dir};
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

/// A policy in a folder of its own. The service cannot use it if the tests do not run as root, because their user could
/// change it: then that is what is tested, and there is no policy.
pub struct PolicyFile(TempDir);

impl PolicyFile {
    #[track_caller]
    pub fn new(text: &str) -> Option<Self> {
        let file = PolicyFile(temp_dir());
        file.write(text);
        if !is_root() {
            let output = file.run(&["extensions", "list"]);
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            return None;
        }
        Some(file)
    }

    /// In this folder, for commands that only read it.
    pub fn untested(folder: TempDir) -> Self {
        PolicyFile(folder)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self) -> String {
        let path = self.0.path().join("policy.yaml");
        path.to_str().unwrap().to_owned()
    }

    /// Replaces it.
    pub fn write(&self, text: &str) {
        let new = self.0.path().join("new");
        fs::write(&new, text).unwrap();
        set_mode(&new, 0o644);
        fs::rename(&new, self.path()).unwrap();
    }

    /// Runs a command with it in a folder without settings.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let root = temp_dir();
        let mut command = gosling();
        command.args(arguments).args(["--policy", &self.path()]);
        command
            .env("GOOSE_PATH_ROOT", root.path())
            .env("HOME", root.path());
        command.current_dir(root.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    pub fn start(&self, server: Server) -> RunningServer {
        server.start_as(&["agent", "--port", "0", "--policy", &self.path()])
    }
}
