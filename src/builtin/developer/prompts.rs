//! Prompts: the built-in ones, and those of the user's prompt folder, as Markdown or JSON files.
//!
//! `NAME.md` has the text of one message, with or without front matter; `NAME.json` has `template`, or
//! `messages`, each with `role` and `content`. Both may set `name`, `title`, `description` and `arguments`, each
//! with `name`, `description` and `required`. `{{ARG}}` in a text is replaced by the argument; an argument that
//! is not declared is required.

use crate::mcp::server::Prompt;
use crate::mcp::types::{Content, GetPromptResult, PromptMessage};
use crate::store::files;
use crate::sys::fs::Stamp;
use crate::sys::lock;
use gosling_core::text::printable;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::SystemTime;

/// The largest file, in bytes; how many files are used, and how many directory entries are listed.
const MAX_FILE: u64 = 64 << 10;
const MAX_FILES: usize = 200;
const MAX_LISTED: usize = 10_000;
/// The longest name, in characters.
const MAX_NAME: usize = 100;
/// The longest description that is taken from the text, in characters.
const MAX_LINE: usize = 100;
/// The most arguments and messages of a prompt.
const MAX_ARGUMENTS: usize = 32;
const MAX_MESSAGES: usize = 100;
/// The largest prompt after its arguments are filled in, in bytes.
const MAX_FILLED: usize = 4 << 20;

/// A built-in prompt: its required argument, its optional argument, its text, and the text that is added for the
/// optional argument.
#[derive(Deserialize)]
struct BuiltinPrompt {
    name: String,
    title: String,
    description: String,
    required: (String, String),
    optional: (String, String),
    text: String,
    also: String,
}

static BUILTIN_PROMPTS: LazyLock<Vec<BuiltinPrompt>> = LazyLock::new(|| {
    gosling_core::json::from_str(include_str!("prompts/builtin_prompts.json")).unwrap_or_default()
});

/// The built-in prompts.
pub(super) fn builtin_prompts() -> impl Iterator<Item = Prompt> {
    BUILTIN_PROMPTS.iter().map(|own| {
        let fill = |arguments: BTreeMap<String, String>, _: &_| {
            let mut text = own.text.clone();
            let also = arguments.get(&own.optional.0);
            if also.is_some_and(|also| !also.trim().is_empty()) {
                text = format!("{text}\n\n{}", own.also);
            }
            Ok(GetPromptResult {
                description: Some(own.description.clone()),
                messages: vec![PromptMessage::user(&fill(&text, &arguments, MAX_FILLED)?)],
            })
        };
        Prompt::new(&own.name, &own.description, fill)
            .title(&own.title)
            .required(&own.required.0, &own.required.1)
            .optional(&own.optional.0, &own.optional.1)
            .quick()
    })
}

/// The prompts of a folder. A file is read again when it has changed.
pub(super) struct PromptFolder {
    path: PathBuf,
    cache: Mutex<HashMap<PathBuf, CachedFile>>,
}

/// The content of a file.
struct CachedFile {
    stamp: Stamp,
    read_at: SystemTime,
    /// None if the file is invalid.
    template: Option<Arc<Template>>,
}

/// A prompt whose arguments are not filled in yet.
#[derive(Debug, PartialEq)]
struct Template {
    name: String,
    title: Option<String>,
    description: Option<String>,
    arguments: Vec<Argument>,
    /// The role and the text of each message.
    messages: Vec<(String, String)>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
struct Argument {
    name: String,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

/// What a prompt file declares.
#[derive(Default, Deserialize)]
struct Declaration {
    #[serde(alias = "id")]
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<Argument>>,
    template: Option<String>,
    messages: Option<Vec<Message>>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: MessageText,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MessageText {
    Text(String),
    Part { text: String },
}

impl PromptFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        PromptFolder {
            path,
            cache: Mutex::default(),
        }
    }

