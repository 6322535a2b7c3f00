//! What requests pass first: the proxies before the server, and the prefix of its paths.

use crate::access_log::Line;
use crate::activity::Caller;
use crate::agent::Stores;
use crate::command_line::Failure;
use crate::command_line::serve::variable;
use crate::handover::{ActiveRequest, HANDOVER};
use crate::http::{AtEnd, Error, Head, Ingress};
use crate::proxies::{TrustedProxies, values};
use crate::store::settings::{ACCESS_LOG, PATH_PREFIX, TRUSTED_PROXIES};
use crate::trace;

/// The settings of what requests pass.
#[derive(Debug)]
pub(crate) struct Entrance {
    proxies: TrustedProxies,
    /// What all paths begin with, as `/gosling`; empty if nothing.
    prefix: String,
    logs_access: bool,
}

impl Entrance {
    /// The settings in the environment.
    ///
    /// # Errors
    /// Which is wrong, and how.
    pub(crate) fn from_variables(stores: &Stores) -> Result<Self, Failure> {
        let wrong = |name: &str, why: String| Failure::Usage(format!("{name}: {why}"));
        let proxies = variable(TRUSTED_PROXIES.name)?.unwrap_or_default();
        let prefix = variable(PATH_PREFIX.name)?.unwrap_or_default();
        Ok(Entrance {
            proxies: TrustedProxies::read(&proxies)
                .map_err(|why| wrong(TRUSTED_PROXIES.name, why))?,
            prefix: read_prefix(&prefix).map_err(|why| wrong(PATH_PREFIX.name, why))?,
            logs_access: ACCESS_LOG.is_on(&stores.config),
        })
    }

    fn receive(
        &self,
        caller: &mut Caller,
        head: &mut Head,
    ) -> Result<Option<ActiveRequest<'static>>, Error> {
        caller.trace = trace::read(values(head, "traceparent"), values(head, "tracestate"));
        self.proxies.receive(&mut caller.address, head)?;
        head.path = strip(&self.prefix, &head.path).ok_or_else(|| {
            Error::not_found("There is nothing outside of the path of this server")
        })?;
        Ok(HANDOVER.receive(head))
    }
}

impl Ingress for Entrance {
    fn arrives(&self, caller: &mut Caller, head: Option<&mut Head>) -> (AtEnd, Option<Error>) {
        let line = self.logs_access.then(|| Line::begin(head.as_deref()));
        let received = head.map(|head| self.receive(caller, head)).transpose();
        let (active, refused) = match received {
            Ok(active) => (active.flatten(), None),
            Err(error) => (None, Some(error)),
        };
        if active.is_none() && line.is_none() {
            return (Box::new(|_, _| ()), refused);
        }
        let at_end: AtEnd = Box::new(move |status, bytes| {
            drop(active);
            if let Some(line) = line {
                line.end(status, bytes);
            }
        });
        (at_end, refused)
    }
}

/// A prefix such as `/gosling`, with or without a `/` at its end; `/` and nothing are none.
fn read_prefix(prefix: &str) -> Result<String, String> {
    let prefix = prefix.trim_end_matches('/');
    let is_plain = |part: &str| {
        let of_part = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        !matches!(part, "" | "." | "..") && part.bytes().all(of_part)
    };
    let parts = prefix.strip_prefix('/').map(|rest| rest.split('/'));
    if prefix.is_empty() || parts.is_some_and(|mut parts| parts.all(is_plain)) {
        return Ok(prefix.to_owned());
    }
    Err(format!("{prefix:?} is not a path such as /gosling"))
}

/// The path without the prefix; `None` if it is outside of it.
fn strip(prefix: &str, path: &str) -> Option<String> {
    let rest = match path {
        // Of the server, not of a path.
        "*" => path,
        path => path.strip_prefix(prefix)?,
    };
    match rest {
        "" => Some("/".to_owned()),
        rest if rest.starts_with('/') || rest == "*" => Some(rest.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_plain_path() {
        let read = |prefix: &str| read_prefix(prefix).ok();
        for (prefix, read_as) in [("", ""), ("/", ""), ("/a", "/a"), ("/a/b.c/", "/a/b.c")] {
            assert_eq!(read(prefix).as_deref(), Some(read_as));
        }
        for wrong in [
            "a", "//a", "/a//b", "/a/../b", "/.", "/a b", "/%41", "/a?b", "http://a",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_what_is_below_the_prefix_has_a_path() {
        for (path, inside) in [
            ("/a", Some("/")),
            ("/a/", Some("/")),
            ("/a/status", Some("/status")),
            ("/a//status", Some("//status")),
            ("*", Some("*")),
            ("/ab", None),
            ("/", None),
            ("/status", None),
            ("/A/status", None),
            ("/%61/status", None),
            ("/b/../a/status", None),
            ("", None),
        ] {
            assert_eq!(strip("/a", path).as_deref(), inside, "{path}");
        }
        assert_eq!(strip("", "/status").as_deref(), Some("/status"));
    }
}
