//! The fuzz targets of the core; they are next to the parsers that they check.

use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::{conversation, extension, http, provider, store};

/// All of them.
pub fn targets() -> impl Iterator<Item = Target> {
    let protocols = provider::fuzzing::protocols();
    let protocols = protocols.map(|(name, check)| Target::new(name, check, 600));
    protocols.chain(TARGETS.iter().copied())
}

/// Those that are not for a wire protocol of models.
const TARGETS: &[Target] = &[
    Target::new("http_head", http::fuzzing::head, 150),
    Target::new("http_chunked", http::fuzzing::chunked, 50),
    Target::new("http_json", http::fuzzing::json_body, 300),
    Target::new("catalog", provider::fuzzing::catalog, 600),
    Target::new("tool_schema", provider::fuzzing::tool_schema, 1000),
    Target::new("tool_result", provider::fuzzing::tool_result, 1000),
    Target::new("yaml", store::fuzzing::yaml, 1000),
    Target::new("environment", extension::environment::fuzz, 300),
    Target::new("session_import", conversation::fuzzing::import, 600),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(&targets().collect::<Vec<_>>());
}
