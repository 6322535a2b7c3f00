//! Answers the core, which asks who a client is and what it may do.

use crate::activity::{Caller, Rights};
use crate::agent::Registry;
use crate::extension::{ExtensionConfig, configured};
use crate::failed_keys::FailedKeys;
use crate::http::{
    Access::Keyed, Authentication, Client, ClientKeys, Credentials, Error, Method, Response,
    Router, SERVER,
};
use crate::key_file::{Key, KeyFile};
use crate::key_text::{hash, is_same};
use crate::live_connections::{KeyHolder, LiveConnections};
use crate::redaction::redact_response;
use crate::request_checks::{configures, sessions_in};
use crate::roles::{Role, role_of};
use crate::store::SessionFilter;
use crate::sys::clock::unix_seconds;
use crate::sys::to_hex;
use crate::tickets::Tickets;
use gosling_core::part::on_reload;
use serde_json::Value;
use std::fmt;
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

    /// What a client may do of which the server has served a request: its role, and whether with its own sessions alone.
    fn rights(&self, name: &str) -> Result<(Role, bool), Error> {
        let refused = |reason| Error::new(403, reason);
        match Caller::current().rights.get() {
            Some(Rights { role, own_sessions }) => match Role::named(role) {
                Some(role) => Ok((role, *own_sessions)),
                None => Err(refused(format!("There is no role {role:?}"))),
            },
            None => match self.key(name) {
                Some(key) => Ok((key.role, key.own_sessions)),
                None => Err(refused(format!("The key `{name}` is valid no more"))),
            },
        }
    }

    /// The key that a client shows, or its name and the hash of the key with which it has got its ticket.
    fn find(&self, key: &str) -> Option<KeyHolder> {
        let hash = hash(key);
        let mut found = None;
        // All of them, so that the time says nothing about which ones are similar.
        for known in self.file.valid() {
            if is_same(&known.hash, &hash) {
                found = Some(known);
            }
        }
        found.map(|key| KeyHolder {
            key: to_hex(&key.hash),
            name: key.name,
        })
    }

    fn find_by_ticket(&self, ticket: &str, path: &str) -> Option<KeyHolder> {
        let hash_of = |name: &str| self.hash_of(name);
        let (name, key) = self.tickets.read(ticket, path, unix_seconds(), hash_of)?;
        Some(KeyHolder {
            name: name.to_owned(),
            key,
        })
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

impl Authentication for KnownClients {
    fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Client, Error> {
        let key = credentials.key();
        let is_get = matches!(credentials.method, Method::Get | Method::Head);
        let ticket = credentials.query_key().filter(|_| key.is_none() && is_get);
        let found = key.and_then(|key| self.find(key));
        let by_ticket = |ticket: &String| self.find_by_ticket(ticket, credentials.path);
        if let Some(holder) = found.or_else(|| ticket.as_ref().and_then(by_ticket)) {
            if holder.name != SERVER {
                self.live.add(&holder, credentials.connection(), &self.file);
            }
            return Ok(Client::of_key(holder.name));
        }
        if key.is_some() || ticket.is_some() {
            let address = credentials.peer.map(|it| it.ip());
            self.failed.add(address, credentials.connection());
        }
        let unknown = credentials.unknown();
        Err(match ticket {
            Some(_) => unknown.because("The ticket in the query is not valid for this path now"),
            None => unknown,
        })
    }
}

impl ClientKeys for KnownClients {
    fn permit(&self, client: &str, operation: &str) -> Result<(), Error> {
        let ((has, _), needed) = (self.rights(client)?, role_of(operation));
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
        let (role, own_sessions) = self.rights(client)?;
        let may_configure = role >= Role::Configure;
        if may_configure && !own_sessions {
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
        if own_sessions {
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
                "The key `{client}` has the role {role}; extensions that are not configured, and recipes in a \
                 request, need configure"
            );
            return Err(Error::new(403, message));
        }
        Ok(())
    }

    fn redact(&self, client: &str, response: &mut Response) {
        let rights = self.rights(client);
        if !rights.is_ok_and(|(role, _)| role >= Role::Configure) {
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
        let rights = self.rights(name);
        rights.is_ok_and(|(_, own_sessions)| !own_sessions || owner == Some(name.as_str()))
    }
}
