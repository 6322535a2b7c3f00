//! Where the server listens besides a host and port: addresses, Unix sockets with a path, and sockets that the manager
//! of the service has opened (sd_listen_fds(3)), so that clients may connect before the server runs.

use crate::command_line::Failure;
use crate::command_line::serve::variable;
use crate::handover::HANDOVER;
use crate::http::Listener;
use crate::own_file::OwnFile;
use crate::store::file_lock::FileLock;
use crate::store::settings::LISTEN;
use crate::sys::datagrams::is_alive;
use crate::sys::{
    self, ListeningSocket, is_socket, listen_privately, lock, net, open_path, take_inherited,
    wait_told,
};
use std::fs;
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::mem;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What begins the place of a Unix socket.
pub(crate) const UNIX: &str = "unix:";
/// The mode of one, unless the place says another.
const MODE: u32 = 0o600;
/// The most sockets that a manager may hand over.
const MAX_INHERITED: u16 = 256;
/// The variables about them, which are for this process alone.
const VARIABLES: [&str; 3] = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/// The places that options name.
static PLACES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Adds the place of an option.
pub(crate) fn add_place(place: String) {
    lock(&PLACES).push(place);
}

/// The places of the options, else those of the variable.
///
/// # Errors
/// The variable is not Unicode.
pub(crate) fn places() -> Result<Vec<String>, Failure> {
    let places = mem::take(&mut *lock(&PLACES));
    if !places.is_empty() {
        return Ok(places);
    }
    let places = variable(LISTEN.name)?.unwrap_or_default();
    Ok(places.split_whitespace().map(str::to_owned).collect())
}

/// Opens the sockets of the manager, then these places.
///
/// # Errors
/// Which cannot be used, why, and what to do.
pub(crate) fn open(places: &[String]) -> Result<Vec<Arc<dyn Listener>>, String> {
    let [count, pid, names] = VARIABLES.map(sys::take_variable);
    let mut listeners = Vec::new();
    for (name, socket) in inherited(count.as_deref(), pid.as_deref(), names.as_deref())? {
        let socket = socket.map_err(|error| {
            format!("the socket {name:?} of the service manager cannot be used: {error}")
        })?;
        listeners.push(Arc::new(Waiting::new(socket, &name)?) as Arc<dyn Listener>);
        HANDOVER.expect_successor();
    }
    for place in places {
        listeners.push(open_place(place)?);
    }
    Ok(listeners)
}

/// The sockets that these variables tell of, with their names; none if they are meant for another process.
fn inherited(
    count: Option<&str>,
    pid: Option<&str>,
    names: Option<&str>,
) -> Result<Vec<(String, io::Result<ListeningSocket>)>, String> {
    let is_own = |pid: &str| pid.parse() == Ok(std::process::id());
    let Some(count) = count.filter(|_| pid.is_some_and(is_own)) else {
        return Ok(Vec::new());
    };
    let count = count.parse().ok().filter(|count| *count <= MAX_INHERITED);
    let count = count
        .ok_or_else(|| format!("LISTEN_FDS is not a number of sockets, at most {MAX_INHERITED}"))?;
    let mut names = names.unwrap_or_default().split(':');
    let sockets = take_inherited(count).into_iter();
    let named = sockets.map(|socket| {
        let name = names.next().filter(|name| !name.is_empty());
        (name.unwrap_or("unknown").to_owned(), socket)
    });
    Ok(named.collect())
}

fn open_place(place: &str) -> Result<Arc<dyn Listener>, String> {
    let cannot = |why: String| format!("cannot listen on {place}: {why}");
    if let Some(place) = place.strip_prefix(UNIX) {
        let (path, mode) = parse_place(place).map_err(cannot)?;
        return Ok(Arc::new(listen_at(&path, mode).map_err(cannot)?));
    }
    let listener = TcpListener::bind(place).map_err(|error| {
        cannot(match error.kind() {
            ErrorKind::AddrInUse => format!("{error}; another server uses it: choose a free one"),
            ErrorKind::InvalidInput => format!("it is neither ADDRESS:PORT nor {UNIX}PATH"),
            _ => error.to_string(),
        })
    })?;
    net::lengthen_queue(&listener);
    Ok(Arc::new(listener))
}

