//! Listening sockets that another process has opened for this one, and those with a path.
#![allow(unsafe_code)]

use crate::unix;
use std::fs::{Metadata, Permissions, set_permissions};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first descriptor that a service manager passes (sd_listen_fds(3)).
const FIRST: RawFd = 3;

/// A listening stream socket.
#[derive(Debug)]
pub enum ListeningSocket {
    /// With addresses.
    Tcp(TcpListener),
    /// With a path, or a name.
    Unix(UnixListener),
}

impl ListeningSocket {
    /// Lets [`accept`](Self::accept) fail with `WouldBlock` instead of waiting: a client that leaves between a wait and
    /// the call must not block it.
    ///
    /// # Errors
    /// As the sockets of the standard library.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            ListeningSocket::Tcp(socket) => socket.set_nonblocking(true),
            ListeningSocket::Unix(socket) => socket.set_nonblocking(true),
        }
    }

    /// The next connection, and who has opened it, if that has an address. What is done with a stream is the same for
    /// all sockets.
    ///
    /// # Errors
    /// As the sockets of the standard library.
    pub fn accept(&self) -> io::Result<(TcpStream, Option<SocketAddr>)> {
        let (stream, peer) = match self {
            ListeningSocket::Tcp(socket) => {
                let (stream, peer) = socket.accept()?;
                (stream, Some(peer))
            }
            ListeningSocket::Unix(socket) => (OwnedFd::from(socket.accept()?.0).into(), None),
        };
        stream.set_nonblocking(false)?;
        Ok((stream, peer))
    }

    /// Where it listens, if that is an address.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            ListeningSocket::Tcp(socket) => socket.local_addr().ok(),
            ListeningSocket::Unix(_) => None,
        }
    }

    /// Waits for a connection, or until there is something to read from the pipe, or it has ended: true.
    pub fn is_told_before_a_connection(&self, pipe: &io::PipeReader) -> bool {
        let own = match self {
            ListeningSocket::Tcp(socket) => socket.as_raw_fd(),
            ListeningSocket::Unix(socket) => socket.as_raw_fd(),
        };
        unix::wait_any([pipe.as_raw_fd(), own], Duration::MAX)[0]
    }
}

/// Waits until there is something to read from the pipe, or it has ended.
pub fn wait_told(pipe: &io::PipeReader) {
    unix::wait_any([pipe.as_raw_fd()], Duration::MAX);
}

/// Whether this is a socket with a path.
pub fn is_socket(file: &Metadata) -> bool {
    file.file_type().is_socket()
}

/// The sockets at so many descriptors from 3 on, which this process owns from now on and its children do not get. Of
/// those that are none, why. Empty from the second call on.
pub fn take_inherited(count: u16) -> Vec<io::Result<ListeningSocket>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Vec::new();
    }
    let numbers = FIRST..FIRST + RawFd::from(count);
    numbers.map(inherited).collect()
}

fn inherited(number: RawFd) -> io::Result<ListeningSocket> {
    // SAFETY: plain integers; fails if the descriptor is not open.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    if option(number, libc::SO_TYPE)? != libc::SOCK_STREAM {
        return Err(wrong("it is not a stream socket"));
    }
    if option(number, libc::SO_ACCEPTCONN)? == 0 {
        return Err(wrong("it does not listen"));
    }
    let family = family(number)?;
    // SAFETY: it is open, nothing in this process has opened it, and each is taken once.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    match family {
        libc::AF_UNIX => Ok(ListeningSocket::Unix(socket.into())),
        libc::AF_INET | libc::AF_INET6 => Ok(ListeningSocket::Tcp(socket.into())),
        _ => Err(wrong("it is neither a socket of TCP nor a Unix socket")),
    }
}

fn option(socket: RawFd, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: there is room for one integer, as `length` says.
    let got = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, name, place, &raw mut length) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

fn family(socket: RawFd) -> io::Result<libc::c_int> {
    // SAFETY: plain data, for which zero is valid.
    let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: there is room for any address, as `length` says.
    let got = unsafe { libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(address.ss_family.into())
}

/// Listens at a path, which only the user of this process can reach until [`open_path`]. Not for several threads at a
/// time.
///
/// # Errors
/// As a listener of the standard library.
pub fn listen_privately(path: &Path) -> io::Result<ListeningSocket> {
    // SAFETY: plain integers. Files that other threads create meanwhile are private, too.
    let before = unsafe { libc::umask(0o077) };
    let listener = UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(before) };
    listener.map(ListeningSocket::Unix)
}

/// Gives the path of a socket this mode.
///
/// # Errors
/// The mode cannot be set.
pub fn open_path(path: &Path, mode: u32) -> io::Result<()> {
    set_permissions(path, Permissions::from_mode(mode))
}

/// The system's monotonic clock in microseconds, by which service managers order messages.
pub fn monotonic_micros() -> u64 {
    // SAFETY: plain data, for which zero is valid.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the place is valid; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let since = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    since.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_does_not_listen_is_refused_and_why() {
        let (file, pipe) = (std::fs::File::open("/").unwrap(), io::pipe().unwrap().0);
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for (number, why) in [
            (file.as_raw_fd(), "socket"),
            (pipe.as_raw_fd(), "socket"),
            (datagrams.as_raw_fd(), "not a stream"),
            (connected.as_raw_fd(), "not listen"),
            (RawFd::MAX, "descriptor"),
        ] {
            let error = inherited(number).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_clock_goes_on() {
        let (begin, at) = (monotonic_micros(), Instant::now());
        assert!(begin > 0);
        while at.elapsed() < Duration::from_millis(2) {}
        let passed = monotonic_micros() - begin;
        assert!(passed >= 2_000, "{passed}");
    }
}
