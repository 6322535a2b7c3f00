//! Messages to the manager of the service, as systemd's sd_notify(3) describes them: lines `NAME=VALUE` in a datagram
//! to the Unix socket that the variable `NOTIFY_SOCKET` names.

use crate::sys::datagrams::Datagrams;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The socket of the manager.
pub(crate) struct Notifier {
    socket: Datagrams,
    target: Target,
}

/// Where it is.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Path(PathBuf),
    /// A name in the kernel's own table, without the `@` before it.
    Abstract(Vec<u8>),
}

impl Notifier {
    /// The socket that the environment names; `None` without one.
    ///
    /// # Errors
    /// What it names cannot be a socket, or the process gets none of its own.
    pub(crate) fn from_env() -> io::Result<Option<Self>> {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let target = Target::read(name)?;
        // The manager may be slow; the server is not.
        let socket = Datagrams::new()?;
        Ok(Some(Notifier { socket, target }))
    }

    /// Sends these lines.
    ///
    /// # Errors
    /// As the socket; also `WouldBlock` if the manager does not keep up.
    pub(crate) fn send(&self, lines: &str) -> io::Result<()> {
        match &self.target {
            Target::Path(path) => self.socket.send_to_path(lines.as_bytes(), path),
            Target::Abstract(name) => self.socket.send_to_name(lines.as_bytes(), name),
        }
    }
}

impl Target {
    fn read(name: OsString) -> io::Result<Self> {
        match name.as_encoded_bytes().split_first() {
            Some((b'/', _)) => Ok(Target::Path(name.into())),
            Some((b'@', name)) if !name.is_empty() => Ok(Target::Abstract(name.to_vec())),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "NOTIFY_SOCKET is neither an absolute path nor a name after `@`",
            )),
        }
    }
}

/// How often the manager wants to hear that the service lives: half the time after which it ends it. `None` if it does
/// not, or wants it of another process.
pub(crate) fn watchdog_interval(usec: Option<&str>, pid: Option<&str>) -> Option<Duration> {
    let is_other = |pid: &str| pid.parse() != Ok(std::process::id());
    if pid.is_some_and(is_other) {
        return None;
    }
    let usec: u64 = usec?.parse().ok().filter(|usec| *usec > 0)?;
    Some(Duration::from_micros(usec.div_ceil(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_a_path_or_a_name() {
        let read = |name: &str| Target::read(name.into()).ok();
        assert_eq!(read("/run/x"), Some(Target::Path("/run/x".into())));
        assert_eq!(read("@x/y"), Some(Target::Abstract(b"x/y".to_vec())));
        for wrong in ["", "@", "x", "vsock:2:1", "./x"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_watchdog_is_fed_twice_in_its_time() {
        let own = std::process::id().to_string();
        let half = Some(Duration::from_micros(15_000_000));
        assert_eq!(watchdog_interval(Some("30000000"), None), half);
        assert_eq!(watchdog_interval(Some("30000000"), Some(&own)), half);
        assert_eq!(
            watchdog_interval(Some("1"), None),
            Some(Duration::from_micros(1))
        );
        for (usec, pid) in [
            (Some("30000000"), Some("1")),
            (Some("30000000"), Some("")),
            (Some("0"), None),
            (Some("-5"), None),
            (Some("soon"), None),
            (None, None),
        ] {
            assert_eq!(watchdog_interval(usec, pid), None, "{usec:?} {pid:?}");
        }
    }
}
