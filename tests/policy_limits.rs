//! What the administrator's policy limits besides calls, on real servers: tokens, models by role, resources and
//! prompts, what each key may do; and with which status a server says so.
#![cfg(all(
    feature = "policy",
    feature = "scripted",
    feature = "developer",
    feature = "demo",
    unix // A policy's file has an owner and a mode.
))]

#[cfg(feature = "openai")]
#[path = "support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
#[cfg(feature = "openai")]
#[path = "support/model_server.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod model_server;
#[path = "support/policy_file.rs"]
mod policy_file;
mod support;

use policy_file::PolicyFile;
use serde_json::{Value, json};
use std::fs;
use support::acp_client::{shell, turn};
use support::scripted::{Action, Script};
use support::server::{Extension, Server};
use support::temp_dir;

/// A model whose responses take 15 tokens each.
fn of_15_tokens(steps: Value) -> Value {
    let mut script = turn(steps);
    script["turns"][0]["usage"] = json!({"input": 10, "output": 5});
    script["summary"] = json!("They talked.");
    // No tokens go into the names of sessions then.
    script.as_object_mut().unwrap().remove("name");
    script
}

fn tokens(limit: u64) -> String {
    format!("default: allow\nquotas:\n  - {{key: '*', tokens_per_day: {limit}}}\n")
}

#[test]
fn tokens_are_used_up_within_a_turn_and_for_the_next_ones() {
    let Some(policy) = PolicyFile::new(&tokens(15)) else {
        return;
    };
    let script = of_15_tokens(json!([shell("true"), {"text": "late"}]));
    let server = policy.start(Server::scripted(script));
    let session = server.session([Extension::builtin("developer")]);
    let turn = session.say("go").finishes();
    assert_eq!(turn.calls().len(), 1);
    let why = "allows this key 15 tokens a day, which are used up; the next day begins at midnight UTC, in ";
    let turn = turn.says(why).never_says("late");
    assert_eq!(turn.results().len(), 1, "the call had a result");
    session.say("go").fails(why);
    // More tokens hold at once.
    policy.write(&tokens(30));
    session.say("go").finishes().says("late");
    session.say("go").fails("allows this key 30 tokens a day");
}

#[test]
fn summaries_and_the_requests_of_servers_take_tokens_too() {
    let Some(policy) = PolicyFile::new(&tokens(16)) else {
        return;
    };
    let server = policy.start(Server::scripted(of_15_tokens(json!([{"text": "fine"}]))));
    let session = server.session([]);
    session.say("go").finishes().says("fine");
    // The summary has no usage, so its size counts.
    session.say("/compact").finishes();
    session.say("go").fails("allows this key 16 tokens a day");

    let ask = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "a rhyme"}}], "maxTokens": 9});
    let steps = [
        Action::AskWith("sampling/createMessage".to_owned(), ask),
        Action::LastClientAnswer,
    ];
    let one = Extension::scripted("one", &Script::new().tool("ask", steps));
    let call = json!([{"call": {"name": "one__ask"}}, {"text": "late"}]);
    let mut script = of_15_tokens(call);
    let usage = json!({"input": 1, "output": 0});
    let rhyme = json!({"when": {"user": "rhyme"}, "usage": usage, "steps": [{"text": "so"}]});
    script["turns"].as_array_mut().unwrap().insert(0, rhyme);
    let server = policy.start(Server::scripted(script).env("GOOSE_MODE", "auto"));
    let turn = server.session([one]).say("go").finishes();
    assert!(turn.results()[0].contains("so"), "{:?}", turn.results());
    turn.says("allows this key 16 tokens a day")
        .never_says("late");
}

