use super::{Call, Decided, call, extension, host, model};
use crate::policy_file::{Decision, PolicyFile, read};
use serde_json::{Value, json};
use std::path::Path;

fn policy(text: &str) -> PolicyFile {
    read(text.as_bytes()).unwrap()
}

#[track_caller]
fn is(decided: &Decided, decision: Decision, rule: Option<usize>) {
    assert_eq!(
        (decided.decision, decided.rule),
        (decision, rule),
        "{decided:?}"
    );
}

const SHELL: Call<'_> = Call {
    key: "ci",
    front: "http",
    extension: "developer",
    tool: "shell",
    arguments: br#"{"command": "ls"}"#,
    directory: None,
};

#[test]
fn the_first_rule_that_fits_decides() {
    let policy = policy(
        "default: allow\nrules:\n  - {decision: deny, key: guest, reason: guests look only}\n  \
         - {decision: ask, extension: developer, tool: [shell, write]}\n  - {decision: deny, extension: dev*}\n",
    );
    is(&call(&policy, &SHELL), Decision::Ask, Some(1));
    let guest = call(
        &policy,
        &Call {
            key: "guest",
            ..SHELL
        },
    );
    is(&guest, Decision::Deny, Some(0));
    assert_eq!(
        guest.in_words(),
        "the administrator's policy denies it (rule 1): guests look only"
    );
    is(
        &call(
            &policy,
            &Call {
                tool: "Shell",
                ..SHELL
            },
        ),
        Decision::Deny,
        Some(2),
    );
    is(
        &call(
            &policy,
            &Call {
                extension: "memory",
                ..SHELL
            },
        ),
        Decision::Allow,
        None,
    );
}

#[test]
fn arguments_that_cannot_be_compared_deny_the_call_whatever_the_rule_says() {
    for decision in ["allow", "ask", "deny"] {
        let policy = policy(&format!(
            "default: allow\nrules:\n  - {{decision: {decision}, tool: shell, arguments: {{command: 'ls*'}}}}\n"
        ));
        for arguments in [
            "{",
            r#"{"command": "x", "command": "ls"}"#,
            r#"{"command": {"a": 1}}"#,
            "[]",
        ] {
            let arguments = arguments.as_bytes();
            is(
                &call(&policy, &Call { arguments, ..SHELL }),
                Decision::Deny,
                Some(0),
            );
        }
        // Where no rule looks at them, they do not matter.
        is(
            &call(
                &policy,
                &Call {
                    tool: "other",
                    arguments: b"{",
                    ..SHELL
                },
            ),
            Decision::Allow,
            None,
        );
    }
}

#[test]
fn a_rule_fits_a_list_as_is_strict() {
    let arguments = br#"{"command": ["ls", "rm"]}"#;
    let decided = |decision: &str| {
        let policy = policy(&format!(
            "default: ask\nrules:\n  - {{decision: {decision}, arguments: {{command: 'ls*'}}}}\n"
        ));
        call(&policy, &Call { arguments, ..SHELL })
    };
    is(&decided("allow"), Decision::Ask, None);
    is(&decided("ask"), Decision::Deny, Some(0));
    is(&decided("deny"), Decision::Deny, Some(0));
}

#[test]
#[cfg_attr(windows, ignore = "its folders are those of Unix")]
fn a_folder_counts_as_where_it_leads() {
    let policy = policy("default: deny\nrules:\n  - {decision: allow, directory: /usr}\n");
    let at = |directory| call(&policy, &Call { directory, ..SHELL });
    is(&at(Some(Path::new("/usr/bin"))), Decision::Allow, Some(0));
    is(&at(Some(Path::new("/usr/../etc"))), Decision::Deny, None);
    is(
        &at(Some(Path::new("/usr/missing"))),
        Decision::Deny,
        Some(0),
    );
    is(&at(None), Decision::Deny, Some(0));
}