/// The absolute path and the mode in `PATH[,mode=0660]`.
fn parse_place(place: &str) -> Result<(PathBuf, u32), String> {
    let (path, options) = place.split_once(',').unwrap_or((place, ""));
    if path.is_empty() {
        return Err("the path is missing".to_owned());
    }
    let mode = match options {
        "" => MODE,
        options => {
            let digits = options.strip_prefix("mode=").unwrap_or_default();
            let mode = u32::from_str_radix(digits, 8).ok();
            let mode = mode.filter(|mode| *mode <= 0o777 && !digits.starts_with('+'));
            mode.ok_or_else(|| format!("{options:?} is not `mode=` and up to 0777"))?
        }
    };
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    Ok((path, mode))
}

/// Listens at a path. The file of a server that has ended without removing it is replaced.
fn listen_at(path: &Path, mode: u32) -> Result<Waiting, String> {
    let fault = |error: io::Error| error.to_string();
    // Two servers that start at the same time must not take each other's for one that has ended.
    let _lock = FileLock::beside(path).map_err(|error| error.to_string())?;
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error)),
        Ok(found) if !is_socket(&found) => {
            return Err("what stands there is not a socket, and stays: choose another path".into());
        }
        Ok(_) if is_alive(path).map_err(fault)? => {
            return Err("another server listens there: choose another path".into());
        }
        Ok(_) => fs::remove_file(path).map_err(fault)?,
    }
    let socket = listen_privately(path).map_err(fault)?;
    let own = OwnFile::new(path).map_err(fault)?;
    let mut waiting = Waiting::new(socket, "")?;
    waiting.name = format!("{UNIX}{}", path.display());
    waiting.file = Some(own);
    open_path(path, mode).map_err(fault)?;
    Ok(waiting)
}

/// A socket that ends without being shut down, because the service manager may have it, too.
#[derive(Debug)]
struct Waiting {
    socket: ListeningSocket,
    name: String,
    file: Option<OwnFile>,
    told: PipeReader,
    /// Closing it ends the wait.
    end: Mutex<Option<PipeWriter>>,
}

impl Waiting {
    fn new(socket: ListeningSocket, name: &str) -> Result<Self, String> {
        let fault = |error: io::Error| format!("no descriptors for a socket: {error}");
        socket.set_nonblocking().map_err(fault)?;
        let (told, end) = io::pipe().map_err(fault)?;
        Ok(Waiting {
            socket,
            name: format!("the socket {name:?} of the service manager"),
            file: None,
            told,
            end: Mutex::new(Some(end)),
        })
    }
}

impl Listener for Waiting {
    fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        loop {
            if self.socket.is_told_before_a_connection(&self.told) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if self.file.is_none() && HANDOVER.is_ending() {
                wait_told(&self.told);
                continue;
            }
            match self.socket.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                accepted => return accepted,
            }
        }
    }

    fn close(&self) {
        if lock(&self.end).take().is_some()
            && let Some(file) = &self.file
        {
            file.remove();
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr()
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// If the start fails later, no file is left, either.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_place_is_a_path_with_a_mode() {
        let parse = |place: &str| parse_place(place).ok();
        assert_eq!(parse("/run/x"), Some(("/run/x".into(), 0o600)));
        assert_eq!(parse("/x,mode=0660"), Some(("/x".into(), 0o660)));
        assert_eq!(parse("/x,mode=7"), Some(("/x".into(), 0o7)));
        for wrong in [
            "",
            ",mode=0600",
            "/x,mode=",
            "/x,mode=8",
            "/x,mode=1777",
            "/x,mode=+7",
            "/x,a",
            "/x,mode=0660,mode=0660",
            "/x, mode=0660",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn variables_for_another_process_mean_nothing() {
        let own = std::process::id().to_string();
        for (count, pid) in [
            (Some("1"), None),
            (Some("1"), Some("1")),
            (Some("1"), Some("")),
            (Some("x"), Some("1")),
            (None, Some(&*own)),
        ] {
            assert!(inherited(count, pid, None).unwrap().is_empty(), "{count:?}");
        }
        for wrong in ["", "-1", "x", "257", "65537"] {
            assert!(inherited(Some(wrong), Some(&own), None).is_err(), "{wrong}");
        }
    }
}
