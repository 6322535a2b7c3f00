//! `config.yaml` and `secrets.yaml`.

use super::*;
use gosling::store::{Config, Error, Secrets, file_lock};
use serde_json::{Value, json};
use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn values_come_back_and_order_stays() {
    let dir = temp_dir();
    let config = config_in(&dir);
    assert_eq!(config.get("a").unwrap(), None);
    assert!(config.all().unwrap().is_empty());
    for key in ["zebra", "apple", "mango"] {
        config
            .upsert(key, &json!({"of": [key, 1, null, 0.5]}))
            .unwrap();
    }
    config.upsert("apple", &json!("changed")).unwrap();
    assert_eq!(
        config.get("zebra").unwrap(),
        Some(json!({"of": ["zebra", 1, null, 0.5]}))
    );
    let keys: Vec<_> = config
        .all()
        .unwrap()
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["zebra", "apple", "mango"]);
    assert!(config.remove("zebra").unwrap());
    assert!(!config.remove("zebra").unwrap());
    assert_eq!(config.get("zebra").unwrap(), None);
}

#[test]
fn the_environment_wins_in_get_and_not_in_all() {
    let dir = temp_dir();
    let path = dir.path().join("config.yaml");
    fs::write(&path, "goose_model: file\nother: file\n").unwrap();
    let env = |name: &str| (name == "GOOSE_MODEL").then(|| "[1]".to_owned());
    let config = Config::with_env(path, Box::new(env));
    assert_eq!(config.get("goose_model").unwrap(), Some(json!([1])));
    assert_eq!(config.get("other").unwrap(), Some(json!("file")));
    assert_eq!(config.all().unwrap()["goose_model"], json!("file"));
}

#[test]
fn untouched_yaml_survives_a_rewrite() {
    let dir = temp_dir();
    let config = config_in(&dir);
    let kept = "1: number\nt: !Tag x\nwide: 18446744073709551616\nnan: .nan\ndate: 2026-11-21\n";
    fs::write(config.path(), format!("# a comment\n{kept}")).unwrap();
    config.upsert("new", &json!(true)).unwrap();
    assert_eq!(
        fs::read_to_string(config.path()).unwrap(),
        format!("{kept}new: true\n")
    );
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let dir = temp_dir();
    let config = config_in(&dir);
    fs::write(config.path(), "a: 1 # kept\n").unwrap();
    config.upsert("a", &json!(1)).unwrap();
    config.remove("absent").unwrap();
    let refused = config.edit(|root| {
        root.clear();
        Err::<(), _>(Error::NoHome)
    });
    assert!(matches!(refused, Err(Error::NoHome)));
    assert_eq!(fs::read_to_string(config.path()).unwrap(), "a: 1 # kept\n");
}

#[test]
fn changes_by_hand_are_seen_at_once() {
    let dir = temp_dir();
    let config = config_in(&dir);
    for n in 100..200 {
        fs::write(config.path(), format!("n: {n}\n")).unwrap();
        assert_eq!(config.get("n").unwrap(), Some(json!(n)));
        assert_eq!(config.get("n").unwrap(), Some(json!(n)));
    }
    fs::remove_file(config.path()).unwrap();
    assert_eq!(config.get("n").unwrap(), None);
}

#[test]
fn a_settled_file_costs_one_stat() {
    let dir = temp_dir();
    let config = config_in(&dir);
    fs::write(
        config.path(),
        format!("n: 1\nbig: [{}]\n", "x, ".repeat(10_000)),
    )
    .unwrap();
    thread::sleep(Duration::from_millis(80));
    config.get("n").unwrap();
    let start = Instant::now();
    for _ in 0..1_000 {
        config.get("n").unwrap();
    }
    let each = start.elapsed() / 1_000;
    println!("hot get: {each:?}");
    assert!(each < Duration::from_millis(1), "{each:?}");
}

