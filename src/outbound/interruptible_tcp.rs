//! TCP connections whose shutdown ends a read that waits, on systems where those of ureq go on to wait.
//!
//! The other connectors are those of ureq, in its order. A connection to a SOCKS proxy is ureq's own: there, a read
//! waits until the proxy closes, or for as long as one read may take.

use crate::tls;
use gosling_sys::net;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout,
    ShutdownHandle, SocksConnector, Transport,
};

/// Connects as ureq does by default.
pub(super) fn connector() -> impl Connector {
    let connector =
        ().chain(SocksConnector::default())
            .chain(ConnectProxyConnector::default())
            .chain(InterruptibleTcp);
    tls::connector(connector)
}

#[derive(Debug)]
struct InterruptibleTcp;

impl<In: Transport> Connector<In> for InterruptibleTcp {
    type Out = Either<In, Connected>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(chained) = chained {
            return Ok(Some(Either::A(chained)));
        }
        let config = details.config;
        let stream = connect(details)?;
        stream.set_nodelay(config.no_delay())?;
        let socket = Arc::new(Socket(stream));
        let handle = Arc::downgrade(&socket);
        (details.register_shutdown)(handle)?;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Either::B(Connected { socket, buffers })))
    }
}

/// Tries the addresses in order; each has an equal part of the time.
fn connect(details: &ConnectionDetails<'_>) -> Result<TcpStream, Error> {
    let timeout = details.timeout;
    let mut failure = Error::HostNotFound;
    for address in details.addrs.iter() {
        let connected = match limit(timeout)? {
            Some(all) => TcpStream::connect_timeout(address, all / details.addrs.len() as u32),
            None => TcpStream::connect(address),
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = of_io(error, timeout),
        }
    }
    Err(failure)
}

#[derive(Debug)]
struct Socket(TcpStream);

impl ShutdownHandle for Socket {
    fn shutdown(&self) {
        net::shutdown(&self.0, Shutdown::Both);
    }
}

#[derive(Debug)]
struct Connected {
    socket: Arc<Socket>,
    buffers: LazyBuffers,
}

impl Transport for Connected {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        let mut stream = &self.socket.0;
        let output = &self.buffers.output()[..amount];
        stream
            .set_write_timeout(limit(timeout)?)
            .and_then(|()| stream.write_all(output))
            .map_err(|error| of_io(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let mut stream = &self.socket.0;
        let input = self.buffers.input_append_buf();
        let read = stream
            .set_read_timeout(limit(timeout)?)
            .and_then(|()| stream.read(input))
            .map_err(|error| of_io(error, timeout))?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    /// Whether the server has neither closed nor sent what was not asked for.
    fn is_open(&mut self) -> bool {
        let stream = &self.socket.0;
        let peeked = stream
            .set_nonblocking(true)
            .and_then(|()| stream.peek(&mut [0]));
        let is_quiet = peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        is_quiet && stream.set_nonblocking(false).is_ok()
    }
}

/// How long one wait may take; fails if no time is left.
fn limit(timeout: NextTimeout) -> Result<Option<Duration>, Error> {
    match timeout.not_zero() {
        Some(_) if timeout.after.is_zero() => Err(Error::Timeout(timeout.reason)),
        limit => Ok(limit.map(|limit| *limit)),
    }
}

fn of_io(error: io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}

#[cfg(test)]
mod tests;
