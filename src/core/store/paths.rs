//! The folders of configuration, data and state. They are those of Goose, so that both share files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Error, Result};

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
mod tests {
    use super::*;

    fn choose(os: Os, vars: &[(&str, &str)]) -> Result<Paths> {
        Paths::choose(os, |name| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.into())
        })
    }

    fn paths(config: &str, data: &str, state: &str) -> Paths {
        Paths {
            config: config.into(),
            data: data.into(),
            state: state.into(),
        }
    }

    #[test]
    fn the_root_wins_on_every_system() {
        for os in [Os::Linux, Os::MacOs, Os::Windows] {
            let vars = [
                ("GOOSE_PATH_ROOT", "/r"),
                ("HOME", "/h"),
                ("XDG_DATA_HOME", "/d"),
            ];
            assert_eq!(choose(os, &vars).unwrap(), Paths::under(Path::new("/r")));
        }
        assert_eq!(
            Paths::under(Path::new("/r")),
            paths("/r/config", "/r/data", "/r/state")
        );
    }

    #[test]
    fn linux_and_macos_follow_xdg() {
        let home = paths(
            "/h/.config/goose",
            "/h/.local/share/goose",
            "/h/.local/state/goose",
        );
        for os in [Os::Linux, Os::MacOs] {
            assert_eq!(choose(os, &[("HOME", "/h")]).unwrap(), home);
            let ignored = [
                ("HOME", "/h"),
                ("GOOSE_PATH_ROOT", ""),
                ("XDG_CONFIG_HOME", ""),
                ("XDG_DATA_HOME", "relative"),
            ];
            assert_eq!(choose(os, &ignored).unwrap(), home);
            let set = [
                ("XDG_CONFIG_HOME", "/c"),
                ("XDG_DATA_HOME", "/d"),
                ("XDG_STATE_HOME", "/s"),
            ];
            assert_eq!(
                choose(os, &set).unwrap(),
                paths("/c/goose", "/d/goose", "/s/goose")
            );
            assert!(matches!(choose(os, &[]), Err(Error::NoHome)));
        }
    }

    #[test]
    fn windows_has_block_goose_under_appdata() {
        let app = Path::new("R").join("Block").join("goose");
        let expected = Paths {
            config: app.join("config"),
            data: app.join("data"),
            state: app.join("data"),
        };
        assert_eq!(choose(Os::Windows, &[("APPDATA", "R")]).unwrap(), expected);
        let found = choose(Os::Windows, &[("USERPROFILE", "U")]).unwrap();
        assert!(
            found
                .config
                .starts_with(Path::new("U").join("AppData").join("Roaming"))
        );
        assert!(matches!(
            choose(Os::Windows, &[("HOME", "/h")]),
            Err(Error::NoHome)
        ));
    }
}
