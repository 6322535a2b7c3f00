//! The store with broken files, full disks, other processes and hostile ids.

#[path = "store/config.rs"]
mod config;
#[path = "store/sessions.rs"]
mod sessions;
mod support;

use gosling::conversation::{Message, Role};
use gosling::store::{Config, Error, NewSession, Paths, Secrets, Sessions};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::{TempDir, temp_dir};

const ROLE: &str = "GOSLING_TEST_ROLE";
const FOLDER: &str = "GOSLING_TEST_FOLDER";

fn config_at(path: &Path) -> Config {
    Config::with_env(path.to_owned(), Box::new(|_| None))
}

fn secrets_at(path: &Path) -> Secrets {
    Secrets::with_env(path.to_owned(), Box::new(|_| None))
}

fn config_in(dir: &TempDir) -> Config {
    config_at(&dir.path().join("config.yaml"))
}

fn sessions_in(dir: &TempDir) -> Sessions {
    Sessions::new(&Paths::under(dir.path()))
}

fn session_dir(dir: &TempDir, id: &str) -> PathBuf {
    dir.path().join("data/sessions").join(id)
}

fn text_message(text: &str) -> Message {
    Message::text(Role::User, text).with_id("m")
}

fn say(sessions: &Sessions, id: &str, texts: &[&str]) {
    let messages = texts.iter().map(|text| text_message(text)).collect();
    sessions.journal(id).unwrap().append(messages).unwrap();
}

fn texts<M: std::borrow::Borrow<Message>>(messages: &[M]) -> Vec<String> {
    let text = |message: &M| message.borrow().concat_text();
    messages.iter().map(text).collect()
}

fn heard(sessions: &Sessions, id: &str) -> Vec<String> {
    texts(&sessions.conversation(id).unwrap().unwrap())
}

/// The serialized form of `value`, to compare types without equality.
fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs this test program again, as another process that plays `role` in `folder`.
fn another_process(name: &str, folder: &Path) -> Child {
    role(name, folder).spawn().unwrap()
}

fn role(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "plays_the_role_it_is_given", "--nocapture"])
        .env(ROLE, name)
        .env(FOLDER, folder);
    command
}

#[test]
fn plays_the_role_it_is_given() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else {
        return;
    };
    let folder = Path::new(&folder);
    match role.split_once(' ').unwrap_or((&role, "")) {
        ("upsert", prefix) => {
            let config = config_at(&folder.join("config.yaml"));
            for n in 0..40 {
                config.upsert(&format!("{prefix}{n}"), &json!(n)).unwrap();
            }
        }
        ("create", _) => {
            let sessions = Sessions::new(&Paths::under(folder));
            for _ in 0..40 {
                let id = sessions.create(NewSession::default()).unwrap().id;
                fs::write(folder.join(format!("made-{id}-{}", std::process::id())), "").unwrap();
            }
        }
        ("full", "disk") => {
            let config = config_at(&folder.join("config.yaml"));
            let error = config
                .upsert("big", &json!("x".repeat(1 << 20)))
                .unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
            let sessions = Sessions::new(&Paths::under(folder));
            let id = names(&folder.join("data/sessions")).remove(0);
            let mut journal = sessions.journal(&id).unwrap();
            let more = vec![text_message("fits"), text_message(&"x".repeat(1 << 20))];
            let error = journal.append(more).unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
            assert_eq!(texts(journal.messages()), ["1"]);
            journal.append(vec![text_message("2")]).unwrap();
        }
        ("append", prefix) => {
            let sessions = Sessions::new(&Paths::under(folder));
            let id = names(&folder.join("data/sessions")).remove(0);
            let mut journal = sessions.journal(&id).unwrap();
            for n in 0..200 {
                let text = format!("{prefix}{n} {}", "x".repeat(n * 41));
                journal.append(vec![text_message(&text)]).unwrap();
            }
        }
        ("talk", _) => {
            let sessions = Sessions::new(&Paths::under(folder));
            let id = names(&folder.join("data/sessions")).remove(0);
            let mut journal = sessions.journal(&id).unwrap();
            for n in 0.. {
                journal.append(vec![text_message(&n.to_string())]).unwrap();
                // Reported only now, so the reader may rely on the message.
                println!("said {n}");
            }
        }
        other => panic!("no such role: {other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn files_and_folders_are_private() {
    let dir = temp_dir();
    let root = dir.path().join("deep/config");
    config_at(&root.join("config.yaml"))
        .upsert("a", &json!(1))
        .unwrap();
    secrets_at(&root.join("secrets.yaml"))
        .set("a", &json!("s"))
        .unwrap();
    assert_eq!(mode(&root), 0o700);
    for name in names(&root) {
        assert_eq!(mode(&root.join(&name)), 0o600, "{name}");
    }
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    sessions.update(&id, |_| ()).unwrap();
    say(&sessions, &id, &["1"]);
    assert_eq!(mode(&session_dir(&dir, &id)), 0o700);
    assert_eq!(
        names(&session_dir(&dir, &id)),
        [".lock", "messages.jsonl", "session.json"]
    );
    for name in names(&session_dir(&dir, &id)) {
        assert_eq!(mode(&session_dir(&dir, &id).join(&name)), 0o600, "{name}");
    }
}

/// A limit on the size of files causes the same error in the same place as a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_everything_as_it_is() {
    let dir = temp_dir();
    let config = config_in(&dir);
    config.upsert("a", &json!(1)).unwrap();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    say(&sessions, &id, &["1"]);
    let before = fs::read(config.path()).unwrap();

    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "plays_the_role_it_is_given"])
        .env(ROLE, "full disk")
        .env(FOLDER, dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(fs::read(config.path()).unwrap(), before);
    assert!(names(dir.path()).iter().all(|name| !name.ends_with(".tmp")));
    assert_eq!(heard(&sessions, &id), ["1", "2"]);
    say(&sessions, &id, &["3"]);
    assert_eq!(sessions.load(&id).unwrap().unwrap().message_count, 3);
}
