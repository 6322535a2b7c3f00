//! The data of a server that runs outside of a session.

use gosling_core::builtin::SessionData;
use gosling_core::sys::lock;
use serde_json::{Map, Value};
use std::sync::Mutex;

/// Data in memory, for a server that runs outside of a session. It is lost with the server.
#[derive(Debug, Default)]
pub struct InMemoryData(Mutex<Map<String, Value>>);

impl SessionData for InMemoryData {
    fn get(&self, key: &str) -> Result<Option<Value>, String> {
        Ok(lock(&self.0).get(key).cloned())
    }

    fn set(&self, key: &str, value: Value) -> Result<(), String> {
        lock(&self.0).insert(key.to_owned(), value);
        Ok(())
    }
}
