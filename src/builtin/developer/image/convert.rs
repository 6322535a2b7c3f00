//! Scales an image for a model with ImageMagick. ImageMagick works on a copy with a fixed name in a private
//! folder, so the name and the place of the image cannot affect it.

use super::MAX_FILE;
use super::format::{Format, Header};
use super::helper_programs::{self, Programs};
use crate::mcp::server::ToolError;
use crate::sys::process::Command;
use gosling_shared::TemporaryFolder;
use std::io::Read;

/// The largest width and height of an image for a model, in pixels.
pub(super) const MAX_SIDE: u32 = 1024;
/// The quality of the JPEG, from 1 to 100.
const QUALITY: &str = "85";
/// The largest result, in bytes: about twice the size of a JPEG with this many pixels and this quality.
const MAX_RESULT: u64 = 4 << 20;
/// The file name of the result.
const RESULT: &str = "out.jpeg";

/// Converts the image in `content`, which begins with `header`, to a JPEG of at most [`MAX_SIDE`] pixels on both
/// sides.
///
/// # Errors
/// When ImageMagick is missing or fails.
pub(super) fn convert(
    programs: &Programs<'_>,
    content: impl Read,
    header: &Header,
) -> Result<Vec<u8>, ToolError> {
    let mut command = converter(programs, header)?;
    let failed = |what: &str, why: &dyn std::fmt::Display| {
        ToolError::Failed(format!("The image could not be {what}: {why}."))
    };
    let folder = TemporaryFolder::new().map_err(|error| failed("copied", &error))?;
    let copied = folder.write(&source(header.format), content, MAX_FILE);
    copied.map_err(|error| failed("copied", &error))?;
    command
        .current_dir(folder.path())
        // The temporary files of ImageMagick are removed with the folder.
        .env("MAGICK_TEMPORARY_PATH", folder.path())
        .env("TMPDIR", folder.path());
    let name = helper_programs::name(&command);
    let done = programs.run(command)?;
    if !done.success {
        let why = format!("{name} says: {}", done.error_text());
        return Err(failed("scaled", &why));
    }
    let mut result = Vec::new();
    let read = folder
        .open(RESULT)
        .and_then(|(file, _)| file.take(MAX_RESULT + 1).read_to_end(&mut result));
    let why = match read {
        Ok(_) if result.len() as u64 <= MAX_RESULT => return Ok(result),
        Ok(_) => format!("the result of {name} is too large"),
        Err(error) => format!("{name} did not write a result: {error}"),
    };
    Err(failed("scaled", &why))
}

/// The file name of the copy.
fn source(format: Format) -> String {
    format!("in.{}", format.extension())
}

fn converter(programs: &Programs<'_>, header: &Header) -> Result<Command, ToolError> {
    let mut command = programs.imagemagick("convert")?.ok_or_else(|| {
        ToolError::Failed(
            "The image has to be scaled, but ImageMagick (`magick` or `convert`) is not installed. Install it, \
             for example with `apt install imagemagick` or `dnf install ImageMagick`."
                .to_owned(),
        )
    })?;
    command.args(imagemagick(header));
    Ok(command)
}

/// The resource limits of ImageMagick. A policy of the system may set lower ones.
const LIMITS: [(&str, &str); 7] = [
    ("memory", "256MiB"),
    ("map", "512MiB"),
    ("disk", "2GiB"),
    ("area", "128MP"),
    ("width", "65500"),
    ("height", "65500"),
    ("thread", "2"),
];

fn imagemagick(header: &Header) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |more: &[&str]| args.extend(more.iter().map(|arg| (*arg).to_owned()));
    for (what, most) in LIMITS {
        add(&["-limit", what, most]);
    }
    // A large JPEG is decoded at a fraction of its size, which takes a fraction of the time; a smaller one
    // would be enlarged first.
    let enough = 2 * MAX_SIDE;
    if (header.size).is_some_and(|(width, height)| width.min(height) >= enough) {
        add(&["-define", &format!("jpeg:size={enough}x{enough}")]);
    }
    // The first image of the file. The prefix sets the format, so that ImageMagick does not guess it.
    let format = header.format;
    add(&[&format!("{}:{}[0]", format.extension(), source(format))]);
    let most = format!("{MAX_SIDE}x{MAX_SIDE}>");
    add(&["-auto-orient", "-resize", &most]);
    add(&["-background", "white", "-alpha", "remove", "-alpha", "off"]);
    add(&["-colorspace", "sRGB", "-strip"]);
    add(&["-quality", QUALITY, &format!("jpeg:{RESULT}")]);
    args
}

#[cfg(test)]
mod tests;
