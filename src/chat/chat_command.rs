//! `gosling chat`: a conversation in the terminal, or through a pipe, without a server.

use crate::agent::{Error, ModelChoice, Registry, Start, Stores, TurnInput};
use crate::command_line::{Command, Failure, failed, print, printed, text};
use crate::conversation::{Message, Role};
use crate::extension::ExtensionConfig;
use crate::interrupt::Interrupts;
use crate::note::print_note;
use crate::provider::thinking_effort::{EFFORT, EFFORTS};
use crate::stdin_lines::{InputLine, STEER, StdinLines};
use crate::store::{Paths, settings};
use crate::sys::cancel::Cancel;
use crate::sys::{self, signal};
use crate::text::printable;
use crate::turn_display::{DisplayState, SessionAnswers, TurnDisplay};
use crate::{extension_options, mistyped_commands, stdin_lines};
use gosling_core::part;
use gosling_shared::set_effort;
use lexopt::prelude::*;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;

pub(crate) const COMMAND: Command = Command {
    name: "chat",
    summary: "talk to a model, in the terminal or through a pipe",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling chat [OPTIONS]
example: gosling chat --provider scripted --with-builtin demo

Talks to a model in the terminal, with the settings, extensions and sessions of
`gosling agent`. Without a terminal every line of stdin is a turn, and calls
that need approval are denied: the exit code is 1 then.

options:
  --session ID             continue this session (a new one in this folder)
  --provider NAME          the provider of the model (GOOSE_PROVIDER)
  --model NAME             the model (GOOSE_MODEL)
  --with-extension 'CMD'   run this MCP server for the session:
                           '[NAME=VALUE...] CMD [ARGS...]'
  --with-streamable-http URL
                           connect to this MCP server
  --with-builtin NAMES     run these MCP servers that gosling ships, separated
                           by commas
  -m, --message TEXT       send this message, wait for the answer and leave
  --offline                connect to no other machine, and ask the programs
                           that gosling starts to do the same
  -h, --help               show this

The --with options may be given several times. In the chat, /help lists the
commands. Ctrl-C ends the turn; a second one within two seconds, or Ctrl-D, ends
the chat.

variables: those of `gosling agent`, and
  GOOSE_MODE               auto, approve, smart_approve or chat (auto)
  GOOSE_SCRIPT             the file that the provider `scripted` answers from
";

const COMMANDS: &str = "\
/help                    show this
/effort [EFFORT]         show or set how much the model thinks
/steer TEXT              tell the model something while it works
/exit, /quit, Ctrl-D     leave; the session stays, unless nothing was sent
/compact                 replace the conversation by a summary of it
/clear                   forget the conversation
/prompts                 list the prompts of the MCP servers
/prompt NAME [K=V ...]   use one
A line that begins with a blank goes to the model, also with a slash.
";

/// The error of a chat whose session has no model. `{command}` stands for the
/// command and `FILE` for the settings file.
const NO_MODEL: &str = "no model is chosen. Choose one
  for this session:  gosling {command} --provider NAME --model MODEL
  for all sessions:  GOOSE_PROVIDER and GOOSE_MODEL, as settings in
                     FILE
                     or as environment variables
  without a model:   gosling {command} --provider scripted
`gosling help models` lists the providers and the settings for their keys";

/// The exit code after Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

#[derive(Default)]
pub(super) struct Options {
    session: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    extensions: Vec<ExtensionConfig>,
    message: Option<String>,
    pub(super) offline: bool,
}

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut options = Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("session") => options.session = Some(text(parser.value()?)?),
            Long("provider") => options.provider = Some(text(parser.value()?)?),
            Long("model") => options.model = Some(text(parser.value()?)?),
            Long("with-extension") => {
                let command = text(parser.value()?)?;
                options
                    .extensions
                    .push(extension_options::command(&command)?);
            }
            Long("with-streamable-http") => {
                let url = text(parser.value()?)?;
                options.extensions.push(extension_options::address(&url)?);
            }
            Long("with-builtin") => {
                let names = text(parser.value()?)?;
                options
                    .extensions
                    .extend(extension_options::builtins(&names)?);
            }
            Short('m') | Long("message") => {
                let message = text(parser.value()?)?;
                if message.trim().is_empty() {
                    return Err(Failure::Usage("--message: it is empty".to_owned()));
                }
                options.message = Some(message);
            }
            Long("offline") => options.offline = true,
            Short('h') | Long("help") => return print(HELP),
            other => return Err(other.unexpected().into()),
        }
    }
    extension_options::make_names_unique(&mut options.extensions);
    let paths = crate::command_line::paths()?;
    let message = options.message.take();
    in_terminal(&paths, options.offline, true, |registry, interrupts| {
        Chat::open(registry, interrupts, &options).and_then(|mut chat| chat.run(message))
    })
}

