//! Logging of interactive commands.

use gosling_core::command_line::logging;
use gosling_core::store::Paths;
use log::LevelFilter;

/// Starts logging for an interactive command: without `GOOSE_LOG`, only errors are written to stderr.
pub fn start_quiet_logging(paths: &Paths) {
    match std::env::var_os("GOOSE_LOG") {
        Some(_) => logging::start(paths),
        None => logging::begin(Some(paths), LevelFilter::Error),
    }
}