#[test]
fn a_broken_file_is_told_apart_and_never_touched() {
    let dir = temp_dir();
    for (text, line) in [
        (&b"a: 1\nb: [1, 2\nc: 3\n"[..], 3),
        (b"- a\n- b\n", 1),
        (b"a: 1\na: 2\n", 1),
        (b"a: \xff\n", 0),
        (b"just text", 1),
    ] {
        let config = config_in(&dir);
        fs::write(config.path(), text).unwrap();
        for error in [
            config.get("a").unwrap_err(),
            config.all().unwrap_err(),
            config.extensions().unwrap_err(),
            config.upsert("x", &json!(1)).unwrap_err(),
            config.remove("a").map(drop).unwrap_err(),
            config
                .set_extension("x", &json!({}), true)
                .map(drop)
                .unwrap_err(),
            config.file().back_up().map(drop).unwrap_err(),
        ] {
            let shown = error.to_string();
            assert!(
                matches!(&error, Error::Broken { line: at, .. } if line == 0 || *at == line),
                "{error:?}"
            );
            assert!(
                shown.contains("config.yaml") && !shown.contains('\n'),
                "{shown}"
            );
        }
        assert_eq!(fs::read(config.path()).unwrap(), text);
        assert_eq!(names(dir.path()), [".config.yaml.lock", "config.yaml"]);
    }
}

#[test]
fn oversized_and_odd_files_are_broken() {
    let dir = temp_dir();
    let config = config_in(&dir);
    fs::write(config.path(), format!("a: {}\n", "x".repeat(10 << 20))).unwrap();
    assert!(matches!(
        config.get("a"),
        Err(Error::Broken { line: 0, .. })
    ));
    assert!(matches!(
        config.upsert("b", &json!(1)),
        Err(Error::Broken { .. })
    ));
    // Saved by an editor in Latin-1.
    fs::write(config.path(), b"a: \xc3\xa9\nb: \xc3\xa9 \xe9\nc: 1\n").unwrap();
    assert!(matches!(
        config.get("a"),
        Err(Error::Broken {
            line: 2,
            column: 6,
            ..
        })
    ));
    fs::remove_file(config.path()).unwrap();
    fs::create_dir(config.path()).unwrap();
    assert!(config.get("a").is_err() && config.upsert("b", &json!(1)).is_err());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_file_is_no_trap() {
    let dir = temp_dir();
    let config = config_in(&dir);
    let made = Command::new("mkfifo").arg(config.path()).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(matches!(config.get("a"), Err(Error::Broken { .. })));
        let written = config.upsert("a", &json!(1));
        assert!(matches!(written, Err(Error::Broken { .. })));
    }
}

#[test]
fn a_file_from_the_far_future_is_read() {
    let dir = temp_dir();
    let config = config_in(&dir);
    config.upsert("a", &json!(1)).unwrap();
    let future = std::time::SystemTime::now() + Duration::from_secs(1 << 32);
    let file = fs::File::options().write(true).open(config.path()).unwrap();
    let _ = file.set_modified(future);
    for _ in 0..2 {
        assert_eq!(config.get("a").unwrap(), Some(json!(1)));
    }
}

#[test]
fn removing_from_an_absent_file_makes_none() {
    let dir = temp_dir();
    let config = config_in(&dir);
    assert!(!config.remove("a").unwrap());
    assert!(!config.remove_extension("a").unwrap());
    assert!(!config.path().exists());
}

#[test]
fn a_value_that_would_make_the_file_unreadable_is_refused() {
    let dir = temp_dir();
    let config = config_in(&dir);
    config.upsert("a", &json!(1)).unwrap();
    let before = fs::read(config.path()).unwrap();
    let deep = (0..300).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(
        config.upsert("deep", &deep),
        Err(Error::Unwritable { .. })
    ));
    let large = json!("x".repeat(11 << 20));
    assert!(matches!(
        config.upsert("large", &large),
        Err(Error::Unwritable { .. })
    ));
    assert_eq!(fs::read(config.path()).unwrap(), before);
}

