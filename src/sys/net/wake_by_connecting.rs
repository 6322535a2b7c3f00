//! Wakes a listener on systems where its socket cannot be shut down.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::time::Duration;

/// Wakes a thread that blocks in `accept` on `listener`, by connecting to it.
pub fn wake_acceptor(listener: &TcpListener) {
    let Ok(mut address) = listener.local_addr() else {
        return;
    };
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    // A failure means that the queue is full, and then the acceptor is awake.
    let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
}