#[test]
fn extensions_are_told_by_name_type_command_and_host() {
    let policy = policy(
        "default: allow\nextensions:\n  default: deny\n  rules:\n    - {decision: allow, type: builtin, name: developer}\n    \
         - {decision: allow, command: [npx, -y, 'pkg@1.2']}\n    - {decision: allow, host: '*.example.com'}\n",
    );
    let start = |config: Value| extension(&policy, ["", "http"], &config);
    let builtin = json!({"type": "builtin", "name": "Developer"});
    is(&start(builtin), Decision::Allow, Some(0));
    let disguised = json!({"type": "stdio", "name": "developer", "cmd": "sh", "args": []});
    is(&start(disguised), Decision::Deny, None);
    let package = |args: Value| json!({"type": "stdio", "name": "x", "cmd": "npx", "args": args});
    is(
        &start(package(json!(["-y", "pkg@1.2"]))),
        Decision::Allow,
        Some(1),
    );
    is(
        &start(package(json!(["-y", "pkg@1.2", "--more"]))),
        Decision::Deny,
        None,
    );
    let remote = |uri: &str| json!({"type": "streamable_http", "name": "x", "uri": uri});
    is(
        &start(remote("https://a.example.com/mcp")),
        Decision::Allow,
        Some(2),
    );
    is(
        &start(remote("https://a.example.com.evil.test/")),
        Decision::Deny,
        None,
    );
    is(
        &start(remote("https://a.example.com@evil.test/")),
        Decision::Deny,
        Some(2),
    );
}

#[test]
fn an_address_has_one_host_or_none() {
    for (uri, expected) in [
        ("https://A.example:8443/x?y", Some("a.example")),
        ("HTTP://a.example", Some("a.example")),
        ("http://[::1]:80/", Some("::1")),
        ("http://user@a.example/", None),
        ("http://a.example\\@b.example/", None),
        ("http://a.ex\u{430}mple/", None),
        ("http:///x", None),
        ("http://$HOST/", None),
        ("ftp://a.example", None),
        ("http://[::1]@evil/", None),
        ("", None),
    ] {
        assert_eq!(host(uri).as_deref(), expected, "{uri}");
    }
}

#[test]
fn models_are_told_by_provider_and_name() {
    let policy = policy(
        "default: allow\nmodels:\n  default: deny\n  rules:\n    - {decision: deny, model: '*-preview'}\n    \
         - {decision: allow, provider: ollama}\n",
    );
    let asking = ["", "http"];
    is(
        &model(&policy, asking, ["ollama", "qwen"]),
        Decision::Allow,
        Some(1),
    );
    is(
        &model(&policy, asking, ["ollama", "x-preview"]),
        Decision::Deny,
        Some(0),
    );
    is(
        &model(&policy, asking, ["openai", "gpt"]),
        Decision::Deny,
        None,
    );
}

#[test]
fn extensions_are_told_by_packages_and_images() {
    let policy = policy(
        "default: allow\nextensions:\n  default: allow\n  rules:\n    - {decision: allow, command: [npx, odd, --port, '5']}\n    \
         - {decision: deny, package: 'npm:evil*'}\n    - {decision: allow, package: ['npm:@example/*@*', 'pypi:good']}\n    \
         - {decision: deny, package: '*'}\n    - {decision: allow, image: 'ghcr.io/example/*'}\n    - {decision: deny, image: '*'}\n",
    );
    let start = |line: &str| {
        let mut words = line.split(' ');
        let (cmd, args): (_, Vec<&str>) = (words.next(), words.collect());
        let config = json!({"type": "stdio", "name": "x", "cmd": cmd, "args": args});
        extension(&policy, ["", "http"], &config)
    };
    is(&start("npx odd --port 5"), Decision::Allow, Some(0));
    is(&start("npx evil@1.0.0"), Decision::Deny, Some(1));
    is(&start("uvx --with good good"), Decision::Allow, Some(2));
    is(
        &start("npx -y @example/server@1.0.0"),
        Decision::Allow,
        Some(2),
    );
    is(&start("npx -y @example/server"), Decision::Deny, Some(3));
    is(&start("uvx --with other good"), Decision::Deny, Some(3));
    // What is not understood is refused by the first rule that looks at packages.
    is(
        &start("npx --unknown @example/server@1.0.0"),
        Decision::Deny,
        Some(1),
    );
    is(
        &start("docker run -i ghcr.io/example/server"),
        Decision::Allow,
        Some(4),
    );
    is(&start("docker run -i other"), Decision::Deny, Some(5));
    is(
        &start("podman run --privileged ghcr.io/example/server"),
        Decision::Deny,
        Some(4),
    );
    is(&start("my-server"), Decision::Allow, None);
}
