use super::sessions;
use crate::conversation::{Message, Role, Session};
use crate::storage::{Memory, Storage};
use crate::store::{NewSession, Sessions};
use crate::sys::lock;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type Hook = Box<dyn FnOnce() + Send>;

/// A store in memory that calls something in the middle of one call, or fails in one.
#[derive(Default)]
struct Hooked {
    memory: Memory,
    /// The function, the end of the document's name, and what is called after a read or before a write.
    hook: Mutex<Option<(&'static str, &'static str, Hook)>>,
    /// The end of the name of what cannot be removed.
    stays: Mutex<Option<&'static str>>,
}

impl Hooked {
    fn on(&self, function: &'static str, name: &'static str, hook: impl FnOnce() + Send + 'static) {
        *lock(&self.hook) = Some((function, name, Box::new(hook)));
    }

    fn called(&self, function: &str, name: &str) {
        let is_it = |it: &mut (&str, &str, Hook)| it.0 == function && name.ends_with(it.1);
        let hook = lock(&self.hook).take_if(is_it);
        if let Some((_, _, hook)) = hook {
            hook();
        }
    }
}

impl Storage for Hooked {
    fn names(&self) -> io::Result<Vec<String>> {
        self.memory.names()
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let content = self.memory.read(name);
        self.called("read", name);
        content
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.called("replace", name);
        self.memory.replace(name, content)
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.called("append", name);
        self.memory.append(name, content)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        if lock(&self.stays).is_some_and(|stays| name.ends_with(stays)) {
            return Err(io::Error::other("it stays"));
        }
        self.memory.remove(name)?;
        self.called("removed", name);
        Ok(())
    }
}

/// A store, and a session with one message in it.
fn begun() -> (Arc<Hooked>, Arc<Sessions>, String) {
    let storage = Arc::new(Hooked::default());
    let all = Arc::new(sessions(storage.clone()));
    let id = all.create(NewSession::default()).unwrap().id;
    write(&all, &id);
    (storage, all, id)
}

fn write(all: &Sessions, id: &str) {
    let mut journal = all.journal(id).unwrap();
    journal.append(vec![message()]).unwrap();
}

fn message() -> Message {
    Message::text(Role::User, "good morning")
}

fn mark(id: &str) -> Vec<String> {
    vec![format!(".deleted-{id}/mark")]
}

#[test]
fn a_session_deleted_during_a_change_stays_deleted() {
    let (storage, all, id) = begun();
    let changed = all.update(&id, |session| {
        session.name = "new".to_owned();
        assert!(all.delete(&id).unwrap());
    });
    changed.unwrap_err();
    assert_eq!(storage.names().unwrap(), mark(&id));
    assert!(all.load(&id).unwrap().is_none());
}

#[test]
fn a_log_of_a_deleted_session_cannot_be_written() {
    let (storage, all, id) = begun();
    let (_, mut log) = all.messages_file(&id).unwrap().unwrap();
    assert!(all.delete(&id).unwrap());
    let error = log.write_all(b"{}\n").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    log.truncate(0).unwrap();
    assert_eq!(storage.names().unwrap(), mark(&id));
}

/// Deletes a session while the store is in `function` of a document of it, and returns what is in the store then.
fn deleted_during(
    function: &'static str,
    name: &'static str,
    change: impl FnOnce(&Sessions, &str),
) -> (Vec<String>, Vec<String>) {
    let (storage, all, id) = begun();
    let (begin, may_begin) = channel();
    let (removed, is_removed): (_, Receiver<()>) = channel();
    storage.on(function, name, {
        let storage = storage.clone();
        move || {
            storage.on("removed", "/session.json", move || drop(removed));
            begin.send(()).unwrap();
            // A deletion that does not wait for the write is over now.
            let waited = is_removed.recv_timeout(Duration::from_millis(200));
            assert_eq!(waited, Err(RecvTimeoutError::Timeout));
        }
    });
    thread::scope(|scope| {
        let (all, id) = (&all, &id);
        scope.spawn(move || {
            may_begin.recv().unwrap();
            assert!(all.delete(id).unwrap());
        });
        change(all, id);
    });
    (storage.names().unwrap(), mark(&id))
}

#[test]
fn a_deletion_waits_for_what_is_being_written() {
    let (left, mark) = deleted_during("append", "/messages.jsonl", write);
    assert_eq!(left, mark);
    let (left, mark) = deleted_during("replace", "/session.json", |all, id| {
        let rename = |session: &mut Session| session.name = "new".to_owned();
        // The deletion may come before the answer is made.
        let _ = all.update(id, rename);
    });
    assert_eq!(left, mark);
}

