//! The environment of a child process: variables, secrets and folders; secrets never appear in output.

use crate::support::client::KEY;
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "tr0ub4dor-and-3";

/// The start parameters of a scripted server with this configuration.
fn started(server: Server, change: impl FnOnce(Extension) -> Extension) -> (Value, String) {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = server.start();
    let session = server.session([change(Extension::scripted("one", &script))]);
    (record.starts().remove(0), session.id)
}

#[test]
#[cfg(unix)] // Folders and commands of Unix.
fn a_child_knows_its_session_and_works_in_its_folder() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let child = record.starts().remove(0);
    assert_eq!(
        child["cwd"],
        json!(fs::canonicalize(server.work()).unwrap())
    );
    assert_eq!(child["env"]["AGENT_SESSION_ID"], session.id);
    let path = child["env"]["PATH"].as_str().unwrap();
    assert!(path.starts_with(&std::env::var("PATH").unwrap()), "{path}");
    assert!(path.split(':').any(|folder| folder == "/usr/bin"), "{path}");
}

#[test]
#[cfg(unix)] // Programs have names as they like, and `/bin/false` is one.
fn a_package_runner_starts_outside_of_the_working_directory_unless_its_entry_says_otherwise() {
    let server = Server::new().start();
    let bin = server.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let work = json!(fs::canonicalize(server.work()).unwrap());
    let started = |program: &str, cwd: Value| {
        let path = bin.join(program);
        if !path.exists() {
            crate::support::system::symlink(crate::support::server::scripted_mcp(), &path).unwrap();
        }
        let record = Record::new();
        let script = Script::new().recorded(&record.path());
        let one = Extension::scripted("Node Modules", &script).with("cmd", path.to_str());
        server.session([one.with("cwd", cwd)]).stop();
        let initialize = &record.all("tools/list")[0];
        let told = initialize["params"]["_meta"]["agent-working-dir"].clone();
        (record.starts().remove(0)["cwd"].clone(), told)
    };
    let (own, told) = started("npx", Value::Null);
    let root = fs::canonicalize(server.root()).unwrap();
    assert_eq!(
        own,
        json!(root.join("state/extension_folders/nodemodules.d"))
    );
    assert_eq!(told, json!(server.work()), "the server can know it");
    assert_eq!(fs::read_dir(own.as_str().unwrap()).unwrap().count(), 0);
    assert_eq!(started("npx", json!("session")).0, work);
    assert_eq!(started("server", Value::Null).0, work);
    assert_eq!(started("server", json!("own")).0, own);
    crate::support::system::symlink("/bin/false", bin.join("bunx")).unwrap();
    let error = server.refuses(Extension::stdio(
        "ends",
        bin.join("bunx").to_str().unwrap(),
        &[],
    ));
    assert!(error.contains("a folder of its own"), "{error}");
    let odd = Extension::stdio("odd", "true", &[]).with("cwd", "elsewhere");
    let error = server.refuses(odd);
    assert!(error.contains("`cwd` is neither"), "{error}");
}

#[test]
fn a_child_never_sees_the_servers_own_key() {
    let (child, _) = started(Server::new(), |extension| extension);
    assert!(!child.to_string().contains(KEY), "{child}");
}

