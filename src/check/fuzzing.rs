//! The fuzz target of the checks: what a server sends, as messages, as entries of lists and as an event stream.

use super::list_kind::ListKind;
use super::wire::client_kind::ClientKind;
use super::wire::http_probe::events;
use super::wire::inbox::Inbox;
use super::{field_types, sample_arguments, tool_schemas};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use serde_json::{Value, json};

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("checked_server", check, 3000)];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// Each line is a message; each that is JSON is also a tool, another entry and a content.
pub fn check(input: &[u8]) {
    let first = received(input);
    assert_eq!(first, received(input), "the same messages, the same faults");
    let mut values = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        if let Ok(value) = crate::text::json::from_slice::<Value>(line) {
            values.push(value);
        }
    }
    for value in &values {
        let _ = tool_schemas::faults(value);
        for kind in ListKind::ALL {
            let _ = field_types::entry_faults(kind, value);
        }
        let _ = field_types::content_fault(value);
        let _ = field_types::fraction_for_integer(value);
        let _ = sample_arguments::arguments(value);
        if let Some((missing, arguments)) = sample_arguments::incomplete(value) {
            assert!(!arguments.contains_key(&missing));
        }
        let _ = sample_arguments::mistyped(value);
    }
    let _ = field_types::conflict(&values);
    let (events, _) = events(input);
    assert!(events.iter().map(String::len).sum::<usize>() <= 3 * input.len());
}

/// What was wrong with the messages, in their order.
fn received(input: &[u8]) -> Vec<String> {
    let inbox = Inbox::new(ClientKind::Full, true);
    inbox.expect(&json!(1), 1);
    inbox.expect_progress(&json!("a"));
    for line in input.split(|byte| *byte == b'\n') {
        inbox.receive(line);
    }
    let faults = inbox.take_faults().into_iter();
    let faults = faults.map(|(check, detail, _)| format!("{} {detail}", check.name));
    faults.chain(inbox.take_strays()).collect()
}
