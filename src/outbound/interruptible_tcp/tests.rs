//! Here on every system, also where connections are those of ureq.

use super::*;
use crate::{AddressCache, read_whole_body};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Instant;
use ureq::{Agent, Timeout};

const LONG: Duration = Duration::from_secs(30);
const ONE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none";
const TWO_AND_MORE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo more";

/// A server that sends one response to each connection, and keeps those open that are returned.
fn serve(responses: &'static [&str]) -> (String, JoinHandle<Vec<TcpStream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let serve = move |response: &&str| {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream.write_all(response.as_bytes()).unwrap();
        stream
    };
    let server = move || responses.iter().map(serve).collect();
    (uri, thread::spawn(server))
}

fn agent(per_read: Duration) -> Agent {
    let config = Agent::config_builder().proxy(None);
    let config = config
        .timeout_connect(Some(LONG))
        .timeout_per_read(Some(per_read));
    Agent::with_parts(config.build(), connector(), AddressCache::default())
}

fn body(agent: &Agent, uri: &str) -> Result<Vec<u8>, Error> {
    read_whole_body(agent.get(uri).call()?.into_body(), 1024).map(Option::unwrap)
}

#[test]
fn a_connection_is_used_again_unless_the_server_has_said_more() {
    let (uri, server) = serve(&[TWO_AND_MORE, ONE]);
    let agent = agent(LONG);
    assert_eq!(body(&agent, &uri).unwrap(), b"two");
    assert_eq!(body(&agent, &uri).unwrap(), b"one");
    let mut streams = server.join().unwrap();
    let again = thread::spawn(move || {
        let stream = &mut streams[1];
        let _ = stream.read(&mut [0; 1024]).unwrap();
        stream.write_all(ONE.as_bytes()).unwrap();
        streams
    });
    assert_eq!(body(&agent, &uri).unwrap(), b"one");
    again.join().unwrap();
}

#[test]
fn a_read_that_waits_has_a_time_limit_and_an_end() {
    let (uri, server) = serve(&["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\no", ""]);
    let short = Duration::from_millis(100);
    let late = body(&agent(short), &uri).unwrap_err();
    assert!(matches!(late, Error::Timeout(Timeout::PerRead)), "{late:?}");
    let agent = agent(LONG * 10);
    let ended = agent.clone();
    let end = thread::spawn(move || {
        thread::sleep(short * 2);
        ended.shutdown();
        Instant::now()
    });
    body(&agent, &uri).unwrap_err();
    assert!(end.join().unwrap().elapsed() < LONG);
    drop(server.join().unwrap());
    body(&agent, &uri).unwrap_err();
}

#[test]
fn no_time_left_is_no_time() {
    let mut left = NextTimeout::default();
    assert_eq!(limit(left).unwrap(), None);
    left.per_read = Some(LONG.into());
    assert_eq!(limit(left.for_read()).unwrap(), Some(LONG));
    left.per_read = Some(Duration::ZERO.into());
    let over = limit(left.for_read()).unwrap_err();
    assert!(matches!(over, Error::Timeout(Timeout::PerRead)));
}

#[test]
fn a_server_that_is_not_there_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let refused = body(&agent(LONG), &uri).unwrap_err();
    assert!(matches!(&refused, Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused));
}
