//! `image_processor`: shows an image to a model. A small image is passed on unchanged, any other is scaled by a
//! helper program ([`convert`]).

mod convert;
mod format;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
pub(super) mod helper_programs;

use super::{Developer, OptionalTools, text_files};
use crate::call_context::working_dir;
use crate::mcp::server::{Context, Tool, ToolError};
use crate::mcp::types::{CallToolResult, Content};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use format::{Format, Header, read_header};
use gosling_core::text::printable;
use helper_programs::Programs;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is passed on unchanged, in bytes.
const MAX_UNCHANGED: u64 = 1 << 20;
/// The largest image, in bytes and in pixels.
const MAX_FILE: u64 = 64 << 20;
const MAX_PIXELS: u64 = 120_000_000;
/// How much of the path is shown, in characters.
const MAX_NAME: usize = 1_000;
/// The space that macOS writes before AM and PM; models write a plain one.
const NARROW_NO_BREAK_SPACE: char = '\u{202f}';

#[derive(Deserialize)]
struct Image {
    path: String,
}

/// What the feature `image` adds.
pub(super) const TOOLS: OptionalTools = OptionalTools {
    create: |developer| {
        vec![Tool::sharing(
            developer,
            include_str!("image_processor.json"),
            Developer::image,
        )]
    },
    about: "`image_processor` shows an image file",
};

impl Developer {
    fn image(&self, args: &Image, context: &Context) -> Result<CallToolResult, ToolError> {
        let dir = working_dir(context).map_err(ToolError::Refused)?;
        let found = text_files::resolve(&args.path, &dir).and_then(|path| {
            let ignore_rules = self.ignore_rules(&dir)?;
            ignore_rules.allows(&path)?;
            let path = existing_spelling(path);
            ignore_rules.allows(&path)?;
            let file = text_files::open_regular(&path)?;
            Ok((path, file))
        });
        let (path, (file, len)) = found.map_err(ToolError::Refused)?;
        let programs = Programs::new(self, context)?;
        let name = printable(&path.to_string_lossy(), MAX_NAME);
        Picture::of(file, len, &name, &programs).map(|picture| picture.result(&name))
    }
}

/// The path, or if it does not exist, the path that differs only in the space before AM or PM.
fn existing_spelling(path: PathBuf) -> PathBuf {
    let is_missing = |path: &Path| {
        fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    if !is_missing(&path) {
        return path;
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let other = name
        .and_then(other_spelling)
        .map(|name| path.with_file_name(name));
    other.filter(|other| !is_missing(other)).unwrap_or(path)
}

/// Replaces the space before AM or PM by U+202F, or the reverse; `None` if there is no such space. macOS uses
/// U+202F in the names of screenshots, models write a plain space.
fn other_spelling(name: &str) -> Option<String> {
    let chars: Vec<char> = name.chars().collect();
    let is_half = |letters: &[char]| {
        matches!(letters, ['a' | 'A' | 'p' | 'P', 'm' | 'M', rest @ ..]
            if !rest.first().is_some_and(|next| next.is_alphanumeric()))
    };
    let mut other = chars.clone();
    for (n, place) in chars.windows(2).enumerate() {
        let &[before, space] = place else { continue };
        if before.is_ascii_digit() && is_half(&chars[n + 2..]) {
            other[n + 1] = match space {
                ' ' => NARROW_NO_BREAK_SPACE,
                NARROW_NO_BREAK_SPACE => ' ',
                other => other,
            };
        }
    }
    (other != chars).then(|| other.into_iter().collect())
}

/// An image that a model can be given.
pub(super) struct Picture {
    bytes: Vec<u8>,
    format: Format,
    mime_type: &'static str,
    size: (u32, u32),
    /// The header before scaling, if the image was scaled.
    from: Option<Header>,
}

impl Picture {
    /// Reads the image from `file`, which is `len` bytes long; `name` is used in errors.
    ///
    /// # Errors
    /// When the file is not an image, is too large, or cannot be scaled.
    pub(super) fn of(
        mut file: File,
        len: u64,
        name: &str,
        programs: &Programs<'_>,
    ) -> Result<Self, ToolError> {
        let no = |why: &str| ToolError::Failed(format!("{name} {why}."));
        if len > MAX_FILE {
            let most = MAX_FILE >> 20;
            return Err(no(&format!(
                "has {len} bytes, more than the limit of {most} MiB; scale it with `shell` first"
            )));
        }
        let mut head = Vec::new();
        let read = Read::by_ref(&mut file)
            .take(MAX_UNCHANGED + 1)
            .read_to_end(&mut head);
        read.map_err(|error| no(&format!("cannot be read: {error}")))?;
        let header = read_header(&head).ok_or_else(|| {
            no("is not an image in a supported format (PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, AVIF)")
        })?;
        if let Some((mime_type, size)) = usable_unchanged(&header, head.len()) {
            return Ok(Picture {
                bytes: head,
                format: header.format,
                mime_type,
                size,
                from: None,
            });
        }
        if let Some((width, height)) = header.size
            && u64::from(width) * u64::from(height) > MAX_PIXELS
        {
            let most = MAX_PIXELS / 1_000_000;
            return Err(no(&format!(
                "has {width}×{height} pixels, more than the limit of {most} million; crop it with `shell` first"
            )));
        }
        let bytes = convert::convert(programs, head.chain(file), &header)?;
        match read_header(&bytes) {
            Some(Header {
                format: Format::Jpeg,
                size: Some(size),
                is_intact: true,
            }) if fits(size) => Ok(Picture {
                bytes,
                format: Format::Jpeg,
                mime_type: "image/jpeg",
                size,
                from: Some(header),
            }),
            _ => Err(no(
                "could not be scaled: the result is not a JPEG of the right size",
            )),
        }
    }

    /// The result of the tool. `name` says what the image shows.
    pub(super) fn result(&self, name: &str) -> CallToolResult {
        let (width, height) = self.size;
        let format = self.format.name();
        let text = match self.from {
            None => format!("{name}: {width}×{height} pixels, {format}, unchanged."),
            Some(from) => {
                let size = from.size.map(|(w, h)| format!("{w}×{h} pixels, "));
                let (size, was) = (size.unwrap_or_default(), from.format.name());
                format!("{name}: {size}{was}; shown as {format} of {width}×{height}.")
            }
        };
        CallToolResult {
            content: vec![
                Content::text_for("assistant", None, &text),
                Content::image(&BASE64_STANDARD.encode(&self.bytes), self.mime_type),
            ],
            ..CallToolResult::default()
        }
    }
}

/// The media type and the size of an image that a model can be given unchanged, of which `len` bytes were read.
fn usable_unchanged(header: &Header, len: usize) -> Option<(&'static str, (u32, u32))> {
    let mime_type = header.format.media_type_for_models()?;
    let size = header.size.filter(|size| fits(*size))?;
    let is_whole = header.is_intact && len as u64 <= MAX_UNCHANGED;
    is_whole.then_some((mime_type, size))
}

fn fits((width, height): (u32, u32)) -> bool {
    width <= convert::MAX_SIDE && height <= convert::MAX_SIDE
}

#[cfg(test)]
mod tests;
