//! Displays and windows under X11, by `wmctrl`, `xdotool`, `xrandr`, `scrot` and ImageMagick.

use super::{Target, Window, failed, run_or_fail};
use crate::developer::image::helper_programs::Programs;
use crate::mcp::server::ToolError;
use crate::sys::process::Command;

/// The most windows that `xdotool` is asked about, one by one.
const MAX_ASKED: usize = 200;

/// A rectangle of the screen, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

impl Area {
    /// In the notation of X11.
    fn geometry(self) -> String {
        format!("{}x{}+{}+{}", self.width, self.height, self.x, self.y)
    }
}

/// Lists the windows of all desktops.
///
/// # Errors
/// When no suitable program is installed, or it fails.
pub(super) fn windows(programs: &Programs<'_>) -> Result<Vec<Window>, ToolError> {
    if let Some(mut command) = programs.find("wmctrl") {
        // `-u` requests UTF-8 in every locale.
        command.args(["-l", "-u"]);
        let done = programs.run(command)?;
        // `wmctrl` needs a window manager; `xdotool` does not.
        if done.success {
            return Ok(listed(&done.text()));
        }
    }
    let xdotool = |args: &[&str]| {
        let mut command = programs.find("xdotool")?;
        command.args(args);
        Some(command)
    };
    let Some(search) = xdotool(&["search", "--onlyvisible", "--name", "."]) else {
        return Err(failed(
            "The windows cannot be listed: neither wmctrl nor xdotool works here. Install wmctrl \
             (`apt install wmctrl`), or without a window manager xdotool.",
        ));
    };
    let done = programs.run(search)?;
    // `xdotool` also fails, without output, when it finds no window.
    if !done.success && !done.stdout.is_empty() {
        let why = done.error_text();
        return Err(failed(format!("The windows cannot be listed: {why}.")));
    }
    let mut windows = Vec::new();
    for id in ids(&done.text()).take(MAX_ASKED) {
        if let Some(command) = xdotool(&["getwindowname", id]) {
            let done = programs.run(command)?;
            if done.success {
                windows.extend(Window::new(id, &done.text()));
            }
        }
    }
    Ok(windows)
}

/// Parses lines of an id, a desktop, a host and a title.
fn listed(text: &str) -> Vec<Window> {
    let window = |line: &str| {
        let (id, rest) = line.split_once(' ')?;
        let (_desktop, rest) = rest.trim_start().split_once(' ')?;
        let (_host, title) = rest.trim_start().split_once(' ')?;
        is_hexadecimal(id).then(|| Window::new(id, title))?
    };
    text.lines().filter_map(window).collect()
}

/// Whether this may be an id. A title with a line break produces lines that do not begin with an id.
fn is_hexadecimal(id: &str) -> bool {
    let digits = id.strip_prefix("0x");
    digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The lines that are window ids.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let is_id = |line: &&str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    text.lines().map(str::trim).filter(is_id)
}

/// Writes a picture to `file`, in the current directory of the programs.
///
/// # Errors
/// When no suitable program is installed, or it fails.
pub(super) fn capture(
    programs: &Programs<'_>,
    target: Target<'_>,
    run: &dyn Fn(Command) -> Result<(), ToolError>,
    file: &str,
) -> Result<(), ToolError> {
    let missing = || {
        failed(
            "The screen cannot be captured: neither scrot nor ImageMagick (`import`) is installed. Install \
             one of them, for example with `apt install scrot`.",
        )
    };
    match target {
        Target::Display(display) => {
            let area = area_of(programs, display)?;
            if let Some(mut scrot) = programs.find("scrot") {
                scrot.args(scrot_args(area, file));
                return run(scrot);
            }
            let mut import = programs.imagemagick("import")?.ok_or_else(missing)?;
            import.args(import_args("root", area, file));
            run(import)
        }
        Target::Window(window) => {
            if let Some(mut import) = programs.imagemagick("import")? {
                import.args(import_args(&window.handle, None, file));
                return run(import);
            }
            let (Some(mut scrot), Some(mut xdotool)) =
                (programs.find("scrot"), programs.find("xdotool"))
            else {
                return Err(failed(
                    "Windows cannot be captured: that needs ImageMagick (`import`), or scrot and xdotool. \
                     Install them, for example with `apt install imagemagick`; or capture the display.",
                ));
            };
            xdotool.args(["getwindowgeometry", "--shell", &window.handle]);
            let text = run_or_fail(programs, xdotool, "The window was not found")?;
            let area = place(&text).ok_or_else(|| {
                failed("xdotool does not report the place of the window; capture the display.")
            })?;
            scrot.args(scrot_args(Some(area), file));
            run(scrot)
        }
    }
}

