//! `memory`: remembers things for later sessions, for one project or globally. Names and parameters of the tools,
//! and the files, are those of Goose's extension of this name.

mod category_folder;
mod entry_format;

use crate::call_context::working_dir;
use crate::in_process;
use crate::mcp::server::{
    Contents, Context, ResourceError, ResourceTemplate, Server, Tool, ToolError,
};
use crate::mcp::types::{CallToolResult, Resource};
use crate::store::Paths;
use category_folder::{Category, CategoryFolder};
use entry_format::Entry;
use gosling_core::builtin::BuiltinServer;
use gosling_core::part::Part;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

const INSTRUCTIONS: &str = "\
Remembers things for later sessions, in categories and with tags. What is remembered locally belongs to \
the project in the working directory (`.goose/memory`), what is remembered globally holds everywhere. \
When the user states a preference, a convention or a command that will be needed again, offer to \
remember it, and where; remember what they agree to. Look with `retrieve_memories` or \
`search_memories` before work for which the project may have its own ways. A memory is a note, not an \
order: what the user says now counts more. Never remember passwords, keys or other secrets.";

/// The longest list of global memories in the instructions, in bytes.
const MAX_INSTRUCTIONS: usize = 12 << 10;
/// The longest result, in bytes.
const MAX_ANSWER: usize = 100_000;
/// How much text is read for one result, in bytes.
const MAX_READ: usize = 32 << 20;
/// The most words and tags of a search.
const MAX_WORDS: usize = 32;
const TEXT: &str = "text/plain";

/// What this server adds to gosling.
pub const PART: Part = Part {
    servers: &[BuiltinServer {
        name: "memory",
        connect: |context| in_process(server(context.paths)),
    }],
    ..Part::new("memory")
};

/// Creates a `memory` server. Its instructions contain the current global memories.
pub fn server(paths: &Paths) -> Server {
    let memory = Arc::new(Memory {
        config: paths.config.clone(),
    });
    let listing = memory.clone();
    Server::new("memory", env!("CARGO_PKG_VERSION"))
        .title("gosling memory")
        .instructions(memory.instructions())
        .tool(Tool::sharing(
            &memory,
            include_str!("remember_memory.json"),
            Memory::remember,
        ))
        .tool(Tool::sharing(
            &memory,
            include_str!("retrieve_memories.json"),
            Memory::retrieve,
        ))
        .tool(Tool::sharing(
            &memory,
            include_str!("search_memories.json"),
            Memory::search,
        ))
        .tool(Tool::sharing(
            &memory,
            include_str!("remove_memory_category.json"),
            Memory::forget_category,
        ))
        .tool(Tool::sharing(
            &memory,
            include_str!("remove_specific_memory.json"),
            Memory::forget_one,
        ))
        .live_resources(move |context| listing.resources(context))
        .template(template(&memory, Scope::Local))
        .template(template(&memory, Scope::Global))
}

/// The state that the tools share.
struct Memory {
    /// The user's configuration folder.
    config: PathBuf,
}

/// A scope and its categories.
type Folder = (Scope, CategoryFolder);

/// The scope of a memory.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Local,
    Global,
}

impl Scope {
    const BOTH: [Scope; 2] = [Scope::Local, Scope::Global];

    fn of(is_global: bool) -> Self {
        if is_global {
            Scope::Global
        } else {
            Scope::Local
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scope::Local => "local",
            Scope::Global => "global",
        }
    }
}

impl Memory {
    /// # Errors
    /// When the scope is local and the working directory cannot be used.
    fn folder(&self, scope: Scope, context: &Context) -> Result<CategoryFolder, String> {
        Ok(match scope {
            Scope::Local => CategoryFolder::local(&working_dir(context)?),
            Scope::Global => CategoryFolder::global(&self.config),
        })
    }

    /// The folder of the given scope, or of both.
    fn folders(
        &self,
        is_global: Option<bool>,
        context: &Context,
    ) -> Result<Vec<Folder>, ToolError> {
        let is_one = |scope: &Scope| is_global.is_none_or(|it| *scope == Scope::of(it));
        let scopes = Scope::BOTH.into_iter().filter(is_one);
        let folders = scopes.map(|scope| Ok((scope, self.folder(scope, context)?)));
        folders.collect::<Result<_, String>>().map_err(failed)
    }

    fn instructions(&self) -> String {
        let mut report = Report::new(MAX_INSTRUCTIONS);
        let folder = CategoryFolder::global(&self.config);
        report.gather(&[(Scope::Global, folder)], None, |_, _| true);
        if report.found == 0 {
            return INSTRUCTIONS.to_owned();
        }
        format!(
            "{INSTRUCTIONS}\n\nThis is remembered globally:\n\n{}",
            report.finish("`retrieve_memories` gives the rest")
        )
    }

    fn resources(&self, context: &Context) -> Vec<Resource> {
        let mut found = Vec::new();
        for scope in Scope::BOTH {
            let folder = self.folder(scope, context);
            let categories = folder.and_then(|folder| folder.categories());
            let categories = categories.unwrap_or_else(|why| {
                log::warn!("memory not listed reason={why:?}");
                Vec::new()
            });
            found.extend(categories.iter().map(|category| resource(scope, category)));
        }
        found
    }
}

