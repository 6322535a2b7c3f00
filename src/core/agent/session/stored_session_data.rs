//! The data that builtin extensions store in the file of a session.

use crate::builtin::{SessionData, Workspace, WorkspaceSlot};
use crate::store::Sessions;
use serde_json::Value;
use std::sync::Arc;

/// The data of one session.
pub(in crate::agent) struct StoredSessionData {
    pub(in crate::agent) sessions: Arc<Sessions>,
    pub(in crate::agent) id: String,
    pub(in crate::agent) workspace: Arc<WorkspaceSlot>,
}

impl SessionData for StoredSessionData {
    fn get(&self, key: &str) -> Result<Option<Value>, String> {
        let session = self.sessions.load(&self.id).map_err(|e| e.to_string())?;
        let session = session.ok_or("the session was deleted")?;
        Ok(session.extension_data.0.get(key).cloned())
    }

    fn set(&self, key: &str, value: Value) -> Result<(), String> {
        let stored = self.sessions.update(&self.id, |session| {
            session.extension_data.0.insert(key.to_owned(), value);
        });
        stored.map(drop).map_err(|e| e.to_string())
    }

    fn client(&self) -> Option<Workspace> {
        self.workspace.get()
    }
}
