//! Where a program keeps sessions instead of in files.

use crate::sys::{caught, lock};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

/// Keeps documents by their names, `SESSION/session.json` and `SESSION/messages.jsonl`. One process at a time uses it,
/// with one call of [`sessions`](crate::sessions).
///
/// The document `.deleted-SESSION/mark` keeps the id of a deleted session from being given again, and is removed when a
/// later session begins. Messages without a `session.json` are of a deletion, or of a creation, that was interrupted;
/// they are removed when the store is used first after that.
///
/// A function that returns without an error has made durable what it did; one that fails has changed nothing. They are
/// called by several threads at once. One document is changed by one thread at a time, and may be read by others
/// meanwhile: they get what it was before the change, or what it is after it. What is missing is no error.
pub trait Storage: Send + Sync + 'static {
    /// The names of all documents.
    ///
    /// # Errors
    /// The store cannot be read. The client is told, as with those of the other functions, and of panics.
    fn names(&self) -> io::Result<Vec<String>>;

    /// The content of a document; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Creates a document, or replaces its content.
    ///
    /// # Errors
    /// It cannot be written.
    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()>;

    /// Adds to the end of a document, and creates it if there is none.
    ///
    /// # Errors
    /// It cannot be written.
    fn append(&self, name: &str, content: &[u8]) -> io::Result<()>;

    /// Removes a document.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;
}

impl<S: Storage> Storage for Arc<S> {
    fn names(&self) -> io::Result<Vec<String>> {
        S::names(self)
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        S::read(self, name)
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        S::replace(self, name, content)
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        S::append(self, name, content)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        S::remove(self, name)
    }
}

/// A store whose panics are errors.
pub(crate) struct Caught<S>(pub(crate) S);

impl<S: Storage> Caught<S> {
    fn call<T>(&self, call: impl FnOnce(&S) -> io::Result<T>) -> io::Result<T> {
        let called = caught("storage of the program", || call(&self.0));
        called.unwrap_or_else(|reason| {
            Err(io::Error::other(format!(
                "the store has panicked: {reason}"
            )))
        })
    }
}

impl<S: Storage> Storage for Caught<S> {
    fn names(&self) -> io::Result<Vec<String>> {
        self.call(|it| it.names())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.call(|it| it.read(name))
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.call(|it| it.replace(name, content))
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.call(|it| it.append(name, content))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call(|it| it.remove(name))
    }
}

/// Keeps documents in memory; they end with it.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Storage for Memory {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.0).keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(lock(&self.0).get(name).cloned())
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        lock(&self.0).insert(name.to_owned(), content.to_owned());
        Ok(())
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut documents = lock(&self.0);
        let document = documents.entry(name.to_owned()).or_default();
        document.extend_from_slice(content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.0).remove(name);
        Ok(())
    }
}

/// Omits what is in the documents.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = lock(&self.0).len();
        f.debug_struct("Memory")
            .field("documents", &documents)
            .finish()
    }
}
