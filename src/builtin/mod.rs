//! The MCP servers that gosling brings along, each an [`mcp::server::Server`](Server) like any
//! other: in the process of a session, or on stdin and stdout for any client.

pub mod demo;
pub mod developer;

use crate::mcp::server::Server;
use crate::store::Paths;

/// The names that [`server`] knows.
pub const NAMES: [&str; 2] = ["demo", "developer"];

/// A new server of this name, one of [`NAMES`]; each client gets its own. `None` for any other
/// name. `paths` is where the user's own files for it are.
pub fn server(name: &str, paths: &Paths) -> Option<Server> {
    match name {
        "demo" => Some(demo::server(false)),
        "developer" => Some(developer::server(paths)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_its_server() {
        let paths = Paths::under(std::path::Path::new("/nowhere"));
        for name in NAMES {
            let server = server(name, &paths);
            assert_eq!(server.map(|s| s.name().to_owned()), Some(name.to_owned()));
        }
        assert!(server("Demo", &paths).is_none() && server("", &paths).is_none());
    }
}
