use super::*;
use gosling_core::extension::Containers;
use serde_json::Value;
use serde_json::json;

fn config(value: Value) -> ExtensionConfig {
    ExtensionConfig::from_value(value).unwrap()
}

fn stdio() -> Value {
    json!({"type": "stdio", "name": "one", "cmd": "serve", "args": ["-x"]})
}

fn inside(containers: &Containers, value: Value) -> Result<Option<Box<dyn Inside>>, String> {
    containers.inside(&config(value), Path::new("/work"))
}

fn containers(session: Option<&str>, settings: Settings) -> Containers {
    Containers {
        session: session.map(str::to_owned),
        runtime: Some(Arc::new(settings)),
    }
}

fn session(name: &str) -> Containers {
    containers(Some(name), Settings::default())
}

#[test]
fn a_name_can_be_nothing_else() {
    for name in ["box", "0a_b.c-d", &"a".repeat(255)] {
        assert_eq!(Settings::default().check_name(name), Ok(()));
    }
    let long = "a".repeat(256);
    for name in [
        "",
        "-it",
        "--privileged",
        ".",
        "_a",
        "a b",
        "a/b",
        "a\nb",
        "ä",
        "bö",
        "a=b",
        "a\0",
        &long,
    ] {
        let error = Settings::default().check_name(name).unwrap_err();
        assert!(error.contains("cannot be the name"), "{error}");
    }
}

#[test]
fn programs_run_inside_and_nothing_else_does() {
    let name = |containers: &Containers, value: Value| {
        let inside = inside(containers, value).unwrap();
        inside.map(|inside| inside.container().to_owned())
    };
    let own = || {
        let mut own = stdio();
        own["container"] = "its-own".into();
        own
    };
    let outside = containers(None, Settings::default());
    let boxed = session("box");
    assert_eq!(name(&outside, stdio()), None);
    assert_eq!(name(&outside, own()).unwrap(), "its-own");
    assert_eq!(name(&boxed, own()).unwrap(), "its-own");
    for (value, expected) in [
        (stdio(), true),
        (json!({"type": "builtin", "name": "developer"}), true),
        (json!({"type": "platform", "name": "developer"}), true),
        (
            json!({"type": "inline_python", "name": "p", "description": "", "code": "c"}),
            true,
        ),
        (json!({"type": "builtin", "name": "todo"}), false),
        (json!({"type": "platform", "name": "Todo"}), false),
        (
            json!({"type": "streamable_http", "name": "h", "uri": "http://x"}),
            false,
        ),
        (json!({"type": "frontend", "name": "f", "tools": []}), false),
    ] {
        assert_eq!(name(&boxed, value.clone()).is_some(), expected, "{value}");
    }
}

#[test]
fn what_makes_no_sense_never_runs_outside() {
    assert!(inside(&session("-v"), stdio()).is_err());
    let mut odd = stdio();
    odd["container"] = json!(7);
    assert!(inside(&containers(None, Settings::default()), odd).is_err());
    let relative = Settings {
        working_dir: Some("work".to_owned()),
        ..Settings::default()
    };
    let error = inside(&containers(Some("box"), relative), stdio()).unwrap_err();
    assert!(error.contains("GOOSE_CONTAINER_WORKDIR"), "{error}");
    let wrong = Settings {
        fault: Some("it is a list".to_owned()),
        ..Settings::default()
    };
    let wrong = inside(&containers(Some("box"), wrong), stdio());
    assert_eq!(wrong.unwrap_err(), "it is a list");
    // Nor where nothing runs inside.
    let missing = Containers {
        session: Some("box".to_owned()),
        ..Containers::default()
    };
    assert!(inside(&missing, stdio()).is_err());
}

fn environment(envs: Value) -> Environment {
    let envs = serde_json::from_value(envs).unwrap();
    Environment::merge(&envs, &[], &|_| Ok(None)).unwrap()
}

fn arguments(containers: &Containers, envs: Value) -> Result<String, String> {
    let inside = inside(containers, stdio()).unwrap().unwrap();
    let args = ["-x".to_owned(), "a b".to_owned()];
    let words = inside.arguments(&environment(envs), "serve", &args)?;
    Ok(words.join("|"))
}

