//! The `gosling` command: see `gosling --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gosling::cmd::main()
}