    /// The current prompts. An invalid file is left out, and a log record says why.
    pub(super) fn prompts(&self) -> Vec<Prompt> {
        let mut cache = std::mem::take(&mut *lock(&self.cache));
        let mut fresh = HashMap::new();
        let mut names = HashSet::new();
        let mut prompts = Vec::new();
        for path in self.files() {
            let Ok(Some(stamp)) = files::stamp(&path) else {
                continue;
            };
            let before = cache.remove(&path);
            let before = before.filter(|it| it.stamp == stamp && stamp.is_settled(it.read_at));
            let now = before.unwrap_or_else(|| CachedFile {
                stamp,
                read_at: SystemTime::now(),
                template: match read(&path) {
                    Ok(template) => Some(Arc::new(template)),
                    Err(why) => {
                        let why = printable(&why, 300);
                        log::warn!("prompt skipped file={path:?} reason={why:?}");
                        None
                    }
                },
            });
            if let Some(template) = &now.template
                && names.insert(template.name.clone())
            {
                prompts.push(prompt(template));
            }
            fresh.insert(path, now);
        }
        *lock(&self.cache) = fresh;
        prompts
    }

    /// The prompt files, sorted by path.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let paths = entries.take(MAX_LISTED).map(|entry| entry.path());
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            let is_prompt = path
                .extension()
                .is_some_and(|it| it == "md" || it == "json");
            is_prompt && !name.as_encoded_bytes().starts_with(b".")
        };
        let mut paths: Vec<PathBuf> = paths.filter(ours).collect();
        paths.sort();
        if paths.len() > MAX_FILES {
            let folder = &self.path;
            log::warn!("prompts skipped folder={folder:?} reason=\"more than {MAX_FILES}\"");
            paths.truncate(MAX_FILES);
        }
        paths
    }
}

fn prompt(template: &Arc<Template>) -> Prompt {
    let this = template.clone();
    let fill = move |arguments: BTreeMap<String, String>, _: &_| {
        let mut room = MAX_FILLED;
        let messages = this.messages.iter().map(|(role, text)| {
            let text = fill(text, &arguments, room)?;
            room -= text.len();
            Ok(PromptMessage {
                role: role.clone(),
                content: Content::text(&text),
            })
        });
        Ok(GetPromptResult {
            messages: messages.collect::<Result<_, String>>()?,
            description: this.description.clone(),
        })
    };
    let description = match template.description.as_deref() {
        Some(description) if !description.trim().is_empty() => description.to_owned(),
        _ => first_line(template),
    };
    let mut prompt = Prompt::new(&template.name, &description, fill);
    if let Some(title) = &template.title {
        prompt = prompt.title(title);
    }
    for argument in &template.arguments {
        let description = argument.description.as_deref().unwrap_or_default();
        prompt = if argument.required {
            prompt.required(&argument.name, description)
        } else {
            prompt.optional(&argument.name, description)
        };
    }
    prompt
}

/// The description of a prompt that has none: its first line. Clients list prompts by their descriptions.
fn first_line(template: &Template) -> String {
    let mut lines = template.messages.iter().flat_map(|(_, text)| text.lines());
    let line = lines.find(|line| !line.trim().is_empty());
    printable(line.unwrap_or_default().trim(), MAX_LINE)
}