/// Runs `work`, which Ctrl-C interrupts. At its end, `names_session` names the session for `gosling chat --session`.
pub(super) fn in_terminal(
    paths: &Paths,
    offline: bool,
    names_session: bool,
    work: impl FnOnce(&Arc<Registry>, &Interrupts) -> Result<(), Failure>,
) -> Result<(), Failure> {
    sys::protect_memory();
    signal::block();
    gosling_shared::start_quiet_logging(paths);
    let registry = Arc::new(Registry::new(Stores::new(paths), part::all(), offline));
    let interrupts = Interrupts::watch(registry.clone()).map_err(failed("no thread"))?;
    let outcome = work(&registry, &interrupts);
    if names_session {
        interrupts.end_session(&registry);
    }
    registry.close();
    match interrupts.exit_code() {
        Some(code) => Err(Failure::Signalled(code)),
        None => outcome,
    }
}

/// A chat with one session.
struct Chat<'a> {
    registry: &'a Arc<Registry>,
    interrupts: &'a Interrupts,
    id: String,
    input: StdinLines,
    /// Whether a turn ended with an error, or a line was not sent.
    failed: bool,
    /// How many tool calls were refused because no user or client could be asked.
    refused_calls: usize,
    /// Why stdout cannot be written.
    unprinted: Option<io::Error>,
}

impl<'a> Chat<'a> {
    /// Opens the session of the options, or a new one, and activates its extensions.
    fn open(
        registry: &'a Arc<Registry>,
        interrupts: &'a Interrupts,
        options: &Options,
    ) -> Result<Self, Failure> {
        let turn = interrupts.turn(registry.cancel());
        let id = match &options.session {
            Some(id) => id.clone(),
            None => {
                let working_dir = env::current_dir().map_err(failed("no working directory"))?;
                let start = Start {
                    working_dir,
                    ..Start::default()
                };
                let id = registry.start(start).map_err(agent_failure)?.id;
                interrupts.remember(&id, true);
                id
            }
        };
        if let Err(failure) = prepare("chat", registry, &id, options, turn.cancel()) {
            return Err(if turn.cancel().is_cancelled() {
                Failure::Signalled(INTERRUPTED)
            } else {
                failure
            });
        }
        if options.session.is_some() {
            interrupts.remember(&id, false);
        }
        Ok(Chat {
            registry,
            interrupts,
            id,
            input: StdinLines::new(io::stdin().is_terminal()),
            failed: false,
            refused_calls: 0,
            unprinted: None,
        })
    }

    /// Handles `message`, or else each line of stdin.
    fn run(&mut self, message: Option<String>) -> Result<(), Failure> {
        match message {
            Some(message) => {
                if let AfterLine::Cancelled = self.handle(&message) {
                    return Err(Failure::Signalled(INTERRUPTED));
                }
            }
            None => self.read_turns()?,
        }
        if let Some(error) = self.unprinted.take() {
            printed(Err(error))?;
        }
        if self.failed {
            Err(Failure::Reported)
        } else {
            refused_calls(self.refused_calls)
        }
    }

