//! The fuzz target of what a client of the Agent Client Protocol sends, and of the history that it is shown.

use super::capabilities::Initialize;
use super::goose_extensions::{from_goose, to_goose};
use super::mcp_servers;
use super::prompt_content;
use super::replay::replay;
use crate::conversation::Message;
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use serde_json::Value;
use std::path::Path;

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("acp", acp, 3000),
    Target::new("web_socket", crate::web_socket::fuzzing::frames, 100),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// Nothing panics; every update of a history is a notification; an extension that can be shown to Goose's clients
/// is the same when they send it back.
pub fn acp(input: &[u8]) {
    let Ok(value) = crate::json::from_slice::<Value>(input) else {
        return;
    };
    if let Ok(initialize) = crate::json::from_value::<Initialize>(&value) {
        initialize.capabilities();
    }
    if let Ok(blocks) = crate::json::from_value(&value) {
        let _ = prompt_content::contents("session/prompt", blocks, &|_| None);
    }
    if let Ok(servers) = crate::json::from_value(&value) {
        let (extensions, failures) =
            mcp_servers::extensions(servers, &mut |_, id| Err(id.to_owned()));
        for extension in &extensions {
            assert!(to_goose(extension).is_some());
        }
        assert!(failures.iter().all(|failure| !failure.is_empty()));
    }
    if let Ok(extension) = from_goose(value.clone())
        && let Some(shown) = to_goose(&extension)
    {
        let again = from_goose(shown.clone()).expect("what is shown can be sent back");
        assert_eq!(to_goose(&again), Some(shown));
    }
    if let Ok(messages) = crate::json::from_value::<Vec<Message>>(&value) {
        for is_goose in [false, true] {
            replay(
                "s",
                Path::new("/work"),
                &messages,
                is_goose,
                &|_| None,
                &mut |update| {
                    let update: Value = serde_json::from_slice(&update).expect("an update is JSON");
                    assert!(update["params"]["update"]["sessionUpdate"].is_string());
                    true
                },
            );
        }
    }
}
