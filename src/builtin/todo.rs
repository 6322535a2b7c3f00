//! `todo`: the checklist of a session, for long tasks of a model. The name of the writing tool and the key of the
//! list are those of Goose's extension of this name.

use super::{SessionData, in_process};
use crate::mcp::arguments;
use crate::mcp::server::{Context, Server, Tool, ToolError};
use crate::mcp::types::ToolAnnotations;
use crate::store::settings::{self, Given};
use gosling_core::agent::checklist::{self, KEY, list};
use gosling_core::builtin::BuiltinServer;
use gosling_core::part::Part;
use serde_json::json;
use std::sync::Arc;

const INSTRUCTIONS: &str = "\
A checklist for this session, which is still there when the conversation has become too long to be kept \
whole. For work of several steps, write down with `todo_write` what was asked, also what is only implied, \
one line each: `- [ ] what`, steps of it indented below, `- [x]` once it is done. Write it again when \
something is done, changes or comes up, and go through it before you say that you are ready. Each \
writing replaces the whole list, so keep what still holds. Short tasks need no list.";

/// The highest limit that can be set, in characters.
const MAX_LIMIT: usize = 1_000_000;

/// What this server adds to gosling.
pub const PART: Part = Part {
    servers: &[BuiltinServer {
        name: "todo",
        connect: |context| in_process(server(context.data.clone())),
    }],
    ..Part::new("todo")
};

/// Creates a `todo` server that stores its list in `data`.
pub fn server(data: Arc<dyn SessionData>) -> Server {
    Server::new(checklist::SERVER, env!("CARGO_PKG_VERSION"))
        .title("gosling todo")
        .instructions(INSTRUCTIONS)
        .tool(write(data.clone(), limit(max_chars())))
        .tool(read(data))
}

/// The setting, which counts in the environment only.
fn max_chars() -> u64 {
    let setting = &settings::TODO_MAX_CHARS;
    let text = std::env::var_os(setting.name);
    let given = text.map(|text| Given::of_variable(&text.to_string_lossy()));
    setting.count_of(Ok(given)).unwrap_or_default()
}

/// The limit that the setting means: 0 stands for the highest one.
fn limit(setting: u64) -> usize {
    match usize::try_from(setting) {
        Ok(limit @ 1..MAX_LIMIT) => limit,
        _ => MAX_LIMIT,
    }
}

arguments! {
    struct Checklist {
        /// The whole list, in Markdown
        content: String,
    }
}

arguments! {
    struct Nothing {}
}

fn write(data: Arc<dyn SessionData>, limit: usize) -> Tool {
    let run = move |args: Checklist, _: &Context| {
        let length = args.content.chars().count();
        if length > limit {
            return Err(ToolError::Failed(format!(
                "The list has {length} characters, more than the limit of {limit}; remove the items \
                 that are done."
            )));
        }
        let kept = data.set(KEY, json!(args));
        kept.map_err(|why| format!("The list was not stored: {why}."))?;
        let (done, open) = count(&args.content);
        Ok(format!("The list is stored: {done} done, {open} open."))
    };
    Tool::typed("todo_write", "Replaces the checklist of this session.", run)
        .title("Write the checklist")
        .annotations(ToolAnnotations::REPLACES)
}

fn read(data: Arc<dyn SessionData>) -> Tool {
    let run = move |_: Nothing, _: &Context| {
        let kept = data.get(KEY);
        let kept = kept.map_err(|why| format!("The list was not read: {why}."))?;
        let list = list(kept.as_ref());
        Ok(list.unwrap_or("The list is empty.").to_owned())
    };
    let description = "Returns the current checklist of this session.";
    Tool::typed("todo_read", description, run)
        .title("Read the checklist")
        .annotations(ToolAnnotations::READS)
}

/// Counts the ticked items and the open ones.
fn count(list: &str) -> (usize, usize) {
    let mut done = 0;
    let mut open = 0;
    for line in list.lines() {
        let item = line.trim_start().trim_start_matches(['-', '*', '+']);
        match item.trim_start().get(..3) {
            Some("[x]" | "[X]") => done += 1,
            Some("[ ]") => open += 1,
            _ => {}
        }
    }
    (done, open)
}

#[cfg(test)]
mod tests;
