//! `{% include "FILE" %}` in recipe files: when such a file is loaded, each tag becomes the text of the file that
//! it names, which is below the recipe's folder. So what is validated, stored in a session and rendered is one
//! text, and its limits hold for all of it.

use super::library::MAX_FILE;
use super::{Error, Recipe, template};
use crate::store::files;
use crate::sys::paths;
use minijinja::Environment;
use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use serde_json::{Map, Value};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// How many files a recipe includes; a file counts each time.
const MAX_FILES: usize = 100;

/// How deep includes are nested.
const MAX_DEPTH: usize = 10;

impl Recipe {
    /// The recipe of a file in `folder`, with the files that it includes.
    ///
    /// # Errors
    /// [`Error::Template`] when an include cannot be read, is not below the folder, or exceeds a limit.
    pub fn with_includes(self, folder: &Path) -> Result<Self, Error> {
        match expand(&self.given, folder)? {
            None => Ok(self),
            Some(given) => Recipe::from_object(given),
        }
    }
}

/// The fields with the files that their texts include; `None` if they include none.
fn expand(given: &Map<String, Value>, folder: &Path) -> Result<Option<Map<String, Value>>, Error> {
    let texts = given
        .iter()
        .filter(|(key, _)| *key != template::NOT_RENDERED);
    if !texts.into_iter().any(|(_, value)| has_include(value)) {
        return Ok(None);
    }
    let mut includes = Includes::new(folder);
    template::map_texts(given, &mut |text| includes.in_text(text)).map(Some)
}

fn has_include(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("include") && !template::is_plain(text),
        Value::Array(items) => items.iter().any(has_include),
        Value::Object(fields) => fields.values().any(has_include),
        _ => false,
    }
}

fn refused(reason: &str) -> Error {
    Error::Template(reason.to_owned())
}

/// What the texts of a recipe may still include.
pub(super) struct Includes {
    /// The recipe's folder.
    folder: PathBuf,
    environment: Environment<'static>,
    /// How many files may still be read.
    files: usize,
    /// How many bytes may still be read.
    size: usize,
}

impl Includes {
    pub(super) fn new(folder: &Path) -> Self {
        Includes {
            folder: folder.to_owned(),
            environment: template::environment(template::MIN_SIZE),
            files: MAX_FILES,
            size: MAX_FILE,
        }
    }

    /// The text with the files that it includes.
    ///
    /// # Errors
    /// [`Error::Template`].
    pub(super) fn in_text(&mut self, text: &str) -> Result<String, Error> {
        self.text(text, 0)
    }

    fn text(&mut self, text: &str, depth: usize) -> Result<String, Error> {
        let mut made = String::new();
        let mut kept = 0;
        for (tag, name) in tags(text) {
            let content = self.file(&name, depth)?;
            let shown = &text[tag.clone()];
            // An `if` trims as the tag would, and keeps what the file sets from being mixed up with its blocks.
            let before = if shown.starts_with("{%-") {
                "{%-"
            } else {
                "{%"
            };
            let after = if shown.ends_with("-%}") { "-%}" } else { "%}" };
            made.push_str(&text[kept..tag.start]);
            made.extend([before, " if true %}", &content, "{% endif ", after]);
            kept = tag.end;
        }
        made.push_str(&text[kept..]);
        Ok(made)
    }

    /// The content of an included file, with the files that it includes.
    fn file(&mut self, name: &str, depth: usize) -> Result<String, Error> {
        let failed = |reason: &str| refused(&format!("include of {name:?}: {reason}"));
        if depth == MAX_DEPTH {
            return Err(failed(
                "includes are nested too deep; does a file include itself?",
            ));
        }
        self.files = self
            .files
            .checked_sub(1)
            .ok_or_else(|| failed(&format!("a recipe includes at most {MAX_FILES} files")))?;
        let content = self.read(name).map_err(|reason| failed(&reason))?;
        // As in Jinja, the last line break is not part of a template.
        let content = content.strip_suffix('\n').unwrap_or(&content);
        let content = self.text(content, depth + 1)?;
        // A file is a template by itself: its blocks begin and end in it.
        match template::variables_of(&self.environment, &content) {
            Ok(_) => Ok(content),
            Err(Error::Template(reason)) => Err(failed(&reason)),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, name: &str) -> Result<String, String> {
        let is_below = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        if name.is_empty() || !Path::new(name).components().all(is_below) {
            return Err("it must be a path below the recipe's folder".to_owned());
        }
        if let Some(reason) = paths::refusal_from(&self.folder, name) {
            return Err(reason.to_owned());
        }
        let folder = self.folder.canonicalize();
        let path = folder.and_then(|folder| Ok((folder.join(name).canonicalize()?, folder)));
        let (path, folder) = path.map_err(|error| error.to_string())?;
        if !path.starts_with(folder) {
            return Err("a symbolic link leads out of the recipe's folder".to_owned());
        }
        let read = files::read_file(&path, self.size as u64);
        let read = read.map_err(|error| error.to_string())?;
        let (content, _) = read.ok_or("there is no such file")?;
        self.size -= content.len();
        String::from_utf8(content).map_err(|_| "it is not UTF-8".to_owned())
    }
}

/// The places of the tags `{% include "NAME" %}`, each with its name. Other forms of `include` are left to the
/// validation, which refuses them.
fn tags(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut tag = Vec::new();
    for (token, span) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
        match token {
            Token::BlockStart => {
                start = span.start_offset as usize;
                tag.clear();
            }
            Token::BlockEnd => {
                let name = match tag.as_slice() {
                    [Token::Ident("include"), Token::Str(name)] => Some((*name).to_owned()),
                    [Token::Ident("include"), Token::String(name)] => Some(name.to_string()),
                    _ => None,
                };
                found.extend(name.map(|name| (start..span.end_offset as usize, name)));
            }
            token if tag.len() < 3 => tag.push(token),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
