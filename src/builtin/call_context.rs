//! What a client says of a call besides its arguments.

use crate::mcp::server::Context;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The working directory of a call: the one that the client names, or that of this process if it names none.
///
/// # Errors
/// When it is not an absolute path of a directory. No other one replaces it: the call would work on the wrong files.
pub fn working_dir(context: &Context) -> Result<PathBuf, String> {
    let named = context.meta("agent-working-dir");
    let Some(named) = named.filter(|named| !named.is_null()) else {
        return env::current_dir().map_err(|error| {
            format!(
                "the directory that this MCP server was started in cannot be used: {error}; start it again in \
                 another one, or name one in `agent-working-dir`"
            )
        });
    };
    let dir = named.as_str().map(Path::new);
    let Some(dir) = dir.filter(|dir| dir.is_absolute()) else {
        return Err(format!(
            "`agent-working-dir` is {named}; it must be the absolute path of a directory"
        ));
    };
    let is_dir = match fs::metadata(dir) {
        Ok(found) if found.is_dir() => Ok(dir.to_owned()),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) => Err(error),
    };
    is_dir.map_err(|error: io::Error| {
        format!(
            "nothing was done, because the working directory {dir:?} cannot be used: {error}; create it again, or \
             give the session another one"
        )
    })
}

/// The id of the session that the call belongs to, if the client names it.
pub fn session_id(context: &Context) -> Option<&str> {
    let id = context.meta("agent-session-id")?.as_str()?.trim();
    let fits = !id.is_empty() && id.len() <= 200 && !id.contains(char::is_control);
    fits.then_some(id)
}