fn scrot_args(area: Option<Area>, file: &str) -> Vec<String> {
    let mut args = Vec::new();
    if let Some(area) = area {
        let place = format!("{},{},{},{}", area.x, area.y, area.width, area.height);
        args.extend(["-a".to_owned(), place]);
    }
    args.push(file.to_owned());
    args
}

fn import_args(window: &str, area: Option<Area>, file: &str) -> Vec<String> {
    let mut args: Vec<String> = ["-silent", "-window", window].map(str::to_owned).into();
    if let Some(area) = area {
        args.extend(["-crop".to_owned(), area.geometry(), "+repage".to_owned()]);
    }
    args.push(format!("png:{file}"));
    args
}

/// The rectangle of a display; `None` if the display is the whole screen.
fn area_of(programs: &Programs<'_>, display: u32) -> Result<Option<Area>, ToolError> {
    let mut displays = Vec::new();
    if let Some(mut xrandr) = programs.find("xrandr") {
        xrandr.arg("--listmonitors");
        let done = programs.run(xrandr)?;
        if done.success {
            displays = monitors(&done.text());
        }
    }
    match (displays.as_slice(), display) {
        // Without `xrandr`, or with one monitor, display 0 is the whole screen.
        ([] | [_], 0) => Ok(None),
        ([], _) => Err(failed(format!(
            "Only display 0 is known here; to find display {display}, install xrandr (`apt install \
             x11-xserver-utils`)."
        ))),
        (all, n) => {
            let area = all.get(n as usize).copied();
            area.map(Some)
                .ok_or_else(|| super::no_display(n, all.len()))
        }
    }
}

/// Parses lines such as ` 0: +*DP-1 1920/344x1080/194+0+0  DP-1`.
fn monitors(text: &str) -> Vec<Area> {
    let monitor = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?.strip_suffix(':')?;
        number.parse::<u32>().ok()?;
        let (width, rest) = words.nth(1)?.split_once('/')?;
        let (height, rest) = rest.split_once('x')?.1.split_once('/')?;
        let mut corner = rest.split('+').skip(1);
        Some(Area {
            x: corner.next()?.parse().ok()?,
            y: corner.next()?.parse().ok()?,
            width: width.parse().ok()?,
            height: height.parse().ok()?,
        })
    };
    text.lines().filter_map(monitor).collect()
}

/// Parses lines such as `WIDTH=484`. The part beyond the left and upper edge of the screen is cut off.
fn place(text: &str) -> Option<Area> {
    let value = |name: &str| {
        let of = |line: &str| {
            let value = line.strip_prefix(name)?.strip_prefix('=')?;
            value.trim().parse().ok()
        };
        text.lines().find_map(of)
    };
    let [x, y, width, height]: [i64; 4] =
        [value("X")?, value("Y")?, value("WIDTH")?, value("HEIGHT")?];
    let side = |from: i64, len: i64| {
        let end = from.checked_add(len)?;
        let from = from.max(0);
        let len = u32::try_from(end - from).ok().filter(|len| *len > 0)?;
        Some((u32::try_from(from).ok()?, len))
    };
    let (x, width) = side(x, width)?;
    let (y, height) = side(y, height)?;
    Some(Area {
        x,
        y,
        width,
        height,
    })
}

#[cfg(test)]
mod tests;
