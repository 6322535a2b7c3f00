//! `gosling verify-release`.

use crate::command_line::{Command, Failure, print};
use crate::manifest::{self, Record};
use crate::verification::{Verified, verify};
use gosling_shared::missing;
use lexopt::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

pub(crate) const COMMAND: Command = Command {
    name: "verify-release",
    summary: "say whether a release is whole, and what it contains",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling verify-release [--sha256 HASH] [--json] DIR

Compares the files of a release with its SHA256SUMS and release.json, without a
network, and says what the release contains. A file that is changed, missing or
not of the release is an error, and so are links and folders.

arguments:
  DIR             the folder with all files of the release, and no others

options:
  --sha256 HASH   what SHA256SUMS itself must have, from a place that you trust
  --json          print JSON, also about a release that is not whole
  -h, --help      show this

exit codes: 0 the release is whole, 1 it is not, 2 the command line makes no
sense, or DIR has no SHA256SUMS and release.json that can be understood
";

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut folder, mut expected, mut as_json) = (None, None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("json") => as_json = true,
            Long("sha256") if expected.is_none() => {
                let hash = parser.value()?.to_string_lossy().to_ascii_lowercase();
                if !manifest::is_hash(&hash) {
                    let why = "--sha256 needs the 64 hexadecimal digits of a SHA-256";
                    return Err(Failure::Usage(why.to_owned()));
                }
                expected = Some(hash);
            }
            Value(name) if folder.is_none() => folder = Some(PathBuf::from(name)),
            other => return Err(other.unexpected().into()),
        }
    }
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.ok_or_else(|| missing("DIR"))?;
    let verified = verify(&folder, expected.as_deref());
    let verified =
        verified.map_err(|why| Failure::NotChecked(format!("nothing is known: {why}")))?;
    let is_whole = verified.problems.is_empty() && verified.further == 0;
    if as_json {
        print(&format!("{:#}\n", to_json(&verified)))?;
        return is_whole.then_some(()).ok_or(Failure::Reported);
    }
    match &verified.record {
        Some(record) if is_whole => print(&to_text(record, &verified.sums_hash)),
        _ => Err(Failure::Failed(to_error(&verified))),
    }
}

fn to_text(record: &Record, sums_hash: &str) -> String {
    let total: u64 = record.files.iter().map(|file| file.size).sum();
    let mut out = format!("gosling {} is whole\n", record.version);
    for (name, value) in [
        ("commit", &*record.commit),
        ("time", &record.time),
        ("toolchain", &record.toolchain),
        ("SHA256SUMS", sums_hash),
    ] {
        let _ = writeln!(out, "{name:10}  {value}");
    }
    let _ = writeln!(out, "files       {}, {total} bytes", record.files.len());
    for file in &record.files {
        let _ = write!(
            out,
            "  {}, {} bytes\n    {}",
            file.name, file.size, file.what
        );
        if !file.target.is_empty() {
            let _ = write!(out, ", for {}", file.target);
        }
        out.push('\n');
    }
    out
}

fn to_json(verified: &Verified) -> Value {
    let record = verified.record.as_ref().map(|record| {
        let files = record.files.iter().map(|file| {
            json!({
                "name": file.name,
                "size": file.size,
                "sha256": file.sha256,
                "what": file.what,
                "target": file.target,
            })
        });
        json!({
            "version": record.version,
            "commit": record.commit,
            "time": record.time,
            "toolchain": record.toolchain,
            "files": files.collect::<Vec<_>>(),
        })
    });
    let problems = verified.problems.iter();
    let problems = problems.map(|(name, problem)| json!({"name": name, "problem": problem}));
    json!({
        "sums_sha256": verified.sums_hash,
        "release": record,
        "problems": problems.collect::<Vec<_>>(),
        "further_problems": verified.further,
    })
}

fn to_error(verified: &Verified) -> String {
    let mut out = "the release is not whole".to_owned();
    for (name, problem) in &verified.problems {
        let _ = write!(out, "\n  {name}: {problem}");
    }
    if verified.further > 0 {
        let _ = write!(out, "\n  and {} more", verified.further);
    }
    out
}
