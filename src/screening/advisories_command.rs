//! `gosling advisories`: the index of known malware that extensions are checked against.

use crate::command_line::{Command, Failure, failed, logging, paths, print, text};
use crate::store::file_lock::FileLock;
use crate::store::files;
use crate::text::printable;
use crate::{index, sources};
use gosling_shared::missing;
use lexopt::prelude::*;
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "advisories",
    summary: "make the index of malware that packages are checked against",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling advisories import DIR [--output FILE]
example: gosling advisories import malicious-packages/osv

subcommands:
  import   make an index of the malware in a folder of OSV files (*.json, also
           in folders below it), or in one such file

Packages of extensions are looked up in the index before they are installed;
see `gosling help screening`. No server and no network is needed.

options:
  --output FILE   where to write the index; by default into the data folder,
                  where gosling finds it without a setting
  -h, --help      show this

exit codes: 0 the index is written, 1 it is not, or files could not be read, 2
the command line makes no sense
";

/// The longest reason that is printed, in characters.
const MAX_REASON: usize = 500;

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    match parser.next()? {
        None => Err(Failure::Usage("no subcommand given".to_owned())),
        Some(Short('h') | Long("help")) => print(HELP),
        Some(Value(name)) if name == "import" => import(parser),
        Some(Value(name)) => Err(Failure::Usage(format!(
            "there is no subcommand {name:?}; there is import"
        ))),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn import(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut from, mut output) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return print(HELP),
            Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Value(path) if from.is_none() => from = Some(text(path)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let from = from.ok_or_else(|| missing("DIR"))?;
    let imported = sources::Imported::from_path(Path::new(&from)).map_err(|reason| {
        let reason = printable(&reason, MAX_REASON);
        Failure::Failed(format!("no index was written: {reason}"))
    })?;
    if imported.malware.is_empty() {
        let from = printable(&from, MAX_REASON);
        let first = imported
            .faults
            .first()
            .map(|fault| format!(" ({})", printable(fault, MAX_REASON)));
        return Err(Failure::Failed(format!(
            "no index was written: {from} has no advisory about malware of npm or PyPI{}",
            first.unwrap_or_default()
        )));
    }
    let output = match output {
        Some(output) => output,
        None => paths()?.data.join(sources::INDEX),
    };
    let lines = index::write(imported.malware);
    write(&output, &lines).map_err(failed("no index was written"))?;
    for fault in &imported.faults {
        let fault = printable(fault, MAX_REASON);
        logging::say(&format!("gosling: not read: {fault}\n"));
    }
    print(&format!(
        "{} entries in {}; left out: {} advisories that are withdrawn, {} that are not about malware, {} files \
         that cannot be read\n",
        lines.lines().count() - 1,
        printable(&output.to_string_lossy(), MAX_REASON),
        imported.withdrawn,
        imported.others,
        imported.unread,
    ))?;
    if imported.unread > 0 {
        return Err(Failure::Reported);
    }
    Ok(())
}

/// Replaces the file. Launches that read it at this moment keep the old one.
fn write(output: &Path, index: &str) -> Result<(), crate::store::Error> {
    files::ensure_dir(files::parent(output))?;
    let _lock = FileLock::beside(output)?;
    files::write_atomic(output, index.as_bytes())
}
