//! `gosling agent`: serves the API until a signal ends it.

use crate::agent::{Registry, Stores};
use crate::api;
use crate::http::{AccessControl, Limits, Server};
use crate::parts::PARTS;
use crate::store::settings::{HOST, PORT};
use crate::sys::{self, signal};
use gosling_core::command_line::serve::{self, parse_port, read_secret, variable};
use gosling_core::command_line::{Command, Failure, failed, logging, paths, print, text, tls};
use lexopt::prelude::*;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    name: "agent",
    summary: "serve the API; a drop-in for `goosed agent`",
    help: HELP,
    run,
};

const HELP: &str = "\
usage: gosling agent [OPTIONS]

Serves Goose's HTTP API. An option wins over its variable.

options:
  --host HOST          where to listen (GOOSE_HOST; 127.0.0.1)
  --port PORT          which port, 0 for any that is free (GOOSE_PORT; 3000)
  --listen PLACE       listen there instead, or besides the options above:
                       ADDRESS:PORT or unix:PATH[,mode=0660]; as often as you
                       like (GOOSE_LISTEN, with spaces between them)
  --secret-file FILE   clients must send the first line of FILE as the key
                       (GOOSE_SERVER__SECRET_KEY; without both, gosling makes a
                       key and prints it)
  --tls                serve https instead of http (GOOSE_TLS=true), with the
                       certificate and key of GOOSE_TLS_CERT_PATH and
                       GOOSE_TLS_KEY_PATH, or a self-signed one
  --offline            connect to no other machine, and ask the programs
                       that gosling starts to do the same
  --ready json         print a line of JSON on stdout when it listens
  --port-file FILE     write this line to FILE, which goes when gosling ends
  --end-with-stdin     end when stdin does, and so with the program behind it
  -h, --help           show this

variables (all of them: `gosling help configuration`):
  GOOSE_PATH_ROOT      keep everything in config/, data/ and state/ below this
                       folder
  GOOSE_ALLOWED_HOSTS  host names, other than localhost, that clients may use
  GOOSE_MCP_MAX_TIMEOUT, GOOSE_MCP_MAX_MESSAGE
                       the limits of every MCP server, in seconds and bytes
                       (3600; 64 MiB)
  GOOSE_LOG            error, warn, info, debug or trace (RUST_LOG; info)
";

struct Options {
    host: String,
    port: u16,
    /// Whether host or port are options, and so hold besides other places.
    has_place: bool,
    secret: Option<String>,
    offline: bool,
    /// Whether the option wants it.
    tls: bool,
}

fn run(mut parser: lexopt::Parser, server_key: Option<String>) -> Result<(), Failure> {
    let port = variable(PORT.name)?;
    let mut options = Options {
        host: variable(HOST.name)?.unwrap_or_else(|| HOST.default.to_owned()),
        port: parse_port(PORT.name, port.as_deref().unwrap_or(PORT.default))?,
        has_place: false,
        secret: server_key,
        offline: false,
        tls: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("host") => (options.has_place, options.host) = (true, text(parser.value()?)?),
            Long("port") => {
                let port = parse_port("--port", &text(parser.value()?)?)?;
                (options.has_place, options.port) = (true, port);
            }
            Long("secret-file") => options.secret = Some(read_secret(parser.value()?.into())?),
            Long("offline") => options.offline = true,
            Long("tls") => options.tls = true,
            Short('h') | Long("help") => return print(HELP),
            Long(name) => serve::take_option(name.to_owned(), &mut parser)?,
            other => return Err(other.unexpected().into()),
        }
    }
    start(options)
}

fn start(options: Options) -> Result<(), Failure> {
    sys::protect_memory();
    let encryption = tls::wanted(options.tls)?;
    let listeners = serve::listeners()?;
    signal::block();
    let paths = paths()?;
    logging::start(&paths);
    let (secret, drawn) = match options.secret {
        Some(secret) => {
            serve::check_key(&secret)?;
            (secret, false)
        }
        None => (sys::random_hex(24).map_err(failed("no random key"))?, true),
    };
    let stores = Stores::new(&paths);
    let unwritable = "sessions cannot be stored (GOOSE_PATH_ROOT sets another folder)";
    (stores.sessions.check_writable()).map_err(failed(unwritable))?;
    let registry = Arc::new(Registry::new(stores, PARTS, options.offline).with_user_interfaces());
    // The pages of Goose Desktop have no site; they have the key.
    let guard =
        AccessControl::new(Some(secret.clone().into_bytes()), serve::allowed_hosts()?).any_origin();
    let mut router = api::router(registry.clone());
    let mut services = Vec::new();
    for create in PARTS.iter().filter_map(|part| part.service) {
        let service = create(&registry)?;
        router = service.routes(router);
        services.push(service);
    }
    let opened = encryption.map(|open| open(&paths.state.join("tls")));
    let encryption = (opened.transpose()).map_err(failed("no certificate for TLS"))?;
    let scheme = encryption.as_ref().map_or("http", |_| "https");
    let mut server = Server::new(router, guard, Limits::default(), encryption);
    let mut places = Vec::new();
    if options.has_place || listeners.is_empty() {
        let host = host(&options.host, registry.is_offline())?;
        serve::listen(&mut server, (host, options.port))?;
        places.push(announce(scheme, Some(server.local_addr()), ""));
    }
    for listener in listeners {
        let (at, name) = (listener.address(), listener.name());
        (server.accept_from(listener)).map_err(failed("no thread for connections"))?;
        places.push(announce(scheme, at, &name));
    }
    if drawn {
        logging::say(&format!(
            "no key was given; for this run X-Secret-Key is {secret}\n"
        ));
    }
    let started = (services.iter()).try_for_each(|service| service.start(&places));
    let work = registry.cancel().clone();
    let services = Arc::new(services);
    let hear = services.clone();
    let hang_up = || hear.iter().any(|service| service.hang_up());
    let drain = || hear.iter().for_each(|service| service.drain());
    let close = move || {
        services.iter().for_each(|service| service.close());
        registry.close();
    };
    if started.is_ok() {
        serve::until_signal(server, &work, hang_up, drain, close);
    } else {
        close();
    }
    started
}

/// The host without the brackets that an IPv6 address has in a URL. Offline, no name is looked up.
fn host(host: &str, offline: bool) -> Result<&str, Failure> {
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let inner = inner.unwrap_or(host);
    let is_address = match inner.split_once('%') {
        Some((address, _)) => address.parse::<Ipv6Addr>().is_ok(),
        None => inner.parse::<IpAddr>().is_ok(),
    };
    if !offline || inner == "localhost" || is_address {
        return Ok(inner);
    }
    let reason = format!("offline, no name is looked up, and the host {host:?} is not an address");
    Err(Failure::Usage(reason))
}

/// Says where the server listens, and returns that.
fn announce(scheme: &str, at: Option<SocketAddr>, name: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let place = at.map_or_else(|| name.to_owned(), |at| format!("{scheme}://{at}"));
    logging::say(&format!("gosling {version} listens on {place}\n"));
    if let Some(at) = at.filter(|at| !at.ip().is_loopback() && scheme == "http") {
        log::warn!("reachable from other machines, without encryption address={at}");
    }
    place
}
