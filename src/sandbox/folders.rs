//! The files and folders inside the walls. Landlock takes a list of what is open, with all below; so what stays closed
//! splits the folders above it into their entries, each of which is open or split in turn. An entry that appears in a
//! split folder later stays closed.

use crate::wanted::Wanted;
use gosling_core::extension::sandbox::{Level, Place};
use std::fs;
use std::path::{Path, PathBuf};

/// The most entries of split folders.
const MAX_ENTRIES: usize = 50_000;

/// What stays closed in the user's home: keys and passwords of the shell, of clouds, of package registries, of
/// browsers, and the files of Goose.
const IN_HOME: &str = ".ssh .gnupg .aws .azure .kube .docker .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .my.cnf \
    .git-credentials .vault-token .terraform.d .password-store .mozilla .thunderbird .gem/credentials \
    .cargo/credentials .cargo/credentials.toml .m2/settings.xml .gradle/gradle.properties .config/gcloud .config/gh \
    .config/glab-cli .config/git/credentials .config/hub .config/rclone .config/doctl .config/op .config/goose \
    .config/containers .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge \
    .local/share/goose .local/state/goose .local/share/keyrings .bash_history \
    .zsh_history .python_history .node_repl_history .psql_history .mysql_history .local/share/fish/fish_history";

/// What stays closed in the system, also for root.
const IN_SYSTEM: &str = "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/ssl/private /etc/gosling /etc/sudoers \
    /etc/sudoers.d /etc/krb5.keytab /root/.ssh /run/secrets /run/credentials /var/lib/docker /var/lib/containers \
    /var/lib/kubelet /var/log /dev";

/// What of the system strict walls leave open to reading.
const SYSTEM: &str = "/bin /sbin /lib /lib32 /lib64 /libx32 /usr /etc /opt /nix/store /proc /sys/devices/system/cpu \
    /sys/fs/cgroup /run/systemd/resolve";

/// The devices that programs need.
const DEVICES: &str =
    "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /dev/pts";

/// What walls leave open.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) list: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
}

/// Where files are that stay closed.
pub(crate) struct Folders<'a> {
    /// gosling's own.
    pub(crate) own: &'a [PathBuf],
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
}

impl Folders<'_> {
    /// The files and folders that are open to a program in this place, with a temporary folder of its own.
    ///
    /// # Errors
    /// The working directory or an exception would open what must stay closed, or there are too many entries.
    pub(crate) fn choose(
        &self,
        wanted: &Wanted,
        place: Place<'_>,
        temporary: &Path,
    ) -> Result<Open, String> {
        let closed = self.closed();
        let mut open = Open::default();
        let mut entries = 0;
        let working_dir = real(place.working_dir);
        let own_exceptions = [("read", &wanted.read), ("write", &wanted.write)];
        for (name, paths) in own_exceptions {
            for path in paths.iter().map(|path| real(path)) {
                let reason = format!("`sandbox.{name}` names {path:?}");
                check(&path, &closed, &reason)?;
                match name {
                    "read" => open.read.push(path),
                    _ => open.write.push(path),
                }
            }
        }
        let reason = format!("the working directory {working_dir:?} is not a project's");
        check(&working_dir, &closed, &reason)?;
        match wanted.level {
            Level::Strict => {
                for path in SYSTEM.split_whitespace().map(|path| real(Path::new(path))) {
                    split(&path, &closed, &mut open.read, &mut entries)?;
                }
            }
            _ => {
                split(Path::new("/"), &closed, &mut open.read, &mut entries)?;
                // The names of what is closed may be seen.
                open.list.push("/".into());
            }
        }
        // The program may be a link in a folder that is closed.
        open.read.push(real(place.program));
        // The file with its code, which gosling has written.
        for named in place.files.iter().map(Path::new) {
            let named = real(named);
            if named.is_absolute() && named.is_file() {
                check(
                    &named,
                    &closed,
                    &format!("its command line names {named:?}"),
                )?;
                open.read.push(named);
            }
        }
        open.write.push(temporary.to_owned());
        let folder = real(place.folder);
        if folder != working_dir {
            // gosling made it for this extension, in a folder of its own.
            open.write.push(folder);
        }
        open.write.push(working_dir);
        Ok(open)
    }

    /// What stays closed, whether it exists or not.
    fn closed(&self) -> Vec<PathBuf> {
        let mut closed: Vec<PathBuf> = IN_SYSTEM.split_whitespace().map(PathBuf::from).collect();
        closed.extend(self.own.iter().cloned());
        let in_home = |home: &PathBuf| {
            let names = IN_HOME.split_whitespace();
            names.map(|name| home.join(name)).collect::<Vec<_>>()
        };
        closed.extend(self.home.iter().flat_map(in_home));
        // A link to what is closed does not open it.
        let targets: Vec<PathBuf> = closed.iter().map(|path| real(path)).collect();
        closed.extend(targets);
        closed.sort_unstable();
        closed.dedup();
        closed
    }
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(known) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                known
            } else {
                known.join(rest)
            };
        }
    }
    path.to_owned()
}

/// Refuses a path that is in what is closed, or has some of it inside.
fn check(path: &Path, closed: &[PathBuf], reason: &str) -> Result<(), String> {
    let is_above = |closed: &&PathBuf| closed.starts_with(path);
    if let Some(closed) = closed.iter().find(|closed| path.starts_with(closed)) {
        return Err(format!(
            "{reason}, and it is in {closed:?}, which a sandbox keeps closed"
        ));
    }
    match closed.iter().find(is_above) {
        Some(closed) => Err(format!(
            "{reason}, and {closed:?}, which a sandbox keeps closed, would be open with it"
        )),
        None => Ok(()),
    }
}

/// Adds this path to `open`, or what is in it, without what is closed.
fn split(
    path: &Path,
    closed: &[PathBuf],
    open: &mut Vec<PathBuf>,
    entries: &mut usize,
) -> Result<(), String> {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return Ok(());
    }
    if !closed.iter().any(|closed| closed.starts_with(path)) {
        open.push(path.to_owned());
        return Ok(());
    }
    // What cannot be listed cannot be opened by the program either, as far as it is not named.
    let Ok(listed) = fs::read_dir(path) else {
        return Ok(());
    };
    for entry in listed.flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES {
            return Err(format!("{path:?} has too many entries for a sandbox"));
        }
        // The target of a link is judged where it is.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            split(&entry.path(), closed, open, entries)?;
        }
    }
    Ok(())
}

/// The devices that programs may use.
pub(crate) fn devices() -> Vec<PathBuf> {
    let devices = DEVICES.split_whitespace().map(Path::new);
    devices.map(real).collect()
}

#[cfg(all(test, unix))]
mod tests;
