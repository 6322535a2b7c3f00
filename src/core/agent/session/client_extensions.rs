//! Extensions that a client brings along when it opens a session. They are used beside the session's own ones.

use crate::agent::registry::{MAX_EXTENSIONS, check_dir};
use crate::agent::session::agent_table::IfRunning;
use crate::agent::{Error, Registry};
use crate::conversation::Session;
use crate::extension::{ExtensionConfig, config};
use crate::sys::cancel::Cancel;
use serde_json::Value;
use std::path::Path;

impl Registry {
    /// Opens a stored session for a client, in the client's working directory and with its extensions beside the
    /// session's own ones; they replace those that a client brought along before. Starts the agent if it does not run,
    /// and replaces it if one of these has changed; does not wait for the extensions.
    ///
    /// # Errors
    /// When there is no such session, the path is not a directory, the session would have too many extensions,
    /// or something would change while a turn is running.
    pub fn open(
        &self,
        id: &str,
        working_dir: &Path,
        client: Vec<ExtensionConfig>,
    ) -> Result<Session, Error> {
        check_dir(working_dir)?;
        let session = self.session(id)?;
        let earlier = session.extension_data.client_extensions();
        let is_own = |extension: &&Value| {
            let name = extension["name"].as_str().unwrap_or_default();
            earlier.iter().all(|earlier| earlier != name)
        };
        let own = session.enabled_extensions().iter().filter(is_own);
        let mut extensions: Vec<Value> = own.cloned().collect();
        let names = append(&mut extensions, client)?;
        if session.working_dir == working_dir && session.enabled_extensions() == extensions {
            return Ok(self.activate(id)?.0);
        }
        // A turn that is running in this process or another keeps what it has.
        let agent = self.live_agent(id);
        let turn_guard = match &agent {
            Some(agent) => Some(agent.begin_turn(&Cancel::new())?),
            None => None,
        };
        self.stores().sessions.check_no_turn_in_other_process(id)?;
        self.stores().sessions.update(id, |session| {
            session.working_dir = working_dir.to_owned();
            session.set_enabled_extensions(extensions);
            session.extension_data.set_client_extensions(&names);
        })?;
        drop(turn_guard);
        Ok(self.agent_for_stored(id, IfRunning::Replace)?.0)
    }
}

/// Appends the client's extensions, with a number behind each name that is taken. Returns their names.
pub(in crate::agent) fn append(
    extensions: &mut Vec<Value>,
    client: Vec<ExtensionConfig>,
) -> Result<Vec<String>, Error> {
    if extensions.len() + client.len() > MAX_EXTENSIONS {
        let reason = format!("a session has at most {MAX_EXTENSIONS} extensions");
        return Err(Error::Config { reason });
    }
    let mut names = Vec::new();
    for extension in client {
        let name = extension.name().to_owned();
        let is_taken = |name: &str| {
            let key = config::key(name);
            let mut taken = extensions.iter().filter_map(|it| it["name"].as_str());
            taken.any(|taken| config::key(taken) == key)
        };
        let free = (2..)
            .map(|n| format!("{name}{n}"))
            .find(|name| !is_taken(name));
        let free = free.filter(|_| is_taken(&name)).unwrap_or(name);
        let mut extension = extension.to_value();
        extension["name"] = free.as_str().into();
        extensions.push(extension);
        names.push(free);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let config = |name: &str| {
            let config = json!({"type": "stdio", "name": name, "cmd": "x", "args": []});
            ExtensionConfig::from_value(config).unwrap()
        };
        let mut extensions = vec![config("Files").to_value()];
        let client = vec![config("files"), config("git"), config("files")];
        let names = append(&mut extensions, client).unwrap();
        assert_eq!(names, ["files2", "git", "files3"]);
        let all: Vec<_> = extensions.iter().map(|it| it["name"].as_str()).collect();
        assert_eq!(
            all,
            [Some("Files"), Some("files2"), Some("git"), Some("files3")]
        );
        let many = vec![config("x"); MAX_EXTENSIONS];
        assert!(append(&mut extensions, many).is_err());
    }
}
