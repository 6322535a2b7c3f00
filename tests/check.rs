//! `gosling check`: every fault is found by its check alone, gosling's own servers have none, and no server can
//! hang or fool it.
#![cfg(all(feature = "check", unix))]
// Some tests and their helpers need features that the build may leave out.
#![cfg_attr(not(feature = "demo"), allow(dead_code, unused_imports))]

mod support;

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::{fs, thread};
use support::scripted::{Action, Script};
use support::server::{Server, as_argument, gosling, scripted_mcp};
use support::temp_dir;

fn check_in(root: &Path, arguments: &[&str]) -> Output {
    gosling()
        .arg("check")
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root)
        .env("HOME", root)
        .stdin(Stdio::null())
        .output()
        .expect("gosling runs")
}

fn check(arguments: &[&str]) -> Output {
    check_in(temp_dir().path(), arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The report as JSON, and the exit code.
#[track_caller]
fn report(arguments: &[&str]) -> (Value, i32) {
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let output = check(&with_json);
    let code = output.status.code().expect("no signal");
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
    (report, code)
}

/// The names of the failed checks. How long a start takes depends on the machine.
fn failed(report: &Value) -> Vec<&str> {
    let checks = report["checks"].as_array().expect("checks");
    let failed = checks.iter().filter(|check| check["outcome"] == "failed");
    let names = failed.map(|check| check["name"].as_str().expect("a name"));
    names.filter(|name| *name != "start-time").collect()
}

fn of<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check {name}"))
}

fn own() -> String {
    env!("CARGO_BIN_EXE_gosling").to_owned()
}

/// `gosling mcp … --http 0`, until it is dropped.
#[cfg(feature = "demo")]
struct OverHttp {
    process: std::process::Child,
    url: String,
}

#[cfg(feature = "demo")]
impl OverHttp {
    fn start(root: &Path, arguments: &[&str]) -> Self {
        use std::io::{BufRead, BufReader};
        let mut process = gosling()
            .args(["mcp"])
            .args(arguments)
            .args(["--http", "0"])
            .env("GOOSE_PATH_ROOT", root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("gosling runs");
        let stderr = BufReader::new(process.stderr.take().expect("stderr"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let line = lines
            .find(|line| line.contains("listens on "))
            .expect("it listens");
        thread::spawn(move || lines.for_each(drop));
        let (_, url) = line.split_once("listens on ").expect("an address");
        OverHttp {
            process,
            url: url.to_owned(),
        }
    }
}

#[cfg(feature = "demo")]
impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(feature = "demo")]
#[test]
fn each_check_of_the_contract_that_a_server_can_fail_alone_has_a_fault() {
    use gosling::builtin::demo_server::faults::FAULTS;
    use gosling::check::RequirementLevel;
    use gosling::check::catalogue::all_checks;
    let checks = all_checks();
    let faulty: Vec<&str> = FAULTS.iter().map(|fault| fault.check).collect();
    let of_contract = checks
        .iter()
        .filter(|check| check.level != RequirementLevel::Advice);
    for check in of_contract {
        // What fails `ui-contents` fails `resource-contents` or `resources-read`, too.
        let has_fault = faulty.contains(&check.name);
        assert_eq!(has_fault, check.name != "ui-contents", "{}", check.name);
    }
    for fault in FAULTS {
        let has_check = checks.iter().any(|check| check.name == fault.check);
        assert!(has_check, "{}", fault.name);
    }
}

#[cfg(feature = "demo")]
#[test]
fn each_fault_is_found_by_its_check_and_by_no_other() {
    use gosling::builtin::demo_server::faults::{FAULTS, Fault};
    const THREADS: usize = 8;
    let left: Mutex<Vec<&Fault>> = Mutex::new(FAULTS.iter().collect());
    let wrong = Mutex::new(Vec::new());
    let try_one = |fault: &Fault| {
        let root = temp_dir();
        let demo = ["demo", "--break", fault.name];
        let own = own();
        let server = fault.is_http().then(|| OverHttp::start(root.path(), &demo));
        let (report, code) = match &server {
            Some(server) => report(&["--timeout", "5", "--url", &server.url]),
            None => {
                let command = [&own, "mcp", "demo", "--break", fault.name];
                let mut arguments = vec!["--timeout", "5", "--"];
                arguments.extend(command);
                report(&arguments)
            }
        };
        let failed = failed(&report);
        let is_binding = of(&report, fault.check)["level"]
            .as_str()
            .is_some_and(|level| level.starts_with("MUST"));
        if failed != [fault.check] || (code == 1) != is_binding {
            let failed: Vec<&Value> = failed.iter().map(|name| of(&report, name)).collect();
            let failed = json!(failed);
            let what = format!(
                "{} ({}): exit code {code}, {failed}",
                fault.name, fault.check
            );
            wrong.lock().unwrap().push(what);
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(fault) = { left.lock().unwrap().pop() } {
                    try_one(fault);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(FAULTS.len() >= 25);
}

#[cfg(all(
    feature = "demo",
    feature = "developer",
    feature = "memory",
    feature = "todo"
))]
#[test]
fn our_own_servers_fail_nothing_on_either_transport_and_the_same_twice() {
    for (name, profile, passed) in [
        ("demo", "full", "prompts-get"),
        ("memory", "extended", "resources-list"),
        ("developer", "minimum", "prompts-list"),
        ("todo", "minimum", "tools-call"),
    ] {
        let root = temp_dir();
        let own = own();
        let server = OverHttp::start(root.path(), &[name]);
        let over_stdio = ["--profile", profile, "--", &own, "mcp", name];
        let over_http = ["--profile", profile, "--url", &server.url];
        for arguments in [&over_stdio[..], &over_http[..]] {
            let (first, code) = report(arguments);
            assert_eq!(failed(&first), [""; 0], "{arguments:?}");
            assert_eq!((code, &first["passed"]), (0, &json!(true)), "{arguments:?}");
            assert_eq!(of(&first, passed)["outcome"], "passed", "{arguments:?}");
            let (second, code) = report(arguments);
            assert_eq!((failed(&second), code), (vec![], 0), "{arguments:?}");
            assert_eq!(first["profiles"], second["profiles"], "{arguments:?}");
        }
    }
}

/// The command line of a scripted server.
fn scripted(script: &Script) -> Vec<String> {
    vec!["--".to_owned(), scripted_mcp(), as_argument(script)]
}

fn check_script(options: &[&str], script: &Script) -> (Value, i32) {
    let command = scripted(script);
    let mut arguments = options.to_vec();
    arguments.extend(command.iter().map(String::as_str));
    report(&arguments)
}

#[test]
fn a_tool_that_may_change_something_is_called_only_if_the_user_asks() {
    let root = temp_dir();
    let record = root.path().join("record");
    let schema = json!({"type": "object"});
    let tools = json!({"tools": [
        {"name": "safe", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "wipe", "inputSchema": schema},
        {"name": "drop", "inputSchema": schema, "annotations": {"readOnlyHint": false}},
    ]});
    let script = Script::new()
        .recorded(&record)
        .on("tools/list", [Action::Result(tools)])
        .tool("safe", [Action::text("Nothing happened.")])
        .tool("wipe", [Action::text("All is gone.")])
        .tool("drop", [Action::text("All is gone.")]);
    let called = |name: &str| {
        let record = fs::read_to_string(&record).expect("a record");
        record.matches(&format!("\"name\":\"{name}\"")).count()
    };
    check_script(&["--timeout", "5"], &script);
    assert_ne!(called("safe"), 0);
    assert_eq!((called("wipe"), called("drop")), (0, 0));
    let (report, _) = check_script(
        &["--timeout", "5", "--call", "wipe={\"all\":true}"],
        &script,
    );
    assert_eq!(of(&report, "tools-call")["outcome"], "passed");
    assert_eq!((called("wipe"), called("drop")), (1, 0));
    let record = fs::read_to_string(&record).expect("a record");
    assert!(record.contains("\"arguments\":{\"all\":true}"));
}

#[test]
fn what_the_user_asks_for_must_succeed() {
    let script = Script::new().tool("echo", [Action::Error(-32602, "no".to_owned())]);
    let (report, code) = check_script(&["--call", "echo", "--only", "tools-call"], &script);
    assert_eq!((code, failed(&report)), (1, vec!["tools-call"]));
    let script = Script::new()
        .offers("resources", json!({"resources": []}))
        .on("resources/read", [Action::Error(-32002, "no".to_owned())]);
    let options = ["--read", "a:b", "--only", "resources-read"];
    let (report, code) = check_script(&options, &script);
    assert_eq!((code, failed(&report)), (1, vec!["resources-read"]));
}

#[test]
fn a_hostile_server_ends_no_run_but_its_own() {
    let endless = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n";
    let deep = ["[", "]"].map(|bracket| Action::Out(bracket.to_owned(), 100_000));
    let deep = deep.into_iter().chain([Action::line("")]);
    let cursor = json!({"tools": [], "nextCursor": "again"});
    for (name, script) in [
        (
            "floods",
            Script::new().begin([Action::Out(endless.to_owned(), 300_000)]),
        ),
        ("nests", Script::new().begin(deep)),
        (
            "has no end of pages",
            Script::new().on("tools/list", [Action::Result(cursor)]),
        ),
        ("is silent", Script::new().on("initialize", [])),
        ("ends", Script::new().on("tools/list", [Action::Exit(3)])),
        (
            "asks without end",
            Script::new().on(
                "tools/list",
                [
                    Action::Out(
                        "{\"jsonrpc\":\"2.0\",\"id\":\"{n}\",\"method\":\"roots/list\"}\n"
                            .to_owned(),
                        5_000,
                    ),
                    Action::Result(json!({"tools": []})),
                ],
            ),
        ),
        (
            "repeats itself",
            Script::new().on(
                "tools/list",
                [Action::Out(
                    "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"tools\":[]}}\n".to_owned(),
                    10_000,
                )],
            ),
        ),
    ] {
        let (report, code) = check_script(&["--timeout", "2"], &script);
        assert_eq!(code, 1, "a server that {name}: {report}");
        assert!(!failed(&report).is_empty(), "a server that {name}");
    }
}

#[test]
fn no_secret_and_no_control_character_is_printed() {
    let secret = "planted-secret-value";
    let script = "printf '\\033[31mred\\a\\n'; echo \"the token is $TOKEN\" >&2; exit 3";
    let environment = format!("TOKEN={secret}");
    let root = temp_dir();
    let junit = root.path().join("junit.xml");
    let file = junit.to_str().expect("a path");
    for format in [&["--json"][..], &["--junit", file][..]] {
        let mut arguments = vec!["--env", &environment];
        arguments.extend(format);
        arguments.extend(["--", "sh", "-c", script]);
        let output = check(&arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        for text in [
            stdout(&output),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ] {
            assert!(!text.contains(secret), "{text}");
            assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
        }
        assert!(stdout(&output).contains("TOKEN"), "{}", stdout(&output));
    }
    let xml = fs::read_to_string(&junit).expect("a file");
    assert!(!xml.contains(secret) && !xml.contains('\u{1b}'), "{xml}");
    assert!(
        xml.starts_with("<?xml") && xml.contains("<failure type=\"MUST\""),
        "{xml}"
    );
}

#[test]
fn the_exit_code_tells_a_bad_server_from_none() {
    let fine = scripted(&Script::new());
    let fine: Vec<&str> = fine.iter().map(String::as_str).collect();
    let only = |names: &'static str| {
        let mut arguments = vec!["--only", names];
        arguments.extend(&fine);
        check(&arguments).status.code()
    };
    assert_eq!(only("initialize-answered,1,ping"), Some(0));
    let code = |arguments: &[&str]| check(arguments).status.code();
    assert_eq!(code(&["--", "/no/such/program"]), Some(2));
    assert_eq!(code(&["--extension", "nosuch"]), Some(2));
    assert_eq!(code(&["--url", "http://127.0.0.1:1/mcp"]), Some(2));
    for wrong in [
        &["--only", "nosuch", "--", "true"][..],
        &["--profile", "small", "--", "true"],
        &["--header", "a=b", "--", "true"],
        &["--env", "novalue", "--", "true"],
        &["--call", "a=[]", "--", "true"],
        &["--url", "http://localhost/", "--", "true"],
        &[],
    ] {
        let output = check(wrong);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(err.contains("gosling check --help"), "{wrong:?}: {err}");
    }
    let list = check(&["--list"]);
    assert_eq!(list.status.code(), Some(0));
    let list = stdout(&list);
    assert!(
        list.contains("stdout-clean") && list.contains("covers §4.2 row 3"),
        "{list}"
    );
}

#[test]
fn a_server_in_the_configuration_is_checked_by_its_name() {
    let root = temp_dir();
    let script = as_argument(&Script::new());
    let config = json!({"extensions": {"mine": {
        "enabled": false, "type": "stdio", "name": "mine", "cmd": scripted_mcp(), "args": [script],
    }}});
    fs::create_dir_all(root.path().join("config")).expect("a folder");
    fs::write(root.path().join("config/config.yaml"), config.to_string()).expect("a file");
    let output = check_in(root.path(), &["--extension", "Mine", "--only", "3.2"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("initialize-answered") && !text.contains("stdout-clean"),
        "{text}"
    );
}

#[cfg(feature = "demo")]
#[test]
fn the_report_for_people_says_what_to_fix_and_how_to_install() {
    let own = own();
    let output = check(&["--", &own, "mcp", "demo", "--break", "banner"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "demo 0.1.0, MCP 2025-11-25, stdio",
        "stdout-clean",
        "gosling's demo server is ready",
        "Write logs, banners and progress bars to stderr",
        "[ ] 7. On stdio, stdout has the protocol only.",
        "[x] 2. `initialize` and `notifications/initialized` succeed.",
        "minimum   does not hold: stdout-clean",
        "The server does not hold the contract",
        "goose://extension?name=server&cmd=",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn the_api_checks_a_configuration_before_it_is_installed() {
    let server = Server::new().start();
    let rest = server.at_rest();
    let config = |script: &Script| {
        json!({
            "type": "stdio", "name": "mine", "description": "", "cmd": scripted_mcp(),
            "args": [as_argument(script)],
        })
    };
    let path = "/agent/check_extension";
    let body = json!({"config": config(&Script::new()), "timeout": 5});
    let report = server.post(path, body).is(200).body;
    assert_eq!(report["transport"], "stdio");
    assert_eq!(of(&report, "stdout-clean")["outcome"], "passed");
    let noisy = Script::new().begin([Action::line("Hello!")]);
    let body = json!({"config": config(&noisy), "timeout": 5, "profile": "minimum"});
    let report = server.post(path, body).is(200).body;
    assert_eq!(
        (&report["passed"], &report["asked"]),
        (&json!(false), &json!("minimum"))
    );
    assert!(failed(&report).contains(&"stdout-clean"));

    let missing =
        json!({"type": "stdio", "name": "no", "description": "", "cmd": "/no/such", "args": []});
    server.post(path, json!({ "config": missing })).is(400);
    let body = json!({"config": config(&noisy), "profile": "small"});
    server.post(path, body).is(400);
    server
        .post(path, json!({"config": {"type": "stdio"}}))
        .is(422);
    server.ask("POST", path, None, Some("{}")).is(401);
    server.returns_to(rest);
}

#[cfg(feature = "deeplinks")]
#[test]
fn the_link_of_the_report_leads_back_to_the_command() {
    use gosling::deeplink::{Link, LinkTransport};
    let script = Script::default();
    let (server, script) = (scripted_mcp(), as_argument(&script));
    let command = ["--only", "ping", "--", &server, &script, "a&b=c d+e"];
    let (report, _) = report(&command);
    let link = report["installation"]["link"].as_str().expect("a link");
    let Ok(Link::Extension(link)) = Link::parse(link) else {
        panic!("{link}");
    };
    let LinkTransport::Stdio { args, .. } = link.transport else {
        panic!("{:?}", link.transport);
    };
    assert_eq!(args, [&script, "a&b=c d+e"]);
}
