//! `screen_capture` and `list_windows`: pictures of displays and windows, made by helper programs.

mod wayland;
mod x11;

use super::image::Picture;
use super::image::helper_programs::{self, ProgramOutput, Programs};
use super::{Developer, OptionalTools, text_editor};
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::CallToolResult;
use crate::sys::process::Command;
use gosling_core::text::printable;
use gosling_shared::TemporaryFolder;
use serde::Deserialize;
use std::env;

/// The longest title, in characters.
const MAX_TITLE: usize = 300;
/// The most windows in a list, and in an error message.
const MAX_LISTED: usize = 500;
const MAX_HINTED: usize = 20;
/// The file name of the picture.
const FILE: &str = "screen.png";

impl ProgramOutput {
    /// The stdout as text.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Programs<'_> {
    /// The first program of this name in the `PATH`.
    fn find(&self, name: &str) -> Option<Command> {
        self.all(name).next().map(Command::new)
    }
}

#[derive(Deserialize)]
struct Capture {
    display: Option<u32>,
    window_title: Option<String>,
}

#[derive(Deserialize)]
struct List {}

/// A window, with its handle in the display system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    handle: String,
    /// On one line and printable; never empty.
    title: String,
}

impl Window {
    /// `None` for a window without a title: a call could not name it.
    fn new(handle: &str, title: &str) -> Option<Self> {
        let title = shown(title);
        (!title.is_empty()).then(|| Window {
            handle: handle.to_owned(),
            title,
        })
    }
}

/// The title as it is listed.
fn shown(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    printable(&words.join(" "), MAX_TITLE)
}

/// What is captured.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// The number of a display, from 0.
    Display(u32),
    Window(&'a Window),
}

/// The display protocol of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DisplaySystem {
    Wayland,
    X11,
}

/// What the feature `screen` adds.
pub(super) const TOOLS: OptionalTools = OptionalTools {
    create: |developer| {
        vec![
            Tool::sharing(
                developer,
                include_str!("list_windows.json"),
                Developer::list_windows,
            ),
            Tool::sharing(
                developer,
                include_str!("screen_capture.json"),
                Developer::screen_capture,
            ),
        ]
    },
    about: "`screen_capture` what is on the screen or in one of the windows that `list_windows` names",
};

impl Developer {
    fn list_windows(&self, _: &List, context: &Context) -> Result<CallToolResult, ToolError> {
        let screen = DisplaySystem::current()?;
        let windows = screen.windows(&Programs::new(self, context)?)?;
        let mut text: String = windows
            .iter()
            .take(MAX_LISTED)
            .map(|window| format!("{}\n", window.title))
            .collect();
        if windows.is_empty() {
            text.push_str("(no window with a title is open)\n");
        }
        if windows.len() > MAX_LISTED {
            let more = windows.len() - MAX_LISTED;
            text.push_str(&format!("({more} more are not shown)\n"));
        }
        Ok(text_editor::result(&text, &text, 0.0))
    }

    fn screen_capture(
        &self,
        args: &Capture,
        context: &Context,
    ) -> Result<CallToolResult, ToolError> {
        let title = args.window_title.as_deref().map(str::trim);
        // Some models send empty values for unused parameters.
        let title = title.filter(|title| !title.is_empty());
        if args.display.is_some() && title.is_some() {
            return Err(ToolError::Refused(
                "`display` and `window_title` are both given; say which of the two to capture"
                    .into(),
            ));
        }
        let screen = DisplaySystem::current()?;
        let programs = Programs::new(self, context)?;
        let folder = TemporaryFolder::new();
        let folder = folder.map_err(|error| {
            failed(format!(
                "No folder for the picture can be created: {error}."
            ))
        })?;
        let run = |mut command: Command| {
            let name = helper_programs::name(&command);
            let what = format!("{name} did not take the picture");
            command.current_dir(folder.path());
            run_or_fail(&programs, command, &what).map(drop)
        };
        let name = match title {
            None => {
                let display = args.display.unwrap_or(0);
                screen.capture(&programs, Target::Display(display), &run)?;
                format!("Display {display}")
            }
            Some(title) => {
                let windows = screen.windows(&programs)?;
                let window = choose(&windows, title).map_err(failed)?;
                screen.capture(&programs, Target::Window(window), &run)?;
                format!("Window {:?}", window.title)
            }
        };
        let (file, len) = folder
            .open(FILE)
            .map_err(|error| failed(format!("The picture cannot be read: {error}.")))?;
        let picture = Picture::of(file, len, "The picture of the screen", &programs)?;
        Ok(picture.result(&name))
    }
}

