//! The plan that a client shows: the session's checklist of the builtin server `todo`.

use crate::mcp::jsonrpc::RawJson;
use serde_json::{Value, json};

/// The most entries of a plan.
const MAX_ENTRIES: usize = 500;

/// The tool that writes the checklist.
pub(super) const TOOL: &str = "todo__todo_write";

/// The checklist in the arguments of a call of [`TOOL`].
pub(super) fn list_in(arguments: &RawJson) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Write {
        content: String,
    }
    let Write { content } = crate::json::from_str(arguments.get()).ok()?;
    Some(content)
}

/// The update with the entries of a checklist in Markdown: `- [x] done`, `- [ ] open`. The first open entry is
/// the one in progress, and an item marked `[-]` or `[~]` as well. Lines that are no items are left out.
pub(super) fn update(list: &str) -> Value {
    let mut has_current = false;
    let items = list.lines().filter_map(item).take(MAX_ENTRIES);
    let entries: Vec<Value> = items
        .map(|(mark, content)| {
            let status = match mark {
                Mark::Done => "completed",
                Mark::Begun => "in_progress",
                Mark::Open if !has_current => "in_progress",
                Mark::Open => "pending",
            };
            has_current |= mark != Mark::Done;
            json!({"content": content, "priority": "medium", "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Done,
    Begun,
    Open,
}

fn item(line: &str) -> Option<(Mark, &str)> {
    let rest = line.trim_start().trim_start_matches(['-', '*', '+']);
    let rest = rest.trim_start();
    let mark = match rest.get(..3)? {
        "[x]" | "[X]" => Mark::Done,
        "[-]" | "[~]" => Mark::Begun,
        "[ ]" => Mark::Open,
        _ => return None,
    };
    let content = rest[3..].trim();
    (!content.is_empty()).then_some((mark, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_entries_and_the_first_open_one_is_in_progress() {
        let list = "# work\n- [x] a\n  - [ ] b\n* [ ] c\n- [ ]\n- é\n";
        let update = update(list);
        let entries: Vec<_> = update["entries"].as_array().unwrap().iter().collect();
        let shown: Vec<_> = entries
            .iter()
            .map(|entry| (entry["content"].as_str(), entry["status"].as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                (Some("a"), Some("completed")),
                (Some("b"), Some("in_progress")),
                (Some("c"), Some("pending"))
            ]
        );
    }

    #[test]
    fn an_empty_list_is_an_empty_plan() {
        assert_eq!(update("")["entries"], json!([]));
    }
}