#[test]
fn a_file_with_anchors_is_not_rewritten() {
    let dir = temp_dir();
    let config = config_in(&dir);
    let secrets = secrets_at(&dir.path().join("secrets.yaml"));
    for text in [
        "a: &x {b: 1}\nc: *x\n",
        "a: &x\n  b: 1\nc:\n  <<: *x\n",
        "&x a: 1\n",
    ] {
        fs::write(config.path(), text).unwrap();
        fs::write(secrets.path(), text).unwrap();
        let written = config.upsert("d", &json!(1));
        assert!(
            matches!(written, Err(Error::Anchors { .. })),
            "{text}: {written:?}"
        );
        let error = secrets.set("d", &json!(1)).unwrap_err().to_string();
        assert!(error.contains("anchors"), "{error}");
        assert_eq!(fs::read_to_string(config.path()).unwrap(), text);
        assert_eq!(fs::read_to_string(secrets.path()).unwrap(), text);
    }
    // The same characters elsewhere are text.
    for text in [
        "a: R &D, x=1&y=2 &z\nb&c: \"&x &amp; *x\"\n",
        "a: |\n  &x text\n  * item\n  - &y z\nb: '[ &x ]' # &x\n",
        "a: one\n  &two three\nb: [x &y, z &a]\n",
    ] {
        fs::write(config.path(), text).unwrap();
        let before = config.all().unwrap();
        config.upsert("d", &json!(1)).unwrap();
        let mut after = config.all().unwrap();
        after.shift_remove("d");
        assert_eq!(after, before, "{text}");
    }
}

#[test]
fn what_somebody_wrote_meanwhile_is_kept_and_what_we_wrote_is_not() {
    let dir = temp_dir();
    let path = dir.path().join("config.yaml");
    let kept = || fs::read_to_string(dir.path().join("config.yaml.bak")).unwrap();
    fs::write(&path, "A: 1 # first\n").unwrap();
    let config = config_in(&dir);
    config.upsert("B", &json!(2)).unwrap();
    config.upsert("B", &json!(3)).unwrap();
    assert_eq!(kept(), "A: 1 # first\n");
    fs::write(&path, "A: 9 # by hand, while it runs\n").unwrap();
    config.upsert("B", &json!(4)).unwrap();
    assert_eq!(kept(), "A: 9 # by hand, while it runs\n");
}

#[test]
fn a_backup_is_made_once_a_process_and_rotates() {
    let dir = temp_dir();
    for n in 0..6 {
        let text = format!("n: {n}\n");
        fs::write(dir.path().join("config.yaml"), &text).unwrap();
        let config = config_in(&dir);
        config.upsert("x", &json!(1)).unwrap();
        config.upsert("x", &json!(2)).unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join("config.yaml.bak")).unwrap(),
            text
        );
    }
    let backups: Vec<_> = names(dir.path())
        .into_iter()
        .filter(|it| it.contains(".bak"))
        .collect();
    let expected = [
        "config.yaml.bak",
        "config.yaml.bak.1",
        "config.yaml.bak.2",
        "config.yaml.bak.3",
    ];
    assert_eq!(backups, expected);
    assert_eq!(
        fs::read_to_string(dir.path().join("config.yaml.bak.3")).unwrap(),
        "n: 2\n"
    );

    let config = config_in(&dir);
    let made = config.file().back_up().unwrap().unwrap();
    assert_eq!(made, dir.path().join("config.yaml.bak"));
    config.file().back_up().unwrap();
    assert_eq!(
        fs::read_to_string(dir.path().join("config.yaml.bak.1")).unwrap(),
        "n: 5\n"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("config.yaml.bak.2")).unwrap(),
        "n: 4\n"
    );
}