#[test]
fn values_of_variables_are_no_arguments() {
    assert_eq!(
        arguments(&session("box"), json!({"B": "secret", "A": "other"})).unwrap(),
        "exec|-i|-w|/work|-e|A|-e|B|-e|AGENT_SESSION_ID|box|serve|-x|a b"
    );
    let elsewhere = |dir: &str| {
        let settings = Settings {
            working_dir: Some(dir.to_owned()),
            ..Settings::default()
        };
        containers(Some("box"), settings)
    };
    for (dir, expected) in [
        (
            "/src",
            "exec|-i|-w|/src|-e|AGENT_SESSION_ID|box|serve|-x|a b",
        ),
        (".", "exec|-i|-e|AGENT_SESSION_ID|box|serve|-x|a b"),
        (" ", "exec|-i|-w|/work|-e|AGENT_SESSION_ID|box|serve|-x|a b"),
    ] {
        assert_eq!(arguments(&elsewhere(dir), json!({})).unwrap(), expected);
    }
}

#[test]
fn variables_that_steer_the_client_are_refused() {
    for name in [
        "DOCKER_HOST",
        "CONTAINER_HOST",
        "HOME",
        "XDG_RUNTIME_DIR",
        "STORAGE_OPTS",
        "_CONTAINERS_USERNS_CONFIGURED",
    ] {
        let error = arguments(&session("box"), json!({name: "hunter22"})).unwrap_err();
        assert!(error.contains(name) && !error.contains("hunter"), "{error}");
    }
    for name in ["DOCKER", "HOMES", "MY_HOME", "npm_config_a", "HTTPS_PROXY"] {
        let words = arguments(&session("box"), json!({name: "x"})).unwrap();
        assert!(words.contains(&format!("|-e|{name}|")), "{words}");
    }
}

#[test]
#[cfg(unix)] // Wine makes no symbolic links.
fn the_runtime_is_looked_for_on_path_first() {
    let folder = |names: &[&str]| {
        let random = gosling_core::sys::random_hex(8).unwrap();
        let folder = std::env::temp_dir().join(format!("gosling-runtime-{random}"));
        std::fs::create_dir(&folder).unwrap();
        for name in names {
            std::os::unix::fs::symlink("/bin/sh", folder.join(name)).unwrap();
        }
        folder
    };
    let both = folder(&["podman", "docker"]);
    let podman = folder(&["podman"]);
    let none = folder(&[]);
    let list = |folders: &[&PathBuf]| folders.iter().map(|f| (*f).clone()).collect::<Vec<_>>();
    for (on_path, usual, expected) in [
        (list(&[&podman, &both]), list(&[]), both.join("docker")),
        (
            list(&[&none, &podman]),
            list(&[&both]),
            podman.join("podman"),
        ),
        (list(&[&none]), list(&[&both]), both.join("docker")),
    ] {
        assert_eq!(runtime(None, &[on_path, usual]), Ok(expected));
    }
    let places = [list(&[&both]), list(&[&podman])];
    assert_eq!(runtime(Some("podman"), &places), Ok(both.join("podman")));
    assert_eq!(runtime(Some(" "), &places), Ok(both.join("docker")));
    let path = podman.join("podman");
    assert_eq!(runtime(path.to_str(), &places), Ok(path));
    let error = runtime(Some("nerdctl"), &places).unwrap_err();
    assert!(error.contains("GOOSE_CONTAINER_RUNTIME"), "{error}");
    let error = runtime(None, &[list(&[&none]), list(&[])]).unwrap_err();
    assert!(error.contains("neither `docker` nor `podman`"), "{error}");
    for folder in [both, podman, none] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn the_end_of_the_client_is_explained() {
    let boxed = session("box");
    let advice = |value: Value, status: &str, stderr: &str| {
        let inside = inside(&boxed, value.clone()).unwrap().unwrap();
        inside.advice(&config(value), status, stderr)
    };
    let builtin = json!({"type": "builtin", "name": "developer"});
    for (value, status, stderr, expected) in [
        (
            stdio(),
            "exit status: 1",
            "Error: No such container: box",
            "docker ps -a",
        ),
        (
            stdio(),
            "exit status: 1",
            "container box is not running",
            "docker ps -a",
        ),
        (stdio(), "exit status: 127", "", "the command \"serve\""),
        (
            stdio(),
            "exit status: 126",
            "",
            "\"/work\" (GOOSE_CONTAINER_WORKDIR",
        ),
        (
            builtin.clone(),
            "exit status: 127",
            "",
            "GOOSE_CONTAINER_GOSLING",
        ),
        (stdio(), "exit status: 3", "boom", "(in the container box)"),
    ] {
        let advice = advice(value, status, stderr);
        assert!(
            advice.contains(expected) && advice.contains("box"),
            "{advice}"
        );
    }
}
