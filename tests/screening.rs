//! The screening of packages, on a real server and at the command line. In the place of `npx` and `uvx` there is a
//! script that leaves a trace, so that a test sees whether anything ran.
#![cfg(all(feature = "screening", unix))]

#[path = "support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
mod support;

use http_peer::{AfterReply, Peer, ReceivedRequest};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use support::scripted::Script;
use support::server::{Extension, RunningServer, Server, as_argument, gosling, scripted_mcp};
use support::system::script;
use support::temp_dir;

/// A server whose `npx`, `uvx` and `docker` note that they ran, and then run the scripted MCP server.
fn server() -> Server {
    let server = Server::new();
    let root = server.root().to_owned();
    for folder in ["bin", "osv"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    let argument = as_argument(&Script::new()).replace('\'', r"'\''");
    let text = format!(
        "#!/bin/sh\necho \"$0 $*\" >>'{}'\nexec '{}' '{argument}'\n",
        root.join("ran").display(),
        scripted_mcp()
    );
    for program in ["npx", "uvx", "docker", "npm", "uv", "pipx"] {
        script(&root.join("bin").join(program), &text);
    }
    let path = std::env::var("PATH").unwrap();
    server.env("PATH", &format!("{}:{path}", root.join("bin").display()))
}

/// An advisory that calls these packages malware.
fn advisory(id: &str, affected: Value) -> String {
    json!({"schema_version": "1.5.0", "id": id, "modified": "2025-01-01T00:00:00Z", "affected": affected}).to_string()
}

/// Three advisories: a package of npm, one of PyPI, and some versions of another one of npm.
fn write_advisories(folder: &Path) {
    let introduced = json!([{"type": "SEMVER", "events": [{"introduced": "0"}]}]);
    let all =
        json!([{"package": {"ecosystem": "npm", "name": "@evil/server"}, "ranges": introduced}]);
    fs::write(folder.join("MAL-2025-1.json"), advisory("MAL-2025-1", all)).unwrap();
    let pypi = json!([{"package": {"ecosystem": "PyPI", "name": "Evil.Tools"}, "versions": ["1.0"],
        "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]);
    fs::create_dir_all(folder.join("pypi")).unwrap();
    fs::write(
        folder.join("pypi/MAL-2025-2.json"),
        advisory("MAL-2025-2", pypi),
    )
    .unwrap();
    let some = json!([{"package": {"ecosystem": "npm", "name": "hijacked"}, "versions": ["3.1.4", "3.1.5"]}]);
    fs::write(folder.join("MAL-2025-3.json"), advisory("MAL-2025-3", some)).unwrap();
    let withdrawn = json!({"id": "MAL-2025-4", "withdrawn": "2025-02-01T00:00:00Z",
        "affected": [{"package": {"ecosystem": "npm", "name": "honest"}}]});
    fs::write(folder.join("MAL-2025-4.json"), withdrawn.to_string()).unwrap();
    let vulnerable = advisory(
        "GHSA-1",
        json!([{"package": {"ecosystem": "npm", "name": "honest"}}]),
    );
    fs::write(folder.join("GHSA-1.json"), vulnerable).unwrap();
}

fn screened() -> Server {
    let server = server();
    let osv = server.root().join("osv");
    write_advisories(&osv);
    server.env("GOOSE_ADVISORIES", osv.to_str().unwrap())
}

fn npx(words: &[&str]) -> Extension {
    Extension::stdio("pkg", "npx", words)
}

/// What the scripts noted.
fn ran(server: &RunningServer) -> String {
    fs::read_to_string(server.root().join("ran")).unwrap_or_default()
}

/// The extension must be refused before anything runs; returns the message.
#[track_caller]
fn refused(server: &RunningServer, extension: &Extension) -> String {
    let before = ran(server);
    let answer = server.session([]).add(extension.clone()).is(500);
    assert_eq!(answer.body["class"], "security", "{}", answer.text);
    let session = server.begin_session([extension.clone()]);
    let results = session.resume();
    assert_eq!(results[0]["class"], "security", "{results:?}");
    let shown = shown(server, &session.id);
    assert_eq!(shown["state"], "failed", "{shown}");
    assert_eq!(shown["screening"]["decision"], "refused", "{shown}");
    assert_eq!(ran(server), before);
    server.logs("decision=refused");
    answer.message().to_owned()
}

/// The extension must start; returns what the screening found.
#[track_caller]
fn started(server: &RunningServer, extension: &Extension) -> Value {
    let session = server.session([extension.clone()]);
    session.echoes("pkg");
    let mut shown = shown(server, &session.id);
    session.stop();
    shown["screening"].take()
}

/// The entry of the only extension of a session.
fn shown(server: &RunningServer, session: &str) -> Value {
    let answer = server.get(&format!("/agent/extensions?session_id={session}"));
    let listed = answer.is(200).body["extensions"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    listed[0].clone()
}

#[test]
fn a_package_that_is_malware_is_refused_before_anything_runs() {
    let server = screened().start();
    for line in [
        &["-y", "@evil/server"][..],
        &["-y", "@Evil/Server@9.9.9"],
        &["-p", "honest", "-p", "@evil/server@latest", "run-it"],
        &["alias@npm:@evil/server"],
        &["hijacked@3.1.4"],
    ] {
        let message = refused(&server, &npx(line));
        assert!(message.contains("malware: MAL-2025-"), "{message}");
    }
    for line in [
        &["evil_tools"][..],
        &["--with", "a,evil-tools>=2", "b"],
        &["--from", "Evil.Tools==7.0", "x"],
    ] {
        let message = refused(&server, &Extension::stdio("pkg", "uvx", line));
        assert!(message.contains("MAL-2025-2"), "{message}");
    }
    let dependencies = json!(["requests", "evil-tools"]);
    if cfg!(feature = "inline-python") {
        assert!(refused(&server, &python(dependencies)).contains("MAL-2025-2"));
    }
    assert_eq!(ran(&server), "");
}

#[test]
fn a_package_is_found_wherever_its_launcher_reads_it() {
    let server = screened().start();
    for line in [
        "npx -y -package=@evil/server x",
        "npx ---package=@evil/server x",
        "npx -p=@evil/server x",
        "npx --yes=--package=@evil/server x",
        "npx -yq @evil/server x",
        "npx --no-yes @evil/server x",
        "npm exe -- @evil/server",
        "npm --prefix D exec -- @evil/server",
        "npm exec x --package @evil/server",
        "npm x --no-package @evil/server x",
        "uvx -qwevil-tools x",
        "uvx -qw=evil-tools x",
        "uvx --with=a,evil-tools x",
        "uv --directory D tool run evil-tools",
        "uv tool --quiet run evil-tools",
        "uv tool uvx evil-tools",
        "uv run -qw evil-tools x",
        "pipx run --spe=evil-tools x",
        "pipx run --unknown evil-tools",
        "env A=1 npx -y @evil/server",
        "nice -n 1 uvx evil-tools",
        "timeout 9 npx @evil/server",
        "env -i uvx evil-tools",
        "xargs npx @evil/server",
        "npm install @evil/server",
        "npx -y honest -- npx @evil/server",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let message = refused(&server, &Extension::stdio("pkg", words[0], &words[1..]));
        assert!(message.contains("malware: MAL-2025-"), "{line}: {message}");
    }
    for text in ["exec npx @evil/server", "cd /; npx @evil/server"] {
        let message = refused(&server, &Extension::stdio("pkg", "sh", &["-c", text]));
        assert!(message.contains("malware: MAL-2025-1"), "{text}: {message}");
    }
}

#[test]
fn what_is_not_understood_cannot_be_checked() {
    let server = screened();
    let strict = server.clone().env("GOOSE_SCREENING", "strict").start();
    for line in [
        "npx --unknown x",
        "uvx --unknown x",
        "uv pip install x",
        "npm install x",
        "docker compose up",
        "yarn global add x",
        "xargs npx x",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let message = refused(&strict, &Extension::stdio("pkg", words[0], &words[1..]));
        assert!(message.contains("is not understood"), "{line}: {message}");
    }
    let message = refused(&strict, &npx(&["--registry", "http://evil", "honest"]));
    assert!(message.contains("another source"), "{message}");
    drop(strict);
    let server = server.start();
    let found = started(&server, &npx(&["--unknown", "x"]));
    assert_eq!(found["decision"], "warned", "{found}");
}

#[test]
fn variables_that_choose_packages_are_refused_where_command_lines_are_checked() {
    let server = server();
    let list = server.root().join("allowed.yaml");
    fs::write(
        &list,
        "extensions: [{command: npx honest}, {command: uvx honest}]",
    )
    .unwrap();
    let osv = server.root().join("osv");
    write_advisories(&osv);
    let server = server.env("GOOSE_ADVISORIES", osv.to_str().unwrap());
    let with = |name: &str| npx(&["honest"]).with("envs", json!({ name: "evil" }));
    let listed = server
        .clone()
        .env("GOOSE_ALLOWLIST", list.to_str().unwrap());
    let strict = server.clone().env("GOOSE_SCREENING", "strict");
    for server in [listed.start(), strict.start()] {
        for name in [
            "npm_config_tag",
            "NPM_CONFIG_REGISTRY",
            "UV_INDEX_URL",
            "PIP_INDEX_URL",
            "PIPX_HOME",
            "HOME",
            "XDG_CONFIG_HOME",
            "https_proxy",
            "NODE_EXTRA_CA_CERTS",
        ] {
            let message = refused(&server, &with(name));
            assert!(message.contains(name), "{message}");
            assert!(message.contains("where gosling itself starts"), "{message}");
        }
        started(&server, &with("OTHER"));
    }
    let server = server.start();
    assert_eq!(
        started(&server, &with("UV_INDEX_URL"))["decision"],
        "warned"
    );
}

#[test]
fn other_packages_start_and_the_decision_is_shown() {
    let server = screened().start();
    let found = started(&server, &npx(&["-y", "honest@1.0.0"]));
    let expected = json!({"decision": "allowed", "packages": ["npm honest 1.0.0"], "reasons": []});
    assert_eq!(found, expected);
    server.logs("decision=allowed packages=\"npm honest 1.0.0\"");
    let found = started(&server, &npx(&["hijacked@3.1.6"]));
    assert_eq!(found["decision"], "allowed");
    assert_eq!(ran(&server).lines().count(), 2);
    // A command line that installs nothing is not screened.
    let found = started(&server, &Extension::scripted("pkg", &Script::new()));
    assert_eq!(found, Value::Null);
}

#[test]
fn a_package_of_which_some_versions_are_malware_needs_a_version() {
    let server = screened().start();
    for open in ["hijacked", "hijacked@latest", "hijacked@^3.0.0"] {
        let message = refused(&server, &npx(&[open]));
        assert!(
            message.contains("MAL-2025-3; name a version"),
            "{open}: {message}"
        );
    }
    started(&server, &npx(&["hijacked@3.1.6"]));
}

#[test]
fn what_cannot_be_checked_is_refused_only_by_the_strict() {
    let server = self::server().start();
    assert_eq!(started(&server, &npx(&["honest"]))["decision"], "allowed");
    let strict = self::server().setting("GOOSE_SCREENING", "strict").start();
    let message = refused(&strict, &npx(&["honest"]));
    assert!(message.contains("gosling advisories import"), "{message}");
    started(&strict, &Extension::scripted("pkg", &Script::new()));
    // An unknown mode is a strict one.
    let mistyped = self::server().env("GOOSE_SCREENING", "strikt").start();
    refused(&mistyped, &npx(&["honest"]));

    let elsewhere = npx(&["github:somebody/server"]);
    let server = screened().start();
    assert_eq!(started(&server, &elsewhere)["decision"], "warned");
    let server = screened().env("GOOSE_SCREENING", "strict").start();
    assert!(refused(&server, &elsewhere).contains("not a package of a registry"));
}

#[test]
fn advisories_that_cannot_be_read_are_said_to_be() {
    for broken in ["{", "[1]", "PK\u{3}\u{4}"] {
        let server = screened();
        let file = server.root().join("osv/broken.json");
        fs::write(&file, broken).unwrap();
        let server = server.start();
        let found = started(&server, &npx(&["honest"]));
        assert_eq!(found["decision"], "warned");
        assert!(found.to_string().contains("broken.json"), "{found}");
        // The others count.
        refused(&server, &npx(&["@evil/server"]));
    }
    let strict = server()
        .env("GOOSE_ADVISORIES", "/nonexistent/advisories")
        .env("GOOSE_SCREENING", "strict")
        .start();
    assert!(refused(&strict, &npx(&["honest"])).contains("does not exist"));
}

#[test]
fn a_name_that_resembles_a_well_known_one_is_warned_of() {
    let server = server().start();
    let found = started(
        &server,
        &Extension::stdio("pkg", "uvx", &["mcp-server-tirne"]),
    );
    assert_eq!(found["decision"], "warned");
    assert!(found.to_string().contains("mcp-server-time"), "{found}");
    let found = started(
        &server,
        &Extension::stdio("pkg", "uvx", &["mcp-server-time"]),
    );
    assert_eq!(found["decision"], "allowed");
}

const LIST: &str = "extensions:\n  - {id: a, command: uvx mcp_slack}\n  - {id: b, command: npx -y @scope/files /srv}\n";

fn python(dependencies: Value) -> Extension {
    let config = json!({"type": "inline_python", "name": "pkg", "description": "", "code": "x"});
    Extension(config).with("dependencies", dependencies)
}

#[test]
fn only_command_lines_on_the_list_start() {
    let server = server();
    let list = server.root().join("allowed.yaml");
    fs::write(&list, LIST).unwrap();
    let server = server
        .env("GOOSE_ALLOWLIST", list.to_str().unwrap())
        .start();
    let allowed = Extension::stdio("pkg", "uvx", &["mcp_slack"]);
    assert_eq!(started(&server, &allowed)["decision"], "allowed");
    started(&server, &npx(&["@scope/files", "/srv"]));
    for extension in [
        Extension::stdio("pkg", "uvx", &["mcp_slack", "--with", "other"]),
        Extension::stdio(
            "pkg",
            server.root().join("bin/uvx").to_str().unwrap(),
            &["mcp_slack"],
        ),
        npx(&["-y", "@scope/files", "/"]),
        Extension::scripted("pkg", &Script::new()),
        python(json!([])),
    ] {
        if extension.0["type"] == "inline_python" && cfg!(not(feature = "inline-python")) {
            continue;
        }
        let message = refused(&server, &extension);
        assert!(
            message.contains("not on the list of allowed extensions"),
            "{message}"
        );
    }
    // Servers that are part of gosling, and remote ones, have no command line.
    #[cfg(feature = "todo")]
    server.session([Extension::builtin("todo")]).tools();
    // The file is read for each start; one that is broken allows nothing.
    fs::write(&list, "extensions: {}").unwrap();
    assert!(refused(&server, &allowed).contains("cannot be read"));
    fs::remove_file(&list).unwrap();
    assert!(refused(&server, &allowed).contains("does not exist"));
}

#[cfg(feature = "deeplinks")]
#[test]
fn a_link_to_what_is_not_on_the_list_is_blocked_or_needs_a_confirmation() {
    let server = server();
    let list = server.root().join("allowed.yaml");
    fs::write(&list, LIST).unwrap();
    let server = server.env("GOOSE_ALLOWLIST", list.to_str().unwrap());
    let judged = |server: &RunningServer, link: &str| {
        let body = json!({"link": link, "confirm": false});
        let answer = server
            .post("/config/extensions/deeplink", body)
            .is(200)
            .body;
        answer["judgement"].as_str().unwrap().to_owned()
    };
    let listed = "goose://extension?name=S&cmd=uvx&arg=mcp_slack";
    let other = "goose://extension?name=T&cmd=uvx&arg=mcp-server-time";
    let warning = server
        .clone()
        .env("GOOSE_ALLOWLIST_WARNING", "true")
        .start();
    let expected = "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED";
    assert_eq!(judged(&warning, other), expected);
    let found = started(&warning, &npx(&["honest"]));
    assert_eq!(found["decision"], "warned");
    drop(warning);
    let server = server.start();
    assert_eq!(judged(&server, listed), "EXTENSION_ALLOWED");
    assert_eq!(judged(&server, other), "EXTENSION_BLOCKED");
}

#[test]
fn a_list_at_an_address_is_requested_once_and_needed() {
    let peer = Peer::new(|_, stream| http_peer::answer(stream, "200 OK", LIST));
    let address = format!("{}/allowed.yaml", peer.url);
    let allowed = Extension::stdio("pkg", "uvx", &["mcp_slack"]);
    let server = server().env("GOOSE_ALLOWLIST", &address).start();
    started(&server, &allowed);
    refused(&server, &npx(&["honest"]));
    started(&server, &allowed);
    let seen = peer.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(
        (seen[0].method.as_str(), seen[0].path.as_str()),
        ("GET", "/allowed.yaml")
    );
    drop(server);

    for head in [
        "404 Not Found",
        "302 Found\r\nLocation: http://192.0.2.1/",
        "200 OK",
    ] {
        let peer = Peer::new(move |_, stream| http_peer::answer(stream, head, "<html>"));
        let server = self::server().env("GOOSE_ALLOWLIST", &peer.url).start();
        let message = refused(&server, &allowed);
        assert!(message.contains("cannot be read"), "{message}");
    }
    let offline = self::server().env("GOOSE_ALLOWLIST", "http://192.0.2.1/list");
    let offline = offline.start_as(&["agent", "--port", "0", "--offline"]);
    assert!(refused(&offline, &allowed).contains("offline"));
}

/// An OSV server that knows `evil` as malware, in the versions up to 2 if the question names none.
fn osv() -> Peer {
    Peer::new(|seen, stream| {
        let question: Value = serde_json::from_str(&seen.body).unwrap();
        let package = question["package"].clone();
        let version = question["version"].as_str().unwrap_or("1.0.0");
        let events = json!([{"introduced": "0"}, {"fixed": "2.0.0"}]);
        let malware = json!({"id": "MAL-2026-7", "affected": [
            {"package": package, "ranges": [{"type": "SEMVER", "events": events}]}]});
        let body = match package["name"].as_str().unwrap() {
            "evil" if version.starts_with('1') => json!({"vulns": [{"id": "GHSA-1"}, malware]}),
            _ => json!({}),
        };
        http_peer::json(stream, &body.to_string())
    })
}

#[test]
fn an_osv_server_is_asked_about_each_package() {
    let peer = osv();
    let server = server().env("OSV_ENDPOINT", &peer.url);
    let strict = server.clone().env("GOOSE_SCREENING", "strict").start();
    started(&strict, &npx(&["evil@2.0.0"]));
    assert!(refused(&strict, &npx(&["evil"])).contains("MAL-2026-7; name a version"));
    assert!(
        refused(
            &strict,
            &Extension::stdio("pkg", "docker", &["run", "image"])
        )
        .contains("images")
    );
    drop(strict);
    let server = server.start();
    assert_eq!(
        started(&server, &npx(&["-p", "a", "-p", "@b/c@1.0.0", "x"]))["decision"],
        "allowed"
    );
    assert!(refused(&server, &npx(&["evil"])).contains("MAL-2026-7; name a version"));
    let message = refused(&server, &npx(&["evil@1.2.3"]));
    assert!(message.contains("MAL-2026-7"), "{message}");
    if cfg!(feature = "inline-python") {
        let message = refused(&server, &python(json!(["evil==1.0"])));
        assert!(message.contains("MAL-2026-7"), "{message}");
        let expected = json!({"package": {"ecosystem": "PyPI", "name": "evil"}, "version": "1.0"});
        peer.wait_for("question about a dependency", |seen| {
            serde_json::from_str::<Value>(&seen.body).unwrap() == expected
        });
    }
    let expected = json!({"package": {"ecosystem": "npm", "name": "@b/c"}, "version": "1.0.0"});
    let is_it = |seen: &ReceivedRequest| {
        seen.path == "/v1/query" && serde_json::from_str::<Value>(&seen.body).unwrap() == expected
    };
    peer.wait_for("question about @b/c", is_it);
}

#[test]
fn every_page_of_an_osv_server_counts() {
    let question = |seen: &ReceivedRequest| serde_json::from_str::<Value>(&seen.body).unwrap();
    let malware = move |seen: &ReceivedRequest| {
        let package = question(seen)["package"].clone();
        json!([{"id": "MAL-2026-8", "affected": [{"package": package}]}])
    };
    // The advisory is on the third page.
    let paged = Peer::new(move |seen, stream| {
        let body = match question(seen)["page_token"].as_str() {
            None => json!({"vulns": [{"id": "GHSA-1"}], "next_page_token": "b"}),
            Some("b") => json!({"next_page_token": "c"}),
            Some(_) => json!({"vulns": malware(seen)}),
        };
        http_peer::json(stream, &body.to_string())
    });
    let server = server().env("OSV_ENDPOINT", &paged.url).start();
    assert!(refused(&server, &npx(&["evil"])).contains("MAL-2026-8"));
    assert_eq!(paged.seen().len(), 6, "three pages for each of two starts");
    drop(server);
    // Pages without end cannot be checked, but what is on the first ones counts.
    let endless = Peer::new(move |seen, stream| {
        let vulns = match question(seen)["package"]["name"].as_str() {
            Some("evil") => malware(seen),
            _ => json!([]),
        };
        http_peer::json(
            stream,
            &json!({"vulns": vulns, "next_page_token": "x"}).to_string(),
        )
    });
    let server = self::server().env("OSV_ENDPOINT", &endless.url);
    let strict = server.clone().env("GOOSE_SCREENING", "strict").start();
    assert!(refused(&strict, &npx(&["honest"])).contains("pages"));
    drop(strict);
    let server = server.start();
    assert!(refused(&server, &npx(&["evil"])).contains("MAL-2026-8"));
    assert_eq!(started(&server, &npx(&["honest"]))["decision"], "warned");
}

#[test]
fn an_osv_server_that_does_not_answer_delays_a_start_for_seconds_only() {
    let silent = Peer::new(|_, stream| http_peer::wait_for_hangup(stream));
    let broken = Peer::new(|_, stream| http_peer::json(stream, "[1]"));
    let failing = Peer::new(|_, stream| http_peer::answer(stream, "500 Oops", "{}"));
    let endless = Peer::new(|_, stream| {
        let _ = http_peer::send(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n",
        );
        let text = " ".repeat(64 << 10);
        while let AfterReply::Keep = http_peer::send(stream, &text) {}
        AfterReply::Close
    });
    for peer in [&silent, &broken, &failing, &endless] {
        let server = server().env("OSV_ENDPOINT", &peer.url);
        let strict = server.clone().env("GOOSE_SCREENING", "strict").start();
        let message = refused(&strict, &npx(&["honest"]));
        assert!(message.contains("advisories cannot be read"), "{message}");
        drop(strict);
        let server = server.start();
        let before = peer.seen().len();
        let found = started(&server, &npx(&["-p", "a", "-p", "b", "c"]));
        assert_eq!(found["decision"], "warned", "{found}");
        assert_eq!(peer.seen().len(), before + 1, "asked again after a failure");
    }
    let refusing = server().env("OSV_ENDPOINT", "http://127.0.0.1:9").start();
    assert_eq!(started(&refusing, &npx(&["honest"]))["decision"], "warned");
    // Offline no other machine is asked, and nothing is said about it.
    let offline = server().env("OSV_ENDPOINT", "http://192.0.2.1");
    let offline = offline.start_as(&["agent", "--port", "0", "--offline"]);
    assert_eq!(started(&offline, &npx(&["honest"]))["decision"], "allowed");
}

fn advisories(root: &Path, arguments: &[&str]) -> Output {
    gosling()
        .args(["advisories", "import"])
        .args(arguments)
        .env("GOOSE_PATH_ROOT", root)
        .env("HOME", root)
        .stdin(Stdio::null())
        .output()
        .expect("gosling runs")
}

#[track_caller]
fn said(output: &Output, code: i32) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

#[test]
fn an_imported_index_is_used_without_a_setting_and_without_a_restart() {
    let server = server().start();
    let osv = server.root().join("osv");
    started(&server, &npx(&["@evil/server"]));
    write_advisories(&osv);
    let text = said(&advisories(server.root(), &[osv.to_str().unwrap()]), 0);
    assert!(text.starts_with("3 entries in "), "{text}");
    assert!(
        text.contains("1 advisories that are withdrawn, 1 that are not"),
        "{text}"
    );
    let index = fs::read_to_string(server.root().join("data/advisories.index")).unwrap();
    let expected = "gosling advisories 1\nPyPI\tevil-tools\tMAL-2025-2\t*\n\
                    npm\t@evil/server\tMAL-2025-1\t*\nnpm\thijacked\tMAL-2025-3\t3.1.4 3.1.5\n";
    assert_eq!(index, expected);
    let session = server.session([]);
    let answer = session.add(npx(&["@evil/server"])).is(500);
    assert_eq!(answer.body["class"], "security", "{}", answer.text);
    refused(&server, &Extension::stdio("pkg", "uvx", &["evil-tools"]));
    started(&server, &npx(&["honest"]));
}

#[test]
fn an_import_says_what_it_could_not_read() {
    let root = temp_dir();
    let osv = root.path().join("osv");
    fs::create_dir(&osv).unwrap();
    let from = osv.to_str().unwrap();
    let text = said(&advisories(root.path(), &[from]), 1);
    assert!(text.contains("has no advisory about malware"), "{text}");
    write_advisories(&osv);
    fs::write(osv.join("broken.json"), "{").unwrap();
    let output = root.path().join("own/index");
    let text = said(
        &advisories(root.path(), &[from, "--output", output.to_str().unwrap()]),
        1,
    );
    assert!(
        text.contains("broken.json") && text.contains("1 files that cannot be read"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(&output).unwrap().lines().count(), 4);
    let zip = root.path().join("all.zip");
    fs::write(&zip, b"PK\x03\x04").unwrap();
    let text = said(&advisories(root.path(), &[zip.to_str().unwrap()]), 1);
    assert!(text.contains("unpack it into a folder"), "{text}");
    assert!(!root.path().join("data").exists());
    said(&advisories(root.path(), &["/nonexistent"]), 1);
    said(&advisories(root.path(), &[]), 2);
}

#[cfg(feature = "deeplinks")]
#[test]
fn a_link_to_malware_is_blocked_and_one_to_a_look_alike_needs_a_confirmation() {
    let server = screened().start();
    let judged = |link: &str| {
        let body = json!({"link": link, "confirm": false});
        server
            .post("/config/extensions/deeplink", body)
            .is(200)
            .body
    };
    let blocked = judged("goose://extension?name=E&cmd=npx&arg=-y&arg=@evil/server");
    assert_eq!(blocked["judgement"], "EXTENSION_BLOCKED", "{blocked}");
    assert_eq!(blocked["class"], "DEEPLINK_SECURITY_BLOCKED");
    assert!(
        blocked["reasons"].to_string().contains("MAL-2025-1"),
        "{blocked}"
    );
    assert_eq!(
        (&blocked["config"], &blocked["installed"]),
        (&Value::Null, &json!(false))
    );
    // Nothing is looked up for a link that is blocked anyway.
    let blocked = judged("goose://extension?name=E&cmd=npx&arg=-c&arg=x&arg=@evil/server");
    assert_eq!(blocked["class"], "DEEPLINK_SECURITY_BLOCKED");
    assert!(
        !blocked["reasons"].to_string().contains("MAL-2025-1"),
        "{blocked}"
    );
    let link = "goose://extension?name=R&cmd=uvx&arg=requets&env=TOKEN";
    let similar = judged(link);
    assert_eq!(
        similar["judgement"], "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED",
        "{similar}"
    );
    assert_eq!(
        (&similar["class"], &similar["installed"]),
        (&Value::Null, &json!(false))
    );
    assert!(
        similar["reasons"].to_string().contains("requests"),
        "{similar}"
    );
    server.logs("extension=\"r\" decision=warned packages=\"PyPI requets\"");
    let honest = judged("goose://extension?name=H&cmd=npx&arg=honest");
    assert_eq!(honest["judgement"], "EXTENSION_ALLOWED", "{honest}");

    let mut command = gosling();
    let osv = server.root().join("osv");
    command.args([
        "deeplink",
        "--json",
        "goose://extension?name=E&cmd=npx&arg=@evil/server",
    ]);
    command
        .env("GOOSE_PATH_ROOT", server.root())
        .env("GOOSE_ADVISORIES", osv);
    let output = command.output().unwrap();
    assert!(said(&output, 1).contains("MAL-2025-1"));
}