#[test]
fn extensions_are_kept_under_their_keys() {
    let dir = temp_dir();
    let config = config_in(&dir);
    assert_eq!(config.extensions().unwrap().entries, []);
    assert!(!config.remove_extension("dev").unwrap());
    let entry = json!({"enabled": true, "type": "builtin", "name": "dev", "future": [1]});
    assert!(!config.set_extension("dev", &entry, true).unwrap());
    assert!(config.set_extension("dev", &entry, true).unwrap());
    config
        .edit(|root| {
            let section = root
                .get_mut("extensions")
                .and_then(|it| it.as_mapping_mut())
                .unwrap();
            section.insert("odd".into(), "text".into());
            section.insert(7.into(), "number".into());
            Ok(())
        })
        .unwrap();
    config
        .set_extension("web", &json!({"enabled": false}), true)
        .unwrap();
    let found = config.extensions().unwrap();
    assert_eq!(
        found.entries,
        [
            ("dev".to_owned(), entry),
            ("web".to_owned(), json!({"enabled": false})),
        ]
    );
    assert_eq!(
        found.warnings,
        ["'odd' is not a mapping", "the key 7 is not text"]
    );
    assert!(config.remove_extension("dev").unwrap());
    assert!(!config.remove_extension("dev").unwrap());

    for (key, value) in [
        ("extensions", json!("text")),
        ("", json!(1)),
        (" ", json!(1)),
    ] {
        assert!(matches!(
            config.upsert(key, &value),
            Err(Error::Unwritable { .. })
        ));
    }
    fs::write(config.path(), "extensions: text\n").unwrap();
    assert_eq!(config.extensions().unwrap().warnings.len(), 1);
    assert!(matches!(
        config.set_extension("a", &json!({}), true),
        Err(Error::Broken { .. })
    ));
    assert!(matches!(
        config.remove_extension("a"),
        Err(Error::Broken { .. })
    ));
}

#[test]
fn threads_lose_nothing() {
    let dir = temp_dir();
    let shared = config_in(&dir);
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for t in 0..8 {
            let (shared, start, dir) = (&shared, &start, &dir);
            scope.spawn(move || {
                let own = config_in(dir);
                start.wait();
                for n in 0..15 {
                    let config = if n % 2 == 0 { shared } else { &own };
                    config.upsert(&format!("k{t}_{n}"), &json!(n)).unwrap();
                    assert_eq!(shared.get(&format!("k{t}_{n}")).unwrap(), Some(json!(n)));
                }
            });
        }
    });
    assert_eq!(shared.all().unwrap().len(), 8 * 15);
}

#[test]
fn processes_lose_nothing() {
    let dir = temp_dir();
    let children: Vec<_> = ["a", "b", "c"]
        .map(|it| another_process(&format!("upsert {it}"), dir.path()))
        .into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(config_in(&dir).all().unwrap().len(), 3 * 40);
}

#[test]
fn an_editor_that_saves_during_a_rewrite_wins_no_race() {
    let dir = temp_dir();
    let config = config_in(&dir);
    fs::write(config.path(), "a: 1\n").unwrap();
    let mut calls = 0;
    config
        .edit(|root| {
            calls += 1;
            if calls == 1 {
                fs::write(dir.path().join("config.yaml"), "a: 1\nby_hand: true\n").unwrap();
            }
            root.insert("mine".into(), true.into());
            Ok(())
        })
        .unwrap();
    assert_eq!(calls, 2);
    assert_eq!(
        Value::Object(config.all().unwrap()),
        json!({"a": 1, "by_hand": true, "mine": true})
    );
}

