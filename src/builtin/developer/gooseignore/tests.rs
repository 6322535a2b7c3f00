use super::*;
use gosling_shared::TemporaryFolder;

fn ignore_rules(local: &str) -> IgnoreRules {
    let rules = vec![
        parse_rules(Some(Path::new("/w")), local.as_bytes(), Path::new("local")).unwrap(),
        parse_rules(None, DEFAULT_RULES.as_bytes(), Path::new("defaults")).unwrap(),
    ];
    IgnoreRules {
        dir: PathBuf::from("/w"),
        real: PathBuf::from("/w"),
        read: [(PathBuf::new(), None), (PathBuf::new(), None)],
        rules,
    }
}

#[test]
fn a_tab_behind_a_pattern_does_not_lift_its_protection() {
    for local in ["private/\t\n", "*.key \t \n", "a\tb\t\n"] {
        let ignore_rules = ignore_rules(local);
        let found = ["/w/private/x", "/w/x.key", "/w/a\tb"]
            .into_iter()
            .filter(|path| ignore_rules.check(Path::new(path)).is_err());
        assert_eq!(found.count(), 1, "{local:?}");
    }
}

#[test]
fn secrets_are_guarded_by_default_and_examples_are_not() {
    let ignore_rules = ignore_rules("");
    for secret in [
        "/w/.env",
        "/w/a/.env.local",
        "/x/secrets.yaml",
        "/home/me/.ssh/id_rsa",
        "/x/.aws/credentials",
    ] {
        assert!(ignore_rules.check(Path::new(secret)).is_err(), "{secret}");
    }
    for open in [
        "/w/.env.example",
        "/w/env",
        "/w/secret",
        "/home/me/.ssh/id_rsa.pub",
        "/w",
        "/",
    ] {
        ignore_rules.check(Path::new(open)).unwrap();
    }
}

#[test]
fn the_defaults_and_the_user_s_patterns_hold_wherever_a_folder_is() {
    let folder = TemporaryFolder::new().unwrap();
    let (dir, config) = (folder.path().join("work"), folder.path().join("config"));
    let own = config.join(FILE_NAME);
    fs::create_dir(&dir).and(fs::create_dir(&config)).unwrap();
    fs::write(&own, "*.key\n").unwrap();
    let names = [".env", "secrets.yaml", "mine.key", "open.txt"];
    for name in names {
        fs::write(dir.join(name), "").unwrap();
    }
    let stamp = store::files::stamp(&own).unwrap();
    let real = fs::canonicalize(&dir).unwrap();
    let read = [(dir.join(FILE_NAME), None), (own, stamp)];
    let ignore_rules = IgnoreRules::new(&dir, real.clone(), read).unwrap();
    for name in names {
        let is_open = name == "open.txt";
        let whole = dir.join(name);
        for path in [&whole, &real.join(name)] {
            assert_eq!(ignore_rules.allows(path).is_ok(), is_open, "{path:?}");
        }
        let pattern = format!("{}*", whole.display().to_string().replace('\\', "/"));
        for word in [name, &format!("{name:.3}*"), &pattern] {
            let command = format!("cat {word}");
            let allowed = ignore_rules.allows_command(&command, &dir, &Cancel::new());
            assert_eq!(allowed.is_ok(), is_open, "{command}");
        }
    }
}

#[test]
fn the_nearest_file_has_the_last_word() {
    let ignore_rules = ignore_rules("/private/\n*.key\n!open.key\n!.env\n");
    for kept in ["/w/private/a/b", "/w/x/a.key"] {
        let why = ignore_rules.check(Path::new(kept)).unwrap_err();
        assert!(why.contains("local"), "{why}");
    }
    for open in [
        "/w/open.key",
        "/w/.env",
        "/w/sub/private/x",
        "/elsewhere/a.key",
    ] {
        ignore_rules.check(Path::new(open)).unwrap();
    }
    assert!(ignore_rules.check(Path::new("/elsewhere/.env")).is_err());
}

