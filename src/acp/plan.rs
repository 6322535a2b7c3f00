//! The plan that a client shows: the session's checklist of the builtin server `todo`.

use crate::mcp::jsonrpc::RawJson;
use serde_json::{Value, json};

/// The most entries of a plan.
const MAX_ENTRIES: usize = 500;

/// The tool that writes the checklist.
pub(super) const TOOL: &str = "todo__todo_write";

/// The checklist in the arguments of a call of [`TOOL`].
pub(super) fn list_in(arguments: &RawJson) -> Option<String> {
    let arguments: Value = crate::json::from_str(arguments.get()).ok()?;
    arguments["content"].as_str().map(str::to_owned)
}

const DONE: &str = "completed";
const BEGUN: &str = "in_progress";
const OPEN: &str = "pending";

/// The update with the entries of a checklist in Markdown: `- [x] done`, `- [ ] open`. The first open entry is
/// the one in progress, and an item marked `[-]` or `[~]` as well. Lines that are no items are left out.
pub(super) fn update(list: &str) -> Value {
    let mut has_current = false;
    let items = list.lines().filter_map(item).take(MAX_ENTRIES);
    let entries: Vec<Value> = items
        .map(|(status, content)| {
            let status = match status {
                OPEN if !has_current => BEGUN,
                status => status,
            };
            has_current |= status != DONE;
            json!({"content": content, "priority": "medium", "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

/// The status of an item, and its text.
fn item(line: &str) -> Option<(&'static str, &str)> {
    let rest = line.trim_start().trim_start_matches(['-', '*', '+']);
    let rest = rest.trim_start();
    let status = match rest.get(..3)? {
        "[x]" | "[X]" => DONE,
        "[-]" | "[~]" => BEGUN,
        "[ ]" => OPEN,
        _ => return None,
    };
    let content = rest[3..].trim();
    (!content.is_empty()).then_some((status, content))
}

#[cfg(test)]
mod tests;
