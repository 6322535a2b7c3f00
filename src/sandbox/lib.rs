//! Walls around the processes of extensions: what they read and write, connect to and ask the kernel for. On Linux with
//! Landlock and seccomp; elsewhere an extension that shall have walls does not start.
//!
//! - `wanted` reads how much the walls of an extension shall keep out, and its exceptions.
//! - `folders` chooses the files and folders inside: the kernel takes those that are open, not those that are closed.
//! - `gosling_sys::walls` builds them around a child.
//!
//! A builtin server that runs commands or edits files becomes a process of its own, so that the same walls hold for it.
//! Nothing falls back: if the kernel offers less than a level needs, the extension does not start.
#![forbid(unsafe_code)]

mod folders;
mod wanted;

use folders::Folders;
use gosling_core::activity;
use gosling_core::extension::ExtensionConfig;
use gosling_core::extension::sandbox::{Level, Place, Sandbox, Walls};
use gosling_core::part::{self, Fact, Part};
use gosling_core::store::{Config, Paths, settings};
use gosling_shared::TemporaryFolder;
use gosling_sys::walls::{self, Mounts, Network, Offer, Plan};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use wanted::Wanted;

/// What walls add to gosling.
pub const PART: Part = Part {
    sandbox: Some(|config, paths, session| Arc::new(Settings::read(config, paths, session))),
    info: Some(|config, paths| Settings::read(config, paths, Level::Off).facts(walls::offer())),
    ..Part::new("sandbox")
};

/// The builtin servers that run commands or edit files which a model names. The others have their own data alone.
const WITH_COMMANDS: [&str; 1] = ["developer"];

/// The least versions of Landlock: 3 (Linux 6.2) covers the emptying of files; 6 (Linux 6.12) signals, abstract sockets
/// and, since 4, ports.
const WORKSPACE_VERSION: u32 = 3;
const STRICT_VERSION: u32 = 6;

/// The settings for walls.
struct Settings {
    /// `GOOSE_EXTENSION_SANDBOX`.
    level: Level,
    /// The least of the session.
    session: Level,
    /// gosling's own folders.
    own: [PathBuf; 3],
}

impl Settings {
    fn read(config: &Config, paths: &Paths, session: Level) -> Self {
        let level = match settings::EXTENSION_SANDBOX.word(config) {
            "" | "off" => Level::Off,
            "workspace" => Level::Workspace,
            _ => Level::Strict,
        };
        Settings {
            level,
            session,
            own: [&paths.config, &paths.data, &paths.state].map(Clone::clone),
        }
    }

    /// The level of extensions that name none, and which levels the kernel can give.
    fn facts(&self, offer: Offer) -> Vec<(&'static str, Fact)> {
        let least = part::policy().map_or(Level::Off, |policy| policy.least_sandbox().0);
        let level = self.level.max(least);
        let mounts = offer.mounts.map(|mounts| match mounts {
            Mounts::Own => "own",
            Mounts::WithUsers => "with_users",
        });
        let is_given = |level| Fact::Value(check(offer, level).is_ok().into());
        let mut facts = vec![
            ("level", Fact::Value(json!(level))),
            ("landlock", Fact::Value(offer.landlock.into())),
            ("seccomp", Fact::Value(offer.seccomp.into())),
            ("mounts", Fact::Value(mounts.into())),
            ("workspace", is_given(Level::Workspace)),
            ("strict", is_given(Level::Strict)),
        ];
        let missing = check(offer, level).err();
        facts.extend(missing.map(|why| ("level", Fact::Fault(why))));
        facts
    }

    fn wanted(&self, config: &ExtensionConfig) -> Result<Wanted, String> {
        let is_program = match config {
            ExtensionConfig::Stdio(_) | ExtensionConfig::InlinePython(_) => true,
            ExtensionConfig::Builtin(_) => WITH_COMMANDS.contains(&&*config.key()),
            _ => false,
        };
        if !is_program {
            return Ok(Wanted::default());
        }
        let mut wanted = match config.sandbox() {
            Some(value) => Wanted::read(value)?,
            None => Wanted::of(self.level),
        };
        // It may have changed since the session began.
        let policy = part::policy();
        let (least, allows_exceptions) =
            policy.map_or((Level::Off, true), |policy| policy.least_sandbox());
        if least != Level::Off && !allows_exceptions && wanted.has_exceptions() {
            return Err(
                "the policy allows for no exceptions from sandboxes, and its entry names some"
                    .to_owned(),
            );
        }
        wanted.level = wanted.level.max(least).max(self.session);
        Ok(wanted)
    }
}

impl Sandbox for Settings {
    fn level(&self, config: &ExtensionConfig) -> Result<Level, String> {
        self.wanted(config).map(|wanted| wanted.level)
    }

    fn walls(&self, config: &ExtensionConfig, place: Place<'_>) -> Result<Option<Walls>, String> {
        let wanted = self.wanted(config)?;
        let is_strict = match wanted.level {
            Level::Off => return Ok(None),
            Level::Workspace => false,
            Level::Strict => true,
        };
        check(walls::offer(), wanted.level)?;
        let failed = |error: std::io::Error| format!("its sandbox cannot be built: {error}");
        let temporary = TemporaryFolder::within(&std::env::temp_dir()).map_err(failed)?;
        let inside = temporary.path().canonicalize().map_err(failed)?;
        let folders = Folders {
            own: &self.own,
            home: std::env::home_dir(),
        };
        let files = folders.choose(&wanted, place, &inside)?;
        let network = if is_strict {
            Network::Only {
                ports: wanted.ports,
                udp: wanted.udp,
            }
        } else {
            Network::Open
        };
        let plan = Plan {
            read: files.read,
            list: files.list,
            write: files.write,
            devices: folders::devices(),
            network,
            strict: is_strict,
        };
        let confinement = walls::build(&plan).map_err(failed)?;
        let cache = inside.join("cache");
        Ok(Some(Walls {
            level: wanted.level,
            confinement: confinement.into(),
            variables: vec![
                ("TMPDIR", inside.clone()),
                ("UV_CACHE_DIR", cache.join("uv")),
                ("npm_config_cache", cache.join("npm")),
                ("XDG_CACHE_HOME", cache),
            ],
            folder: Box::new(temporary),
        }))
    }

    fn builtin(&self, name: &str) -> Result<(String, Vec<String>), String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        match (activity::front(), this.to_str()) {
            (Some(_), Some(this)) => Ok((this.to_owned(), vec!["mcp".to_owned(), name.to_owned()])),
            _ => Err(format!(
                "{name} runs in a sandbox as a program of its own, and this program has none"
            )),
        }
    }
}

/// Whether the kernel offers what a level needs.
///
/// # Errors
/// What it lacks.
fn check(offer: Offer, level: Level) -> Result<(), String> {
    let (name, version, since) = match level {
        Level::Off => return Ok(()),
        Level::Workspace => ("workspace", WORKSPACE_VERSION, "6.2"),
        Level::Strict => ("strict", STRICT_VERSION, "6.12"),
    };
    if offer.landlock < version {
        let has = match offer.landlock {
            0 => "has none, or it is switched off".to_owned(),
            version => format!("has version {version}"),
        };
        return Err(format!(
            "a sandbox `{name}` needs version {version} of Landlock (Linux {since}), and this system {has}"
        ));
    }
    if level == Level::Strict && offer.mounts.is_none() {
        return Err(
            "a sandbox `strict` needs a namespace of mounts, which this system does not let gosling make"
                .to_owned(),
        );
    }
    if !offer.seccomp {
        return Err(format!(
            "a sandbox `{name}` needs seccomp, which this system does not offer"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