/// What a child sees of its parent, and whether it could read the parent's environment and its own.
#[cfg(target_os = "linux")]
fn inspected(server: Server) -> (String, bool, bool) {
    let server = server.start();
    let out = server.root().join("found");
    let command = format!(
        "exec 2>/dev/null; cd /proc; cat $PPID/cmdline $PPID/environ > {out:?}; \
         cat $PPID/environ >/dev/null && echo of parent >> {out:?}; \
         cat $$/environ >/dev/null && echo of itself >> {out:?}; exit 1"
    );
    server.refuses(Extension::shell("spy", &command));
    let found = String::from_utf8_lossy(&fs::read(out).unwrap()).into_owned();
    assert!(found.contains("agent\0--port"), "{found:?}");
    let (parent, own) = (found.contains("of parent"), found.contains("of itself"));
    (found, parent, own)
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_does_not_find_the_servers_key_in_its_parent() {
    let (found, _, own) = inspected(Server::new());
    assert!(own && !found.contains(KEY), "{found:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_may_not_look_into_its_parent() {
    let (found, parent, own) = inspected(Server::new().without_ptrace());
    assert!(own && !parent, "{found:?}");
}

#[test]
fn an_extension_cannot_ask_for_the_servers_key() {
    let server = Server::new().start();
    for key in ["GOOSE_SERVER__SECRET_KEY", "goose_server__secret_key"] {
        let one = Extension::scripted("one", &Script::new());
        let error = server.refuses(one.with("env_keys", [key]));
        assert!(
            error.contains(key) && error.contains("the key of this server"),
            "{error}"
        );
    }
}

#[test]
fn variables_come_from_the_configuration_and_the_secrets() {
    let server = Server::new()
        .secrets(&format!("TOKEN: {TOKEN}\nNUMBER: 7\nBOTH: secret\n"))
        .env("FROM_ENV", "from the environment");
    let (child, _) = started(server, |extension| {
        extension
            .with("envs", json!({"PLAIN": "a b=c", "BOTH": "plain"}))
            .with("env_keys", ["TOKEN", "NUMBER", "BOTH", "FROM_ENV"])
    });
    for (name, value) in [
        ("PLAIN", "a b=c"),
        ("TOKEN", TOKEN),
        ("NUMBER", "7"),
        ("BOTH", "plain"),
        ("FROM_ENV", "from the environment"),
    ] {
        assert_eq!(child["env"][name], value, "{name}");
    }
}

#[test]
fn a_secret_that_is_not_there_is_named() {
    let server = Server::new().start();
    let one = Extension::scripted("one", &Script::new());
    let error = server.refuses(one.with("env_keys", ["ABSENT_TOKEN"]));
    assert!(
        error.contains("extension \"one\", config: ") && error.contains("`ABSENT_TOKEN`"),
        "{error}"
    );
}

#[test]
fn hijacks_are_refused() {
    let record = Record::new();
    let server = Server::new().secrets("LD_PRELOAD: /tmp/evil.so\n").start();
    let one = || Extension::scripted("one", &Script::new().recorded(&record.path()));
    for name in [
        "PATH",
        "Path",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "RUBYOPT",
        "PERL5OPT",
        "JAVA_TOOL_OPTIONS",
        "BASH_ENV",
        "APPINIT_DLLS",
        "ComSpec",
        "AGENT_SESSION_ID",
        "GOSLING_PROCESS_MARK",
        "npm_config_script_shell",
        "npm_config_userconfig",
        "pnpm_config_node_options",
        "PYTHONWARNINGS",
        "BROWSER",
        "OPENSSL_CONF",
        "UV_PYTHON",
        "GIT_ASKPASS",
        "DOCKER_CONFIG",
    ] {
        let error = server.refuses(one().with("envs", json!({name: "x"})));
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
    let error = server.refuses(one().with("env_keys", ["LD_PRELOAD"]));
    assert!(
        error.contains("`LD_PRELOAD`") && !error.contains("evil"),
        "{error}"
    );
    for name in [
        "",
        "A=B",
        "A\0B",
        "1A",
        "npm_config_node-options",
        "BASH_FUNC_ls%%",
        "npm_config_//registry.npmjs.org/:_authToken",
        "ÀB",
    ] {
        let error = server.refuses(one().with("envs", json!({name: "x"})));
        assert!(
            error.contains("cannot be an environment variable"),
            "{error}"
        );
    }
    assert_eq!(record.starts(), [Value::Null; 0], "none was started");
}

#[test]
fn a_hijack_is_refused_wherever_the_configuration_comes_from() {
    let server = Server::new().start();
    for (field, value, key) in [
        ("envs", json!({"LD_PRELOAD": "/tmp/x.so"}), "LD_PRELOAD"),
        ("envs", json!({"Git_Ssh_Command": "x"}), "Git_Ssh_Command"),
        ("env_keys", json!(["NODE_OPTIONS"]), "NODE_OPTIONS"),
        ("envs", json!({"A\nB": "x"}), "A\\nB"),
        ("env_keys", json!(["A=B"]), "A=B"),
    ] {
        let mut config = json!({"type": "stdio", "name": "one", "cmd": "true"});
        config[field] = value;
        let entry = json!({"name": "one", "enabled": true, "config": config});
        let stored = server.post("/config/extensions", entry);
        let is_name = !key.contains(['=', '\\']);
        let class = if is_name { "security" } else { "config" };
        assert_eq!(stored.body["class"], class);
        stored.is(400).says("\"one\"").says(key);
        let refused = server.refuses(Extension(config.clone()));
        assert!(refused.contains(key), "{refused}");
        server.session([]).add(Extension(config.clone())).says(key);
        #[cfg(feature = "recipes")]
        {
            let recipe =
                json!({"title": "T", "description": "D", "prompt": "go", "extensions": [config]});
            let start = json!({"working_dir": server.work(), "recipe": recipe});
            server.post("/agent/start", start).is(400).says(key);
            let save = json!({ "recipe": recipe });
            server.post("/recipes/save", save).is(400).says(key);
        }
    }
    let listed = server.get("/config/extensions").is(200);
    listed.never_says("\"one\"");
}

#[test]
fn an_entry_of_the_user_that_is_refused_prevents_no_session() {
    let setup = Server::new();
    let config = setup.root().join("config");
    fs::create_dir_all(&config).unwrap();
    let entry = "{enabled: true, type: stdio, name: one, cmd: 'true', envs: {LD_PRELOAD: x}}";
    let text = format!("extensions:\n  one: {entry}\n");
    fs::write(config.join("config.yaml"), text).unwrap();
    let server = setup.start();
    let body = json!({"working_dir": server.work()});
    server.post("/agent/start", body).is(200);
}

#[test]
fn a_child_has_the_keys_of_providers_only_if_its_configuration_asks() {
    let server = || {
        Server::new()
            .env("OPENAI_API_KEY", TOKEN)
            .env("OTHER", "kept")
    };
    let (child, _) = started(server(), |extension| extension);
    assert!(!child.to_string().contains(TOKEN), "{child}");
    assert_eq!(child["env"]["OTHER"], "kept");
    let (child, _) = started(server(), |extension| {
        extension.with("env_keys", ["OPENAI_API_KEY"])
    });
    assert_eq!(child["env"]["OPENAI_API_KEY"], TOKEN);
}

#[test]
#[cfg(unix)] // Folders and commands of Unix.
fn under_the_clean_policy_a_child_inherits_only_what_programs_need() {
    for (policy, inherits) in [("inherit", true), ("clean", false), ("nonsense", false)] {
        let server = Server::new()
            .env("GOOSE_ENV_POLICY", policy)
            .env("AWS_SECRET_ACCESS_KEY", TOKEN)
            .env("LC_ALL", "C.UTF-8")
            .env("UV_OFFLINE", "1");
        let (child, id) = started(server, |extension| {
            extension.with("envs", json!({"OWN": "1"}))
        });
        let env = &child["env"];
        assert_eq!(
            env["AWS_SECRET_ACCESS_KEY"].is_string(),
            inherits,
            "{policy}"
        );
        assert_eq!(
            (&env["LC_ALL"], &env["UV_OFFLINE"]),
            (&json!("C.UTF-8"), &json!("1"))
        );
        assert_eq!(
            (&env["OWN"], &env["AGENT_SESSION_ID"]),
            (&json!("1"), &json!(id))
        );
        assert!(
            env["PATH"]
                .as_str()
                .is_some_and(|path| path.contains("/usr/bin"))
        );
    }
}

#[test]
#[cfg(unix)] // The servers are scripts of a shell.
fn a_secret_that_a_server_prints_is_shown_nowhere() {
    let server = Server::new()
        .secrets(&format!("TOKEN: {TOKEN}\n"))
        .env("GOOSE_LOG", "trace")
        .start();
    let leak = |name: &str, command: &str| {
        let extension = Extension::shell(name, command).with("env_keys", ["TOKEN"]);
        let error = server.refuses(extension.with_short_timeout());
        assert!(!error.contains(TOKEN), "{error}");
    };
    leak("stderr", "echo \"my token is $TOKEN\" >&2; exit 1");
    leak("stdout", "echo \"my token is $TOKEN\"; sleep 0.1; exit 1");
    leak(
        "refusal",
        r#"read l; printf '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"bad %s"}}\n' $TOKEN; read l"#,
    );
    leak(
        "version",
        r#"read l; printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"%s"}}\n' $TOKEN; read l"#,
    );
    leak(
        "shape",
        r#"read l; printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":"%s","serverInfo":{}}}\n' $TOKEN; read l"#,
    );
    leak(
        "answer",
        r#"read l; printf '{"jsonrpc":"2.0","id":1,"error":"%s"}\n' $TOKEN; read l"#,
    );
    server.logs("my token is [secret]");
    server.never_logs(TOKEN);
}

#[test]
#[cfg(unix)] // The servers are scripts of a shell.
fn a_secret_that_a_server_prints_in_pieces_is_shown_nowhere() {
    const PEM: &str = "-----BEGIN KEY-----\\nMIIEvQIBADANBgkq\\n-----END KEY-----\\n";
    let server = Server::new()
        .secrets(&format!("TOKEN: {TOKEN}\nPEM: \"{PEM}\"\n"))
        .env("GOOSE_LOG", "trace")
        .start();
    let (first, second) = TOKEN.split_at(7);
    let error = |name: &str, command: &str| {
        let extension = Extension::shell(name, command).with("env_keys", ["TOKEN", "PEM"]);
        let error = server.refuses(extension.with_short_timeout());
        for part in [first, second, "MIIEvQIBADANBgkq"] {
            assert!(!error.contains(part), "{error}");
        }
    };
    let halves = format!(
        "printf 'the token is {first}' >&2; sleep 0.3; echo '{second}, in two' >&2; exit 1"
    );
    error("halves", &halves);
    error(
        "lines",
        "echo \"$PEM\" >&2; echo 'a key of lines' >&2; exit 1",
    );
    // The secret extends over the end of the kept part of a line, and of the output.
    let lead = 8 * 1024 - 5;
    let endless = format!(
        "head -c {lead} /dev/zero | tr '\\0' '\\351' >&2; printf '%s' \"$TOKEN\" >&2; \
         head -c {} /dev/zero | tr '\\0' '\\351' >&2; exit 1",
        8 * 1024 - (TOKEN.len() - 5)
    );
    error("endless", &endless);
    error(
        "unfinished",
        &format!("printf 'so far {first}' >&2; exit 1"),
    );
    server.logs("the token is [secret], in two");
    server.logs("a key of lines");
    server.logs("so far [secret]");
    for part in [first, second, "MIIEvQIBADANBgkq"] {
        server.never_logs(part);
    }
}

#[test]
fn a_secret_in_a_broken_file_is_not_quoted() {
    let server = Server::new()
        .secrets(&format!("TOKEN: {TOKEN}\n  broken: [{TOKEN}\n"))
        .start();
    let body = json!({"key": "TOKEN", "is_secret": true});
    server.post("/config/read", body).is(422).never_says(TOKEN);
    let one = Extension::scripted("one", &Script::new());
    let error = server.refuses(one.with("env_keys", ["TOKEN"]));
    assert!(!error.contains(TOKEN), "{error}");
    server.never_logs(TOKEN);
}

/// What a server learns about roots: the capabilities of the client, and the response to `roots/list`.
fn roots(server: Server) -> (Value, Value, String) {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool(
        "ask",
        [Action::Ask("roots/list".into()), Action::LastClientAnswer],
    );
    let server = server.start();
    let work = server.work().join("my work");
    fs::create_dir(&work).unwrap();
    let extension = Extension::scripted("one", &script).0;
    let session = server.start(json!({"working_dir": work, "extension_overrides": [extension]}));
    session.resume();
    session.call("one__ask", json!({})).is(200);
    let offered = record.wait_for_message("initialize")["params"]["capabilities"].clone();
    let parent = server.work().to_str().unwrap().to_owned();
    (offered, record.answer("ask roots/list"), parent)
}

#[test]
fn roots_are_offered_only_if_that_is_wanted() {
    let (offered, answer, _) = roots(Server::new());
    assert!(offered.get("roots").is_none(), "{offered}");
    assert_eq!(answer["error"]["code"], -32601, "{answer}");

    let (offered, answer, parent) = roots(Server::new().env("GOOSE_MCP_ROOTS", "1"));
    assert_eq!(offered["roots"], json!({}), "{offered}");
    let parent = if cfg!(windows) {
        format!("/{}", parent.replace('\\', "/"))
    } else {
        parent
    };
    let expected = json!([{"uri": format!("file://{parent}/my%20work"), "name": "my work"}]);
    assert_eq!(answer["result"]["roots"], expected);

    let (offered, ..) = roots(Server::new().env("GOOSE_MCP_ROOTS", "0"));
    assert!(offered.get("roots").is_none(), "{offered}");
}

#[cfg(feature = "developer")]
#[test]
#[cfg(unix)] // Folders and commands of Unix.
fn offline_children_are_asked_to_stay_so_unless_told_otherwise() {
    const OFFLINE: &[&str] = &["agent", "--port", "0", "--offline"];
    const ONLINE: &[&str] = &["agent", "--port", "0"];
    for (arguments, uv, npm) in [(OFFLINE, json!("1"), "true"), (ONLINE, Value::Null, "")] {
        let record = Record::new();
        let script = Script::new().recorded(&record.path());
        let server = Server::new()
            .env("GOPROXY", "file:///mirror")
            .start_as(arguments);
        let own = Extension::scripted("one", &script).with("envs", json!({"PIP_NO_INDEX": "0"}));
        let session = server.session([own, Extension::builtin("developer")]);
        let child = record.starts().remove(0);
        assert_eq!(child["env"]["UV_OFFLINE"], uv);
        assert_eq!(child["env"]["GOPROXY"], "file:///mirror");
        assert_eq!(child["env"]["PIP_NO_INDEX"], "0");
        let command = json!({"command": "echo \"<$npm_config_offline> <$GOPROXY>\""});
        let answer = session.call("developer__shell", command).is(200);
        assert_eq!(
            answer.body["content"][0]["text"],
            format!("<{npm}> <file:///mirror>\n")
        );
    }
}