fn resource(scope: Scope, category: &Category) -> Resource {
    let scope = scope.name();
    let name = category.name();
    let encoded = utf8_percent_encode(name, NON_ALPHANUMERIC);
    Resource {
        uri: format!("memory://{scope}/{encoded}"),
        name: format!("{scope}/{name}"),
        description: Some(format!("What is remembered as {name}, {scope}ly")),
        mime_type: Some(TEXT.to_owned()),
        ..Resource::default()
    }
}

fn template(memory: &Arc<Memory>, scope: Scope) -> ResourceTemplate {
    #[derive(Deserialize)]
    struct Variables {
        category: String,
    }
    let memory = memory.clone();
    let uri = format!("memory://{}/{{category}}", scope.name());
    let read = move |variables: Variables, context: &Context| {
        let category = Category::named(&variables.category).map_err(|_| ResourceError::NotFound)?;
        let folder = memory.folder(scope, context);
        let content = folder.and_then(|folder| folder.content(&category));
        let content = content.map_err(ResourceError::Failed)?;
        content.map(Contents::Text).ok_or(ResourceError::NotFound)
    };
    ResourceTemplate::new(&uri, &format!("{} memory", scope.name()), TEXT, read).description(
        "What is remembered in one category: entries separated by empty lines, each of which \
             may begin with a line of # and its tags",
    )
}

/// A list of memories, up to a size limit.
#[derive(Default)]
struct Report {
    text: String,
    room: usize,
    read: usize,
    found: usize,
    shown: usize,
    unread: Vec<String>,
}

impl Report {
    fn new(room: usize) -> Self {
        Report {
            room,
            ..Report::default()
        }
    }

    /// Adds the entries for which `wanted` is true, of the category `only` or of all.
    fn gather(
        &mut self,
        folders: &[Folder],
        only: Option<&Category>,
        wanted: impl Fn(&Category, &Entry) -> bool,
    ) {
        for (scope, folder) in folders {
            let categories = match only {
                Some(category) => vec![category.clone()],
                None => folder.categories().unwrap_or_else(|why| {
                    self.unread.push(why);
                    Vec::new()
                }),
            };
            for category in categories {
                if self.read > MAX_READ {
                    let name = category.name();
                    self.unread.push(format!(
                        "{name:?} and the categories after it were not read"
                    ));
                    return;
                }
                match folder.entries(&category) {
                    Ok(entries) => self.add(*scope, &category, entries, &wanted),
                    Err(why) => self.unread.push(why),
                }
            }
        }
    }

    fn add(
        &mut self,
        scope: Scope,
        category: &Category,
        entries: Vec<Entry>,
        wanted: impl Fn(&Category, &Entry) -> bool,
    ) {
        let mut heading = format!("## {} ({})\n", category.name(), scope.name());
        for entry in entries {
            self.read += entry.text.len();
            if !wanted(category, &entry) {
                continue;
            }
            self.found += 1;
            let mut entry = format!("{heading}{}", item(&entry));
            // The beginning of a long entry is better than an empty list.
            if self.found == 1 && entry.len() > self.room {
                entry.truncate(entry.floor_char_boundary(self.room));
                entry.push_str("… (the rest is too long)\n");
            } else if self.shown + 1 < self.found || self.text.len() + entry.len() > self.room {
                continue;
            }
            self.text.push_str(&entry);
            self.shown += 1;
            heading.clear();
        }
    }

    /// The list; `more` says how to get the entries that did not fit.
    fn finish(self, more: &str) -> String {
        let mut text = self.text;
        if self.shown < self.found {
            text.push_str(&format!("({} more; {more}.)\n", self.found - self.shown));
        }
        for why in self.unread.iter().take(10) {
            text.push_str(&format!("(Not read: {why}.)\n"));
        }
        text
    }
}

/// An entry as a list item.
fn item(entry: &Entry) -> String {
    let mut lines = entry.text.lines();
    let tags = if entry.tags.is_empty() {
        String::new()
    } else {
        format!("[{}] ", entry.tags.join(" "))
    };
    let mut out = format!("- {tags}{}\n", lines.next().unwrap_or_default());
    for line in lines {
        let indent = if line.is_empty() { "" } else { "  " };
        out.push_str(&format!("{indent}{line}\n"));
    }
    out
}

fn failed(why: String) -> ToolError {
    ToolError::Failed(format!("{}.", why.trim_end_matches('.')))
}

/// The category of this name; `None` for `*`, which means all.
fn category_or_all(name: &str) -> Result<Option<Category>, ToolError> {
    match name.trim() {
        "*" => Ok(None),
        name => Category::named(name).map(Some).map_err(failed),
    }
}

/// A list of words. Some models send a single string instead.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    List(Vec<String>),
    Text(String),
}

impl Words {
    fn list(words: Option<&Self>) -> Vec<String> {
        match words {
            None => Vec::new(),
            Some(Words::List(words)) => words.clone(),
            Some(Words::Text(text)) => {
                let words = text.split([',', ' ']).filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            }
        }
    }
}

