//! `gosling backup` and `gosling restore`.

use crate::activity::Entry;
use crate::agent::Stores;
use crate::backup;
use crate::command_line::{Command, Failure, failed, logging, paths, print};
use crate::contents::LeftOut;
use crate::restore;
use crate::root_files;
use crate::store::{Paths, files};
use crate::text::printable;
use gosling_shared::{missing, without_advice};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufReader, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

pub(crate) const BACKUP: Command = Command {
    name: "backup",
    summary: "write all files of gosling into an archive",
    help: BACKUP_HELP,
    run: |parser, _| run_backup(parser),
};

pub(crate) const RESTORE: Command = Command {
    name: "restore",
    summary: "put the files of such an archive in their place",
    help: RESTORE_HELP,
    run: |parser, _| run_restore(parser),
};

const BACKUP_HELP: &str = "\
usage: gosling backup [--secrets] FILE
example: gosling backup gosling.tar

Writes the sessions, settings, keys, recipes, schedules and the audit log into a
tar archive; servers may go on. FILE is replaced when the archive is complete.
`gosling restore` puts them back.

arguments:
  FILE          the archive; - for stdout

options:
  --secrets     also secrets.yaml and the self-signed certificate with its key
  --policy FILE the administrator's policy (/etc/gosling/policy.yaml)
  -h, --help    show this

exit codes: 0 done, 1 failed, 2 the command line makes no sense
";

const RESTORE_HELP: &str = "\
usage: gosling restore [--force] FILE
example: GOOSE_PATH_ROOT=/srv/gosling gosling restore gosling.tar

Puts the files of an archive of `gosling backup` into the folders that
GOOSE_PATH_ROOT or the home directory name. The whole archive is checked before
anything is replaced. No server may use the folders.

arguments:
  FILE          the archive; - for stdin

options:
  --force       also if there are files; they are moved aside
  --policy FILE the administrator's policy (/etc/gosling/policy.yaml)
  -h, --help    show this

exit codes: 0 done, 1 failed, and nothing was changed, 2 the command line makes
no sense
";

/// Reads a command line with one option and the name of a file.
fn read_arguments(mut parser: lexopt::Parser, option: &str) -> Result<(OsString, bool), Failure> {
    let (mut file, mut is_set) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long(name) if name == option => is_set = true,
            Value(name) if file.is_none() => file = Some(name),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = file.filter(|file| !file.is_empty());
    Ok((file.ok_or_else(|| missing("FILE"))?, is_set))
}

fn run_backup(parser: lexopt::Parser) -> Result<(), Failure> {
    let (file, has_secrets) = read_arguments(parser, "secrets")?;
    let is_stdout = file == "-";
    if is_stdout && io::stdout().is_terminal() {
        let why = "an archive is not for a terminal; name a file or redirect stdout";
        return Err(Failure::Usage(why.to_owned()));
    }
    let paths = paths()?;
    let target = Path::new(&file);
    if !is_stdout {
        check_target(&paths, target)?;
    }
    let name = file.to_string_lossy();
    let activity = Stores::new(&paths).activity;
    let begun = activity.begin(Entry {
        subject: &name,
        outcome: "begun",
        detail: if has_secrets { "with secrets" } else { "" },
        ..Entry::new("backup", "")
    });
    let begun = begun.map_err(failed("no backup was made"))?;
    let written = if is_stdout {
        let mut out = BufWriter::new(io::stdout().lock());
        backup::write(&paths, &mut out, Path::new("the archive"), has_secrets)
    } else {
        backup::write_file(&paths, target, has_secrets)
    };
    match &written {
        Ok(written) => begun.end("ok", "", usize::try_from(written.bytes).ok()),
        Err(error) => begun.end("failed", &error.to_string(), None),
    }
    let written = written.map_err(failed("no backup was made"))?;
    let target = if is_stdout { "stdout" } else { &name };
    let mut out = format!(
        "{} files with {} bytes are in {}\n",
        written.files,
        written.bytes,
        printable(target, 4096)
    );
    out += &list_of(&written.left_out, "left out");
    if is_stdout {
        logging::say(&out)
    } else {
        print(&out)?
    }
    Ok(())
}

/// An archive must not be in a folder that is in it, nor replace anything but a file.
fn check_target(paths: &Paths, target: &Path) -> Result<(), Failure> {
    let refused = |why: String| Failure::Failed(format!("no backup was made: {why}"));
    let folder = files::parent(target);
    let folder = folder.canonicalize().map_err(|error| {
        refused(format!(
            "cannot use the folder {}: {error}",
            folder.display()
        ))
    })?;
    let inside = root_files::folders(paths).into_iter().find(|of_root| {
        let of_root = of_root.canonicalize();
        of_root.is_ok_and(|of_root| folder.starts_with(of_root))
    });
    if let Some(inside) = inside {
        return Err(refused(format!(
            "{} is in {}, which would be in the archive; choose another folder",
            target.display(),
            inside.display()
        )));
    }
    match target.symlink_metadata() {
        Ok(found) if !found.is_file() => Err(refused(format!(
            "{} exists and is not a file",
            target.display()
        ))),
        _ => Ok(()),
    }
}

fn run_restore(parser: lexopt::Parser) -> Result<(), Failure> {
    let (file, force) = read_arguments(parser, "force")?;
    let paths = paths()?;
    let name = file.to_string_lossy();
    let nothing = |why: String| Failure::Failed(format!("nothing was restored: {why}"));
    let restored = if file == "-" {
        restore::restore(&paths, &mut io::stdin().lock(), "the archive", force)
    } else {
        let opened =
            files::open(&PathBuf::from(&file)).map_err(|error| nothing(without_advice(error)))?;
        let Some(archive) = opened else {
            let why = format!("there is no file {}", printable(&name, 4096));
            return Err(nothing(why));
        };
        restore::restore(&paths, &mut BufReader::new(archive), &name, force)
    };
    let restored = restored.map_err(nothing)?;
    let mut out = format!(
        "{} files with {} bytes are restored, as they were at {}\n",
        restored.files,
        restored.bytes,
        printable(&restored.first.time, 40)
    );
    for path in &restored.aside {
        let _ = writeln!(out, "moved aside: {}", path.display());
    }
    out += &list_of(&restored.first.left_out, "not in the archive");
    print(&out)
}

/// A line for each file that was left out.
fn list_of(left_out: &[LeftOut], what: &str) -> String {
    let mut out = String::new();
    for LeftOut { name, why } in left_out {
        let (name, why) = (printable(name, 4096), printable(why, 200));
        let _ = writeln!(out, "{what}: {name} ({why})");
    }
    out
}