#[test]
fn a_model_is_denied_in_every_role() {
    let rules = "default: allow\nmodels:\n  default: deny\n  rules:\n    - {decision: allow, model: [cheap, gpt-5.1]}\n";
    let Some(policy) = PolicyFile::new(rules) else {
        return;
    };
    let script = json!({"repeat": true, "turns": [{"steps": [{"text": "{{model}}"}]}]});
    let server = || Server::scripted(script.clone()).env("GOOSE_MODEL", "cheap");
    let why = "the administrator's policy denies it (no rule allows it)";
    // The session's own, and the lead model.
    let plain = policy.start(server());
    plain.session([]).say("go").finishes().says("cheap");
    let other = plain.session([]);
    let refused = other.uses(json!({"provider": "scripted", "model": "strong"}));
    assert!(refused.text.contains(why), "{}", refused.text);
    let led = policy.start(server().setting("GOOSE_LEAD_MODEL", "strong"));
    led.session([]).say("go").fails(why);
    // An allowed lead model shares the provider of the session's own one; each response counts once.
    let both = rules.to_owned() + "quotas:\n  - {key: '*', tokens_per_day: 31}\n";
    policy.write(&both.replace("cheap", "cheap, strong"));
    let mut counted = script.clone();
    counted["turns"][0]["usage"] = json!({"input": 10, "output": 5});
    let led = Server::scripted(counted).env("GOOSE_MODEL", "cheap");
    let led = policy.start(led.setting("GOOSE_LEAD_MODEL", "strong"));
    let session = led.session([]);
    for _ in 0..3 {
        session.say("go").finishes().says("strong");
    }
    session.say("go").fails("tokens a day");
}

#[cfg(feature = "recipes")]
#[test]
fn a_recipe_names_no_model_that_the_policy_denies() {
    let rules = "default: allow\nmodels:\n  default: deny\n  rules:\n    - {decision: allow, model: cheap}\n";
    let Some(policy) = PolicyFile::new(rules) else {
        return;
    };
    let script = json!({"repeat": true, "turns": [{"steps": [{"text": "{{model}}"}]}]});
    let server = policy.start(Server::scripted(script).env("GOOSE_MODEL", "cheap"));
    let settings = json!({"goose_provider": "scripted", "goose_model": "strong"});
    let mut recipe = json!({"title": "T", "description": "D", "instructions": "Go."});
    let work = server.work();
    let start = |recipe: &Value| {
        let body = json!({"working_dir": work, "recipe": recipe, "extension_overrides": []});
        server.start(body)
    };
    start(&recipe).say("go").finishes().says("cheap");
    recipe["settings"] = settings;
    start(&recipe).say("go").fails("no rule allows it");
}

#[cfg(feature = "openai")]
#[test]
fn a_fast_model_is_not_asked_if_it_is_denied() {
    use model_server::{ModelServer, Reply, says};
    let rules = "default: allow\nmodels:\n  default: allow\n  rules:\n    - {decision: deny, model: gpt-5.1-nano}\n";
    let Some(policy) = PolicyFile::new(rules) else {
        return;
    };
    let model = ModelServer::with(|_| Reply::stream(says(&["A name"])));
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-5.1")
        .setting("GOOSE_FAST_MODEL", "gpt-5.1-nano")
        .setting("OPENAI_HOST", model.url.as_str());
    let server = policy.start(server);
    let session = server.session([]);
    session.say("go").finishes();
    session.say("/compact").finishes();
    support::until("a name", || {
        (session.stored()["name"] == "A name").then_some(())
    });
    let bodies = model.bodies();
    assert!(bodies.len() >= 3, "{bodies:?}");
    for body in bodies {
        assert_eq!(body["model"], "gpt-5.1");
    }
}

#[test]
fn a_denied_call_is_403_and_a_used_up_quota_429() {
    let text = "default: allow\nrules:\n  - {decision: deny, tool: write, reason: look only}\n  \
                - {decision: ask, tool: text_editor}\nquotas:\n  - {key: '*', sessions_per_day: 1, calls_per_day: 1}\n";
    let Some(policy) = PolicyFile::new(text) else {
        return;
    };
    let server = policy.start(Server::new());
    let write = Extension::scripted(
        "one",
        &Script::new().tool("write", [Action::Text("no".to_owned(), 1)]),
    );
    let session = server.session([Extension::builtin("developer"), write]);
    let why = "the administrator's policy denies it (rule 1): look only";
    let call = |tool: &str, arguments: Value| session.call(tool, arguments);
    call("one__write", json!({}))
        .is(403)
        .gives(json!({"message": why}));
    let asked = call(
        "developer__text_editor",
        json!({"command": "view", "path": "/"}),
    );
    asked.is(403).says("no user can be asked here");
    // What is no matter of the policy stays what it was.
    call("two__missing", json!({})).is(500);
    let run = || call("developer__shell", json!({"command": "true"}));
    run().is(200);
    let until_midnight = |answer: support::client::Answer| {
        let answer = answer.is(429).says("the next day begins at midnight UTC");
        let wait = answer.head.split_once("Retry-After: ").expect("a wait").1;
        let seconds: u64 = wait.split("\r\n").next().unwrap().parse().unwrap();
        assert!((1..=24 * 3600).contains(&seconds), "{seconds}");
    };
    until_midnight(run());
    until_midnight(server.post("/agent/start", json!({"working_dir": server.work()})));
    assert_eq!(run().body["class"], Value::Null);
}

