//! The `gosling` command: see `gosling --help`.

use std::process::ExitCode;

/// The allocator of static programs: see `vendor-notes/dlmalloc.md`.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    gosling::cmd::main()
}
