//! `gosling run`: runs a recipe without a server.

use crate::agent::{RecipeSource, Registry};
use crate::chat_command::{self as chat, INTERRUPTED};
use crate::command_line::{Command, Failure, failed, print, printed, text};
use crate::conversation::TokenState;
use crate::interrupt::Interrupts;
use crate::stdin_lines::StdinLines;
use crate::store::Paths;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use crate::turn_display::{DisplayState, SessionAnswers, TurnDisplay};
use gosling_recipes::recipe::{InputType, Library, Parameter, Recipe};
use gosling_recipes::recipe_run::{self, RecipeOutcome, RecipeRun, RunError, RunOptions};
use gosling_shared::missing;
use lexopt::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "run",
    summary: "run a recipe and leave",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling run RECIPE [OPTIONS]
example: gosling run ./standup.yaml --param day=Monday --json

Runs a recipe in this folder, with the settings, extensions and sessions of
`gosling agent`, and leaves. RECIPE is a file, or the name of one in the folders
of recipes. The answer goes to stdout, tool calls and everything else to stderr.
At a terminal you are asked what needs approval; elsewhere it is refused.

options:
  --param KEY=VALUE   the value of a parameter; may be given several times
  -t, --text TEXT     begin with this message in place of the recipe's prompt
  --provider NAME     the provider of the model (the recipe's, GOOSE_PROVIDER)
  --model NAME        the model
  --json              print one JSON object at the end: session_id, final_output,
                      error, tool_calls, refused_calls, tokens
  --offline           connect to no other machine, and ask the programs
                      that gosling starts to do the same
  -h, --help          show this

exit codes: 0 done, 1 failed or a tool call was refused, 2 the command line
makes no sense or lacks values, 130 interrupted with Ctrl-C

variables: those of `gosling chat`
";

/// The longest description of a parameter, in characters.
const MAX_DESCRIPTION: usize = 200;

#[derive(Default)]
struct Options {
    recipe: Option<String>,
    values: Map<String, Json>,
    message: Option<String>,
    model: chat::Options,
    json: bool,
}

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("param" | "params") => {
                let given = text(parser.value()?)?;
                let (key, value) = given.split_once('=').ok_or_else(|| {
                    Failure::Usage(format!("--param: {given:?} is not KEY=VALUE"))
                })?;
                options.values.insert(key.trim().to_owned(), value.into());
            }
            Short('t') | Long("text") => options.message = Some(text(parser.value()?)?),
            Long("provider") => options.model.provider = Some(text(parser.value()?)?),
            Long("model") => options.model.model = Some(text(parser.value()?)?),
            Long("json") => options.json = true,
            Long("offline") => options.model.offline = true,
            Short('h') | Long("help") => return print(HELP),
            Value(value) if options.recipe.is_none() => options.recipe = Some(text(value)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let recipe = options.recipe.take().ok_or_else(|| missing("RECIPE"))?;
    if options
        .message
        .as_ref()
        .is_some_and(|it| it.trim().is_empty())
    {
        return Err(Failure::Usage("--text: it is empty".to_owned()));
    }
    let working_dir = env::current_dir().map_err(failed("no working directory"))?;
    let paths = crate::command_line::paths()?;
    let mut run = find(&recipe, working_dir, &paths)?;
    check_values(&run.recipe, &options.values)?;
    run.values = std::mem::take(&mut options.values);
    let names_session = !options.json;
    chat::in_terminal(
        &paths,
        options.model.offline,
        names_session,
        |registry, interrupts| run_in_session(registry, interrupts, run, &options),
    )
}

/// The recipe in this file, or with this name in the folders of recipes.
fn find(recipe: &str, working_dir: PathBuf, paths: &Paths) -> Result<RecipeRun, Failure> {
    let path = Path::new(recipe);
    let is_name = path.components().count() == 1 && !path.exists();
    let folders = [
        (Library::of_user(&paths.config), RecipeSource::User),
        (Library::of_project(&working_dir), RecipeSource::Project),
    ];
    for (library, source) in folders.into_iter().filter(|_| is_name) {
        let mut entries = library.list().into_iter();
        let named = |file: &Path| {
            let names = [file.file_stem(), file.file_name()];
            names.contains(&Some(path.as_os_str()))
        };
        if let Some(entry) = entries.find(|entry| named(&entry.path) || entry.id == recipe) {
            return run_of(&entry.path, source, working_dir);
        }
    }
    run_of(path, RecipeSource::User, working_dir)
}

fn run_of(path: &Path, source: RecipeSource, working_dir: PathBuf) -> Result<RecipeRun, Failure> {
    let run = RecipeRun::from_file(path, working_dir);
    let run = run.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(RecipeRun { source, ..run })
}

/// Errs with the parameters that have no value, or with the values that have no parameter.
fn check_values(recipe: &Recipe, values: &Map<String, Json>) -> Result<(), Failure> {
    let parameters = &recipe.fields().parameters;
    if let Some(key) = values
        .keys()
        .find(|key| parameters.iter().all(|it| it.key != **key))
    {
        let known: Vec<&str> = parameters.iter().map(|it| it.key.as_str()).collect();
        let known = match known.as_slice() {
            [] => "it has none".to_owned(),
            known => format!("it has {}", known.join(", ")),
        };
        let reason = format!("--param: the recipe has no parameter {key:?}; {known}");
        return Err(Failure::Usage(reason));
    }
    let is_missing = |parameter: &&Parameter| {
        let has_default = parameter.default.is_some() && parameter.input_type != InputType::File;
        !has_default && !values.contains_key(&parameter.key)
    };
    let mut reason = "the recipe needs more values:".to_owned();
    let mut missing = parameters.iter().filter(is_missing).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    for parameter in missing {
        let about = printable(&parameter.description, MAX_DESCRIPTION);
        let (key, kind) = (&parameter.key, parameter.input_type);
        let _ = write!(reason, "\n  --param {key}=…  {about} ({kind}");
        if let Some(options) = &parameter.options {
            let options = printable(&options.join(", "), MAX_DESCRIPTION);
            let _ = write!(reason, ": {options}");
        }
        reason.push(')');
    }
    Err(Failure::Usage(reason))
}

/// Runs the recipe in a new session, which is deleted if the run cannot begin.
fn run_in_session(
    registry: &Registry,
    interrupts: &Interrupts,
    run: RecipeRun,
    options: &Options,
) -> Result<(), Failure> {
    let turn = interrupts.turn(registry.cancel());
    let has_schema = run.recipe.fields().output_schema().is_some();
    let session = match run.start(registry) {
        Ok(session) => session,
        Err(error) => return Err(not_begun(options, &error.to_string())),
    };
    if let Err(failure) = chat::prepare(
        "run RECIPE",
        registry,
        &session.id,
        &options.model,
        turn.cancel(),
    ) {
        let _ = registry.delete(&session.id);
        return Err(match failure {
            _ if turn.cancel().is_cancelled() => Failure::Signalled(INTERRUPTED),
            Failure::Failed(reason) => not_begun(options, &reason),
            failure => failure,
        });
    }
    interrupts.remember(&session.id, false);
    let (outcome, state) = displayed(registry, &session.id, options, turn.cancel());
    if options.json {
        let report = report(&outcome, has_schema);
        print(&format!("{report}\n"))?;
    }
    let is_unprinted = state.unprinted.is_some();
    printed(state.unprinted.map_or(Ok(()), Err))?;
    match outcome.result {
        Ok(_) => chat::refused_calls(outcome.refused_calls),
        Err(RunError::Cancelled) if !is_unprinted => Err(Failure::Signalled(INTERRUPTED)),
        // The display has printed the reason.
        Err(_) => Err(Failure::Reported),
    }
}

/// The failure of a run that has no session.
fn not_begun(options: &Options, reason: &str) -> Failure {
    if options.json {
        let report = json!({
            "session_id": null, "final_output": null, "error": reason, "tool_calls": 0,
            "refused_calls": 0, "tokens": tokens(&TokenState::default()),
        });
        if let Err(failure) = print(&format!("{report}\n")) {
            return failure;
        }
    }
    Failure::Failed(reason.to_owned())
}

/// Runs the session's recipe and displays its turn.
fn displayed(
    registry: &Registry,
    id: &str,
    options: &Options,
    cancel: &Cancel,
) -> (RecipeOutcome, DisplayState) {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let attended = stdin.is_terminal();
    let (mut shown, mut discarded) = (io::BufWriter::new(&stdout), io::sink());
    let mut display = TurnDisplay {
        out: if options.json {
            &mut discarded
        } else {
            &mut shown
        },
        err: &mut io::stderr(),
        terminal: !options.json && stdout.is_terminal() && env::var_os("NO_COLOR").is_none(),
        answers: &SessionAnswers { registry, id },
        input: &mut StdinLines::new(attended),
        cancel,
        state: DisplayState::default(),
    };
    display.state.beside = true;
    let run = RunOptions {
        message: options.message.clone(),
        attended,
        ..RunOptions::default()
    };
    let outcome = recipe_run::run(registry, id, run, &mut display, cancel);
    display.end();
    (outcome, display.state)
}

/// The object that `--json` prints.
fn report(outcome: &RecipeOutcome, has_schema: bool) -> Json {
    let (output, error) = match &outcome.result {
        Ok(text) => (Some(text.as_str()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let output = output.map(|text| {
        if has_schema {
            crate::json::from_str(text).unwrap_or_else(|_| text.into())
        } else {
            Json::from(text)
        }
    });
    json!({
        "session_id": outcome.session_id,
        "final_output": output,
        "error": error,
        "tool_calls": outcome.tool_calls,
        "refused_calls": outcome.refused_calls,
        "tokens": tokens(&outcome.tokens),
    })
}

fn tokens(tokens: &TokenState) -> Json {
    json!({
        "input": tokens.accumulated_input_tokens,
        "output": tokens.accumulated_output_tokens,
        "total": tokens.accumulated_total_tokens,
    })
}
