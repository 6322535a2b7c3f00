//! `gosling acp`: serves one client of the Agent Client Protocol on stdin and stdout.

use crate::agent::{Registry, Stores};
use crate::capabilities::SETUP;
use crate::command_line::{Command, Failure, failed, serve};
use crate::model_setup::ModelSetup;
use crate::sys::{self, signal};
use gosling_core::part;
use gosling_shared::words;
use std::io;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const COMMAND: Command = Command {
    name: "acp",
    summary: "speak the Agent Client Protocol, for an editor that starts it",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling acp [OPTIONS]

Speaks the Agent Client Protocol on stdin and stdout, for an editor that starts
it: Zed, JetBrains IDEs, Neovim, Emacs and others. Settings, extensions and
sessions are those of `gosling agent`. `gosling help acp` has the entries for
the settings of editors.

options:
  --setup              ask for the provider, its key and the model in the
                       terminal, store them and end
  --offline            connect to no other machine, and ask the programs
                       that gosling starts to do the same
  -h, --help           show this

stdout has messages only; the log goes to a file in the state folder, and its
errors to stderr (GOOSE_LOG). The agent ends with stdin.
";

/// When the process ends at the latest after its client has left; the guardian ends what is left.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(4_700);

fn run(parser: lexopt::Parser) -> Result<(), Failure> {
    let (_, [offline, setup]) = words(parser, 0, ["offline", &SETUP[2..]])?;
    sys::protect_memory();
    if setup {
        return set_up(offline);
    }
    signal::block();
    let paths = crate::command_line::paths()?;
    gosling_shared::start_quiet_logging(&paths);
    let registry = Arc::new(Registry::new(Stores::new(&paths), part::all(), offline));
    let gone = registry.cancel().child();
    let signalled = gone.clone();
    sys::spawn("signals".to_owned(), Some(sys::SMALL_STACK), move || {
        serve::wait_for_signal();
        signalled.cancel();
        process::exit(128 + signal::wait());
    })
    .map_err(failed("no thread"))?;
    let _late = gone.on_cancel(end_process_late);
    let served = crate::serve_stdio_process(&registry, &gone);
    // Starts the time limit also after the end of stdin.
    gone.cancel();
    registry.close();
    served.map_err(failed("stdin or stdout"))
}

/// Asks for the model in the terminal.
fn set_up(offline: bool) -> Result<(), Failure> {
    let paths = crate::command_line::paths()?;
    gosling_shared::start_quiet_logging(&paths);
    let registry = Registry::new(Stores::new(&paths), part::all(), offline);
    let mut setup = ModelSetup {
        registry: &registry,
        input: io::stdin().lock(),
        output: io::stdout().lock(),
    };
    let outcome = setup.run();
    registry.close();
    outcome
}

/// Ends the process after [`SHUTDOWN_TIMEOUT`]. If no thread can be started, there is no time limit.
fn end_process_late() {
    let end = || {
        thread::sleep(SHUTDOWN_TIMEOUT);
        process::exit(0);
    };
    let _ = sys::spawn("time limit".to_owned(), Some(sys::SMALL_STACK), end);
}
