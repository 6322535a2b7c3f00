//! `gosling info`, run on folders as administrators find them.
#![cfg(feature = "info")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // What some tests need is of Unix.

mod support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::server::gosling;
use support::system::{is_root, mode, set_mode};
use support::temp_dir;

/// The command on the files of this root.
fn info(root: &Path) -> Command {
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", root).arg("info");
    command
}

/// Its output.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
    text
}

/// Its output as JSON.
#[track_caller]
fn as_json(command: &mut Command) -> Value {
    let text = printed(command.arg("--json"));
    assert!(text.is_ascii(), "{text}");
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn faults(of: &Value) -> Vec<&str> {
    let faults = of["faults"].as_array().unwrap();
    faults.iter().map(|it| it.as_str().unwrap()).collect()
}

/// Writes a file of this root with this mode, and makes its folders.
fn write(root: &Path, name: &str, mode: u32, text: &str) {
    let path = root.join(name);
    for folder in path.ancestors().skip(1).take_while(|it| *it != root) {
        fs::create_dir_all(folder).unwrap();
        set_mode(folder, 0o700);
    }
    fs::write(&path, text).unwrap();
    set_mode(&path, mode);
}

/// All that is below a folder, with modes and contents.
fn snapshot(of: &Path) -> BTreeMap<PathBuf, (Option<u32>, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mode = mode(of);
    if !of.is_dir() {
        all.insert(of.to_owned(), (mode, fs::read(of).unwrap()));
        return all;
    }
    all.insert(of.to_owned(), (mode, Vec::new()));
    for entry in fs::read_dir(of).unwrap() {
        all.append(&mut snapshot(&entry.unwrap().path()));
    }
    all
}

#[test]
fn nothing_exists_and_nothing_is_made() {
    let root = temp_dir();
    let text = printed(&mut info(root.path()));
    let config = root.path().join("config");
    for line in [
        "  version          0.1.0\n".replace("0.1.0", env!("CARGO_PKG_VERSION")),
        format!("  config           {} (does not exist)\n", config.display()),
        "  port             3000\n".to_owned(),
        "  mode             auto\n".to_owned(),
        "\nnothing is wrong\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line:?}: {text}");
    }
    let found = as_json(&mut info(root.path()));
    assert_eq!(
        found["folders"]["data"],
        json!({"path": root.path().join("data"), "exists": false})
    );
    assert_eq!(found["policy"]["state"], "none");
    assert_eq!(
        found["server"],
        json!({"host": "127.0.0.1", "port": 3000, "tls": false, "allowed_hosts": [], "key_is_given": false})
    );
    assert_eq!(faults(&found), [""; 0]);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn text_and_json_have_the_same_rows_and_the_parts_of_the_build() {
    let root = temp_dir();
    let found = as_json(&mut info(root.path()));
    let text = printed(&mut info(root.path()));
    let mut sections = text.split("\n\n");
    for (name, rows) in found.as_object().unwrap() {
        let Some(rows) = rows.as_object() else {
            assert_eq!(name, "faults");
            continue;
        };
        let mut lines = sections.next().unwrap().lines();
        assert_eq!(lines.next(), Some(name.as_str()));
        let is_row = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        let shown = lines.filter(is_row);
        let shown: Vec<&str> = shown
            .filter_map(|it| it.split_whitespace().next())
            .collect();
        assert_eq!(shown, rows.keys().collect::<Vec<_>>(), "{name}");
    }
    assert_eq!(sections.collect::<Vec<_>>(), ["nothing is wrong\n"]);
    for (part, is_built) in [
        ("audit", cfg!(feature = "audit")),
        ("keys", cfg!(feature = "keys")),
        ("pinning", cfg!(feature = "pinning")),
        ("sandbox", cfg!(feature = "sandbox")),
        ("screening", cfg!(feature = "screening")),
        ("tls", cfg!(feature = "tls")),
    ] {
        assert_eq!(found.get(part).is_some(), is_built, "{part}");
        let list = if is_built { "features" } else { "left_out" };
        let list = found["program"][list].as_array().unwrap();
        assert!(list.contains(&part.into()), "{part}: {list:?}");
    }
}

#[test]
fn variables_and_settings_say_what_holds() {
    let root = temp_dir();
    let config =
        "GOOSE_PROVIDER: ollama\nGOOSE_MODEL: qwen3\nGOOSE_MODE: chat\nGOOSE_MAX_TURNS: many\n";
    write(root.path(), "config/config.yaml", 0o600, config);
    let mut command = info(root.path());
    command.env("GOOSE_HOST", "::1").env("GOOSE_PORT", "8443");
    command.env("GOOSE_ALLOWED_HOSTS", "a.example, b.example");
    command.env("GOOSE_SERVER__SECRET_KEY", "never-shown-1");
    let found = as_json(&mut command);
    let server = &found["server"];
    assert_eq!(server["host"], "::1");
    assert_eq!(server["port"], 8443);
    assert_eq!(server["allowed_hosts"], json!(["a.example", "b.example"]));
    assert_eq!(server["key_is_given"], true);
    assert!(!found.to_string().contains("never-shown-1"));
    let settings =
        json!({"provider": "ollama", "model": "qwen3", "mode": "chat", "secrets": "file"});
    assert_eq!(found["settings"], settings);
    let found = faults(&found);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("settings.faults: GOOSE_MAX_TURNS"),
        "{found:?}"
    );

    let mut command = info(root.path());
    command
        .env("GOOSE_PORT", "http")
        .env("GOOSE_TLS", "perhaps");
    let found = as_json(&mut command);
    assert_eq!(found["server"]["port"], Value::Null);
    assert_eq!(found["server"]["tls"], Value::Null);
    let found = faults(&found);
    assert!(found[0].starts_with("server.port: GOOSE_PORT"), "{found:?}");
    assert!(found[1].starts_with("server.tls: GOOSE_TLS"), "{found:?}");
}