#[test]
fn a_log_that_grows_while_it_is_counted_is_counted_again() {
    let (storage, all, id) = begun();
    storage.on("read", "/messages.jsonl", {
        let (all, id) = (all.clone(), id.clone());
        move || write(&all, &id)
    });
    all.load(&id).unwrap();
    assert!(lock(&storage.hook).is_none());
    assert_eq!(all.load(&id).unwrap().unwrap().message_count, 2);
}

#[test]
fn a_session_that_changes_while_it_is_read_is_read_again() {
    let (storage, all, id) = begun();
    let rename = |all: &Sessions, id: &str, name: &str| {
        all.update(id, |it| it.name = name.to_owned()).unwrap();
    };
    rename(&all, &id, "old");
    storage.on("read", "/session.json", {
        let (all, id) = (all.clone(), id.clone());
        move || rename(&all, &id, "new")
    });
    all.load(&id).unwrap();
    assert!(lock(&storage.hook).is_none());
    assert_eq!(all.load(&id).unwrap().unwrap().name, "new");
}

#[test]
fn a_journal_goes_on_after_a_line_that_is_not_whole() {
    let (storage, all, id) = begun();
    let name = format!("{id}/messages.jsonl");
    drop(all);
    storage.append(&name, b"{\"id\":").unwrap();
    let all = sessions(storage.clone());
    let mut journal = all.journal(&id).unwrap();
    journal.append(vec![message()]).unwrap();
    assert!(!journal.refresh().unwrap(), "it knows what it wrote");
    assert_eq!(all.load(&id).unwrap().unwrap().message_count, 2);
    assert_eq!(all.conversation(&id).unwrap().unwrap().len(), 2);
}

#[test]
fn the_id_of_a_deleted_session_is_not_given_again_after_a_start() {
    let (storage, all, id) = begun();
    assert!(all.delete(&id).unwrap());
    drop(all);
    let all = sessions(storage.clone());
    let next = all.create(NewSession::default()).unwrap().id;
    assert_ne!(next, id);
    all.create(NewSession::default()).unwrap();
    assert!(all.delete(&next).unwrap());
    all.create(NewSession::default()).unwrap();
    // A higher number exists.
    assert!(!storage.names().unwrap().contains(&mark(&id)[0]));
}

#[test]
fn messages_whose_removal_failed_are_removed_later() {
    let stays = |id: &str| format!("{id}/messages.jsonl");
    let in_part = || {
        let (storage, all, id) = begun();
        *lock(&storage.stays) = Some("/messages.jsonl");
        all.delete(&id).unwrap_err();
        assert!(all.load(&id).unwrap().is_none());
        assert!(storage.names().unwrap().contains(&stays(&id)));
        (storage, all, id)
    };
    let (storage, all, id) = in_part();
    *lock(&storage.stays) = None;
    all.create(NewSession::default()).unwrap();
    assert!(!storage.names().unwrap().contains(&stays(&id)));

    let (storage, all, id) = in_part();
    drop(all);
    // The store still does not remove it: the rest works.
    let all = sessions(storage.clone());
    assert!(all.list().unwrap().is_empty());
    assert_ne!(all.create(NewSession::default()).unwrap().id, id);
    drop(all);
    *lock(&storage.stays) = None;
    let all = sessions(storage.clone());
    assert_eq!(all.list().unwrap().len(), 1);
    assert!(!storage.names().unwrap().contains(&stays(&id)));
}

#[test]
fn only_messages_of_no_session_are_removed_when_the_store_is_read() {
    let storage = Arc::new(Memory::default());
    let kept = ["20260101_2/messages.jsonl", "20260101_2/session.json"];
    let kept = kept.into_iter().chain(["notes/messages.jsonl", "plain"]);
    let kept: Vec<&str> = kept.collect();
    for name in kept.iter().chain(&["20260101_1/messages.jsonl"]) {
        storage.replace(name, b"{}\n").unwrap();
    }
    let all = sessions(storage.clone());
    all.list().unwrap();
    assert_eq!(storage.names().unwrap(), kept);
}

#[test]
fn what_is_left_over_does_not_get_into_a_new_session() {
    let (storage, all, id) = begun();
    // As an interrupted creation leaves it.
    storage
        .memory
        .remove(&format!("{id}/session.json"))
        .unwrap();
    drop(all);
    *lock(&storage.stays) = Some("/messages.jsonl");
    let all = sessions(storage.clone());
    let next = all.create(NewSession::default()).unwrap().id;
    assert_ne!(next, id);
    assert_eq!(all.load(&next).unwrap().unwrap().message_count, 0);
}
