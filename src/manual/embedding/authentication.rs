use gosling::agent::{Registry, Stores};
use gosling::http::{
    AccessControl, Authentication, Client, Credentials, Error, Limits, Server,
};
use gosling::parts::PARTS;
use gosling::store::Paths;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

pub struct Badges;

impl Authentication for Badges {
    fn authenticate(&self, by: &Credentials<'_>) -> Result<Client, Error> {
        match by.header("X-Badge") {
            Some("1815") => Ok(Client::new("ada", "admin")),
            Some("1906") => Ok(Client::new("grace", "read")),
            Some(_) => Err(Error::new(403, "This badge is of no use here")),
            None => Err(Error::new(401, "Send your badge as X-Badge")),
        }
    }
}

fn main() -> std::io::Result<()> {
    let root = std::env::temp_dir().join("gosling-manual-authentication");
    let stores = Stores::new(&Paths::under(&root));
    let registry = Arc::new(Registry::new(stores, PARTS, true));
    let router = gosling::api::router(registry.clone());
    let access = AccessControl::default().with_authentication(Badges);
    let address = ("127.0.0.1", 0);
    let server = Server::bind(address, router, access, Limits::default())?;

    let mut client = TcpStream::connect(server.local_addr())?;
    let request = "GET /sessions HTTP/1.1\r\nHost: localhost\r\n\
        X-Badge: 1906\r\nConnection: close\r\n\r\n";
    client.write_all(request.as_bytes())?;
    let mut answer = String::new();
    client.read_to_string(&mut answer)?;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    server.stop(Duration::from_secs(1));
    registry.close();
    Ok(())
}
