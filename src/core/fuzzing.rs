//! The fuzz targets of the core; they are next to the parsers that they check.

use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::{conversation, extension, http, provider, store};

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("http_head", http::fuzzing::head, 150),
    Target::new("http_chunked", http::fuzzing::chunked, 50),
    Target::new("http_json", http::fuzzing::json_body, 300),
    Target::new("openai", provider::fuzzing::openai, 600),
    #[cfg(feature = "anthropic")]
    Target::new("anthropic", provider::fuzzing::anthropic, 600),
    #[cfg(feature = "ollama")]
    Target::new("ollama", provider::fuzzing::ollama, 600),
    #[cfg(feature = "google")]
    Target::new("google", provider::fuzzing::google, 600),
    Target::new("tool_schema", provider::fuzzing::tool_schema, 1000),
    Target::new("tool_result", provider::fuzzing::tool_result, 1000),
    Target::new("yaml", store::fuzzing::yaml, 1000),
    Target::new("environment", extension::environment::fuzz, 300),
    #[cfg(feature = "pinning")]
    Target::new("tool_pins", extension::pinning::fuzz, 1000),
    Target::new("advisories", extension::screening::fuzzing::advisories, 600),
    Target::new("session_import", conversation::fuzzing::import, 600),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
