//! Waits at a socket end when another thread shuts it down.

use crate::net::{shutdown, wake_acceptor};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// How long what is done in another thread takes to wait.
const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

/// Both ends of a connection.
fn connection() -> (Arc<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (Arc::new(client), listener.accept().unwrap().0)
}

/// Runs `wait` in a thread, and once it waits there, `end` here. Returns what `wait` returned.
fn ended<T: Send + 'static>(wait: impl FnOnce() -> T + Send + 'static, end: impl FnOnce()) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(wait()));
    assert!(receiver.recv_timeout(SOON).is_err(), "it does not wait");
    end();
    receiver.recv_timeout(LONG).expect("the wait has an end")
}

#[test]
fn a_read_that_waits_ends_with_its_socket() {
    for how in [Shutdown::Read, Shutdown::Both] {
        for timeout in [None, Some(LONG * 10)] {
            let (socket, _peer) = connection();
            socket.set_read_timeout(timeout).unwrap();
            let read = |socket: &TcpStream| { socket }.read(&mut [0; 8]);
            let reader = Arc::clone(&socket);
            let first = ended(move || read(&reader), || shutdown(&socket, how));
            assert!(matches!(first, Ok(0) | Err(_)), "{first:?}");
            // What comes later does not wait either.
            let reader = Arc::clone(&socket);
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || sender.send(read(&reader)));
            let later = receiver.recv_timeout(LONG).unwrap();
            assert_eq!(later.unwrap(), 0, "{how:?}");
        }
    }
}

#[test]
fn a_write_that_waits_ends_with_its_socket() {
    let (socket, _peer) = connection();
    let writer = Arc::clone(&socket);
    let write = move || loop {
        if let Err(error) = { &*writer }.write(&[0; 1 << 16]) {
            return error;
        }
    };
    ended(write, || shutdown(&socket, Shutdown::Both));
    { &*socket }.write(b"more").unwrap_err();
}

#[test]
fn a_listener_that_waits_ends_when_woken() {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let acceptor = Arc::clone(&listener);
    let _ = ended(move || acceptor.accept(), || wake_acceptor(&listener));
}
