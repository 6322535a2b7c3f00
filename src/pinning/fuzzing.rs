//! The fuzz target of pins.

use crate::extension::ExtensionConfig;
use crate::mcp::types::Tool;
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::{pin_file, tool_hashes};

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("tool_pins", tool_pins, 1000)];

/// The fuzz target of pinning. The input is a list of tools, another one, and a file of
/// pins.
fn tool_pins(input: &[u8]) {
    let [before, after, file] = crate::text::fuzz_input::texts(input);
    let config = ExtensionConfig::from_value(serde_json::json!({
        "type": "stdio", "name": "x", "cmd": "x",
    }));
    let Ok(config) = config else { return };
    pin_file::fuzz(&file);
    let list = |text: &str| crate::json::from_str::<Vec<Tool>>(text).ok();
    let (Some(before), Some(after)) = (list(&before), list(&after)) else {
        return;
    };
    let pins = |tools: &[Tool]| tool_hashes::Pins::of(&config, tools, &[]);
    let (Ok(before), Ok(after)) = (pins(&before), pins(&after)) else {
        return;
    };
    assert_eq!(before.compare(&before).changes, []);
    let there = before.compare(&after);
    let back = after.compare(&before);
    assert!(!there.launch_changed);
    assert_eq!(there.changes.len(), back.changes.len());
    assert_eq!(there.changes.is_empty(), before.has_hashes_of(&after));
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
