//! Answers the core, which asks who a client is and what it may do.

use crate::activity::Caller;
use crate::agent::Registry;
use crate::extension::{ExtensionConfig, configured};
use crate::failed_keys::FailedKeys;
use crate::http::{Access::Keyed, Client, ClientKeys, Error, Response, Router, SERVER, Stream};
use crate::key_file::{Key, KeyFile};
use crate::key_text::{hash, is_same, to_hex};
use crate::live_connections::LiveConnections;
use crate::redaction::redact_response;
use crate::request_checks::{configures, sessions_in};
use crate::roles::{Role, role_of};
use crate::store::SessionFilter;
use crate::sys::clock::unix_seconds;
use crate::tickets::Tickets;
use gosling_core::part::on_reload;
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

/// The clients of one server.
struct KnownClients {
    file: Arc<KeyFile>,
    failed: FailedKeys,
    live: Arc<LiveConnections>,
    tickets: Tickets,
    registry: Weak<Registry>,
}

/// Lets the server know the clients, and adds the route of tickets.
pub(crate) fn install(router: Router, registry: &Arc<Registry>) -> Router {
    let stores = registry.stores();
    let clients = Arc::new(KnownClients {
        file: Arc::new(KeyFile::of(&stores.paths)),
        failed: FailedKeys::default(),
        live: Arc::default(),
        tickets: Tickets::new(),
        registry: Arc::downgrade(registry),
    });
    stores.sessions.filter(clients.clone());
    let file = Arc::downgrade(&clients.file);
    on_reload("keys", move || {
        file.upgrade().map_or(Ok(()), |file| file.check())
    });
    let of_tickets = clients.clone();
    let router = router.post("/ticket", Keyed, move |request| {
        of_tickets
            .tickets
            .answer(request, |name| of_tickets.hash_of(name))
    });
    router.with_keys(clients)
}

impl KnownClients {
    /// The key of this name, if it is valid now.
    fn key(&self, name: &str) -> Option<Key> {
        self.file.valid().into_iter().find(|key| key.name == name)
    }

    /// The hash of the key of this name, in hexadecimal digits; empty for that of the server.
    fn hash_of(&self, name: &str) -> Option<String> {
        match name {
            SERVER => Some(String::new()),
            name => self.key(name).map(|key| to_hex(&key.hash)),
        }
    }

    /// The key of a client of which the server has served a request.
    fn require(&self, name: &str) -> Result<Key, Error> {
        let key = self.key(name);
        key.ok_or_else(|| Error::new(403, format!("The key `{name}` is valid no more")))
    }

    fn is_configured(registry: &Registry, extension: &Value) -> bool {
        let Ok(extension) = ExtensionConfig::from_value(extension.clone()) else {
            return false;
        };
        let listed = configured::list(&registry.stores().config);
        let entries = listed.map(|listed| listed.entries).unwrap_or_default();
        entries
            .iter()
            .any(|entry| entry.config.as_ref() == Ok(&extension))
    }
}

impl fmt::Debug for KnownClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownClients").finish_non_exhaustive()
    }
}

impl ClientKeys for KnownClients {
    fn find(&self, key: &str) -> Option<Client> {
        let hash = hash(key);
        let mut found = None;
        // All of them, so that the time says nothing about which ones are similar.
        for known in self.file.valid() {
            if is_same(&known.hash, &hash) {
                found = Some(known);
            }
        }
        found.map(|key| Client {
            key: to_hex(&key.hash),
            name: key.name,
        })
    }

    fn find_by_ticket(&self, ticket: &str, path: &str) -> Option<Client> {
        let hash_of = |name: &str| self.hash_of(name);
        let (name, key) = self.tickets.read(ticket, path, unix_seconds(), hash_of)?;
        Some(Client {
            name: name.to_owned(),
            key,
        })
    }

    fn serves(&self, client: &Client, connection: &Arc<Stream>) {
        if client.name != SERVER {
            self.live.add(client, connection, &self.file);
        }
    }

    fn refused(&self, address: Option<IpAddr>, connection: &Stream) {
        self.failed.add(address, connection);
    }

    fn permit(&self, client: &str, operation: &str) -> Result<(), Error> {
        let (has, needed) = (self.require(client)?.role, role_of(operation));
        if has >= needed {
            return Ok(());
        }
        let message = format!("The key `{client}` has the role {has}; {operation} needs {needed}");
        Err(Error::new(403, message))
    }

    fn permit_request(
        &self,
        client: &str,
        operation: &str,
        parameters: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), Error> {
        let key = self.require(client)?;
        let may_configure = key.role >= Role::Configure;
        if may_configure && !key.own_sessions {
            return Ok(());
        }
        let body = match body {
            [] => Value::Null,
            body => crate::json::from_slice(body).map_err(|error| {
                Error::bad_request(format!("The body of the request is not JSON: {error}"))
            })?,
        };
        let Some(registry) = self.registry.upgrade() else {
            return Err(Error::new(503, "The server is stopping"));
        };
        if key.own_sessions {
            for id in sessions_in(parameters, &body) {
                let session = registry.stores().sessions.load(&id)?;
                if session.is_none_or(|it| it.extension_data.owner() != Some(client)) {
                    return Err(Error::not_found("Session not found"));
                }
            }
        }
        let is_configured = |extension: &Value| Self::is_configured(&registry, extension);
        if !may_configure && configures(operation, &body, is_configured) {
            let message = format!(
                "The key `{client}` has the role {}; extensions that are not configured, and recipes in a request, \
                 need configure",
                key.role
            );
            return Err(Error::new(403, message));
        }
        Ok(())
    }

    fn redact(&self, client: &str, response: &mut Response) {
        let may_see = self
            .key(client)
            .is_some_and(|key| key.role >= Role::Configure);
        if !may_see {
            redact_response(response);
        }
    }
}

impl SessionFilter for KnownClients {
    fn is_visible(&self, owner: Option<&str>) -> bool {
        let caller = Caller::current();
        let Some(name) = caller.key.get().filter(|name| *name != SERVER) else {
            return true;
        };
        let key = self.key(name);
        key.is_some_and(|key| !key.own_sessions || owner == Some(name.as_str()))
    }
}
