//! The fuzz targets of the core; they are next to the parsers that they check.

use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::{conversation, extension, http, store};

/// All of them.
pub const TARGETS: &[Target] = &[
    Target::new("http_head", http::fuzzing::head, 150),
    Target::new("http_chunked", http::fuzzing::chunked, 50),
    Target::new("http_json", http::fuzzing::json_body, 300),
    Target::new("yaml", store::fuzzing::yaml, 1000),
    Target::new(
        "environment",
        extension::environment::fuzzing::variables,
        300,
    ),
    Target::new("session_import", conversation::fuzzing::import, 600),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
