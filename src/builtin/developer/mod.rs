//! `developer`: a shell, files and code analysis, for a model that works on a computer. Names and parameters of
//! the tools are those of Goose's extension of this name.

#[cfg(feature = "analyze")]
mod analyze;
mod atomic_write;
mod child_output;
mod client_files;
mod closest_match;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gitignore;
mod gooseignore;
#[cfg(feature = "image")]
mod image;
mod line_endings;
mod login_shell_path;
mod output_lines;
#[cfg(test)]
mod patch_memory_ratio;
mod prompts;
mod run_command;
mod saved_command_outputs;
#[cfg(feature = "screen")]
mod screen;
mod shell;
mod shell_words;
mod text_editor;
mod text_files;
mod undo_history;
mod unified_diff;
mod user_shell;

use super::SessionData;
use crate::in_process;
use crate::mcp::server::{Server, Tool};
use crate::store::Paths;
use crate::sys::Family;
use crate::sys::lock;
use gosling_core::builtin::BuiltinServer;
use gosling_core::part::Part;
use run_command::OutputReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the edits that can be undone, and saved outputs, are kept in a session that is not used.
const KEEP_UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

const INSTRUCTIONS: &str = "\
Tools to work on this computer, in the session's working directory unless a path says otherwise.
`shell` runs a command and gives what it prints. Each call is a new shell: a directory that was \
changed to, or a variable that was set, is forgotten by the next one. It has no terminal, so nothing \
may ask a person. Start what is to go on (a server, a watcher) with `&`; it ends with the session. Find \
things with `rg` where it is installed, and keep long output out: filter it, or send it to a file. \
";
const ABOUT_EDITOR: &str = "`text_editor` looks at files and changes them";
const ABOUT_IGNORED: &str = "Files that `.gooseignore` names are kept from all of them.";

/// Tools that a build can leave out.
struct OptionalTools {
    /// Creates them.
    create: fn(&Arc<Developer>) -> Vec<Tool>,
    /// What they do, as a part of a sentence of the instructions.
    about: &'static str,
}

macro_rules! optional_tools {
    ($($(#[$doc:meta])* $name:ident: [$($feature:literal => $module:ident),*];)*) => {$(
        $(#[$doc])*
        const $name: &[OptionalTools] = &[$(
            #[cfg(feature = $feature)]
            $module::TOOLS,
        )*];
    )*};
}

optional_tools! {
    /// The tools of this build that read source code.
    SOURCE_TOOLS: ["analyze" => analyze];
    /// The tools of this build that show pictures.
    PICTURE_TOOLS: ["image" => image, "screen" => screen];
}

/// What this server adds to gosling.
pub const PART: Part = Part {
    servers: &[BuiltinServer {
        name: "developer",
        connect: |context| in_process(server(context.paths, context.data.clone(), context.offline)),
    }],
    shell: Some(shell::run_check),
    ..Part::new("developer")
};

/// Creates a `developer` server for the session of `data`, by way of whose client it reads and writes text files and
/// runs commands where the client offers that. The processes that it has started end with it. With `offline`, commands
/// are asked not to connect to other machines.
pub fn server(paths: &Paths, data: Arc<dyn SessionData>, offline: bool) -> Server {
    let developer = Arc::new(Developer {
        config: paths.config.clone(),
        data,
        offline,
        family: Mutex::default(),
        readers: Mutex::default(),
        outputs: saved_command_outputs::SavedOutputs::new(),
        edits: Mutex::default(),
        ignore_rules: Mutex::default(),
    });
    let held = developer.clone();
    let folder = prompts::PromptFolder::new(paths.config.join("prompts").join("developer"));
    let server = Server::new("developer", env!("CARGO_PKG_VERSION"))
        .title("gosling developer")
        .instructions(instructions())
        .logging()
        .holding(move |unused| held.holds_state(unused))
        .live_prompts(move |_| folder.prompts());
    let optional = SOURCE_TOOLS.iter().chain(PICTURE_TOOLS);
    let tools = optional.flat_map(|tools| (tools.create)(&developer));
    let server = tools
        .chain([shell::tool(&developer), text_editor::tool(&developer)])
        .fold(server, Server::tool);
    prompts::builtin_prompts().fold(server, Server::prompt)
}

/// The instructions, with the tools of this build.
fn instructions() -> String {
    let about = |tools: &[OptionalTools]| tools.iter().map(|tools| tools.about).collect();
    let (mut of_files, of_pictures): (Vec<_>, Vec<_>) = (about(SOURCE_TOOLS), about(PICTURE_TOOLS));
    of_files.push(ABOUT_EDITOR);
    let sentences = [of_files, of_pictures].into_iter();
    let sentences = sentences.filter(|parts| !parts.is_empty());
    let sentences: String = sentences.map(|parts| parts.join(", ") + ". ").collect();
    let shell = user_shell::about();
    format!("{INSTRUCTIONS}{shell}{sentences}{ABOUT_IGNORED}")
}

/// The state that the tools share.
struct Developer {
    /// The user's configuration folder.
    config: PathBuf,
    /// Whose client may read and write files, and run commands.
    data: Arc<dyn SessionData>,
    /// Whether commands are asked not to connect to other machines.
    offline: bool,
    /// The processes that commands have started; none before the first command.
    family: Mutex<Option<Arc<Family>>>,
    /// The threads that read the output of commands that have ended but left processes in the background.
    readers: Mutex<Vec<OutputReader>>,
    /// The long outputs that are kept in files.
    outputs: saved_command_outputs::SavedOutputs,
    /// The edits that can be undone. Holding the lock makes edits exclusive.
    edits: Mutex<undo_history::History>,
    /// The rules for the working directory of the last call.
    ignore_rules: Mutex<Option<Arc<gooseignore::IgnoreRules>>>,
}

impl Developer {
    fn family(&self) -> std::io::Result<Arc<Family>> {
        let mut family = lock(&self.family);
        if let Some(family) = &*family {
            return Ok(family.clone());
        }
        Ok(family.insert(Arc::new(Family::new()?)).clone())
    }

    /// Whether its end would lose something after it was unused for this time: processes, or edits that can be undone
    /// and saved outputs.
    fn holds_state(&self, unused: Duration) -> bool {
        let keeps = unused < KEEP_UNUSED;
        if keeps && !(lock(&self.edits).is_empty() && self.outputs.is_empty()) {
            return true;
        }
        let family = lock(&self.family).clone();
        family.is_some_and(|family| family.may_live())
    }

    fn track_reader(&self, reader: OutputReader) {
        let mut readers = lock(&self.readers);
        readers.retain(|reader| !reader.is_over());
        readers.push(reader);
    }
}

impl Drop for Developer {
    fn drop(&mut self) {
        if let Some(family) = lock(&self.family).take() {
            family.end();
        }
        for reader in std::mem::take(&mut *lock(&self.readers)) {
            reader.end();
        }
    }
}
