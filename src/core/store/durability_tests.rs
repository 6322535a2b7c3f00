//! What the store makes durable, and when: content before it takes effect, and then its name.

use super::disk::Files;
use super::sessions::NewSession;
use super::{Config, Journal, Paths, Sessions, files};
use crate::conversation::{Message, Role};
use crate::sys::fs::synced::{now, take};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder for one test. What was made durable before does not count.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gosling-durable-{}-{next}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("config")).unwrap();
        take();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn message(text: &str) -> Vec<Message> {
    vec![Message::text(Role::User, text)]
}

#[test]
fn a_file_is_durable_before_it_takes_effect_and_its_name_afterwards() {
    let folder = Folder::new();
    let path = folder.0.join("file");
    fs::write(&path, "old").unwrap();
    let mut before = Vec::new();
    let check = || {
        before = take();
        Ok(())
    };
    files::replace(&path, b"content", check).unwrap();
    assert_eq!(before, now(&[&path]));
    assert_eq!(take(), []);
    files::write_atomic(&path, b"another content").unwrap();
    assert_eq!(take(), now(&[&path, &folder.0]));
}

#[test]
fn a_journal_is_durable_after_its_sync_and_its_name_once() {
    let folder = Folder::new();
    let dir = folder.0.join("20261121_1");
    fs::create_dir(&dir).unwrap();
    let file = dir.join("m");
    let mut journal = Journal::open(
        &(Arc::new(Files) as _),
        "20261121_1",
        &dir,
        "m",
        &dir.join(".lock"),
    )
    .unwrap();
    journal.append(message("a")).unwrap();
    assert_eq!(take(), []);
    journal.sync().unwrap();
    assert_eq!(take(), now(&[&file, &dir, &folder.0]));
    journal.sync().unwrap();
    assert_eq!(take(), [], "nothing is new");
    for write in [Journal::append, Journal::hide_all_then, Journal::replace] {
        write(&mut journal, message("b")).unwrap();
        journal.sync().unwrap();
        assert_eq!(take(), now(&[&file]));
    }
}

#[test]
fn a_session_is_durable_with_its_messages() {
    let folder = Folder::new();
    let sessions = Sessions::new(&Paths::under(&folder.0));
    let root = folder.0.join("data/sessions");
    let new = sessions.create(NewSession::default()).unwrap();
    let (dir, id) = (root.join(&new.id), new.id.clone());
    let (file, messages) = (dir.join("session.json"), dir.join("messages.jsonl"));
    assert_eq!(take(), now(&[&file]));
    sessions
        .update(&id, |session| session.name = "x".to_owned())
        .unwrap();
    assert_eq!(take(), now(&[&file, &dir]));
    let mut journal = sessions.journal(&id).unwrap();
    journal.append(message("a")).unwrap();
    let named = |session: &mut crate::conversation::Session| session.name = "y".to_owned();
    sessions.end_turn(&mut journal, named).unwrap();
    assert_eq!(take(), now(&[&messages, &file, &dir, &root]));
    let output = sessions.store_tool_output(&id, "tool", "text").unwrap();
    assert_eq!(take(), now(&[&output]));
    let copied = message("b").into_iter().map(Into::into).collect();
    let copy = sessions.add(new, copied).unwrap();
    let dir = root.join(&copy.id);
    let (file, messages) = (dir.join("session.json"), dir.join("messages.jsonl"));
    assert_eq!(take(), now(&[&messages, &dir, &root, &file]));
    assert!(sessions.delete(&id).unwrap());
    assert_eq!(take(), now(&[&root]));
}

#[test]
fn a_setting_and_the_backup_before_it_are_durable() {
    let folder = Folder::new();
    let config = Config::new(&Paths::under(&folder.0));
    let dir = folder.0.join("config");
    let (file, backup) = (dir.join("config.yaml"), dir.join("config.yaml.bak"));
    config.upsert("A", &json!(1)).unwrap();
    assert_eq!(take(), now(&[&file, &dir]));
    fs::write(&file, "A: 2\n").unwrap();
    config.upsert("B", &json!(1)).unwrap();
    assert_eq!(take(), now(&[&backup, &dir, &file, &dir]));
}