#[test]
fn an_editor_that_never_rests_is_an_error() {
    let dir = temp_dir();
    let config = config_in(&dir);
    let mut n = 0;
    let result = config.edit(|root| {
        n += 1;
        fs::write(
            dir.path().join("config.yaml"),
            "x: ".to_owned() + &"1".repeat(n),
        )
        .unwrap();
        root.insert("mine".into(), true.into());
        Ok(())
    });
    assert!(matches!(result, Err(Error::Changing { .. })));
    assert!(
        fs::read_to_string(config.path())
            .unwrap()
            .starts_with("x: 1")
    );
    assert!(names(dir.path()).iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn a_lock_that_is_never_given_back_is_an_error() {
    let dir = temp_dir();
    let path = dir.path().join(".lock");
    let held = file_lock::FileLock::acquire(&path, Duration::ZERO).unwrap();
    let start = Instant::now();
    let error = file_lock::FileLock::acquire(&path, Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(held);
    file_lock::FileLock::acquire(&path, Duration::ZERO).unwrap();
}

#[cfg(unix)]
#[test]
fn a_linked_config_is_written_through() {
    let dir = temp_dir();
    let (home, dotfiles) = (dir.path().join("home"), dir.path().join("dotfiles"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(&dotfiles).unwrap();
    std::os::unix::fs::symlink("../dotfiles/goose.yaml", home.join("config.yaml")).unwrap();
    let config = config_at(&home.join("config.yaml"));
    for n in 0..2 {
        config.upsert("n", &json!(n)).unwrap();
        assert!(home.join("config.yaml").is_symlink());
        let text = fs::read_to_string(dotfiles.join("goose.yaml")).unwrap();
        assert_eq!(text, format!("n: {n}\n"));
    }
    std::os::unix::fs::symlink("loop.yaml", home.join("loop.yaml")).unwrap();
    assert!(matches!(
        config_at(&home.join("loop.yaml")).upsert("a", &json!(1)),
        Err(Error::Io { .. })
    ));
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_leaves_the_file_as_it_is() {
    let dir = temp_dir();
    let config = config_in(&dir);
    config.upsert("a", &json!(1)).unwrap();
    let before = fs::read(config.path()).unwrap();
    set_mode(dir.path(), 0o500);
    let outcome = config.upsert("a", &json!(2));
    set_mode(dir.path(), 0o700);
    if outcome.is_ok() {
        return; // whoever runs the test may write everywhere
    }
    assert_eq!(fs::read(config.path()).unwrap(), before);
    assert_eq!(config.get("a").unwrap(), Some(json!(1)));
}

#[test]
fn secrets_are_kept_and_never_quoted() {
    let dir = temp_dir();
    let path = dir.path().join("secrets.yaml");
    let secrets = secrets_at(&path);
    assert!(secrets.get("X").unwrap().is_none());
    secrets.set("X", &json!("abcdefghijklmnop")).unwrap();
    assert_eq!(
        secrets.get("X").unwrap().unwrap().masked(),
        "abcdefgh********"
    );
    assert!(secrets.remove("X").unwrap());
    assert!(!secrets.remove("X").unwrap());
    assert_eq!(names(dir.path()), [".secrets.yaml.lock", "secrets.yaml"]);

    for text in [
        "hunter2: [hunter2",
        "hunter2",
        "hunter2: 1\nhunter2: 2\n",
        "a: *hunter2\n",
        "- hunter2\n",
    ] {
        fs::write(&path, text).unwrap();
        for error in [
            secrets.get("a").map(drop).unwrap_err(),
            secrets.set("a", &json!("hunter2")).unwrap_err(),
        ] {
            let shown = format!("{error} {error:?}");
            assert!(
                matches!(error, Error::Broken { .. }) && !shown.contains("hunter2"),
                "{shown}"
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[cfg(unix)]
#[test]
fn the_mode_of_secrets_is_repaired() {
    let dir = temp_dir();
    let path = dir.path().join("secrets.yaml");
    fs::write(&path, "a: s\n").unwrap();
    set_mode(&path, 0o644);
    assert_eq!(
        secrets_at(&path).get("a").unwrap().unwrap().expose(),
        &json!("s")
    );
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_variable_overrides_a_secret() {
    let dir = temp_dir();
    let env = |name: &str| (name == "TOKEN").then(|| "0123".to_owned());
    let secrets = Secrets::with_env(dir.path().join("secrets.yaml"), Box::new(env));
    secrets.set("token", &json!("file")).unwrap();
    assert_eq!(secrets.get("token").unwrap().unwrap().expose_text(), "0123");
}
