//! Displays and windows of macOS and Windows. None of it has been tried: gosling is developed on Linux.

use super::{Target, Window, failed, run_or_fail};
use crate::builtin::developer::helper_programs::{Programs, powershell};
use crate::mcp::server::ToolError;
use crate::sys::process::Command;

/// Prints the id and the title of each normal window that is on the screen. (17 is "on the screen" and "not
/// the desktop itself".) Titles are empty unless the screen may be recorded.
const MAC_WINDOWS: &str = r"
ObjC.import('CoreGraphics');
const found = ObjC.deepUnwrap(ObjC.castRefToObject($.CGWindowListCopyWindowInfo(17, 0))) || [];
found.filter(w => w.kCGWindowLayer === 0 && w.kCGWindowName)
    .map(w => w.kCGWindowNumber + '\t' + w.kCGWindowName.replace(/\s+/g, ' '))
    .join('\n');
";

/// Prints the handle and the title of the main window of each program.
const WINDOWS_WINDOWS: &str = r#"
$ErrorActionPreference = 'Stop'
[Console]::OutputEncoding = [Text.Encoding]::UTF8
Get-Process | Where-Object MainWindowTitle |
    ForEach-Object { "$($_.MainWindowHandle)`t$($_.MainWindowTitle -replace '\s+', ' ')" }
"#;

/// Saves a display, or the place of a window, as PNG.
const WINDOWS_CAPTURE: &str = r#"
$ErrorActionPreference = 'Stop'
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
Add-Type -Namespace Gosling -Name User -MemberDefinition @'
[StructLayout(LayoutKind.Sequential)] public struct Rect { public int Left, Top, Right, Bottom; }
[DllImport("user32.dll")] public static extern bool SetProcessDPIAware();
[DllImport("user32.dll")] public static extern bool GetWindowRect(IntPtr window, out Rect rect);
'@
[void][Gosling.User]::SetProcessDPIAware()
if ($env:GOSLING_WINDOW) {
    $r = New-Object Gosling.User+Rect
    if (-not [Gosling.User]::GetWindowRect([IntPtr][long]$env:GOSLING_WINDOW, [ref]$r)) { throw 'the window is gone' }
    $area = [System.Drawing.Rectangle]::FromLTRB($r.Left, $r.Top, $r.Right, $r.Bottom)
} else {
    $all = [System.Windows.Forms.Screen]::AllScreens
    $n = [long]$env:GOSLING_DISPLAY
    if ($n -ge $all.Length) { throw "there is no display $n, they are numbered from 0 to $($all.Length - 1)" }
    $area = $all[$n].Bounds
}
$image = New-Object System.Drawing.Bitmap $area.Width, $area.Height
$canvas = [System.Drawing.Graphics]::FromImage($image)
$canvas.CopyFromScreen($area.Location, [System.Drawing.Point]::Empty, $area.Size)
$image.Save((Join-Path $PWD $env:GOSLING_OUT), [System.Drawing.Imaging.ImageFormat]::Png)
"#;

fn missing(what: &str) -> ToolError {
    failed(format!(
        "{what}, which comes with the system, is not on the PATH."
    ))
}

/// # Errors
/// When the system does not tell.
pub(super) fn mac_windows(programs: &Programs<'_>) -> Result<Vec<Window>, ToolError> {
    let mut command = programs
        .find("osascript")
        .ok_or_else(|| missing("osascript"))?;
    command.args(["-l", "JavaScript", "-e", MAC_WINDOWS]);
    run_or_fail(programs, command, "The windows cannot be listed").map(|text| tabbed(&text))
}

/// # Errors
/// When the system does not tell.
pub(super) fn windows_windows(programs: &Programs<'_>) -> Result<Vec<Window>, ToolError> {
    let command = powershell(programs, WINDOWS_WINDOWS).ok_or_else(|| missing("PowerShell"))?;
    run_or_fail(programs, command, "The windows cannot be listed").map(|text| tabbed(&text))
}

/// Lines of a handle, a tab and a title.
fn tabbed(text: &str) -> Vec<Window> {
    let is_number = |handle: &str| handle.bytes().all(|byte| byte.is_ascii_digit());
    let window = |line: &str| {
        let (handle, title) = line.split_once('\t')?;
        let fits = !handle.is_empty() && is_number(handle);
        fits.then(|| Window::new(handle, title))?
    };
    text.lines().filter_map(window).collect()
}

/// # Errors
/// When it fails; often because the user has not allowed it.
pub(super) fn mac_capture(
    programs: &Programs<'_>,
    target: Target<'_>,
    run: &dyn Fn(Command) -> Result<(), ToolError>,
    file: &str,
) -> Result<(), ToolError> {
    let mut command = programs
        .find("screencapture")
        .ok_or_else(|| missing("screencapture"))?;
    command.args(screencapture(target, file));
    run(command)
}

fn screencapture(target: Target<'_>, file: &str) -> Vec<String> {
    // Without a sound. Displays are counted from 1, windows taken without their shadow.
    let mut args: Vec<String> = ["-x", "-t", "png"].map(str::to_owned).into();
    match target {
        Target::Display(n) => args.extend(["-D".to_owned(), n.saturating_add(1).to_string()]),
        Target::Window(window) => args.extend(["-o".to_owned(), format!("-l{}", window.handle)]),
    }
    args.push(file.to_owned());
    args
}

/// # Errors
/// When it fails.
pub(super) fn windows_capture(
    programs: &Programs<'_>,
    target: Target<'_>,
    run: &dyn Fn(Command) -> Result<(), ToolError>,
    file: &str,
) -> Result<(), ToolError> {
    let mut command = powershell(programs, WINDOWS_CAPTURE).ok_or_else(|| missing("PowerShell"))?;
    command.env("GOSLING_OUT", file);
    match target {
        Target::Display(n) => command.env("GOSLING_DISPLAY", n.to_string()),
        Target::Window(window) => command.env("GOSLING_WINDOW", &window.handle),
    };
    run(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_handle_and_a_title() {
        let windows = tabbed("12\tA title\r\nnoise\n\tno handle\nx1\tno number\n7\t \n8\ta\tb\n");
        let pairs: Vec<_> = windows
            .iter()
            .map(|window| (window.handle.as_str(), window.title.as_str()))
            .collect();
        assert_eq!(pairs, [("12", "A title"), ("8", "a b")]);
    }

    #[test]
    fn screencapture_counts_from_one() {
        let window = Window::new("77", "x").unwrap();
        assert_eq!(
            screencapture(Target::Display(0), "a.png").join(" "),
            "-x -t png -D 1 a.png"
        );
        assert_eq!(
            screencapture(Target::Window(&window), "a.png").join(" "),
            "-x -t png -o -l77 a.png"
        );
    }
}
