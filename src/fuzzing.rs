//! The fuzz targets for `tests/fuzz`: the parsers of input from outside, and the properties that hold for all
//! input.
//!
//! A target is a function of bytes that panics when a property does not hold. The targets are in files named
//! `fuzzing.rs` next to the parsers that they check, most of which are private. `tests/fuzz/run` builds all members
//! with `--cfg fuzzing` and searches for inputs that break a target; their tests run the targets on the seeds. Other
//! builds do not contain them.

use gosling_core::text::fuzz_input::Target;

/// The targets of all members.
pub fn targets() -> impl Iterator<Item = Target> {
    let members = [
        gosling_core::text::fuzzing::TARGETS,
        gosling_providers::outbound::fuzzing::TARGETS,
        gosling_core::mcp::fuzzing::TARGETS,
        gosling_core::fuzzing::TARGETS,
        gosling_acp::fuzzing::TARGETS,
        gosling_audit::fuzzing::TARGETS,
        gosling_backup::fuzzing::TARGETS,
        gosling_builtin::developer::fuzzing::TARGETS,
        gosling_check::fuzzing::TARGETS,
        gosling_deeplink::fuzzing::TARGETS,
        gosling_keys::fuzzing::TARGETS,
        gosling_pinning::fuzzing::TARGETS,
        gosling_policy::fuzzing::TARGETS,
        gosling_recipes::fuzzing::TARGETS,
        gosling_screening::fuzzing::TARGETS,
    ];
    let members = members.into_iter().flatten().copied();
    members.chain(gosling_providers::fuzzing::targets())
}
