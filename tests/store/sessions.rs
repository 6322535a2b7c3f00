//! Sessions and their messages.

use super::*;
use gosling::conversation::{Session, SessionType};
#[cfg(feature = "search")]
use gosling::search::{Query, search};
use gosling::store::{Error, NewSession, Sessions};
#[cfg(feature = "search")]
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_session_comes_back_as_it_was_made() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let made = sessions
        .create(NewSession {
            working_dir: "/work".into(),
            extensions: vec![json!({"type": "builtin", "name": "dev"})],
            recipe: Some(json!({"title": "T"})),
            ..NewSession::default()
        })
        .unwrap();
    assert!(made.id.ends_with("_1"), "{}", made.id);
    assert_eq!(made.name, "New Chat");
    assert_eq!(
        json(&sessions.load(&made.id).unwrap().unwrap()),
        json(&made)
    );
    assert!(heard(&sessions, &made.id).is_empty());
    let second = sessions.create(NewSession::default()).unwrap();
    assert!(second.id.ends_with("_2"), "{}", second.id);
    assert!(sessions.load("20000101_1").unwrap().is_none());
    assert!(sessions.conversation("20000101_1").unwrap().is_none());
}

#[test]
fn an_update_keeps_unknown_fields_and_derives_the_rest() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    let path = session_dir(&dir, &id).join("session.json");
    let mut stored: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    stored["from_the_future"] = json!({"a": [1]});
    stored["updated_at"] = json!("2020-01-01T00:00:00Z");
    assert!(stored.get("message_count").is_none() && stored.get("conversation").is_none());
    fs::write(&path, stored.to_string()).unwrap();

    say(&sessions, &id, &["1", "2"]);
    let updated = sessions
        .update(&id, |session| {
            assert_eq!(session.message_count, 2);
            session.name = "renamed".into();
            session.id = "../../evil".into();
            session.message_count = 99;
            session.conversation = Some(vec![]);
        })
        .unwrap();
    assert_eq!(
        (updated.name.as_str(), updated.id.as_str()),
        ("renamed", id.as_str())
    );
    assert!(updated.message_count == 2 && updated.conversation.is_none());
    assert!(updated.updated_at.as_str() > "2026");
    assert_eq!(json(&sessions.load(&id).unwrap().unwrap()), json(&updated));
    let stored: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(stored["from_the_future"], json!({"a": [1]}));
    assert!(stored.get("message_count").is_none() && stored.get("conversation").is_none());
    assert!(matches!(
        sessions.update("20000101_1", |_| ()),
        Err(Error::SessionNotFound { .. })
    ));
}

