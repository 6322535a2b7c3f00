//! How a tool call is shown before its result: title, kind and locations, from the tool's name and arguments.

use crate::conversation::ToolRequest;
use crate::mcp::jsonrpc::RawJson;
use crate::text::printable;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// The longest title, in characters.
const MAX_TITLE: usize = 100;
/// The tool that edits files.
pub(super) const TEXT_EDITOR: &str = "developer__text_editor";
/// The tool that runs commands.
pub(super) const SHELL: &str = "developer__shell";

/// How a call is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Display {
    /// The tool's own name.
    name: String,
    pub(super) title: String,
    /// One of the protocol's kinds of tools.
    pub(super) kind: &'static str,
    /// The files that the call is about, with the line, from 1, if there is one.
    pub(super) location: Option<(PathBuf, Option<u64>)>,
}

/// The arguments that titles and locations are made of.
#[derive(Debug, Default, Deserialize)]
struct Shown {
    command: Option<String>,
    path: Option<String>,
    insert_line: Option<i64>,
    view_range: Option<Vec<i64>>,
}

impl Display {
    /// The display of a call of `extension__tool` in the working directory `dir`.
    pub(super) fn new(name: &str, arguments: &RawJson, dir: &Path) -> Self {
        // Arguments of other types are not shown.
        let shown: Shown = crate::json::from_str(arguments.get()).unwrap_or_default();
        let command = shown.command.as_deref().unwrap_or_default();
        let path = shown.path.as_deref().map(|path| absolute(path, dir));
        let of_file = |verb: &str| match &shown.path {
            Some(path) => format!("{verb} {path}"),
            None => verb.to_owned(),
        };
        let (title, kind, line) = match name {
            SHELL => (first_line(command), "execute", None),
            TEXT_EDITOR => match command {
                "view" => {
                    let line = shown.view_range.as_ref().and_then(|range| range.first());
                    (of_file("Read"), "read", line.copied())
                }
                "write" => (of_file("Write"), "edit", None),
                "insert" => (
                    of_file("Edit"),
                    "edit",
                    shown.insert_line.map(|line| line.saturating_add(1)),
                ),
                "undo_edit" => (of_file("Undo the last edit of"), "edit", None),
                _ => (of_file("Edit"), "edit", None),
            },
            "developer__analyze" => (of_file("Analyze"), "search", None),
            "developer__image_processor" => (of_file("Look at"), "read", None),
            "developer__screen_capture" => ("Capture the screen".to_owned(), "read", None),
            "developer__list_windows" => ("List the windows".to_owned(), "read", None),
            "todo__todo_write" => ("Write the checklist".to_owned(), "think", None),
            "todo__todo_read" => ("Read the checklist".to_owned(), "think", None),
            name => (tool_title(name), kind_of(name), None),
        };
        let line = line.and_then(|line| u64::try_from(line).ok());
        let is_about_files = name.starts_with("developer__") && name != SHELL;
        let path = path.filter(|_| is_about_files);
        Display {
            name: name.to_owned(),
            title: printable(&title, MAX_TITLE),
            kind,
            location: path.map(|path| (path, line.filter(|line| *line > 0))),
        }
    }

    /// The update that announces the call.
    pub(super) fn announcement(&self, id: &str, arguments: &RawJson) -> Value {
        let mut update = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": self.title,
            "name": self.name,
            "kind": self.kind,
            "status": "pending",
            "rawInput": arguments,
        });
        match &self.location {
            Some((path, Some(line))) => {
                update["locations"] = json!([{"path": path, "line": line}]);
            }
            Some((path, None)) => update["locations"] = json!([{"path": path}]),
            None => {}
        }
        update
    }
}

/// The `_meta` of an update with the name of a tool, `extension__tool`, where Goose's clients read it.
pub(super) fn goose_meta(name: &str) -> Value {
    let extension = name.split_once("__").map(|(extension, _)| extension);
    json!({"goose": {"toolCall": {"toolName": name, "extensionName": extension}}})
}

/// The user interface of the tool that is called, where Goose's clients read it.
pub(super) fn mcp_app(request: &ToolRequest) -> Option<Value> {
    let meta = request.meta.as_ref()?;
    let uri = meta["ui"]["resourceUri"].as_str()?;
    let name = &request.tool_call.value()?.name;
    let tool = name
        .split_once("__")
        .map_or(name.as_str(), |(_, tool)| tool);
    Some(json!({
        "resourceUri": uri, "extensionName": meta["goose_extension"], "toolName": tool,
    }))
}

/// The command in the arguments of a call of [`SHELL`].
pub(super) fn command_in(arguments: &RawJson) -> Option<String> {
    let shown: Shown = crate::json::from_str(arguments.get()).ok()?;
    shown.command
}

/// The absolute path of `path` in `dir`, without `.` and `..`.
pub(super) fn absolute(path: &str, dir: &Path) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => dir.join(path.trim()),
    };
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

fn first_line(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or("Run a command");
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first.to_owned(),
    }
}

/// `extension: tool`, with the words of the tool's name apart.
fn tool_title(name: &str) -> String {
    let (extension, tool) = name.split_once("__").unwrap_or(("", name));
    let words = tool.replace(['_', '-'], " ");
    if extension.is_empty() {
        words
    } else {
        format!("{extension}: {words}")
    }
}

/// The kind that the first word of the tool's name suggests.
fn kind_of(name: &str) -> &'static str {
    let tool = name.split_once("__").map_or(name, |(_, tool)| tool);
    let word = tool.split(['_', '-', '/', '.']).next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "read" | "get" | "list" | "show" | "view" | "retrieve" | "load" | "describe" => "read",
        "search" | "find" | "grep" | "query" | "lookup" => "search",
        "fetch" | "download" | "browse" | "open" => "fetch",
        "delete" | "remove" | "clear" => "delete",
        "move" | "rename" => "move",
        "edit" | "write" | "update" | "create" | "set" | "add" | "insert" | "replace" => "edit",
        "run" | "exec" | "execute" | "shell" | "bash" | "start" => "execute",
        "think" | "plan" | "sequentialthinking" => "think",
        _ => "other",
    }
}

#[cfg(test)]
mod tests;
