//! Access tokens of the user who is signed in to the command line program of Azure.
//!
//! <https://learn.microsoft.com/cli/azure/account#az-account-get-access-token>

use crate::credentials::tokens::Fetched;
use crate::sys::cancel::Cancel;
use crate::sys::clock::unix_seconds;
use crate::sys::pipe::PipeReader;
use crate::sys::process::{Command, Grace, Process};
use crate::{Error, ErrorClass};
use gosling_core::extension::program_lookup::on_path;
use gosling_core::provider::key_names::KEY_NAMES;
use gosling_shared::find_program;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the program may take. It is written in Python and asks Microsoft.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often it is looked at whether the request was cancelled.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most that is read of its output, in bytes.
const MAX_OUTPUT: usize = 64 << 10;
/// How long a token is used whose end older versions of the program tell in local time.
const SHORT_LIFETIME: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
    #[serde(rename = "expires_on")]
    expires_on: Option<i64>,
}

/// The token for this resource; `None` if the program is not installed.
///
/// # Errors
/// [`ErrorClass::Authentication`] if it gives no token, [`ErrorClass::Timeout`], [`ErrorClass::Cancelled`].
pub(super) fn token(resource: &str, cancel: &Cancel) -> Result<Option<Fetched<String>>, Error> {
    let Ok(program) = find_program("az", Path::new("/"), &on_path()) else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args([
        "account",
        "get-access-token",
        "--output",
        "json",
        "--resource",
    ]);
    command.arg(resource);
    for name in KEY_NAMES {
        command.env_remove(name);
    }
    let output = output_of(command, cancel)?;
    let token: Token = crate::json::from_slice(&output).map_err(|_| {
        let message = "`az account get-access-token` gave no token; sign in with `az login`";
        Error::new(ErrorClass::Authentication, message)
    })?;
    let left = token
        .expires_on
        .map(|end| end.saturating_sub(unix_seconds()).max(0));
    Ok(Some(Fetched {
        token: token.access_token,
        lifetime: left.map_or(SHORT_LIFETIME, |left| {
            Duration::from_secs(left.unsigned_abs())
        }),
    }))
}

/// What the program writes to stdout until it closes it.
fn output_of(command: Command, cancel: &Cancel) -> Result<Vec<u8>, Error> {
    let failed = |class, what: String| Error::new(class, format!("`az` {what}"));
    let until = Instant::now() + TIMEOUT;
    let started = Process::spawn(command, Some(TIMEOUT), cancel);
    let (process, pipes) =
        started.map_err(|error| failed(ErrorClass::Config, format!("cannot be run: {error}")))?;
    drop(pipes.stdin);
    let reader = PipeReader::new(pipes.stdout);
    let mut output = Vec::new();
    let mut piece = [0; 4096];
    let outcome = loop {
        if cancel.is_cancelled() {
            break Err(failed(ErrorClass::Cancelled, "was cancelled".to_owned()));
        } else if Instant::now() >= until {
            break Err(failed(
                ErrorClass::Timeout,
                "gave no token in time".to_owned(),
            ));
        } else if !reader.wait_readable(INTERVAL) {
            continue;
        }
        match (&reader).read(&mut piece) {
            Ok(count) if count > 0 && output.len() < MAX_OUTPUT => {
                output.extend_from_slice(&piece[..count]);
            }
            _ => break Ok(output),
        }
    };
    process.end(Grace::SHORT);
    outcome
}