impl DisplaySystem {
    /// The display system of this process's session.
    ///
    /// # Errors
    /// When the operating system is not supported, or the process belongs to no graphical session.
    fn current() -> Result<Self, ToolError> {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        DisplaySystem::of(env::consts::OS, &is_set).map_err(failed)
    }

    fn of(system: &str, is_set: &dyn Fn(&str) -> bool) -> Result<Self, String> {
        if matches!(system, "macos" | "windows") {
            return Err(format!(
                "Screens and windows are not supported on this system ({system}); they are under X11 and \
                 Wayland."
            ));
        }
        // Programs for X11 see very little of a Wayland session.
        if is_set("WAYLAND_DISPLAY") {
            return Ok(DisplaySystem::Wayland);
        }
        if is_set("DISPLAY") {
            return Ok(DisplaySystem::X11);
        }
        Err(
            "There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set. gosling has to run in \
             a graphical session, or with DISPLAY and XAUTHORITY of one."
                .to_owned(),
        )
    }

    fn windows(self, programs: &Programs<'_>) -> Result<Vec<Window>, ToolError> {
        match self {
            DisplaySystem::Wayland => wayland::windows(programs),
            DisplaySystem::X11 => x11::windows(programs),
        }
    }

    /// Writes the picture to [`FILE`]. `run` runs a program in the folder of that file.
    fn capture(
        self,
        programs: &Programs<'_>,
        target: Target<'_>,
        run: &dyn Fn(Command) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        match self {
            DisplaySystem::Wayland => wayland::capture(programs, target, run, FILE),
            DisplaySystem::X11 => x11::capture(programs, target, run, FILE),
        }
    }
}

fn failed(why: impl Into<String>) -> ToolError {
    ToolError::Failed(why.into())
}

fn no_display(n: u32, all: usize) -> ToolError {
    let last = all.saturating_sub(1);
    failed(format!(
        "There is no display {n}; they are numbered from 0 to {last}."
    ))
}

/// Runs a program and returns its stdout; `what` begins the error message if it fails.
fn run_or_fail(programs: &Programs<'_>, command: Command, what: &str) -> Result<String, ToolError> {
    let done = programs.run(command)?;
    if done.success {
        Ok(done.text())
    } else {
        let why = done.error_text();
        Err(failed(format!("{what}: {why}.")))
    }
}

/// The window with this title, or else the only one whose title contains it, ignoring letter case.
fn choose<'w>(windows: &'w [Window], title: &str) -> Result<&'w Window, String> {
    let title = shown(title);
    if let Some(window) = windows.iter().find(|window| window.title == title) {
        return Ok(window);
    }
    let small = title.to_lowercase();
    let with: Vec<&Window> = windows
        .iter()
        .filter(|window| window.title.to_lowercase().contains(&small))
        .collect();
    let names = |windows: &[&Window]| {
        let titles = windows.iter().take(MAX_HINTED);
        let titles: Vec<_> = titles.map(|window| format!("{:?}", window.title)).collect();
        let more = if windows.len() > MAX_HINTED {
            ", and more"
        } else {
            ""
        };
        format!("{}{more}", titles.join(", "))
    };
    match with.as_slice() {
        [window] => Ok(window),
        [] if windows.is_empty() => Err("No window with a title is open.".to_owned()),
        [] => {
            let all = names(&windows.iter().collect::<Vec<_>>());
            Err(format!("There is no window {title:?}, only {all}."))
        }
        many => Err(format!(
            "Several windows have {title:?} in their title: {}. Say which one, with its whole title.",
            names(many)
        )),
    }
}

#[cfg(test)]
mod tests;
