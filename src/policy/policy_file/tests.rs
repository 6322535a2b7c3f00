use super::{Decision, Fault, LeastMode, Level, List, Permission, SandboxRule, line_of, read};

const POLICY: &str = "\
# Everything that there is.
default: deny
least_mode: smart_approve
offline: true
rules:
  - decision: allow
    reason: reading is harmless
    key: 'ci-*'
    front: [http, acp]
    extension: developer
    tool: text_editor
    arguments: {command: view, path: /srv/*}
    directory: /srv

  # A comment.
  - {decision: deny, tool: shell}
extensions:
  default: deny
  rules:
    - {decision: allow, type: builtin, name: [developer, memory]}
    - decision: allow
      command: [npx, -y, 'pkg@1.2']
    - {decision: allow, host: '*.example.com'}
    - {decision: allow, package: 'npm:@example/*', reason: ours}
    - {decision: deny, image: [a, 'b:*']}
models:
  default: allow
  rules: [
    {decision: deny, provider: openai},

    {decision: deny, provider: '*', model: '*-preview'}]
clients: {configuration: deny, extensions: deny, import: allow}
quotas:
  - {key: '*', sessions_per_day: 5, turns_at_once: 2, calls_per_day: 100, tokens_per_day: 9}
";

#[test]
#[cfg_attr(windows, ignore = "its folders are those of Unix")]
fn a_policy_is_read_and_its_rules_have_lines() {
    let policy = read(POLICY.as_bytes()).unwrap();
    assert_eq!(policy.default, Decision::Deny);
    assert_eq!(policy.least_mode, LeastMode::SmartApprove);
    assert_eq!(policy.rules.len(), 2);
    let line = |list, index| line_of(POLICY.as_bytes(), list, index);
    assert_eq!(line(List::Calls, 0), Some(6));
    assert_eq!(line(List::Calls, 1), Some(16));
    assert_eq!(line(List::Calls, 2), None);
    assert_eq!(line(List::Extensions, 1), Some(21));
    assert_eq!(line(List::Models, 1), Some(31));
    assert_eq!(line_of(b"default: deny", List::Models, 0), None);
}

#[track_caller]
fn refused(text: &str) -> Fault {
    read(text.as_bytes()).unwrap_err()
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let at = |text: &str, place: (usize, usize), reason: &str| {
        let fault = refused(text);
        assert!(
            fault.place == place && fault.reason.contains(reason),
            "{text}\n{fault}"
        );
    };
    at("default: deny\nrule: []\n", (2, 1), "unknown field `rule`");
    at(
        "default: deny\nrules:\n  - decision: deny\n    tol: x\n",
        (4, 5),
        "unknown field `tol`",
    );
    at(
        "default: deny\nrules:\n  - decision: maybe\n",
        (3, 15),
        "unknown variant `maybe`",
    );
    at("default: deny\ndefault: allow\n", (1, 1), "twice");
    at(
        "default: deny\nrules:\n  - decision: deny\n    extension: My Server\n",
        (4, 16),
        "\"myserver\"",
    );
    at(
        "default: deny\nrules:\n  - decision: deny\n    directory: srv\n",
        (4, 16),
        "absolute",
    );
    at(
        "default: deny\nrules:\n  - decision: deny\n    tool: 5\n",
        (4, 11),
        "in quotes",
    );
    at("default: deny\nrules: [", (3, 1), "");
    at("least_mode: approve\n", (1, 1), "missing field `default`");
    at("", (1, 1), "");
    at("[]", (1, 1), "");
    at(
        "default: deny\nextensions: {rules: []}\n",
        (2, 13),
        "missing field `default`",
    );
    at(
        "default: deny\nclients: {configuration: ask}\n",
        (2, 26),
        "unknown variant `ask`",
    );
    at(
        "default: deny\nleast_mode: Approve\n",
        (2, 13),
        "unknown variant",
    );
    at(
        "default: deny\nquotas: [{key: a, calls_per_day: -1}]\n",
        (2, 34),
        "",
    );
}

#[test]
fn what_yaml_offers_to_hide_rules_is_refused() {
    refused("default: deny\nrules: &a\n  - {decision: deny}\nmodels: {default: deny, rules: *a}\n");
    refused("default: deny\n---\ndefault: allow\n");
    refused("default: deny\nrules: !!set {a}\n");
    refused("default: deny\nrules:\n  - {decision: deny, <<: {tool: x}}\n");
    refused(&format!("default: deny\nrules: {}", "[".repeat(5000)));
    let many = "  - {decision: deny}\n".repeat(1001);
    assert!(
        refused(&format!("default: deny\nrules:\n{many}"))
            .reason
            .contains("1000")
    );
}

#[test]
fn the_least_walls_allow_for_no_exceptions_unless_they_say_so() {
    let sandbox = |text: &str| read(text.as_bytes()).unwrap().sandbox;
    let rule = |least, exceptions| SandboxRule { least, exceptions };
    let none = sandbox("default: ask\n");
    assert_eq!(none.least, Level::Off);
    let deny = sandbox("default: ask\nsandbox: {least: workspace}\n");
    assert_eq!(deny, rule(Level::Workspace, Permission::Deny));
    let allow = sandbox("default: ask\nsandbox: {least: strict, exceptions: allow}\n");
    assert_eq!(allow, rule(Level::Strict, Permission::Allow));
    for wrong in [
        "{}",
        "strict",
        "{least: Strict}",
        "{least: strict, read: [/]}",
    ] {
        let text = format!("default: ask\nsandbox: {wrong}\n");
        assert!(read(text.as_bytes()).is_err(), "{wrong}");
    }
}