#[cfg(all(feature = "keys", feature = "audit"))]
#[test]
fn keys_and_the_audit_log_are_counted() {
    let root = temp_dir();
    let gosling = |arguments: &[&str]| {
        let mut command = gosling();
        command.env("GOOSE_PATH_ROOT", root.path()).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let key = gosling(&["keys", "add", "one", "--role", "read"]);
    gosling(&["keys", "add", "two", "--role", "chat"]);
    let path = root.path().join("config/keys.yaml");
    let keys = fs::read_to_string(&path).unwrap();
    let hash = keys
        .split("sha256: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let old = format!(
        "three: {{role: chat, sha256: {hash}, created: 2020-01-01T00:00:00Z, expires: 2021-01-01T00:00:00Z}}"
    );
    let odd = "\"\\e[31m\": {role: king}";
    fs::write(&path, format!("{keys}{old}\n{odd}\n")).unwrap();
    let found = as_json(&mut info(root.path()));
    assert_eq!(found["keys"]["valid"], 2);
    assert_eq!(found["keys"]["expired"], 1);
    assert_eq!(found["keys"]["not_understood"], 1);
    assert_eq!(found["audit"]["mode"], "on");
    assert_eq!(found["audit"]["files"], 1);
    let size = fs::metadata(root.path().join("data/audit/1.jsonl"))
        .unwrap()
        .len();
    assert_eq!(found["audit"]["bytes"], size);
    assert_eq!(found["audit"]["keep_days"], 365);
    assert_eq!(faults(&found), [""; 0]);
    let text = printed(&mut info(root.path()));
    for never in [key.trim(), hash, "king"] {
        assert!(!text.contains(never) && !found.to_string().contains(never));
    }

    let off = as_json(info(root.path()).env("GOOSE_AUDIT", "off"));
    assert_eq!(off["audit"]["mode"], "off");
    assert_eq!(off["audit"]["bytes"], size);
    assert!(off["audit"].get("keep_days").is_none());

    fs::write(&path, "one: [unfinished").unwrap();
    let found = as_json(&mut info(root.path()));
    assert!(found["keys"].get("valid").is_none());
    let found = faults(&found);
    assert!(
        found[0].starts_with("keys.file: it is not valid YAML"),
        "{found:?}"
    );
}

#[test]
#[cfg(unix)] // Modes.
fn nothing_is_written_or_corrected_and_no_secret_is_shown() {
    let root = temp_dir();
    write(
        root.path(),
        "config/config.yaml",
        0o666,
        "a: [unfinished-config",
    );
    write(
        root.path(),
        "config/secrets.yaml",
        0o644,
        "TOKEN: [never-shown-2",
    );
    write(
        root.path(),
        "config/keys.yaml",
        0o644,
        "one: {role: admin}\n",
    );
    write(root.path(), "data/audit/1.jsonl", 0o600, "{}\n");
    set_mode(root.path().join("data"), 0o755);
    let before = snapshot(root.path());
    let found = as_json(&mut info(root.path()));
    let text = printed(&mut info(root.path()));
    assert_eq!(snapshot(root.path()), before);
    for of in [&found.to_string(), &text] {
        assert!(!of.contains("never-shown-2"), "{of}");
    }
    assert_eq!(found["files"]["secrets.yaml"]["mode"], "0644");
    let found = faults(&found);
    for (place, what) in [
        ("folders.data", "(mode 755); `chmod 700` it"),
        ("files.config.yaml", "(mode 666); `chmod 600` it"),
        ("files.secrets.yaml", "(mode 644); `chmod 600` it"),
        ("files.config.yaml", "line 1"),
        ("files.secrets.yaml", "it is not valid YAML"),
    ] {
        let is_it = |it: &&str| it.starts_with(place) && it.contains(what);
        assert!(found.iter().any(is_it), "{place} {what}: {found:?}");
    }
    for line in found {
        assert!(text.contains(&format!("\n  {line}\n")), "{line}: {text}");
    }
}

#[test]
#[cfg(unix)] // Elsewhere what is below a file does not exist.
fn a_root_that_cannot_be_used_is_said() {
    let root = temp_dir();
    write(root.path(), "file", 0o600, "");
    let not_a_folder = as_json(&mut info(&root.path().join("file")));
    assert_eq!(not_a_folder["folders"]["config"]["exists"], Value::Null);
    let found = faults(&not_a_folder);
    assert!(
        found[0].contains("it cannot be reached: Not a directory"),
        "{found:?}"
    );
}

#[cfg(unix)] // Another user.
#[test]
fn a_root_of_another_user_is_said() {
    use std::os::unix::fs::chown;
    use std::os::unix::process::CommandExt;

    const USER: u32 = 65_534;
    if !is_root() {
        return;
    }
    let root = temp_dir();
    write(root.path(), "closed/config/config.yaml", 0o600, "a: 1\n");
    // Another user's files, which this one can reach; then a folder that it cannot enter.
    set_mode(root.path(), 0o755);
    let closed = root.path().join("closed");
    for (mode, exists, what) in [
        (
            0o755,
            json!(true),
            "it belongs to the user 0, and gosling runs as 65534 here",
        ),
        (
            0o700,
            Value::Null,
            "it cannot be reached: Permission denied",
        ),
    ] {
        set_mode(&closed, mode);
        let mut command = info(&closed);
        let found = as_json(command.uid(USER).gid(USER));
        assert_eq!(found["program"]["user"], USER);
        assert_eq!(found["folders"]["config"]["exists"], exists);
        let found = faults(&found);
        assert!(found[0].starts_with("folders.config: "), "{found:?}");
        assert!(
            found[0].ends_with(what) || found[0].contains(what),
            "{found:?}"
        );
    }
    chown(&closed, Some(USER), None).unwrap();
    chown(closed.join("config"), Some(USER), None).unwrap();
    let mut command = info(&closed);
    let found = as_json(command.uid(USER).gid(USER));
    let found = faults(&found);
    assert!(found[0].starts_with("files.config.yaml: "), "{found:?}");
}

#[test]
#[cfg(unix)] // Windows has no such names.
fn names_with_escapes_are_shown_and_not_obeyed() {
    let root = temp_dir();
    let name = "a\u{1b}[31m\u{202e}\nb";
    write(
        &root.path().join(name),
        "config/config.yaml",
        0o644,
        "\"\\e[2JGOOSE_MODEL\": x\n",
    );
    let mut command = info(&root.path().join(name));
    let text = printed(command.env("GOOSE_HOST", "h\u{1b}]0;x\u{7}"));
    assert!(
        text.contains("/a\\u{1b}[31m\\u{202e}\\u{a}b/config/config.yaml (see below)"),
        "{text}"
    );
    assert!(
        text.contains("host             h\\u{1b}]0;x\\u{7}\n"),
        "{text}"
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
    let found = as_json(&mut info(&root.path().join(name)));
    let path = root.path().join(name).join("config/config.yaml");
    assert_eq!(found["files"]["config.yaml"]["path"], json!(path));
}

#[test]
fn the_command_line_is_checked() {
    let root = temp_dir();
    for arguments in [
        &["--jsn"][..],
        &["more"],
        &["--policy"],
        &["--policy", "a", "--policy", "b"],
    ] {
        let output = info(root.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    let help = printed(info(root.path()).arg("--help"));
    assert!(help.starts_with("usage: gosling info"), "{help}");
}

#[cfg(feature = "policy")]
#[test]
fn a_policy_is_in_force_or_says_why_not() {
    let root = temp_dir();
    let file = root.path().join("policy.yaml");
    let policy = "default: allow\nleast_mode: approve\noffline: true\nsandbox: {least: strict}\n";
    fs::write(&file, policy).unwrap();
    let with_policy = || {
        let mut command = info(root.path());
        command.arg("--policy").arg(&file);
        command
    };
    let found = as_json(&mut with_policy());
    assert_eq!(found["policy"]["file"], json!(file));
    if is_root() {
        assert_eq!(
            found["policy"],
            json!({"state": "in_force", "file": file, "least_mode": "approve", "offline": true,
                "least_sandbox": "strict"})
        );
        assert_eq!(found["settings"]["mode"], "approve");
        // The kernel may offer less.
        let found = faults(&found);
        let others = found.iter().filter(|it| !it.starts_with("sandbox."));
        assert_eq!(others.count(), 0, "{found:?}");
    } else {
        assert_eq!(found["policy"]["state"], "unusable");
    }
    for text in ["least_mode: [", "never: understood\n"] {
        fs::write(&file, text).unwrap();
        let found = as_json(&mut with_policy());
        assert_eq!(found["policy"]["state"], "unusable", "{text}");
        assert_eq!(found["settings"]["mode"], "auto");
        let found = faults(&found);
        assert!(
            found[0].starts_with(&format!("policy.file: the policy {}", file.display())),
            "{found:?}"
        );
        assert!(found[0].contains("so nothing is started"), "{found:?}");
    }
    fs::remove_file(&file).unwrap();
    let found = as_json(&mut with_policy());
    assert_eq!(found["policy"]["state"], "unusable");
}

#[cfg(feature = "sandbox")]
#[test]
fn walls_that_the_kernel_cannot_give_are_a_fault() {
    let root = temp_dir();
    for level in ["off", "workspace", "strict"] {
        let found = as_json(info(root.path()).env("GOOSE_EXTENSION_SANDBOX", level));
        let walls = &found["sandbox"];
        assert_eq!(walls["level"], level);
        let landlock = walls["landlock"].as_u64().unwrap();
        let seccomp = walls["seccomp"].as_bool().unwrap();
        assert_eq!(walls["workspace"], landlock >= 3 && seccomp);
        let mounts = ["own", "with_users"].map(Value::from);
        let has_mounts = mounts.contains(&walls["mounts"]);
        assert_eq!(walls["strict"], landlock >= 6 && seccomp && has_mounts);
        let is_given = level == "off" || walls[level] == true;
        let is_it = |it: &&str| it.starts_with("sandbox.level: a sandbox");
        assert_eq!(faults(&found).iter().any(is_it), !is_given, "{found}");
    }
}

#[cfg(not(feature = "policy"))]
#[test]
fn a_build_that_enforces_no_policy_says_so() {
    let root = temp_dir();
    let found = as_json(info(root.path()).args(["--policy", "any.yaml"]));
    assert_eq!(found["policy"]["state"], "unusable");
    let found = faults(&found);
    assert!(found[0].contains("no policy can be enforced"), "{found:?}");
}
