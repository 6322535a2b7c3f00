//! Listening and shutdown of the commands that serve HTTP.

use super::{Failure, failed};
use crate::features;
use crate::http::{Listener, Server};
use crate::part;
use crate::store::settings;
use crate::sys::cancel::Cancel;
use crate::sys::{self, signal};
use crossbeam_channel::bounded;
use std::env::VarError;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, process};

/// The time after which the start, with the first requests of a client, is over: much of its code does not run
/// again.
const START: Duration = Duration::from_millis(200);
/// How long active requests may go on after a signal.
const REQUEST_GRACE: Duration = Duration::from_secs(1);
/// When the process ends at the latest; the guardian ends what is left.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(4_700);

/// The environment variable `name`; `None` if it is missing or empty.
///
/// # Errors
/// It is not Unicode.
pub fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::Usage(format!(
            "{name} in the environment is not valid Unicode; correct or unset it"
        ))),
    }
}

/// A port, from the option or variable `from`.
///
/// # Errors
/// When it is not a number from 0 to 65535.
pub fn parse_port(from: &str, value: &str) -> Result<u16, Failure> {
    let port = value.parse();
    port.map_err(|_| Failure::Usage(format!("{from}: {value:?} is not a port (0 to 65535)")))
}

/// The first line of a file.
pub fn read_secret(file: PathBuf) -> Result<String, Failure> {
    let text = fs::read_to_string(&file).map_err(failed(format!("cannot read {file:?}")))?;
    let secret = text.lines().next().map(str::trim);
    let secret = secret.filter(|secret| !secret.is_empty());
    let empty = || Failure::Failed(format!("the first line of {file:?} is empty"));
    secret.map(str::to_owned).ok_or_else(empty)
}

/// The shortest key of a server that is accepted, and the shortest that is accepted without a warning.
const MIN_KEY: (usize, usize) = (4, 8);

/// Refuses a key that is empty but for white space, or can be found by trying all, and warns of a short one.
///
/// # Errors
/// What to do instead.
pub fn check_key(key: &str) -> Result<(), Failure> {
    let (shortest, short) = MIN_KEY;
    let length = key.trim().chars().count();
    if length < shortest {
        return Err(Failure::Failed(format!(
            "the key that clients must send has {length} characters besides white space around it, and at \
             least {shortest} are needed; `openssl rand -hex 32` prints a good one"
        )));
    }
    if length < short {
        log::warn!(
            "the key that clients must send is short, and can be guessed characters={length}"
        );
    }
    Ok(())
}

/// The host names by which clients may call the server, in addition to those of this machine.
///
/// # Errors
/// As [`variable`].
pub fn allowed_hosts() -> Result<Vec<String>, Failure> {
    let hosts = variable(settings::ALLOWED_HOSTS.name)?.unwrap_or_default();
    let hosts = hosts.split(',').map(|host| host.trim().to_owned());
    Ok(hosts.filter(|host| !host.is_empty()).collect())
}

/// Gives an option of `gosling agent` to the part that has it.
///
/// # Errors
/// It is unknown, or its value is wrong.
pub fn take_option(name: String, parser: &mut lexopt::Parser) -> Result<(), Failure> {
    for take in part::all().iter().filter_map(|part| part.option) {
        if take(&name, parser)? {
            return Ok(());
        }
    }
    let of_service = ["end-with-stdin", "listen", "port-file", "ready"].contains(&&*name);
    let hint = of_service.then(|| features::hint("service"));
    Err(unknown(&format!("--{name}"), hint.unwrap_or_default()))
}

fn unknown(what: &str, hint: String) -> Failure {
    Failure::Usage(format!("{what} is unknown{hint}"))
}

/// Opens the listeners at other places than a host and port. Called before threads are started.
///
/// # Errors
/// A place is wrong or taken, or this build has none.
pub fn listeners() -> Result<Vec<Arc<dyn Listener>>, Failure> {
    let name = settings::LISTEN.name;
    match part::all().iter().find_map(|part| part.listeners) {
        Some(open) => open(),
        None if variable(name)?.is_none() => Ok(Vec::new()),
        None => Err(unknown(name, features::hint("service"))),
    }
}

/// Listens on `address`, too.
///
/// # Errors
/// It is taken, or is not one of this machine.
pub fn listen(server: &mut Server, address: (&str, u16)) -> Result<(), Failure> {
    server.listen(address).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "; another server uses this port: choose a free one",
            _ => "",
        };
        let (host, port) = address;
        Failure::Failed(format!("cannot listen on {host}:{port}: {error}{advice}"))
    })
}

/// Waits for a signal and returns it. Frees the memory that only the start needed.
pub fn wait_for_signal() -> i32 {
    signal::wait_timeout(START).unwrap_or_else(|| {
        sys::trim_memory();
        signal::wait()
    })
}

/// Serves until a signal arrives; the caller has blocked signals. It goes on after SIGHUP if `hang_up` says so, and
/// until `drain` returns. Then cancels `work`, stops the server and calls `close`, within the time that supervisors
/// usually grant. A second signal ends the process at once.
pub fn until_signal(
    server: Server,
    work: &Cancel,
    hang_up: impl Fn() -> bool,
    drain: impl FnOnce(),
    close: impl FnOnce() + Send + 'static,
) {
    let mut signal = wait_for_signal();
    while signal == signal::HANG_UP && hang_up() {
        signal = wait_for_signal();
    }
    log::info!("stopping signal={signal}");
    // If the thread cannot be started, a second signal has no effect, and the guardian ends what is left.
    let _ = sys::spawn("second signal".into(), None, || {
        let code = 128 + signal::wait();
        (part::all().iter().filter_map(|part| part.remove_files)).for_each(|remove| remove());
        process::exit(code)
    });
    drain();
    work.cancel();
    let (done, finished) = bounded::<()>(0);
    let closed = done.clone();
    let _ = sys::spawn("stop extensions".into(), None, move || {
        close();
        drop(closed);
    });
    let _ = sys::spawn("stop server".into(), None, move || {
        server.stop(REQUEST_GRACE);
        drop(done);
    });
    let _ = finished.recv_timeout(SHUTDOWN_TIMEOUT);
}
