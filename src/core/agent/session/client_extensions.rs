//! Extensions that a client brings along when it opens a session. They are used beside the session's own ones.

use crate::agent::registry::check_dir;
use crate::agent::session::agent_table::IfRunning;
use crate::agent::session::session_extensions::append;
use crate::agent::{Error, Registry};
use crate::conversation::Session;
use crate::extension::ExtensionConfig;
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