    fn read_turns(&mut self) -> Result<(), Failure> {
        if self.input.is_terminal() {
            print_note(&format!("session {}; /help lists the commands", self.id));
        }
        loop {
            let line = match self.input.next() {
                InputLine::Text(line) => line,
                InputLine::Cut => {
                    print_note(stdin_lines::CUT);
                    continue;
                }
                InputLine::End => return Ok(()),
                InputLine::Unreadable(reason) => return Err(Failure::Failed(reason)),
            };
            let after = self.handle(&line);
            if matches!(after, AfterLine::Leave)
                || self.unprinted.is_some()
                || self.interrupts.exit_code().is_some()
                || self.registry.cancel().is_cancelled()
            {
                return Ok(());
            }
        }
    }

    /// Runs a command of the chat, or a turn with the line.
    fn handle(&mut self, line: &str) -> AfterLine {
        match line.trim() {
            "" => {}
            "/exit" | "/quit" => return AfterLine::Leave,
            "/help" => print_note(COMMANDS.trim_end()),
            text if text == "/effort" || text.starts_with("/effort ") => {
                self.effort(text["/effort".len()..].trim());
            }
            // The turn ended before it came.
            text if text.starts_with(STEER) => {
                let text = text[STEER.len()..].trim();
                if !text.is_empty() && self.turn(text.to_owned()) {
                    return AfterLine::Cancelled;
                }
            }
            text => match mistyped_commands::mistyped(line, &self.registry.stores().config) {
                Some(reason) => {
                    self.failed |= !self.input.is_terminal();
                    print_note(&reason);
                }
                None if self.turn(text.to_owned()) => return AfterLine::Cancelled,
                None => {}
            },
        }
        AfterLine::Next
    }

    /// How much the session's model is asked to think; empty if nothing is said.
    fn current_effort(&self) -> Result<String, Error> {
        let session = self.registry.files().session(&self.id)?;
        let params = self.registry.models().of(&session)?.config.request_params;
        let effort = params.as_ref().and_then(|params| params.get(EFFORT));
        Ok(effort
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
            .to_owned())
    }

    /// Changes how much the model thinks, or shows it.
    fn effort(&mut self, effort: &str) {
        let known = EFFORTS.join(", ");
        let said = if effort.is_empty() {
            self.current_effort().map(|effort| match effort.as_str() {
                "" => format!("as the model does by default; /effort takes {known} or default"),
                effort => format!("{effort}; /effort takes {known} or default"),
            })
        } else if effort == "default" || EFFORTS.contains(&effort) {
            let chosen = Some(effort).filter(|it| *it != "default");
            let set = set_effort(self.registry, &self.id, chosen);
            set.map(|()| format!("effort: {effort}, from the next message on"))
        } else {
            self.failed |= !self.input.is_terminal();
            Ok(format!(
                "there is no effort {effort:?}; /effort takes {known} or default"
            ))
        };
        print_note(&said.unwrap_or_else(|error| {
            self.failed |= !self.input.is_terminal();
            error.to_string()
        }));
    }

    /// Runs a turn and displays it; returns whether the user cancelled it.
    fn turn(&mut self, text: String) -> bool {
        self.interrupts.remember(&self.id, false);
        let turn = self.interrupts.turn(self.registry.cancel());
        let out = io::stdout();
        let mut err = io::stderr();
        let mut display = TurnDisplay {
            out: &mut io::BufWriter::new(&out),
            err: &mut err,
            terminal: out.is_terminal() && env::var_os("NO_COLOR").is_none(),
            answers: &SessionAnswers {
                registry: self.registry,
                id: &self.id,
            },
            input: &mut self.input,
            cancel: turn.cancel(),
            state: DisplayState::default(),
        };
        let message = Message::text(Role::User, text);
        display
            .input
            .steer_with(Some(steer(self.registry, &self.id)));
        // The display has an error as the last event.
        let _ = (self.registry).reply(
            &self.id,
            TurnInput::new(message),
            &mut display,
            turn.cancel(),
        );
        display.input.steer_with(None);
        display.end();
        self.failed |= display.state.failed;
        self.refused_calls += display.state.refused_calls;
        self.unprinted = display.state.unprinted.take();
        turn.cancel().is_cancelled() && self.unprinted.is_none()
    }
}

