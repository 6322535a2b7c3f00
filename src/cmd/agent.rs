//! `gosling agent`: serves the API until a signal ends it.

use super::{Failure, failed, logging, print, text};
use crate::agent::{Registry, Stores};
use crate::api;
use crate::http::{Guard, Limits, Server};
use crate::sys::{self, signal};
use crossbeam_channel::bounded;
use lexopt::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, process};

const HELP: &str = "\
usage: gosling agent [OPTIONS]

Serves Goose's HTTP API. An option wins over its variable.

options:
  --host HOST          where to listen (GOOSE_HOST; 127.0.0.1)
  --port PORT          which port, 0 for any that is free (GOOSE_PORT; 3000)
  --secret-file FILE   the key that clients must send is the first line of FILE
                       (GOOSE_SERVER__SECRET_KEY; drawn and printed if neither is given)
  --offline            refuse to connect to any other machine
  -h, --help           show this

variables:
  GOOSE_PATH_ROOT      keep everything in config/, data/ and state/ below this folder
  GOOSE_ALLOWED_HOSTS  names, apart from localhost, by which clients may call this server
  GOOSE_MCP_MAX_TIMEOUT, GOOSE_MCP_MAX_MESSAGE
                       seconds and bytes that bound every MCP server (3600; 64 MiB)
  GOOSE_LOG            error, warn, info, debug or trace (RUST_LOG; info)
";

/// How long requests that are being answered may go on after a signal.
const FINISH: Duration = Duration::from_secs(1);
/// When the process ends, however far the shutdown is: the guardian does the rest.
const LAST_MOMENT: Duration = Duration::from_millis(4_700);

struct Options {
    host: String,
    port: u16,
    secret: Option<String>,
    offline: bool,
}

pub(super) fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut options = Options {
        host: variable("GOOSE_HOST").unwrap_or_else(|| "127.0.0.1".to_owned()),
        port: match variable("GOOSE_PORT") {
            Some(port) => parse_port("GOOSE_PORT", &port)?,
            None => 3000,
        },
        secret: variable("GOOSE_SERVER__SECRET_KEY"),
        offline: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("host") => options.host = text(parser.value()?)?,
            Long("port") => options.port = parse_port("--port", &text(parser.value()?)?)?,
            Long("secret-file") => options.secret = Some(read_secret(parser.value()?.into())?),
            Long("offline") => options.offline = true,
            Short('h') | Long("help") => return print(HELP),
            other => return Err(other.unexpected().into()),
        }
    }
    serve(options)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn parse_port(from: &str, value: &str) -> Result<u16, Failure> {
    value
        .parse()
        .map_err(|_| Failure::Usage(format!("{from}: {value:?} is not a port (0 to 65535)")))
}

fn read_secret(file: PathBuf) -> Result<String, Failure> {
    let text = fs::read_to_string(&file).map_err(failed(format!("cannot read {file:?}")))?;
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(secret.to_owned()),
        _ => Err(Failure::Failed(format!(
            "the first line of {file:?} is empty"
        ))),
    }
}

fn serve(options: Options) -> Result<(), Failure> {
    signal::hold();
    let paths = super::paths()?;
    logging::start(&paths);
    let (secret, drawn) = match options.secret {
        Some(secret) => (secret, false),
        None => (sys::random_hex(24).map_err(failed("no random key"))?, true),
    };
    let stores = Stores::new(&paths);
    let registry = Arc::new(Registry::new(stores, options.offline));
    let hosts = variable("GOOSE_ALLOWED_HOSTS").unwrap_or_default();
    let hosts = hosts.split(',').map(|host| host.trim().to_owned());
    let guard = Guard::new(
        Some(secret.clone().into_bytes()),
        hosts.filter(|host| !host.is_empty()).collect(),
    );
    let address = (options.host.as_str(), options.port);
    let router = api::router(registry.clone());
    let server = Server::bind(address, router, guard, Limits::default()).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "; another server is there: choose a port with --port",
            _ => "",
        };
        Failure::Failed(format!(
            "cannot listen on {}:{}: {error}{advice}",
            address.0, address.1
        ))
    })?;
    let at = server.local_addr();
    eprintln!(
        "gosling {} listens on http://{at}",
        env!("CARGO_PKG_VERSION")
    );
    if drawn {
        eprintln!("no key was given; for this run X-Secret-Key is {secret}");
    }
    if !at.ip().is_loopback() {
        log::warn!("reachable from other machines, without encryption address={at}");
    }
    let signal = signal::wait();
    log::info!("stopping signal={signal}");
    stop(server, registry);
    Ok(())
}

/// Ends everything within the time that a supervisor gives; a second signal ends it at once.
fn stop(server: Server, registry: Arc<Registry>) {
    // Where no thread is to be had, there is no second signal, and the guardian ends what is left.
    let _ = sys::spawn("second signal".into(), None, || {
        process::exit(128 + signal::wait())
    });
    registry.cancel().cancel();
    let (done, finished) = bounded::<()>(0);
    let extensions = done.clone();
    let _ = sys::spawn("stop extensions".into(), None, move || {
        registry.close();
        drop(extensions);
    });
    let _ = sys::spawn("stop server".into(), None, move || {
        server.stop(FINISH);
        drop(done);
    });
    let _ = finished.recv_timeout(LAST_MOMENT);
}