#[test]
fn a_broken_session_is_told_and_left_alone() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let good = sessions.create(NewSession::default()).unwrap().id;
    let bad = sessions.create(NewSession::default()).unwrap().id;
    let path = session_dir(&dir, &bad).join("session.json");
    fs::write(&path, "{\n \"id\": oops").unwrap();
    assert!(matches!(
        sessions.load(&bad),
        Err(Error::Broken { line: 2, .. })
    ));
    assert!(matches!(
        sessions.update(&bad, |_| ()),
        Err(Error::Broken { line: 2, .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n \"id\": oops");
    let listing = sessions.list().unwrap();
    assert_eq!(listing.len(), 1);
    assert_eq!(*listing[0].id, *good);
    assert!(sessions.delete(&bad).unwrap());
}

#[test]
fn ids_escape_nowhere() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    sessions.create(NewSession::default()).unwrap();
    let outside = dir.path().join("data/outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("session.json"), "{}").unwrap();
    let absolute = outside.to_str().unwrap();
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "../../data/outside",
        "/",
        absolute,
        "20261121_1/../../outside",
        "20261121_1/.",
        "20261121_",
        "_1",
        "2026112_1",
        "20261121_1234567890",
        "20261121_-1",
        "20261121_+1",
        "20261121_1 ",
        " 20261121_1",
        "20261121_1\0",
        "20261121_1\n",
        "20261121-1",
        "２０２６１１２１_１",
        "20261121_1_1",
        "..\\outside",
        "%2e%2e",
        ".deleted-20261121_1",
        "CON",
    ] {
        assert!(sessions.load(id).unwrap().is_none(), "{id:?}");
        assert!(sessions.conversation(id).unwrap().is_none(), "{id:?}");
        assert!(!sessions.delete(id).unwrap(), "{id:?}");
        let updated = sessions.update(id, |_| ());
        assert!(
            matches!(updated, Err(Error::SessionNotFound { .. })),
            "{id:?}"
        );
        let journal = sessions.journal(id);
        assert!(
            matches!(journal, Err(Error::SessionNotFound { .. })),
            "{id:?}"
        );
    }
    assert_eq!(names(&outside), ["session.json"]);
    assert_eq!(sessions.list().unwrap().len(), 1);
}

#[test]
fn a_torn_last_message_is_ignored_and_then_cut_off() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    let path = session_dir(&dir, &id).join("messages.jsonl");
    let count = || sessions.load(&id).unwrap().unwrap().message_count;
    say(&sessions, &id, &["line\nbreak", "é 😀"]);
    let written = fs::read(&path).unwrap();
    let second = written.iter().position(|&byte| byte == b'\n').unwrap() + 1;

    for end in second..=written.len() {
        fs::write(&path, &written[..end]).unwrap();
        let mut expected = vec!["line\nbreak"];
        if end >= written.len() - 1 {
            expected.push("é 😀");
        }
        assert_eq!(heard(&sessions, &id), expected, "{end}");
        assert_eq!(count(), expected.len(), "{end}");
        say(&sessions, &id, &["more"]);
        expected.push("more");
        assert_eq!(heard(&sessions, &id), expected, "{end}");
        assert_eq!(count(), expected.len(), "{end}");
    }

    fs::write(&path, "{\"a\":1}\ngarbage\n{\"b\":2}\n").unwrap();
    assert!(matches!(
        sessions.conversation(&id),
        Err(Error::Broken { line: 2, .. })
    ));
}

#[test]
fn two_processes_that_speak_at_the_same_time_are_both_heard() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    let mut journal = sessions.journal(&id).unwrap();
    let children =
        ["a", "b"].map(|prefix| another_process(&format!("append {prefix}"), dir.path()));
    for n in 0..200 {
        journal
            .append(vec![text_message(&format!("c{n} x"))])
            .unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(journal.refresh().unwrap() || journal.messages().len() == 600);
    let heard = heard(&sessions, &id);
    assert_eq!(heard, texts(journal.messages()));
    for prefix in ["a", "b", "c"] {
        let of_one = heard.iter().filter(|text| text.starts_with(prefix));
        let numbers: Vec<_> = of_one
            .map(|text| text[1..].split(' ').next().unwrap().to_owned())
            .collect();
        let expected: Vec<_> = (0..200).map(|n| n.to_string()).collect();
        assert_eq!(numbers, expected, "{prefix}");
    }
    assert_eq!(sessions.load(&id).unwrap().unwrap().message_count, 600);
}

