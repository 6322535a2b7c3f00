//! The folders of configuration, data and state. They are those of Goose, so that both share files.

use super::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The three folders that contain all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `config.yaml`, `secrets.yaml` and other files that a user edits.
    pub config: PathBuf,
    /// Sessions and other data.
    pub data: PathBuf,
    /// Logs and other files that may be deleted.
    pub state: PathBuf,
}

/// The folder conventions of an operating system; macOS has those of Linux.
///
/// Goose uses `etcetera::choose_app_strategy`, which follows the XDG specification everywhere except on
/// Windows, and its manual agrees: `~/.config/goose` on macOS and on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Linux and the other Unixes.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The system that this program was built for.
    pub fn current() -> Self {
        match std::env::consts::OS {
            "windows" => Self::Windows,
            "macos" => Self::MacOs,
            _ => Self::Linux,
        }
    }
}

impl Paths {
    /// The folders for this process's environment and system.
    ///
    /// # Errors
    /// [`Error::NoHome`] when a home directory is needed and none is known.
    pub fn from_env() -> Result<Self> {
        let paths = Self::choose(Os::current(), |name| {
            std::env::var_os(name).or_else(|| match name {
                "HOME" | "USERPROFILE" => std::env::home_dir().map(PathBuf::into_os_string),
                _ => None,
            })
        })?;
        let absolute =
            |path: PathBuf| std::path::absolute(&path).map_err(Error::io("resolve", &path));
        Ok(Self {
            config: absolute(paths.config)?,
            data: absolute(paths.data)?,
            state: absolute(paths.state)?,
        })
    }

    /// The folders under `root`: `config`, `data` and `state`.
    pub fn under(root: &Path) -> Self {
        Self {
            config: root.join("config"),
            data: root.join("data"),
            state: root.join("state"),
        }
    }

    /// The folders for `os` and the variables in `env`. Does no I/O.
    ///
    /// `GOOSE_PATH_ROOT` has precedence. Otherwise Windows uses `%APPDATA%\Block\goose\{config,data}`, with the
    /// state in `data`, and other systems use `goose` under `$XDG_CONFIG_HOME`, `$XDG_DATA_HOME` and
    /// `$XDG_STATE_HOME`. Empty variables, and relative XDG variables, are ignored.
    ///
    /// # Errors
    /// [`Error::NoHome`] when a home directory is needed and `env` has none.
    pub fn choose(os: Os, env: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let var = |name: &str| {
            env(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(root) = var("GOOSE_PATH_ROOT") {
            return Ok(Self::under(&root));
        }
        if os == Os::Windows {
            let roaming = match var("APPDATA") {
                Some(path) => path,
                None => var("USERPROFILE")
                    .ok_or(Error::NoHome)?
                    .join("AppData")
                    .join("Roaming"),
            };
            let app = roaming.join("Block").join("goose");
            let data = app.join("data");
            return Ok(Self {
                config: app.join("config"),
                state: data.clone(),
                data,
            });
        }
        let xdg = |name: &str, fallback: &str| -> Result<PathBuf> {
            let base = match var(name).filter(|path| path.is_absolute()) {
                Some(path) => path,
                None => var("HOME").ok_or(Error::NoHome)?.join(fallback),
            };
            Ok(base.join("goose"))
        };
        Ok(Self {
            config: xdg("XDG_CONFIG_HOME", ".config")?,
            data: xdg("XDG_DATA_HOME", ".local/share")?,
            state: xdg("XDG_STATE_HOME", ".local/state")?,
        })
    }
}

#[cfg(test)]
mod tests;
