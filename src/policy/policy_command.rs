//! `gosling policy`: checks a policy, and explains what it decides.

use crate::command_line::{Command, Failure, print, text};
use crate::decisions::{self, Call, Decided};
use crate::extension::config;
use crate::policy_file::{self, Decision, PolicyFile};
use crate::store::files;
use crate::sys::effective_user;
use crate::text::printable;
use crate::trusted_file;
use gosling_core::part::SYSTEM_POLICY;
use lexopt::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "policy",
    summary: "check the administrator's policy, and explain it",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling policy check [FILE]
       gosling policy explain --tool TOOL [OPTIONS] [FILE]
example: gosling policy explain --tool developer__shell \\
             --arguments '{\"command\": \"ls\"}'

FILE is /etc/gosling/policy.yaml if it is not given.

subcommands:
  check    check that FILE is a policy, and that it would be trusted
  explain  say what becomes of the call of a tool, by which rule and line

options of explain:
  --tool TOOL         the tool, with its extension: EXTENSION__TOOL
  --key NAME          the name of the client's key (none)
  --front FRONT       http, acp, schedule, or the name of a command (http)
  --arguments JSON    the arguments ({})
  --directory DIR     the working directory (this one)
  -h, --help          show this

exit codes: 0 done, 2 FILE cannot be used, or the command line makes no sense
";

#[derive(Default)]
struct Options {
    file: Option<PathBuf>,
    tool: String,
    key: String,
    front: Option<String>,
    arguments: Option<String>,
    directory: Option<PathBuf>,
}

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let subcommand = match parser.next()? {
        Some(Value(word)) => text(word)?,
        Some(Short('h') | Long("help")) => return Err(Failure::Help),
        Some(other) => return Err(other.unexpected().into()),
        None => String::new(),
    };
    let explains = match subcommand.as_str() {
        "check" => false,
        "explain" => true,
        _ => {
            let reason =
                format!("there is no subcommand {subcommand:?}; there are check and explain");
            return Err(Failure::Usage(reason));
        }
    };
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("policy") if options.file.is_none() => {
                options.file = Some(parser.value()?.into());
            }
            Long("tool") if explains => options.tool = text(parser.value()?)?,
            Long("key") if explains => options.key = text(parser.value()?)?,
            Long("front") if explains => options.front = Some(text(parser.value()?)?),
            Long("arguments") if explains => options.arguments = Some(text(parser.value()?)?),
            Long("directory") if explains => options.directory = Some(parser.value()?.into()),
            Value(file) if options.file.is_none() => options.file = Some(file.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = options.file.take();
    let file = file.unwrap_or_else(|| SYSTEM_POLICY.into());
    let shown = printable(&file.display().to_string(), 1000);
    let found = files::read_file(&file, policy_file::MAX_SIZE);
    let unusable = |why: String| Failure::NotChecked(format!("the policy {shown}: {why}"));
    let (content, _) = match found.map_err(|error| unusable(error.to_string()))? {
        Some(content) => content,
        None => return Err(unusable("it does not exist".to_owned())),
    };
    let policy = policy_file::read(&content).map_err(|fault| unusable(fault.to_string()))?;
    if explains {
        explain(&policy, &content, options)
    } else {
        print(&(summary(&policy, &shown) + &warnings(&policy, &content, &file)))
    }
}

fn summary(policy: &PolicyFile, shown: &str) -> String {
    let lists = [
        (policy.rules.len(), "of tools"),
        (
            policy.extensions.as_ref().map_or(0, |it| it.rules.len()),
            "of extensions",
        ),
        (
            policy.models.as_ref().map_or(0, |it| it.rules.len()),
            "of models",
        ),
    ];
    let lists = lists.map(|(count, of)| format!("{count} {of}")).join(", ");
    format!("{shown} is a policy; its rules: {lists}\n")
}

/// What a reader may have meant differently.
fn warnings(policy: &PolicyFile, content: &[u8], file: &Path) -> String {
    let mut out = String::new();
    if let Err(why) = trusted_file::read(file, policy_file::MAX_SIZE, effective_user()) {
        let _ = writeln!(
            out,
            "warning: a service of this user would not start: {why}"
        );
    }
    let fits_all = policy.rules.iter().position(|rule| {
        rule.key.is_none()
            && rule.front.is_none()
            && rule.extension.is_none()
            && rule.tool.is_none()
            && rule.arguments.is_none()
            && rule.directory.is_none()
    });
    if let Some(index) = fits_all.filter(|index| index + 1 < policy.rules.len()) {
        let line = policy_file::line_of(content, policy_file::List::Calls, index);
        let line = line.unwrap_or_default();
        let _ = writeln!(
            out,
            "warning: no rule behind line {line} is asked, as that one fits all calls"
        );
    }
    out
}

fn explain(policy: &PolicyFile, content: &[u8], options: Options) -> Result<(), Failure> {
    if options.tool.is_empty() {
        return Err(Failure::Usage("no --tool given".to_owned()));
    }
    let (extension, tool) = (options.tool.split_once("__")).unwrap_or(("", &options.tool));
    let directory = match options.directory {
        Some(directory) => Some(directory),
        None => std::env::current_dir().ok(),
    };
    let decided = decisions::call(
        policy,
        &Call {
            key: &options.key,
            front: options.front.as_deref().unwrap_or("http"),
            extension: &config::key(extension),
            tool,
            arguments: options.arguments.unwrap_or_default().as_bytes(),
            directory: directory.as_deref(),
        },
    );
    print(&explained(&decided, content))
}

/// The decision, the rule and its line: `deny: rule 2, line 12: why`.
fn explained(decided: &Decided, content: &[u8]) -> String {
    let decision = match decided.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let Some(index) = decided.rule else {
        return format!("{decision}: the default\n");
    };
    let line = policy_file::line_of(content, decided.list, index).unwrap_or_default();
    let reason = printable(decided.reason.as_deref().unwrap_or_default(), 500);
    let colon = if reason.is_empty() { "" } else { ": " };
    format!(
        "{decision}: rule {}, line {line}{colon}{reason}\n",
        index + 1
    )
}