const DENIES_DEMO: &str =
    "default: allow\nrules:\n  - {decision: deny, extension: demo, reason: no demo}\n";

#[test]
fn an_extension_that_is_denied_has_no_resources_and_prompts() {
    let Some(policy) = PolicyFile::new("default: allow\n") else {
        return;
    };
    let read = json!({"uri": "demo://welcome", "extension_name": "demo"});
    let call = json!({"call": {"name": "extensionmanager__read_resource", "arguments": read}});
    let script = turn(json!([call, {"text": "{{last_result}}"}]));
    let server = policy.start(Server::scripted(script));
    let session = server.session([Extension::demo()]);
    let get = |what: &str| server.get(&format!("/agent/{what}?session_id={}", session.id));
    session.read("demo", "demo://welcome").is(200);
    session.say("go").finishes().says("Welcome!");
    get("resources").is(200).says("demo://welcome");
    get("prompts").is(200).says("explain");
    policy.write(DENIES_DEMO);
    let why = "the administrator's policy denies it (rule 1): no demo";
    let refused = session.read("demo", "demo://welcome").is(403);
    refused.gives(json!({"message": why}));
    session
        .say("go")
        .finishes()
        .says(why)
        .never_says("Welcome!");
    get("resources")
        .is(200)
        .says(why)
        .never_says("demo://welcome");
    get("prompts").is(200).says(why).never_says("explain");
    // A rule about some tools is none about resources, and `ask` is for calls.
    for rule in [
        "decision: deny, tool: echo",
        "decision: ask",
        "decision: deny, arguments: {uri: 'demo:*'}",
    ] {
        policy.write(&format!(
            "default: allow\nrules:\n  - {{extension: demo, {rule}}}\n"
        ));
        session.read("demo", "demo://welcome").is(200);
    }
    // Where nothing is allowed, they are not either.
    policy.write("default: deny\n");
    session
        .read("demo", "demo://welcome")
        .is(403)
        .says("no rule allows it");
    policy.write("default: deny\nrules:\n  - {decision: allow, extension: demo}\n");
    session.read("demo", "demo://welcome").is(200);
}

#[cfg(feature = "acp")]
#[test]
fn an_editor_reads_no_resources_of_an_extension_that_is_denied() {
    use support::acp_client::Acp;
    let Some(policy) = PolicyFile::new(DENIES_DEMO) else {
        return;
    };
    let demo = Extension::demo().with("enabled", true).0;
    let acp = Acp::new(turn(json!([{"text": "fine"}])));
    let acp = acp.configured(json!({"extensions": {"demo": demo}}));
    let mut editor = acp.arguments(&["--policy", &policy.path()]).start();
    let session = editor.session();
    let read = json!({"sessionId": session, "uri": "demo://welcome", "extensionName": "demo"});
    let (_, why) = editor.refused("_goose/unstable/resources/read", read.clone());
    assert!(why.contains("(rule 1): no demo"), "{why}");
    policy.write("default: allow\n");
    let answer = editor.call("_goose/unstable/resources/read", read);
    assert!(answer.to_string().contains("Welcome!"), "{answer}");
}

