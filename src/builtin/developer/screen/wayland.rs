//! Displays and windows under Wayland. `grim` takes the pictures. Only some compositors list their windows, each
//! with its own program: sway and Hyprland.

use super::{Target, Window, failed, no_display, run_or_fail};
use crate::developer::image::helper_programs::Programs;
use crate::mcp::server::ToolError;
use crate::sys::process::Command;
use serde::Deserialize;
use std::env;

/// The deepest tree of windows.
const MAX_DEPTH: usize = 64;

/// A compositor that lists windows and displays.
struct Compositor {
    /// The variable that its sessions have.
    variable: &'static str,
    /// Its program, and the arguments for each of the two lists.
    program: &'static str,
    displays: &'static [&'static str],
    windows: &'static [&'static str],
    /// Reads the list of windows.
    read_windows: fn(&str) -> Option<Vec<Window>>,
}

const COMPOSITORS: [Compositor; 2] = [
    Compositor {
        variable: "SWAYSOCK",
        program: "swaymsg",
        displays: &["-r", "-t", "get_outputs"],
        windows: &["-r", "-t", "get_tree"],
        read_windows: sway_windows,
    },
    Compositor {
        variable: "HYPRLAND_INSTANCE_SIGNATURE",
        program: "hyprctl",
        displays: &["-j", "monitors"],
        windows: &["-j", "clients"],
        read_windows: hyprland_windows,
    },
];

impl Compositor {
    fn of_this_session() -> Option<&'static Self> {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        COMPOSITORS.iter().find(|it| is_set(it.variable))
    }

    fn ask(&self, programs: &Programs<'_>, args: &[&str]) -> Result<String, ToolError> {
        let name = self.program;
        let missing = || {
            failed(format!(
                "{name}, which comes with the compositor, is not on the PATH."
            ))
        };
        let mut command = programs.find(name).ok_or_else(missing)?;
        command.args(args);
        run_or_fail(programs, command, "The compositor does not answer")
    }
}

/// Lists the visible windows.
///
/// # Errors
/// When the compositor does not list them.
pub(super) fn windows(programs: &Programs<'_>) -> Result<Vec<Window>, ToolError> {
    let Some(compositor) = Compositor::of_this_session() else {
        return Err(failed(
            "This Wayland compositor does not list its windows, as only sway and Hyprland do; capture the \
             display instead.",
        ));
    };
    let text = compositor.ask(programs, compositor.windows)?;
    (compositor.read_windows)(&text).ok_or_else(not_understood)
}

fn not_understood() -> ToolError {
    failed("The answer of the compositor cannot be parsed.")
}

/// Writes a picture to `file`, in the current directory of the programs.
///
/// # Errors
/// When `grim` is missing or fails, or the display does not exist.
pub(super) fn capture(
    programs: &Programs<'_>,
    target: Target<'_>,
    run: &dyn Fn(Command) -> Result<(), ToolError>,
    file: &str,
) -> Result<(), ToolError> {
    let mut grim = programs.find("grim").ok_or_else(|| {
        failed(
            "The screen cannot be captured: grim, which does that under Wayland, is not installed. Install \
             it, for example with `apt install grim`.",
        )
    })?;
    match target {
        Target::Window(window) => grim.args(["-g", &window.handle]),
        Target::Display(display) => match output_of(programs, display)? {
            Some(output) => grim.args(["-o", &output]),
            None => &mut grim,
        },
    };
    grim.arg(file);
    run(grim)
}

/// The name of a display; `None` if the compositor does not name its displays.
fn output_of(programs: &Programs<'_>, display: u32) -> Result<Option<String>, ToolError> {
    let Some(compositor) = Compositor::of_this_session() else {
        return match display {
            0 => Ok(None),
            n => Err(failed(format!(
                "This Wayland compositor does not name its displays, so display {n} cannot be selected; \
                 display 0 is all of them."
            ))),
        };
    };
    let text = compositor.ask(programs, compositor.displays)?;
    let mut names = outputs(&text).ok_or_else(not_understood)?;
    let all = names.len();
    if (display as usize) < all {
        Ok(Some(names.swap_remove(display as usize)))
    } else {
        Err(no_display(display, all))
    }
}

/// The names of active displays, from the JSON of sway or Hyprland.
fn outputs(text: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Output {
        name: String,
        active: Option<bool>,
    }
    let outputs: Vec<Output> = gosling_core::json::from_str(text).ok()?;
    let active = outputs
        .into_iter()
        .filter(|output| output.active != Some(false));
    Some(active.map(|output| output.name).collect())
}

fn window(title: &str, [x, y, width, height]: [i64; 4]) -> Option<Window> {
    if width <= 0 || height <= 0 {
        return None;
    }
    Window::new(&format!("{x},{y} {width}x{height}"), title)
}

fn sway_windows(text: &str) -> Option<Vec<Window>> {
    #[derive(Deserialize)]
    struct Node {
        name: Option<String>,
        pid: Option<i64>,
        visible: Option<bool>,
        rect: Rect,
        #[serde(default)]
        nodes: Vec<Node>,
        #[serde(default)]
        floating_nodes: Vec<Node>,
    }
    #[derive(Deserialize)]
    struct Rect {
        x: i64,
        y: i64,
        width: i64,
        height: i64,
    }
    // Deserializing and dropping the tree both recurse.
    if gosling_core::json::is_deeper_than(MAX_DEPTH, text.as_bytes()) {
        return None;
    }
    let root: Node = gosling_core::json::from_str(text).ok()?;
    let mut windows = Vec::new();
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        // Only nodes with a process are windows.
        if let (Some(name), Some(_), Some(true)) = (&node.name, node.pid, node.visible) {
            let rect = &node.rect;
            windows.extend(window(name, [rect.x, rect.y, rect.width, rect.height]));
        }
        left.extend(node.floating_nodes.into_iter().rev());
        left.extend(node.nodes.into_iter().rev());
    }
    Some(windows)
}

fn hyprland_windows(text: &str) -> Option<Vec<Window>> {
    #[derive(Deserialize)]
    struct Client {
        title: String,
        mapped: Option<bool>,
        hidden: Option<bool>,
        at: [i64; 2],
        size: [i64; 2],
    }
    let clients: Vec<Client> = gosling_core::json::from_str(text).ok()?;
    let shown = clients
        .iter()
        .filter(|client| client.mapped != Some(false) && client.hidden != Some(true));
    let of = |client: &Client| {
        let [x, y] = client.at;
        let [width, height] = client.size;
        window(&client.title, [x, y, width, height])
    };
    Some(shown.filter_map(of).collect())
}

#[cfg(test)]
mod tests;
