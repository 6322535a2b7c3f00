//! Values of the secret store, this server's key and headers with secrets: a server that uses all of them, with
//! peers that repeat them, must show them nowhere but in its file of secrets.
#![cfg(unix)]

#[allow(dead_code)]
#[path = "support/http_peer.rs"]
mod http_peer;
#[allow(dead_code)]
#[path = "support/model_server.rs"]
mod model_server;
#[path = "support/mod.rs"]
mod support;

use http_peer::{Peer, answer, answer_as_mcp_server};
use model_server::{ModelServer, Reply};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use support::client::{KEY, send};
use support::server::{Extension, RunningServer, Server, Session};

/// The values in the file of secrets: of a program's variable, a header, and a model provider. Nothing but the
/// file says that they are secret.
const OF_VARIABLE: &str = "plum-orchard-4711";
const OF_HEADER: &str = "grey-harbour-4712";
const OF_PROVIDER: &str = "slow-river-4713";
const PLANTED: [&str; 4] = [OF_VARIABLE, OF_HEADER, OF_PROVIDER, KEY];

/// An MCP server with the tool `fail`. No argument of it has the secret.
const PROGRAM: &str = r#"
echo "I have $TOKEN" >&2
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
    *) answer='"error":{"code":-32000,"message":"not with '$TOKEN'"}' ;;
    esac
    [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
"#;

#[track_caller]
fn shows_none(what: &str, bytes: &[u8]) {
    for secret in PLANTED {
        let forms = [
            secret.to_owned(),
            secret.replace(' ', "%20"),
            secret.replace(' ', "+"),
        ];
        for form in forms {
            let found = bytes
                .windows(form.len())
                .position(|at| at == form.as_bytes());
            if let Some(at) = found {
                let text = String::from_utf8_lossy(&bytes[at.saturating_sub(200)..at + form.len()]);
                panic!("{what} has {form:?}: {text}");
            }
        }
    }
}

/// A server with the secrets, whose model and whose MCP servers repeat what they are given.
struct Talkative {
    server: RunningServer,
    mcp: Peer,
    _model: ModelServer,
}

impl Talkative {
    fn new() -> Talkative {
        let model = ModelServer::with(|request| {
            let given = request.header("authorization").unwrap_or_default();
            let error =
                json!({"error": {"message": format!("Incorrect key: {given}"), "code": given}});
            Reply::json("401 Unauthorized", &error.to_string())
        });
        let mcp = Peer::new(|request, stream| {
            let given = request.header("authorization").unwrap_or_default();
            if request.body.contains("tools/call") || request.path.ends_with("/closed") {
                let head =
                    format!("401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"{given}\"");
                return answer(stream, &head, &format!("no entry with {given}"));
            }
            answer_as_mcp_server(request, stream, None, "")
        });
        let server = Server::new()
            .secrets(&format!(
                "TOKEN: {OF_VARIABLE}\nREMOTE: {OF_HEADER}\nOPENAI_API_KEY: {OF_PROVIDER}\n"
            ))
            .setting("GOOSE_PROVIDER", "openai")
            .setting("GOOSE_MODEL", "any")
            .setting("OPENAI_HOST", model.url.clone())
            .env("GOOSE_LOG", "trace")
            .start();
        Talkative {
            server,
            mcp,
            _model: model,
        }
    }

    /// A program that gets the secret, and prints it when it starts and in an error.
    fn program(&self) -> Extension {
        Extension::shell("program", PROGRAM).with("env_keys", ["TOKEN"])
    }

    /// A program that gets the secret and ends with it on its lips.
    fn dying(&self) -> Extension {
        let said = r#"echo "fatal: $TOKEN" >&2; exit 1"#;
        Extension::shell("dying", said).with("env_keys", ["TOKEN"])
    }

    fn remote(&self, name: &str) -> Extension {
        Extension(json!({
            "type": "streamable_http", "name": name, "description": "", "env_keys": ["REMOTE"],
            "uri": format!("{}/{name}", self.mcp.url), "headers": {"Authorization": "Bearer ${REMOTE}"},
        }))
    }

    /// Everything that the server says in one request.
    fn answer(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        let body = body.map(Value::to_string);
        let mut stream = send(
            self.server.address(),
            method,
            path,
            Some(KEY),
            body.as_deref(),
        );
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the answer ends");
        bytes
    }
}

/// What clients ask without a body.
fn questions(session: &Session<'_>) -> Vec<String> {
    let id = &session.id;
    let mut asked: Vec<String> = [
        "/config",
        "/config/extensions",
        "/config/prompts",
        "/config/providers",
        "/config/validate",
        "/config/slash_commands",
        "/config/providers/openai/models",
        "/metrics",
        "/openapi.json",
        "/recipes/list",
        "/schedule/list",
        "/sessions",
        "/sessions/insights",
        "/sessions/search?query=key",
        "/status",
        "/system_info",
        "/tunnel/status",
        "/mcp-ui-proxy?secret=open%20sesame",
    ]
    .map(str::to_owned)
    .to_vec();
    asked.extend(["", "/export", "/extensions"].map(|page| format!("/sessions/{id}{page}")));
    asked.push(format!("/diagnostics/{id}"));
    asked.push(format!("/agent/tools?session_id={id}"));
    asked.push(format!("/agent/extensions?session_id={id}"));
    asked
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn peers_that_repeat_secrets_do_not_get_them_shown() {
    let world = Talkative::new();
    let server = &world.server;
    for extension in [world.program(), world.remote("open"), world.dying()] {
        let body = json!({"name": extension.0["name"], "enabled": false, "config": extension.0});
        shows_none(
            "the answer",
            &world.answer("POST", "/config/extensions", Some(&body)),
        );
    }
    for extension in [world.dying(), world.remote("closed")] {
        shows_none("the refusal", server.refuses(extension).as_bytes());
    }
    let session = server.session([world.program(), world.remote("open")]);
    let id = &session.id;
    for (tool, body) in [
        ("program__fail", json!({})),
        ("open__echo", json!({"message": ""})),
    ] {
        let body = json!({"session_id": id, "name": tool, "arguments": body});
        shows_none(tool, &world.answer("POST", "/agent/call_tool", Some(&body)));
    }
    let turn = session.say("Good morning.");
    shows_none("the turn", json!(turn.events).to_string().as_bytes());
    for (path, body) in [
        ("/config/read", json!({"key": "TOKEN", "is_secret": true})),
        ("/config/read", json!({"key": "TOKEN", "is_secret": false})),
        (
            "/config/read",
            json!({"key": "OPENAI_API_KEY", "is_secret": true}),
        ),
        (
            "/config/read",
            json!({"key": "GOOSE_SERVER__SECRET_KEY", "is_secret": false}),
        ),
        ("/config/check_provider", json!({"provider": "openai"})),
        ("/config/detect-provider", json!({"api_key": OF_PROVIDER})),
        ("/config/backup", json!({})),
        (
            "/config/upsert",
            json!({"key": "TOKEN", "value": OF_VARIABLE, "is_secret": true}),
        ),
        ("/agent/restart", json!({"session_id": id})),
        ("/agent/list_apps", json!({"session_id": id})),
    ] {
        shows_none(path, &world.answer("POST", path, Some(&body)));
    }
    for path in questions(&session) {
        let answer = world.answer("GET", &path, None);
        assert!(answer.starts_with(b"HTTP/1.1 "), "{path}");
        shows_none(&path, &answer);
    }
    for process in server.descendants() {
        // A process that has just ended has no command line.
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        shows_none(&format!("the command line of {}", process.name()), &line);
    }
    server.logs("[secret]");
    shows_none("the log", server.log().as_bytes());
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn files_have_secrets_only_where_secrets_are_stored() {
    let world = Talkative::new();
    let server = &world.server;
    let extension = world.remote("open");
    let body = json!({"name": "open", "enabled": true, "config": extension.0});
    server.post("/config/extensions", body).is(200);
    let session = server.session([world.program(), world.remote("open")]);
    session.say("Good morning.");
    session.call("program__fail", json!({}));
    if cfg!(feature = "desktop") {
        server.post("/config/backup", json!({})).is(200);
    }
    let root = server.root().to_owned();
    assert!(server.terminate().success());
    let mut files = Vec::new();
    files_below(&root, &mut files);
    let mut secrets = 0;
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy();
        if name.starts_with("secrets.yaml") {
            secrets += 1;
            continue;
        }
        let bytes = fs::read(&file).expect("a file");
        shows_none(&file.to_string_lossy(), &bytes);
    }
    assert!(secrets > 0);
}

/// The kernel gives the files of a process that it would not dump to root.
#[cfg(target_os = "linux")]
#[test]
fn no_other_program_of_the_user_reads_the_memory_of_the_server() {
    use std::os::unix::fs::{MetadataExt, chown};
    const USER: u32 = 65_534;
    let server = Server::new();
    // SAFETY: no argument.
    let own = unsafe { libc::geteuid() };
    let (server, user) = if own == 0 {
        let mut folders = vec![server.root().to_owned()];
        folders.extend(["config", "home", "work"].map(|folder| server.root().join(folder)));
        for folder in folders {
            chown(folder, Some(USER), Some(USER)).expect("root may give its folders away");
        }
        (server.user(USER), USER)
    } else {
        (server, own)
    };
    let server = server.start();
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    assert!(status.contains(&format!("Uid:\t{user}\t")), "{status}");
    for file in ["mem", "environ"] {
        let of = fs::metadata(format!("/proc/{}/{file}", server.pid())).expect("it runs");
        assert_eq!(of.uid(), 0, "{file}");
    }
}