#[test]
fn a_policy_that_changes_holds_within_a_turn() {
    let Some(policy) = PolicyFile::new("default: allow\n") else {
        return;
    };
    let folder = temp_dir();
    let [go, marker] = ["go", "marker"].map(|name| folder.path().join(name));
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display());
    let touch = format!("touch '{}'", marker.display());
    let steps = json!([shell(&wait), shell(&touch), {"text": "{{last_result}}"}]);
    let server = policy.start(Server::scripted(turn(steps)));
    let session = server.session([Extension::builtin("developer")]);
    let changed = |text: &str| {
        let mut turn = session.begin_turn("go");
        turn.calls();
        policy.write(text);
        fs::write(&go, "").unwrap();
        let turn = turn.rest().finishes();
        fs::remove_file(&go).unwrap();
        policy.write("default: allow\n");
        turn
    };
    let rule = "default: allow\nrules:\n  - {decision: deny, tool: shell, reason: not now}\n";
    let turn = changed(rule).says("(rule 1): not now");
    assert_eq!(turn.results().len(), 2);
    let models = "default: allow\nmodels: {default: deny}\n";
    let turn = changed(models).says("the administrator's policy denies it (no rule allows it)");
    assert_eq!(turn.results().len(), 1);
    assert!(!marker.exists());
}

#[cfg(feature = "keys")]
#[test]
fn rules_and_quotas_go_by_the_names_of_keys() {
    let text = "default: allow\nrules:\n  - {decision: deny, key: 'guest-*', tool: shell, reason: guests look only}\n\
                quotas:\n  - {key: ci, calls_per_day: 2}\n  - {key: '*', sessions_per_day: 1}\n";
    let Some(policy) = PolicyFile::new(text) else {
        return;
    };
    let server = policy.start(Server::new());
    let add = |name: &str| {
        let mut command = support::server::gosling();
        command.env("GOOSE_PATH_ROOT", server.root());
        command.args(["keys", "add", name, "--role", "configure"]);
        command.args(["--policy", &policy.path()]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let [ci, guest] = ["ci", "guest-1"].map(add);
    let post = |key: &str, path: &str, body: Value| {
        server.ask("POST", path, Some(key), Some(&body.to_string()))
    };
    let start = |key: &str| {
        let developer = [Extension::builtin("developer").0];
        let body = json!({"working_dir": server.work(), "extension_overrides": developer});
        post(key, "/agent/start", body)
    };
    let id = |answer: support::client::Answer| answer.is(200).body["id"].clone();
    let call = |key: &str, session: &Value| {
        let arguments = json!({"command": "true"});
        let body =
            json!({"session_id": session, "name": "developer__shell", "arguments": arguments});
        post(key, "/agent/call_tool", body)
    };
    let of_guest = id(start(&guest));
    call(&guest, &of_guest)
        .is(403)
        .says("(rule 1): guests look only");
    start(&guest)
        .is(429)
        .says("allows this key 1 sessions a day");
    // Each key has its own count, and the first quota that names it.
    let of_ci = id(start(&ci));
    start(&ci).is(200);
    call(&ci, &of_ci).is(200);
    call(&ci, &of_ci).is(200);
    call(&ci, &of_ci)
        .is(429)
        .says("allows this key 2 calls of tools a day");
    // That of the server has none of these names.
    let session = server.session([Extension::builtin("developer")]);
    session
        .call("developer__shell", json!({"command": "true"}))
        .is(200);
}

#[test]
fn an_extension_starts_the_packages_and_images_that_are_allowed() {
    let text = "default: allow\nextensions:\n  default: deny\n  rules:\n    - {decision: allow, type: builtin}\n    \
                - {decision: allow, package: 'npm:@example/*@*'}\n    - {decision: allow, image: 'example/*'}\n";
    let Some(policy) = PolicyFile::new(text) else {
        return;
    };
    let server = policy.start(Server::new());
    server.session([Extension::builtin("memory")]);
    let refused = |words: &[&str], why: &str| {
        let message = server.refuses(Extension::stdio("one", words[0], &words[1..]));
        let is_policy = message.contains("the administrator's policy denies it");
        assert!(is_policy && message.contains(why), "{words:?} {message}");
    };
    refused(&["npx", "-y", "other@1.0.0"], "no rule allows it");
    refused(&["npx", "-y", "@example/one"], "no rule allows it");
    refused(
        &["npx", "--what", "@example/one@1.0.0"],
        "rule 2 of extensions",
    );
    refused(&["./npx", "@example/one@1.0.0"], "rule 2 of extensions");
    refused(&["docker", "run", "other"], "no rule allows it");
    refused(
        &["docker", "run", "--privileged", "example/one"],
        "rule 3 of extensions",
    );
    refused(&["my-server"], "no rule allows it");
}