/// `kill -9` at any moment loses nothing that was written.
#[test]
fn a_process_that_is_killed_loses_nothing_it_has_said() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    for round in 0..5 {
        sessions
            .journal(&id)
            .unwrap()
            .replace(Vec::<Message>::new())
            .unwrap();
        let mut child = role("talk", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("said 20") {
            line.clear();
            assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended by itself");
        }
        thread::sleep(Duration::from_micros(700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = told.lines().map_while(Result::ok);
        let last = rest
            .filter_map(|line| line.strip_prefix("said ")?.parse::<usize>().ok())
            .last();
        let heard = heard(&sessions, &id);
        assert!(heard.len() > last.unwrap_or(20));
        let expected: Vec<_> = (0..heard.len()).map(|n| n.to_string()).collect();
        assert_eq!(heard, expected);
    }
}

#[test]
fn the_end_of_a_turn_is_stored_as_a_whole() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    let mut journal = sessions.journal(&id).unwrap();
    journal.append(vec![text_message("a")]).unwrap();
    let session = sessions
        .end_turn(&mut journal, |session| session.total_tokens = Some(7))
        .unwrap();
    assert_eq!((session.message_count, session.total_tokens), (1, Some(7)));
    assert_eq!(
        json(&sessions_in(&dir).load(&id).unwrap().unwrap()),
        json(&session)
    );
    sessions.delete(&id).unwrap();
    let ended = sessions.end_turn(&mut journal, |_| ());
    assert!(matches!(ended, Err(Error::SessionNotFound { .. })));
}

#[test]
fn appends_of_many_threads_stay_whole_and_counted() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    thread::scope(|scope| {
        for t in 0..4 {
            let (sessions, id) = (&sessions, &id);
            scope.spawn(move || {
                let mut journal = sessions.journal(id).unwrap();
                for n in 0..20 {
                    let text = format!("{t} {}", "x".repeat(n * 97));
                    journal.append(vec![text_message(&text)]).unwrap();
                    sessions.load(id).unwrap().unwrap();
                    sessions
                        .update(id, |session| {
                            let sum = session.accumulated_total_tokens.unwrap_or(0);
                            session.accumulated_total_tokens = Some(sum + 1);
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(heard(&sessions, &id).len(), 80);
    let session = sessions.load(&id).unwrap().unwrap();
    assert_eq!(
        (session.message_count, session.accumulated_total_tokens),
        (80, Some(80))
    );
}

#[test]
fn a_deleted_session_is_gone_and_its_number_is_not_given_again() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let ids: Vec<_> = (0..3)
        .map(|_| sessions.create(NewSession::default()).unwrap().id)
        .collect();
    assert!(sessions.delete(&ids[1]).unwrap());
    assert!(!sessions.delete(&ids[1]).unwrap());
    assert!(sessions.load(&ids[1]).unwrap().is_none());
    let next = sessions.create(NewSession::default()).unwrap().id;
    assert!(next.ends_with("_4"), "{next}");
    sessions.delete(&next).unwrap();
    assert!(
        sessions
            .create(NewSession::default())
            .unwrap()
            .id
            .ends_with("_5")
    );

    // Nor by another process, or by this one after a restart.
    let last = sessions.create(NewSession::default()).unwrap().id;
    assert!(last.ends_with("_6"), "{last}");
    sessions.delete(&last).unwrap();
    for number in ["_7", "_8"] {
        let other = sessions_in(&dir);
        let next = other.create(NewSession::default()).unwrap().id;
        assert!(next.ends_with(number), "{next}");
        other.delete(&next).unwrap();
    }
    let marks = names(&dir.path().join("data/sessions"));
    let marks = marks.iter().filter(|name| name.starts_with(".deleted-"));
    assert_eq!(marks.count(), 2, "only the latest are kept");

    let left_over = session_dir(&dir, ".deleted-20261121_9-1-1");
    fs::create_dir(&left_over).unwrap();
    fs::write(left_over.join("session.json"), "{}").unwrap();
    sessions.create(NewSession::default()).unwrap();
    assert!(!left_over.exists());
    assert_eq!(sessions.list().unwrap().len(), 4);
}

#[test]
fn what_is_remembered_of_a_session_is_never_old() {
    let dir = temp_dir();
    let (one, two) = (sessions_in(&dir), sessions_in(&dir));
    let id = one.create(NewSession::default()).unwrap().id;
    let mut journal = two.journal(&id).unwrap();
    let known = || {
        let listed = one.list().unwrap();
        let loaded = one.load(&id).unwrap().unwrap();
        assert_eq!(*listed[0].updated_at, *loaded.updated_at);
        let read: Vec<_> = one.read(listed).collect();
        assert_eq!(json(&*read[0]), json(&loaded));
        (loaded.message_count, loaded.name)
    };
    for n in 1..4 {
        // Old enough to be cached.
        thread::sleep(Duration::from_millis(60));
        known();
        journal.append(vec![text_message("a")]).unwrap();
        assert_eq!(known().0, n);
        let name = format!("name {n}");
        two.update(&id, |session| session.name.clone_from(&name))
            .unwrap();
        assert_eq!(known(), (n, name));
    }
    two.delete(&id).unwrap();
    assert!(one.load(&id).unwrap().is_none());
    assert!(one.list().unwrap().is_empty());
}

#[test]
fn another_store_on_the_same_folder_numbers_on() {
    let dir = temp_dir();
    let (one, two) = (sessions_in(&dir), sessions_in(&dir));
    one.create(NewSession::default()).unwrap();
    let ids: Vec<_> = (0..5)
        .map(|_| two.create(NewSession::default()).unwrap().id)
        .collect();
    assert!(two.delete(&ids[0]).unwrap());
    let next = one.create(NewSession::default()).unwrap().id;
    assert!(
        next.ends_with("_7"),
        "{next} reuses a number below a higher one"
    );
}

/// Goose numbers the sessions of a day by its database alone, from 1; the ids of its oldest ones end with `HHMMSS`.
#[test]
fn no_id_is_one_of_gooses_database() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let number = |sessions: &Sessions| {
        let id = sessions.create(NewSession::default()).unwrap().id;
        let (_, number) = id.split_once('_').unwrap();
        number.parse::<u32>().unwrap()
    };
    assert_eq!(number(&sessions), 1);
    assert_eq!(sessions.goose_database(), None);
    let database = dir.path().join("data/sessions/sessions.db");
    fs::write(&database, "SQLite format 3\0").unwrap();
    assert_eq!(sessions.goose_database().as_ref(), Some(&database));
    let first = number(&sessions);
    assert!(first > 235_959, "{first}");
    assert_eq!(number(&sessions), first + 1);
    assert_eq!(number(&sessions_in(&dir)), first + 2);
    assert_eq!(sessions.list().unwrap().len(), 4);
    assert_eq!(fs::read(&database).unwrap(), b"SQLite format 3\0");
}

#[test]
fn nulls_and_a_type_of_a_later_version_are_read_and_stay() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let id = sessions.create(NewSession::default()).unwrap().id;
    let file = session_dir(&dir, &id).join("session.json");
    let mut stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for field in [
        "name",
        "user_set_name",
        "created_at",
        "updated_at",
        "extension_data",
    ] {
        stored[field] = Value::Null;
    }
    for later in [json!("from_the_future"), json!({"kind": 5}), json!(null)] {
        stored["session_type"] = later.clone();
        fs::write(&file, stored.to_string()).unwrap();
        let session = sessions.load(&id).unwrap().unwrap();
        assert_eq!(
            (session.name.as_str(), session.session_type),
            ("", SessionType::User)
        );
        sessions
            .update(&id, |session| session.total_tokens = Some(1))
            .unwrap();
        let now: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(now["session_type"], later);
    }
    assert_eq!(sessions.list().unwrap().len(), 1);
}

#[test]
fn processes_and_threads_never_get_the_same_id() {
    let dir = temp_dir();
    let children: Vec<_> = (0..3)
        .map(|_| another_process("create", dir.path()))
        .collect();
    let store = sessions_in(&dir);
    let mine: Vec<String> = thread::scope(|scope| {
        let create = || {
            let made = (0..20).map(|_| store.create(NewSession::default()).unwrap().id);
            made.collect::<Vec<_>>()
        };
        let threads = [scope.spawn(create), scope.spawn(create)];
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut ids: Vec<_> = names(dir.path())
        .iter()
        .filter_map(|name| Some(name.strip_prefix("made-")?.split('-').next()?.to_owned()))
        .collect();
    ids.extend(mine);
    assert_eq!(ids.len(), 3 * 40 + 40);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    assert_eq!(store.list().unwrap().len(), ids.len());
}

#[test]
fn the_list_has_the_latest_first() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    assert!(sessions.list().unwrap().is_empty());
    let ids: Vec<_> = (0..12)
        .map(|_| sessions.create(NewSession::default()).unwrap().id)
        .collect();
    for id in &ids {
        let path = session_dir(&dir, id).join("session.json");
        let mut stored: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        stored["updated_at"] = json!("2026-01-01T00:00:00Z");
        fs::write(&path, stored.to_string()).unwrap();
    }
    sessions.update(&ids[3], |_| ()).unwrap();
    let listed = sessions.list().unwrap();
    let listed: Vec<_> = listed.iter().map(|it| it.id.to_string()).collect();
    let mut expected: Vec<_> = ids
        .iter()
        .rev()
        .filter(|id| **id != ids[3])
        .cloned()
        .collect();
    expected.insert(0, ids[3].clone());
    assert_eq!(listed, expected);
}

#[test]
#[cfg(feature = "search")]
fn each_change_by_another_process_is_in_the_next_list_and_search() {
    let dir = temp_dir();
    let (here, other) = (sessions_in(&dir), sessions_in(&dir));
    let listed = || -> Vec<_> {
        // Longer than a file is too new to be cached.
        std::thread::sleep(Duration::from_millis(80));
        let names = |store: &Sessions| -> Vec<_> {
            let sessions = store.read(store.list().unwrap());
            sessions
                .map(|it| (it.id.clone(), it.name.clone(), it.message_count))
                .collect()
        };
        // The cached session equals the one that is read again.
        let first = names(&here);
        assert_eq!(first, names(&here));
        assert_eq!(first, names(&sessions_in(&dir)));
        first
    };
    let found = |text: &str| {
        let query = Query::new(text, 10).unwrap();
        let found = || search(&here, &query, &Cancel::new()).unwrap().len();
        let first = found();
        assert_eq!(first, found(), "{text}");
        first
    };
    assert!(listed().is_empty());
    let new = || other.create(NewSession::default()).unwrap().id;
    let (a, b) = (new(), new());
    assert_eq!(listed().len(), 2);
    say(&other, &a, &["an elephant"]);
    say(&other, &b, &["a giraffe"]);
    assert!(listed().iter().all(|(_, _, messages)| *messages == 1));
    assert_eq!((found("elephant"), found("zebra")), (1, 0));
    say(&other, &b, &["a zebra"]);
    assert_eq!((found("zebra"), found("giraffe zebra")), (1, 1));
    // The same number of messages, with other content.
    let mut journal = other.journal(&a).unwrap();
    journal.replace(vec![text_message("a walrus")]).unwrap();
    assert_eq!((found("elephant"), found("walrus")), (0, 1));
    other
        .update(&b, |session| session.name = "renamed".to_owned())
        .unwrap();
    assert!(listed().contains(&(b.clone(), "renamed".to_owned(), 2)));
    assert_eq!(found("renamed"), 1);
    assert!(other.delete(&b).unwrap());
    let left: Vec<_> = listed().into_iter().map(|(id, ..)| id).collect();
    assert_eq!((left, found("zebra")), (vec![a], 0));
}

/// Measurements for people, with `--nocapture`; only absurd values fail.
#[test]
fn making_a_session_is_quick() {
    let dir = temp_dir();
    let sessions = sessions_in(&dir);
    let time = |what: &str, mut work: Box<dyn FnMut() + '_>| {
        let mut times: Vec<_> = (0..100)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("{what}: p50 {:?}, p90 {:?}", times[50], times[90]);
        assert!(times[50] < Duration::from_secs(1));
    };
    let id = sessions.create(NewSession::default()).unwrap().id;
    time(
        "create",
        Box::new(|| drop(sessions.create(NewSession::default()).unwrap())),
    );
    time("load", Box::new(|| drop(sessions.load(&id).unwrap())));
    let mut journal = sessions.journal(&id).unwrap();
    time(
        "append",
        Box::new(|| journal.append(vec![text_message("a")]).unwrap()),
    );
    let long = (0..20_000).map(|n| text_message(&format!("{n} {}", "x".repeat(500))));
    sessions
        .journal(&id)
        .unwrap()
        .append(long.collect())
        .unwrap();
    journal.refresh().unwrap();
    time(
        "append to 20,000",
        Box::new(|| journal.append(vec![text_message("a")]).unwrap()),
    );
    time(
        "append and end a turn",
        Box::new(|| {
            journal.append(vec![text_message("a")]).unwrap();
            let add = |session: &mut Session| {
                session.total_tokens = Some(session.total_tokens.unwrap_or(0) + 1);
            };
            drop(sessions.end_turn(&mut journal, add).unwrap());
        }),
    );
    time(
        "update",
        Box::new(|| {
            let add = |session: &mut Session| {
                session.total_tokens = Some(session.total_tokens.unwrap_or(0) + 1);
            };
            drop(sessions.update(&id, add).unwrap());
        }),
    );
    let start = Instant::now();
    assert_eq!(sessions.list().unwrap().len(), 101);
    println!("list of 101: {:?}", start.elapsed());
    let start = Instant::now();
    sessions.list().unwrap();
    println!("again: {:?}", start.elapsed());
}
