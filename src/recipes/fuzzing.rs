//! The fuzz targets of recipes.

use crate::recipe::fuzzing::{recipe, template};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("recipe", recipe, 1000),
    Target::new("template", template, 3000),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