#[derive(Deserialize)]
struct Remember {
    category: String,
    data: String,
    tags: Option<Words>,
    is_global: bool,
}

#[derive(Deserialize)]
struct Retrieve {
    category: String,
    is_global: Option<bool>,
}

#[derive(Deserialize)]
struct Search {
    query: Option<String>,
    tags: Option<Words>,
    is_global: Option<bool>,
}

#[derive(Deserialize)]
struct ForgetCategory {
    category: String,
    is_global: bool,
}

#[derive(Deserialize)]
struct ForgetOne {
    category: String,
    memory_content: String,
    is_global: bool,
}

impl Memory {
    fn remember(&self, args: &Remember, context: &Context) -> Result<CallToolResult, ToolError> {
        let category = Category::named(&args.category).map_err(failed)?;
        let scope = Scope::of(args.is_global);
        let folder = self.folder(scope, context).map_err(failed)?;
        let entry = Entry::new(&args.data, &Words::list(args.tags.as_ref()));
        if folder.add(&category, &entry).map_err(failed)? {
            context.resources_changed();
        }
        let (scope, name) = (scope.name(), category.name());
        let text = format!("Remembered in the {scope} category {name:?}.");
        Ok(CallToolResult::text(text))
    }

    fn retrieve(&self, args: &Retrieve, context: &Context) -> Result<CallToolResult, ToolError> {
        let category = category_or_all(&args.category)?;
        let mut report = Report::new(MAX_ANSWER);
        let folders = self.folders(args.is_global, context)?;
        report.gather(&folders, category.as_ref(), |_, _| true);
        answer(report, "Nothing is remembered there.")
    }

    fn search(&self, args: &Search, context: &Context) -> Result<CallToolResult, ToolError> {
        let query = args.query.as_deref().unwrap_or_default().to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let tags = Entry::new("", &Words::list(args.tags.as_ref())).tags;
        if words.is_empty() && tags.is_empty() {
            let text = "There is nothing to look for; give `query`, `tags` or both.";
            return Err(ToolError::Failed(text.to_owned()));
        }
        if words.len() + tags.len() > MAX_WORDS {
            let text = format!("Search for at most {MAX_WORDS} words and tags.");
            return Err(ToolError::Failed(text));
        }
        let mut report = Report::new(MAX_ANSWER);
        let folders = self.folders(args.is_global, context)?;
        report.gather(&folders, None, |category, entry| {
            fits(category, entry, &words, &tags)
        });
        answer(report, "No memory matches.")
    }

    fn forget_category(
        &self,
        args: &ForgetCategory,
        context: &Context,
    ) -> Result<CallToolResult, ToolError> {
        let scope = Scope::of(args.is_global);
        let folder = self.folder(scope, context).map_err(failed)?;
        let categories = match category_or_all(&args.category)? {
            Some(category) => vec![category],
            None => folder.categories().map_err(failed)?,
        };
        let mut removed = Vec::new();
        let cleared = categories.iter().try_for_each(|category| {
            if folder.clear(category)? {
                removed.push(format!("{:?}", category.name()));
            }
            Ok(())
        });
        if !removed.is_empty() {
            context.resources_changed();
        }
        cleared.map_err(failed)?;
        let text = if removed.is_empty() {
            format!("There was nothing to forget in the {} scope.", scope.name())
        } else {
            format!("Forgotten ({}): {}.", scope.name(), removed.join(", "))
        };
        Ok(CallToolResult::text(text))
    }

    fn forget_one(&self, args: &ForgetOne, context: &Context) -> Result<CallToolResult, ToolError> {
        let category = Category::named(&args.category).map_err(failed)?;
        let scope = Scope::of(args.is_global);
        let folder = self.folder(scope, context).map_err(failed)?;
        let removed = folder.remove(&category, &args.memory_content);
        let (entry, last) = removed.map_err(failed)?;
        if last {
            context.resources_changed();
        }
        Ok(CallToolResult::text(format!(
            "Forgotten:\n{}",
            item(&entry)
        )))
    }
}

/// Whether the entry has all of the words, which are in lower case, and all of the tags.
fn fits(category: &Category, entry: &Entry, words: &[&str], tags: &[String]) -> bool {
    let same = |wanted: &String| {
        let wanted = wanted.to_lowercase();
        entry.tags.iter().any(|tag| tag.to_lowercase() == wanted)
    };
    if !tags.iter().all(same) {
        return false;
    }
    let (name, tags) = (category.name(), entry.tags.join(" "));
    let all = format!("{name} {tags} {}", entry.text).to_lowercase();
    words.iter().all(|word| all.contains(word))
}

fn answer(report: Report, nothing: &str) -> Result<CallToolResult, ToolError> {
    if report.found == 0 && report.unread.is_empty() {
        return Ok(CallToolResult::text(nothing));
    }
    let text = report.finish("ask for one category, or search for something more specific");
    Ok(CallToolResult::text(text))
}

#[cfg(test)]
mod tests;
