//! `shell`.

use crate::stdio_server::StdioServer;
use crate::support::process::{unique_sleep, with_argument};
use crate::support::server::{Extension, Server};
use crate::support::until;
use crate::{model_text, user_text, with_developer};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

#[test]
fn it_says_what_the_command_prints_and_how_it_ended() {
    with_developer(|session| {
        let run = |command: &str| {
            session
                .call("developer__shell", json!({"command": command}))
                .is(200)
        };
        let answer = run("echo hi; sleep 0.05; echo err >&2; sleep 0.05; printf end");
        assert_eq!(model_text(&answer), "hi\nerr\nend");
        assert_eq!(user_text(&answer), "hi\nerr\nend");
        assert_eq!(answer.body["is_error"], false);
        let outcome = &answer.body["structured_content"];
        assert_eq!(outcome["exit_code"], 0);
        assert_eq!(
            (&outcome["signal"], &outcome["truncated"]),
            (&Value::Null, &json!(false))
        );
        assert!(outcome["duration_ms"].as_u64().unwrap() >= 100);
        assert!(outcome.get("output").is_none(), "{outcome}");

        let answer = run("echo no; exit 3");
        assert_eq!(model_text(&answer), "no\n[exit code 3]\n");
        assert_eq!(answer.body["is_error"], false, "as Goose has it");
        assert_eq!(answer.body["structured_content"]["exit_code"], 3);
        let answer = run("kill -9 $$");
        assert_eq!(model_text(&answer), "[ended by signal 9]\n");
        for empty in ["", "  \n"] {
            let arguments = json!({"command": empty});
            session
                .call("developer__shell", arguments)
                .is(500)
                .says("`command` is empty");
        }
    });
}

#[test]
fn clients_that_read_only_what_is_structured_get_the_output() {
    let mut server = StdioServer::start();
    let commands = ["echo hi; exit 3", "head -c 400001 /dev/zero | tr '\\0' x"];
    for (id, command) in (1..).zip(commands) {
        server.shell(id, command);
        let result = &server.next()["result"];
        let text = &result["content"][0]["text"];
        assert_eq!(&result["structuredContent"]["output"], text);
        assert!(text.as_str().is_some_and(|text| !text.is_empty()));
    }
}

#[test]
fn nothing_waits_for_a_person() {
    with_developer(|session| {
        let run = |command: &str| {
            session
                .call("developer__shell", json!({"command": command}))
                .is(200)
        };
        assert_eq!(
            model_text(&run("cat; echo $?")),
            "0\n",
            "stdin is at its end"
        );
        assert_eq!(model_text(&run("test -t 1 || echo pipe")), "pipe\n");
        assert_eq!(
            model_text(&run("(: < /dev/tty) 2>/dev/null || echo none")),
            "none\n"
        );
        let answer = run("sh -c \"$EDITOR x\"");
        assert!(
            model_text(&answer).contains("no editor is available"),
            "{}",
            model_text(&answer)
        );
        let names = "GOOSE_TERMINAL AGENT GIT_TERMINAL_PROMPT PAGER GOOSE_SERVER__SECRET_KEY";
        let answer = run(&format!(
            "for name in {names}; do eval \"echo $name=\\$$name\"; done; echo $AGENT_SESSION_ID"
        ));
        let expected = format!(
            "GOOSE_TERMINAL=1\nAGENT=goose\nGIT_TERMINAL_PROMPT=0\nPAGER=cat\n\
             GOOSE_SERVER__SECRET_KEY=\n{}\n",
            session.id
        );
        assert_eq!(model_text(&answer), expected);
    });
}

#[test]
fn bash_reads_the_users_own_file_first() {
    if !std::path::Path::new("/bin/bash").exists() {
        return;
    }
    let server = Server::new().env("SHELL", "/bin/bash").start();
    let config = server.root().join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join(".bash_env"), "greet() { echo hello $1; }\n").unwrap();
    let session = server.session([Extension::builtin("developer")]);
    let answer = session
        .call("developer__shell", json!({"command": "greet you"}))
        .is(200);
    assert_eq!(model_text(&answer), "hello you\n");
}