#[test]
fn patterns_mean_what_they_mean_to_git() {
    let ignore_rules = ignore_rules(
        "kept/\n!kept/open.txt\n!*.pem\na{b,c}\n*.log\n!/top.log\nd?r/**/x\n/root-only\n\\!odd\n# no\ntrail   \n",
    );
    for kept in [
        "/w/kept/open.txt",
        "/w/kept/key.pem",
        "/w/a{b,c}",
        "/w/x/a.log",
        "/w/dir/a/b/x",
        "/w/root-only",
        "/w/!odd",
        "/w/trail",
    ] {
        assert!(ignore_rules.check(Path::new(kept)).is_err(), "{kept}");
    }
    for open in [
        "/w/ab",
        "/w/ac",
        "/w/top.log",
        "/w/sub/root-only",
        "/w/# no",
        "/w/dxxr/x",
    ] {
        ignore_rules.check(Path::new(open)).unwrap();
    }
    let deep = "{".repeat(MAX_LINE);
    parse_rules(None, deep.as_bytes(), Path::new("f")).unwrap();
}

#[test]
fn a_file_that_makes_no_sense_is_an_error() {
    let error = parse_rules(None, b"ok\n[z-a]\n", Path::new("f")).unwrap_err();
    assert!(error.starts_with("f: line 2"), "{error}");
    assert!(
        parse_rules(
            None,
            "x\n".repeat(MAX_PATTERNS + 1).as_bytes(),
            Path::new("f")
        )
        .is_err()
    );
}

#[test]
fn a_command_is_not_looked_at_any_further_once_it_is_cancelled() {
    let ignore_rules = ignore_rules("");
    let cancel = Cancel::new();
    let allowed = || ignore_rules.allows_command("cat a", Path::new("/w"), &cancel);
    allowed().unwrap();
    cancel.cancel();
    assert!(allowed().unwrap_err().contains("cancelled"));
}

#[test]
fn patterns_match_as_in_a_shell() {
    let matches = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
    for (pattern, name) in [
        ("*", "a"),
        (".e*", ".env"),
        ("a*c", "abbc"),
        ("a*b*c", "aXbYbc"),
        ("?x", "ax"),
        ("[a-c]x", "bx"),
        ("[!a]x", "bx"),
        ("[]]x", "]x"),
        ("**", "ab"),
        ("", ""),
    ] {
        assert!(matches(pattern, name), "{pattern} {name}");
    }
    for (pattern, name) in [
        ("*", ".env"),
        ("?env", ".env"),
        ("a", "ab"),
        ("[a-c]x", "dx"),
        ("[!b]x", "bx"),
        ("[a", "a"),
        ("a*c", "ab"),
        ("?", ""),
        ("[", ""),
    ] {
        assert!(!matches(pattern, name), "{pattern} {name}");
    }
    let hard = "a*".repeat(50) + "b";
    assert!(!matches(&hard, &"a".repeat(5_000)));
}

#[test]
fn paths_hide_in_options() {
    assert_eq!(candidate_paths("--file=.env"), ["--file=.env", ".env"]);
    assert_eq!(candidate_paths("-f.env"), ["-f.env", ".env"]);
    assert_eq!(candidate_paths("@.env"), ["@.env", ".env"]);
    assert_eq!(candidate_paths("x"), ["x"]);
    let mount = candidate_paths(".env:/x");
    assert_eq!(mount, [".env:/x", "/x", ".env"]);
}

#[cfg(windows)]
#[test]
fn the_names_of_a_path_that_tools_must_not_look_at_count() {
    let dir = Path::new(r"C:\w");
    let allowed = |command: &str| ignore_rules("").allows_command(command, dir, &Cancel::new());
    for command in [
        r"type \\localhost\c$\w\.env",
        r"type \\?\UNC\localhost\c$\w\secrets.yaml",
        r"type \\host\share\.ssh\id_rsa",
    ] {
        assert!(allowed(command).is_err(), "{command}");
    }
    for command in [
        r"type \\localhost\c$\w\open.txt > nul",
        "curl https://host/secrets.yaml",
    ] {
        allowed(command).unwrap();
    }
}