/// Adds a text to the running turn of the session `id`.
fn steer(registry: &Arc<Registry>, id: &str) -> Box<dyn Fn(&str) -> bool + Send> {
    let (registry, id) = (registry.clone(), id.to_owned());
    Box::new(move |text| {
        match registry.steer(&id, Message::text(Role::User, text.trim())) {
            Ok(_) => print_note("(the model is told with its next request)"),
            Err(Error::NoTurn) => return false,
            Err(error) => print_note(&error.to_string()),
        }
        true
    })
}

/// What follows a line.
enum AfterLine {
    Next,
    /// The user cancelled the turn.
    Cancelled,
    Leave,
}

/// Errs if tool calls were refused.
pub(super) fn refused_calls(count: usize) -> Result<(), Failure> {
    let calls = match count {
        0 => return Ok(()),
        1 => "a tool call was refused".to_owned(),
        count => format!("{count} tool calls were refused"),
    };
    Err(Failure::Failed(format!(
        "{calls}, because no user or client could be asked; allow the tools beforehand (`gosling help chat`)"
    )))
}

/// Activates the extensions of the session and of the options, and sets the model. `command` has these options.
pub(super) fn prepare(
    command: &str,
    registry: &Registry,
    id: &str,
    options: &Options,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let no_session = |error| match error {
        Error::NoSession => Failure::Failed(format!("there is no session {id:?}")),
        error => agent_failure(error),
    };
    let provider = || {
        let session = registry.files().session(id)?;
        registry.models().provider_of(&session)
    };
    if options.provider.is_none()
        && options.model.is_none()
        && provider().map_err(no_session)?.is_none()
    {
        let settings = registry.stores().config.path().display().to_string();
        return Err(Failure::Failed(
            NO_MODEL
                .replace("{command}", command)
                .replace("FILE", &settings),
        ));
    }
    let (session, results) = registry.resume(id, true, cancel).map_err(no_session)?;
    for result in results.iter().flatten().filter(|result| !result.success) {
        let reason = result.error.as_deref().unwrap_or("no reason was given");
        print_note(&format!("{}: {}", result.name, printable(reason, 1_000)));
    }
    for extension in &options.extensions {
        let added = registry.add_extension(id, extension, cancel);
        added.map_err(agent_failure)?;
    }
    if let Some(choice) = model(registry, options, session.provider_name)? {
        let chosen = registry.models().choose(id, choice);
        chosen.map_err(agent_failure)?;
    }
    if options.session.is_some() {
        let name = printable(&session.name, 100);
        let count = session.message_count;
        print_note(&format!("session {id}, {name:?}, {count} messages so far"));
    }
    Ok(())
}

fn agent_failure(error: Error) -> Failure {
    Failure::Failed(error.to_string())
}

/// The model choice of the options, if there is one.
fn model(
    registry: &Registry,
    options: &Options,
    provider: Option<String>,
) -> Result<Option<ModelChoice>, Failure> {
    if options.provider.is_none() && options.model.is_none() {
        return Ok(None);
    }
    let provider = match options.provider.clone().or(provider) {
        Some(provider) => provider,
        None => {
            let setting = settings::PROVIDER.text(&registry.stores().config);
            let setting = setting.map_err(failed("the configuration"))?;
            let reason = "--model goes with --provider, as GOOSE_PROVIDER is not set";
            setting.ok_or_else(|| Failure::Usage(reason.to_owned()))?
        }
    };
    let scripted = (provider == "scripted").then(|| "script".to_owned());
    Ok(Some(ModelChoice {
        model: options.model.clone().or(scripted),
        provider,
        ..ModelChoice::default()
    }))
}
