//! The fuzz targets for `tests/fuzz`: the parsers of input from outside, and the properties that hold for all
//! input.
//!
//! A target is a function of bytes that panics when a property does not hold. The targets are in files named
//! `fuzzing.rs` next to the parsers that they check, most of which are private. `tests/fuzz/run` builds the
//! crate with `--cfg fuzzing` and searches for inputs that break a target; `cargo test` also compiles the
//! targets and runs them on the seeds. Other builds do not contain them.

#[cfg(feature = "acp")]
use crate::acp;
#[cfg(feature = "developer")]
use crate::builtin;
#[cfg(feature = "check")]
use crate::check;
#[cfg(feature = "deeplinks")]
use crate::deeplink;
#[cfg(feature = "recipes")]
use crate::recipe;
use crate::text::fuzz_input;
use crate::{conversation, extension, http, json, mcp, outbound, provider, store, text};

/// One parser, or several that read the same bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of the folder with its seeds.
    pub name: &'static str,
    /// Panics when a property does not hold for these bytes.
    pub check: fn(&[u8]),
    /// The memory in bytes that the target may use for each byte of input.
    #[cfg_attr(not(fuzzing), expect(dead_code, reason = "only the fuzzer counts"))]
    pub memory: usize,
    /// The memory in bytes that the target may use in addition, for any input.
    #[cfg_attr(not(fuzzing), expect(dead_code, reason = "only the fuzzer counts"))]
    pub base_memory: usize,
}

/// Every target.
pub fn targets() -> impl Iterator<Item = Target> {
    let protocols = provider::fuzzing::protocols();
    let protocols = protocols.map(|(name, check)| target(name, check, 600));
    protocols.chain(TARGETS.iter().copied())
}

/// Those that are not for a wire protocol of models.
const TARGETS: &[Target] = &[
    target("http_head", http::fuzzing::head, 150),
    target("http_chunked", http::fuzzing::chunked, 50),
    #[cfg(feature = "acp")]
    target("acp", acp::fuzzing::acp, 3000),
    #[cfg(feature = "acp")]
    target("web_socket", http::web_socket::fuzzing::frames, 100),
    target("http_json", http::fuzzing::json_body, 300),
    target("jsonrpc", mcp::fuzzing::json_rpc, 300),
    target("sse", outbound::fuzzing::sse, 100),
    target("tool_schema", provider::fuzzing::tool_schema, 1000),
    target("tool_result", provider::fuzzing::tool_result, 1000),
    target("mcp_form", mcp::fuzzing::form, 600),
    target("response_head", mcp::fuzzing::response_head, 200),
    target("yaml", store::fuzzing::yaml, 1000),
    #[cfg(feature = "recipes")]
    target("recipe", recipe::fuzzing::recipe, 1000),
    #[cfg(feature = "recipes")]
    target("template", recipe::fuzzing::template, 3000),
    target("environment", extension::environment::fuzz, 300),
    #[cfg(feature = "pinning")]
    target("tool_pins", extension::pinning::fuzz, 1000),
    #[cfg(feature = "check")]
    target("checked_server", check::fuzzing::check, 3000),
    target("advisories", extension::screening::fuzzing::advisories, 600),
    #[cfg(feature = "deeplinks")]
    target("link", deeplink::fuzzing::link, 1000),
    #[cfg(feature = "deeplinks")]
    target("command_line", deeplink::fuzzing::command_line, 300),
    target("session_import", conversation::fuzzing::import, 600),
    #[cfg(feature = "developer")]
    target("patch", builtin::developer::fuzzing::patch, 300),
    #[cfg(feature = "developer")]
    Target {
        // A command of any length may have the most words, and the most text.
        base_memory: 4 << 20,
        ..target("shell_words", builtin::developer::fuzzing::shell_words, 300)
    },
    #[cfg(feature = "developer")]
    target(
        "image_header",
        builtin::developer::fuzzing::image_header,
        50,
    ),
    #[cfg(feature = "developer")]
    target("source", builtin::developer::fuzzing::source, 1000),
    target("redaction", redaction, 200),
];

const fn target(name: &'static str, check: fn(&[u8]), memory: usize) -> Target {
    Target {
        name,
        check,
        memory,
        base_memory: 512 << 10,
    }
}

/// The nesting depth of a value.
pub(crate) fn depth_of(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        serde_json::Value::Object(map) => 1 + map.values().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

/// Redaction removes secrets, and characters that are invisible to a person.
fn redaction(input: &[u8]) {
    let [text, secrets] = fuzz_input::texts(input);
    let secrets: Vec<String> = secrets.lines().take(8).map(str::to_owned).collect();
    text::fuzzing::redacted(&text, &secrets);
    text::fuzzing::visible(&text);
    let Ok(value) = json::from_str::<serde_json::Value>(&text) else {
        return;
    };
    let read = text::json_for_model(&text);
    assert_eq!(text::json_for_model(&read), read);
    let read: serde_json::Value = json::from_str(&read).expect("JSON without characters is JSON");
    assert_eq!(depth_of(&read), depth_of(&value));
    text::fuzzing::nothing_hidden(&read);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn seeds_hold_the_properties_of_their_targets() {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
        if !fuzz.exists() {
            // The packaged crate does not contain the fuzzer.
            return;
        }
        for target in targets() {
            let folder = fuzz.join("seeds").join(target.name);
            let files = fs::read_dir(&folder);
            let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            let mut seeds = 0;
            for file in files {
                let path = file.unwrap().path();
                println!("{}", path.display());
                (target.check)(&fs::read(&path).unwrap());
                seeds += 1;
            }
            assert!(seeds > 0, "{} has no seeds", target.name);
        }
        if crate::features::FEATURES
            .iter()
            .all(|(_, is_built)| *is_built)
        {
            let folders = fs::read_dir(fuzz.join("seeds")).unwrap().count();
            assert_eq!(
                folders,
                targets().count(),
                "a folder of seeds has no target"
            );
        }
    }

    #[test]
    fn pieces_make_up_the_input() {
        for input in [&b""[..], b"a", b"data: 1\n\ndata: 2\n\n"] {
            for pieces in fuzz_input::cuts(input) {
                assert_eq!(pieces.concat(), input);
            }
        }
    }
}
