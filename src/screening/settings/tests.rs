use super::*;

/// Words between spaces; behind a `|`, the rest up to the next one is a single word.
fn words(line: &str) -> Vec<String> {
    let mut parts = line.split('|');
    let first = parts.next().unwrap_or_default().split(' ');
    first.chain(parts).map(str::to_owned).collect()
}

fn screen(settings: &Settings, line: &str) -> Option<Decision> {
    let words = words(line);
    settings.screen(&words[0], &words[1..], &[], &Cancel::new())
}

#[test]
fn each_package_counts_once_and_an_interpreter_not_at_all() {
    let settings = Settings::default();
    let packages = |line| screen(&settings, line).map(|decision| decision.packages);
    let line = "uvx --with mcp --with Mcp --with a==1.0 python f.py";
    let expected = ["PyPI mcp", "PyPI a 1.0"].map(str::to_owned);
    assert_eq!(packages(line), Some(expected.to_vec()));
    assert_eq!(packages("uvx python f.py"), None);
    assert_eq!(packages("python server.py"), None);
}

#[test]
fn without_sources_only_the_strict_refuse() {
    let mut settings = Settings::default();
    let outcome = |settings: &Settings, line| screen(settings, line).map(|it| it.decision);
    assert_eq!(outcome(&settings, "npx a"), Some(Outcome::Allowed));
    assert_eq!(outcome(&settings, "npx user/repo"), Some(Outcome::Allowed));
    // A name in letters of another script is no name of a package, but may look like one.
    assert_eq!(outcome(&settings, "uvx rеquests"), Some(Outcome::Warned));
    settings.strict = true;
    assert_eq!(outcome(&settings, "npx a"), Some(Outcome::Refused));
    assert_eq!(outcome(&settings, "npx user/repo"), Some(Outcome::Refused));
    assert_eq!(outcome(&settings, "server"), None);
}

#[test]
fn any_wish_of_the_user_but_warnings_is_a_configuration() {
    assert!(!Settings::default().is_configured());
    let warnings = Settings {
        allowlist_warns: true,
        offline: true,
        index: Some(PathBuf::from("index")),
        ..Settings::default()
    };
    assert!(!warnings.is_configured());
    let set: [fn(&mut Settings); 5] = [
        |it| it.advisories = Some(PathBuf::from("osv")),
        |it| it.endpoint = Some("http://127.0.0.1:1".to_owned()),
        |it| it.strict = true,
        |it| it.allowlist = Some("list".to_owned()),
        |it| it.fault = Some("no text".to_owned()),
    ];
    let variable = |settings: &Settings| {
        let decision = settings.screen(
            "npx",
            &["a".to_owned()],
            &["npm_config_package"],
            &Cancel::new(),
        );
        decision
            .unwrap_or_default()
            .reason()
            .contains("npm_config_package")
    };
    assert!(!variable(&Settings::default()));
    for set in set {
        let mut settings = Settings::default();
        set(&mut settings);
        assert!(settings.is_configured() && variable(&settings));
    }
}

#[test]
fn without_a_network_a_server_of_this_machine_alone_is_asked() {
    let paths = Paths::under(std::path::Path::new("/nonexistent"));
    for (url, offline, is_asked) in [
        ("http://127.0.0.1:1", true, true),
        ("https://osv.example", true, false),
        ("https://osv.example", false, true),
    ] {
        let env = |name: &str| (name == "OSV_ENDPOINT").then(|| url.to_owned());
        let config = Config::with_env(paths.config.join("config.yaml"), Box::new(env));
        let settings = Settings::read(&config, &paths, offline);
        assert_eq!(settings.endpoint.is_some(), is_asked, "{url} {offline}");
    }
}