#[test]
fn the_login_shell_adds_to_the_path_and_may_be_as_noisy_or_slow_as_it_likes() {
    let home = crate::support::temp_dir();
    let profile = "echo hello; echo oops >&2; export PATH=\"$PATH:/from/profile\"; env > ~/seen\n";
    fs::write(home.path().join(".profile"), profile).unwrap();
    let path = |shell: &str| {
        let server = Server::new()
            .env("SHELL", shell)
            .env("HOME", home.path().to_str().unwrap())
            .start();
        let session = server.session([Extension::builtin("developer")]);
        let answer = session
            .call("developer__shell", json!({"command": "echo $PATH"}))
            .is(200);
        model_text(&answer).trim().to_owned()
    };
    let own = std::env::var("PATH").unwrap();
    let found = path("/bin/sh");
    assert!(found.ends_with(":/from/profile"), "{found}");
    assert!(found.starts_with(own.split(':').next().unwrap()), "{found}");
    let seen = fs::read_to_string(home.path().join("seen")).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("SECRET"));
    fs::write(home.path().join(".profile"), "sleep 1000\n").unwrap();
    let found = path("/bin/sh");
    assert!(!found.contains("/from/profile"), "{found}");
}

#[test]
fn each_line_goes_out_as_it_comes() {
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"calls": [{"name": "developer__shell", "arguments": {"command": "echo one; sleep 0.05; echo two >&2"}}]},
        {"text": "done"},
    ]}]});
    let server = Server::scripted(script)
        .setting("GOOSE_MODE", "auto")
        .start();
    let session = server.session([Extension::builtin("developer")]);
    let turn = session.say("go").finishes();
    let lines: Vec<_> = turn
        .notifications()
        .iter()
        .map(|event| {
            let params = &event["message"]["params"];
            assert_eq!(params["logger"], "shell_tool");
            assert_eq!(params["data"]["type"], "shell_output");
            (
                params["data"]["stream"].clone(),
                params["data"]["output"].clone(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            (json!("stdout"), json!("one")),
            (json!("stderr"), json!("two"))
        ]
    );
}

#[test]
fn long_output_is_shown_in_part() {
    with_developer(|session| {
        let run = |command: &str| {
            session
                .call("developer__shell", json!({"command": command}))
                .is(200)
        };
        let answer = run("seq 1 150; exit 1");
        assert_eq!(model_text(&answer).lines().count(), 151);
        let shown = user_text(&answer);
        let (note, _) = shown.split_once("]\n").unwrap();
        let begin = "[the last 100 of 150 lines; while this extension runs, all lines are in ";
        let path = PathBuf::from(note.strip_prefix(begin).expect(note));
        let all: String = (1..=150).map(|n| format!("{n}\n")).collect();
        assert_eq!(fs::read_to_string(&path).unwrap(), all);
        assert!(
            shown.contains("\n51\n") && !shown.contains("\n50\n"),
            "{shown}"
        );
        assert!(shown.ends_with("\n150\n[exit code 1]\n"), "{shown}");
        let whole = run("seq 1 100");
        assert_eq!(model_text(&whole), crate::user_text(&whole));
        let answer = run("printf '10%%\\r100%%\\n\\033[1mbold\\033[0m\\ncaf\\351\\n'");
        assert_eq!(model_text(&answer), "100%\nbold\ncaf\u{fffd}\n");
        session.stop();
        assert!(!path.parent().unwrap().exists());
    });
}

#[test]
fn a_deadline_ends_it_with_what_it_had_said() {
    with_developer(|session| {
        let nap = unique_sleep();
        let command = format!("echo begun; sleep {nap} & sleep {nap}");
        let arguments = json!({"command": command, "timeout_secs": 0.5});
        let answer = session.call("developer__shell", arguments).is(200);
        assert_eq!(answer.body["is_error"], true);
        assert!(
            model_text(&answer).starts_with("begun\n[ended after 0.5 s"),
            "{}",
            model_text(&answer)
        );
        assert!(with_argument(&nap).is_empty());
        for bad in [0.0, -1.0] {
            let arguments = json!({"command": "true", "timeout_secs": bad});
            session
                .call("developer__shell", arguments)
                .is(500)
                .says("timeout_secs");
        }
    });
}

#[test]
fn a_stopped_command_can_end_by_itself_when_its_time_is_over() {
    with_developer(|session| {
        let command = "trap 'echo ended; exit' TERM; echo begun; kill -STOP $$; echo continued";
        let arguments = json!({"command": command, "timeout_secs": 0.5});
        let answer = session.call("developer__shell", arguments).is(200);
        let text = model_text(&answer);
        assert!(
            text.starts_with("begun\n") && text.contains("ended\n"),
            "{text}"
        );
        assert!(text.contains("[ended after 0.5 s"), "{text}");
    });
}

#[test]
fn a_command_ends_others_with_a_signal() {
    with_developer(|session| {
        let command = "sleep 1000 & kill $!; wait $!; echo $?";
        let arguments = json!({"command": command, "timeout_secs": 20});
        let answer = session.call("developer__shell", arguments).is(200);
        assert_eq!(model_text(&answer), "143\n");
    });
}

#[test]
fn what_goes_on_in_the_background_holds_nothing_up_and_ends_with_the_session() {
    with_developer(|session| {
        // They are orphans, so they are recognized by their arguments.
        let nap = unique_sleep();
        let command = format!(
            "sh -c 'while :; do echo tick; sleep 0.01; done' {nap} & setsid sleep {nap} & echo started"
        );
        let both = || with_argument(&nap).len() >= 2;
        let answer = session
            .call("developer__shell", json!({"command": command}))
            .is(200);
        assert!(
            model_text(&answer).contains("started\n"),
            "{}",
            model_text(&answer)
        );
        // They run on, though their output is not read, and so does the session.
        until("both run", || both().then_some(()));
        thread::sleep(Duration::from_millis(300));
        assert!(both());
        let answer = session
            .call("developer__shell", json!({"command": "echo on"}))
            .is(200);
        assert_eq!(model_text(&answer), "on\n");
        session.stop();
        assert!(with_argument(&nap).is_empty());
    });
}

#[test]
fn calls_run_side_by_side() {
    with_developer(|session| {
        thread::scope(|scope| {
            for n in 0..8 {
                scope.spawn(move || {
                    let command = format!("sleep 0.2; echo {n}");
                    let answer = session
                        .call("developer__shell", json!({"command": command}))
                        .is(200);
                    assert_eq!(model_text(&answer), format!("{n}\n"));
                });
            }
        });
    });
}

#[test]
fn what_no_system_can_run_is_refused_with_advice() {
    with_developer(|session| {
        let run = |command: &str| session.call("developer__shell", json!({"command": command}));
        run("echo a\0b").is(500).says("NUL character");
        run(&format!("echo {}", "x".repeat(128 << 10)))
            .is(500)
            .says("run that");
        // A huge number of seconds means no limit.
        let arguments = json!({"command": "echo on", "timeout_secs": 1e19});
        let answer = session.call("developer__shell", arguments).is(200);
        assert_eq!(model_text(&answer), "on\n");
    });
}

#[test]
fn a_users_shell_that_is_none_is_passed_over() {
    for shell in ["/bin/false", "/no/such", "bash", "/"] {
        let server = Server::new().env("SHELL", shell).start();
        let session = server.session([Extension::builtin("developer")]);
        let answer = session
            .call("developer__shell", json!({"command": "echo on"}))
            .is(200);
        assert_eq!(model_text(&answer), "on\n", "{shell}");
    }
}