fn read(path: &Path) -> Result<Template, String> {
    let read = files::read_file(path, MAX_FILE).map_err(|error| error.to_string())?;
    let (content, _) = read.ok_or("it does not exist any more")?;
    let content = String::from_utf8(content).map_err(|_| "it is not UTF-8")?;
    let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
    let declaration = if path.extension().is_some_and(|it| it == "json") {
        gosling_core::json::from_str(content).map_err(|error| error.to_string())?
    } else {
        markdown(content)?
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    template(declaration, &stem)
}

/// Reads the text, and the front matter between lines of `---` if there is any.
fn markdown(content: &str) -> Result<Declaration, String> {
    let mut declaration = Declaration::default();
    let mut text = content;
    let mut lines = content.split_inclusive('\n');
    if lines.next().is_some_and(|line| line.trim_end() == "---") {
        let start = content.find('\n').map_or(content.len(), |at| at + 1);
        let mut end = start;
        let closed = lines.find_map(|line| {
            let here = end;
            end += line.len();
            (line.trim_end() == "---").then_some(here)
        });
        let closed = closed.ok_or("its front matter has no end: a line of `---`")?;
        let front = gosling_shared::parse_yaml_object(&content[start..closed])?;
        declaration = gosling_core::json::from_object(&front).map_err(|error| error.to_string())?;
        text = &content[end..];
    }
    declaration.template = Some(text.trim().to_owned());
    declaration.messages = None;
    Ok(declaration)
}

fn template(declaration: Declaration, stem: &str) -> Result<Template, String> {
    let name = declaration.name.unwrap_or_else(|| stem.to_owned());
    let name = name.trim().to_owned();
    let odd = |c: char| c.is_control() || c.is_whitespace();
    if name.is_empty() || name.contains(odd) || name.chars().count() > MAX_NAME {
        return Err(format!(
            "its name {name:?} is not a word of at most {MAX_NAME} characters"
        ));
    }
    let messages = messages(declaration.template, declaration.messages)?;
    let arguments = arguments(declaration.arguments.unwrap_or_default(), &messages)?;
    Ok(Template {
        name,
        title: declaration.title,
        description: declaration.description,
        arguments,
        messages,
    })
}

/// The messages of a prompt, each with its role: one of the user, or those that the file lists.
fn messages(
    template: Option<String>,
    messages: Option<Vec<Message>>,
) -> Result<Vec<(String, String)>, String> {
    let messages: Vec<(String, String)> = match (template, messages) {
        (Some(template), None) => vec![("user".to_owned(), template)],
        (None, Some(messages)) => messages
            .into_iter()
            .map(|message| match message.content {
                MessageText::Text(text) | MessageText::Part { text } => (message.role, text),
            })
            .collect(),
        (Some(_), Some(_)) => return Err("it has both `template` and `messages`".to_owned()),
        (None, None) => return Err("it has neither `template` nor `messages`".to_owned()),
    };
    if messages.iter().all(|(_, text)| text.trim().is_empty()) {
        return Err("its text is empty".to_owned());
    }
    if messages.len() > MAX_MESSAGES {
        return Err(format!("it has more than {MAX_MESSAGES} messages"));
    }
    let is_other = |(role, _): &&(String, String)| role != "user" && role != "assistant";
    if let Some((role, _)) = messages.iter().find(is_other) {
        return Err(format!(
            "the role {role:?} is neither `user` nor `assistant`"
        ));
    }
    Ok(messages)
}

/// The declared arguments, and after them those that the messages use without a declaration.
fn arguments(
    declared: Vec<Argument>,
    messages: &[(String, String)],
) -> Result<Vec<Argument>, String> {
    let mut arguments = declared;
    let mut names = HashSet::new();
    for argument in &arguments {
        if !is_name(&argument.name) || !names.insert(argument.name.clone()) {
            return Err(format!(
                "the argument {:?} is declared twice, or its name has other characters than letters, \
                 digits, `_` and `-`",
                argument.name
            ));
        }
    }
    for part in messages.iter().flat_map(|(_, text)| parts(text)) {
        if let Part::Argument(name) = part
            && names.insert(name.to_owned())
        {
            arguments.push(Argument {
                name: name.to_owned(),
                description: None,
                required: true,
            });
        }
    }
    if arguments.len() > MAX_ARGUMENTS {
        return Err(format!("it has more than {MAX_ARGUMENTS} arguments"));
    }
    Ok(arguments)
}

/// A part of a template.
enum Part<'t> {
    Text(&'t str),
    Argument(&'t str),
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(letter)
}

/// Splits a template into parts. Braces around something else than a name are text.
fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("{{").map(|at| from + at) {
        let inside = &text[at + 2..];
        // A name is short; a longer search at every brace would take quadratic time.
        let near = &inside[..inside.floor_char_boundary(2 * MAX_NAME)];
        match near.split_once("}}") {
            Some((name, _)) if is_name(name.trim()) => {
                found.extend([Part::Text(&text[..at]), Part::Argument(name.trim())]);
                text = &inside[name.len() + 2..];
                from = 0;
            }
            _ => from = at + 1,
        }
    }
    found.push(Part::Text(text));
    found
}

/// Fills in the arguments. Their values are taken literally: braces in them have no meaning.
fn fill(text: &str, arguments: &BTreeMap<String, String>, room: usize) -> Result<String, String> {
    let mut filled = String::new();
    for part in parts(text) {
        let part = match part {
            Part::Text(text) => text,
            Part::Argument(name) => arguments.get(name).map_or("", String::as_str),
        };
        if filled.len() + part.len() > room {
            return Err(format!(
                "The prompt would have more than {MAX_FILLED} bytes with these arguments; name a \
                 file instead of what is in it"
            ));
        }
        filled.push_str(part);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests;