#[test]
fn a_server_that_knows_no_images_does_not_check_them_for_the_strict() {
    let folder = std::env::temp_dir().join(format!("gosling-images-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let outcome = |strict, advisories| {
        let settings = Settings {
            strict,
            advisories,
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            ..Settings::default()
        };
        screen(&settings, "docker run -i mcp/time")
            .unwrap()
            .decision
    };
    assert_eq!(outcome(true, None), Outcome::Refused);
    assert_eq!(outcome(true, Some(folder.clone())), Outcome::Allowed);
    assert_eq!(outcome(false, None), Outcome::Allowed);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_advisory_is_about_one_name_in_one_registry() {
    let version = Version::Open;
    for (ecosystem, name, is_named) in [
        (Ecosystem::Npm, "evil", true),
        (Ecosystem::PyPi, "evil", false),
        (Ecosystem::Npm, "good", false),
    ] {
        let malware = Malware {
            ecosystem: Ecosystem::Npm.name(),
            name: "evil".to_owned(),
            id: "MAL-1".to_owned(),
            versions: versions::ALL.to_owned(),
        };
        let mut decision = Decision::default();
        let package = (ecosystem, name, &version);
        Settings::default().check_malware(package, &[malware], &mut decision);
        assert_eq!(!decision.reasons.is_empty(), is_named, "{name}");
    }
}

#[test]
fn the_launcher_is_found_behind_programs_that_start_it() {
    let npx = "node /usr/lib/node_modules/npm/bin/npx-cli.js";
    for (line, package) in [
        ("env npx -y evil", "npm evil"),
        ("env -u X A=1 B= npx -y evil", "npm evil"),
        ("/usr/bin/env -S|npx -y evil", "npm evil"),
        ("env|-vSA=1 npx -y 'evil'", "npm evil"),
        ("env -S|nice npx -y|evil", "npm evil"),
        ("nice -n 5 npx evil", "npm evil"),
        ("ionice -c3 npx evil", "npm evil"),
        ("nohup uvx evil", "PyPI evil"),
        ("timeout --signal=KILL 5 npx evil", "npm evil"),
        ("stdbuf -oL -e 0 npx evil", "npm evil"),
        ("setsid -w npx evil", "npm evil"),
        ("sh -c|exec npx -y evil", "npm evil"),
        ("bash -lc|A=1 nice uvx \"evil\"", "PyPI evil"),
        ("busybox sh -c|npx evil", "npm evil"),
        ("cmd /d /c npx -y evil", "npm evil"),
        ("CMD.EXE /C|call npx.cmd -y evil", "npm evil"),
        ("python -m uv tool run evil", "PyPI evil"),
        ("python3.12 -u -m pipx run evil", "PyPI evil"),
        ("python3 -muv -q tool run evil", "PyPI evil"),
        (&format!("{npx} -y evil"), "npm evil"),
        ("node C:\\npm\\npm-cli.js exec evil", "npm evil"),
        ("corepack yarn dlx evil", "npm evil"),
        ("corepack pnpm@9.1.0 dlx evil", "npm evil"),
        ("bunx evil", "npm evil"),
        ("python -m uv.__main__ tool run evil", "PyPI evil"),
        ("node /opt/npm/bin/npx-cli evil", "npm evil"),
        ("node /opt/npm/index.js exec evil", "npm evil"),
        ("node pnpm.mjs dlx evil", "npm evil"),
        ("node /usr/lib/node_modules/npm exec evil", "npm evil"),
    ] {
        let decision = screen(&Settings::default(), line).unwrap_or_default();
        assert_eq!(decision.packages, [package], "{line}");
    }
}

#[test]
fn a_launcher_that_is_mentioned_but_not_understood_cannot_be_checked() {
    let strict = Settings {
        strict: true,
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        ..Settings::default()
    };
    for line in [
        "env -i npx evil",
        "env -S|npx\\_evil",
        "xargs npx evil",
        "python -m pip.__main__ install evil",
        "sudo /opt/shims/uv tool run evil",
        "xargs /opt/node/npx evil",
        "sh -c|cd /srv && npx evil",
        "sh -c|n=npx; $n evil",
        "pwsh -Command|npx evil",
        "cmd /c npx evil&x",
        "python -m pip install evil",
        "python x.py --run|uvx evil",
        "node --inspect /opt/npm/bin/npx-cli.js evil",
        "corepack yarn@https://evil/x.js dlx a",
        "x-proxy /opt/bin/npx evil",
        "x-proxy C:\\Program|Files\\npx.cmd evil",
        "npx -y npm@11 exec evil",
        "npx -y a --stdio|npx -y evil",
        "uv run uvx evil",
        "yarn exec npx evil",
        "docker run -i node:24 npx evil",
        "docker run --entrypoint npx node:24 -y evil",
        "zsh -c|=npx evil",
        "pnpm npx evil",
        "npm run x -- npx evil",
    ] {
        let decision = screen(&strict, line).unwrap_or_default();
        assert!(decision.reason().contains("not understood"), "{line}");
    }
    for line in [
        "env A=1 x-mcp --runtime docker",
        "x-mcp /srv/docker files",
        "nice node --inspect server.js x",
        "sh -c|cd /srv && exec x-mcp",
        "python -m http.server 8",
        "node server.js",
        "yarn serve",
    ] {
        assert_eq!(screen(&strict, line), None, "{line}");
    }
}

#[test]
fn variables_that_move_the_configuration_of_launchers_are_refused() {
    let strict = Settings {
        strict: true,
        ..Settings::default()
    };
    let screen = |line: &str, variable: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let decision = strict.screen(&words[0], &words[1..], &[variable], &Cancel::new());
        decision.unwrap_or_default().reason()
    };
    for name in [
        "HOME",
        "USERPROFILE",
        "AppData",
        "LOCALAPPDATA",
        "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS",
        "XDG_DATA_HOME",
        "PREFIX",
        "http_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "SSL_CERT_FILE",
        "NODE_EXTRA_CA_CERTS",
        "DOCKER_HOST",
    ] {
        let found = screen("npx a", name);
        assert!(found.contains(&format!("the variable {name} ")), "{found}");
        assert!(screen("sh -c npx", name).is_empty());
        // A program that installs nothing may have a proxy, and a folder of its own.
        assert_eq!(screen("x-mcp a", name), "");
        let found = screen(&format!("env {name}=x npx a"), "OTHER");
        assert!(found.contains(&format!("the variable {name} ")), "{found}");
    }
    assert!(!screen("npx a", "HOMES").contains("variable"));
    assert!(screen("x-mcp a", "UV_INDEX_URL").contains("UV_INDEX_URL"));
}

#[test]
fn a_command_line_for_a_launcher_cannot_be_checked() {
    let strict = Settings {
        strict: true,
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        ..Settings::default()
    };
    for line in ["npx -c|npx evil", "npm exec --call=x", "env npx --call|x"] {
        let decision = screen(&strict, line).unwrap_or_default();
        assert_eq!(decision.decision, Outcome::Refused, "{line}");
        assert!(
            decision.reason().contains("call") || decision.reason().contains("-c"),
            "{line}"
        );
    }
}

#[cfg(unix)]
#[test]
fn an_index_that_cannot_be_seen_is_not_an_index_that_is_absent() {
    let name = format!("gosling-index-{}", std::process::id());
    let index = std::env::temp_dir().join(name);
    let mut settings = Settings {
        index: Some(index.clone()),
        ..Settings::default()
    };
    let decide = |settings: &Settings| screen(settings, "npx a").unwrap();
    assert_eq!(decide(&settings).decision, Outcome::Allowed);
    std::os::unix::fs::symlink(&index, &index).unwrap();
    let warned = decide(&settings);
    settings.strict = true;
    let refused = decide(&settings);
    std::fs::remove_file(&index).unwrap();
    for (found, outcome) in [(warned, Outcome::Warned), (refused, Outcome::Refused)] {
        assert_eq!(found.decision, outcome);
        assert!(found.reason().contains("cannot be read"), "{found:?}");
    }
}
