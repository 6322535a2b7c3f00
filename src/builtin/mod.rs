//! The MCP servers that gosling brings along, each an [`mcp::server::Server`](Server) like any
//! other.

pub mod demo;

use crate::mcp::server::Server;

/// The names that [`server`] knows.
pub const NAMES: [&str; 1] = ["demo"];

/// A new server of this name, one of [`NAMES`]; each client gets its own. `None` for any other
/// name.
pub fn server(name: &str) -> Option<Server> {
    match name {
        "demo" => Some(demo::server(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_its_server() {
        for name in NAMES {
            assert_eq!(
                server(name).map(|s| s.name().to_owned()),
                Some(name.to_owned())
            );
        }
        assert!(server("Demo").is_none() && server("").is_none());
    }
}
