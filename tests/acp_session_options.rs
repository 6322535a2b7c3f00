//! What the Agent Client Protocol has beside a plain session: options that are on or off, further folders, logging out,
//! setting up a model in a terminal, summaries and what a session has cost.
#![cfg(all(feature = "acp", feature = "scripted"))]

#[path = "support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
#[path = "support/model_server.rs"]
#[allow(dead_code)]
mod model_server;
mod support;

use model_server::{ModelServer, Reply};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use support::acp_client::{Acp, AcpClient, developer, shell, turn};
use support::server::gosling;
use support::temp_dir;

/// The option of a session, from a list of them.
#[track_caller]
fn option(list: &Value, id: &str) -> Value {
    let mut all = list.as_array().expect("options").iter();
    all.find(|it| it["id"] == *id)
        .cloned()
        .unwrap_or_else(|| panic!("no {id} in {list}"))
}

fn switch(client: &mut AcpClient, session: &str, id: &str, value: Value) -> Value {
    let set = json!({"sessionId": session, "configId": id, "type": "boolean", "value": value});
    client.call("session/set_config_option", set)
}

#[test]
#[cfg(feature = "developer")]
fn an_extension_is_switched_by_clients_that_have_switches() {
    let id = "extension:developer";
    let script = turn(json!([{"text": "I have {{tools}}."}]));
    let mut plain = Acp::new(script.clone()).configured(developer()).start();
    let cwd = plain.work();
    let opened = plain.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
    assert!(!opened["configOptions"].to_string().contains(id));
    drop(plain);

    let mut client = Acp::new(script)
        .configured(developer())
        .capabilities(json!({"session": {"configOptions": {"boolean": {}}}}))
        .start();
    let cwd = client.work();
    let opened = client.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let shown = option(&opened["configOptions"], id);
    assert_eq!(
        (&shown["type"], &shown["currentValue"]),
        (&json!("boolean"), &json!(true))
    );
    let say = |client: &mut AcpClient| {
        client.take_updates();
        client.prompt(&session, "go");
        client.text()
    };
    assert!(say(&mut client).contains("developer__shell"));
    let off = switch(&mut client, &session, id, json!(false));
    assert_eq!(option(&off["configOptions"], id)["currentValue"], false);
    assert!(!say(&mut client).contains("developer__"));
    // Once more is no change.
    switch(&mut client, &session, id, json!(false));
    let on = switch(&mut client, &session, id, json!(true));
    assert_eq!(option(&on["configOptions"], id)["currentValue"], true);
    assert!(say(&mut client).contains("developer__shell"));
    for (id, value) in [(id, json!("true")), ("extension:none", json!(true))] {
        let set = json!({"sessionId": session, "configId": id, "value": value});
        let (code, why) = client.refused("session/set_config_option", set);
        assert_eq!(code, -32602, "{why}");
    }
}

#[test]
fn an_older_client_sets_the_model_and_a_session_is_copied() {
    let script = turn(json!([{"text": "I am {{model}}."}]));
    let mut client = Acp::new(script).start();
    let session = client.session();
    let set = json!({"sessionId": session, "modelId": "other"});
    assert_eq!(client.call("session/set_model", set), json!({}));
    client.prompt(&session, "who?");
    assert_eq!(client.text(), "I am other.");
    client.take_updates();
    let unknown = json!({"sessionId": "none", "modelId": "other"});
    let (code, why) = client.refused("session/set_model", unknown);
    assert_eq!(code, -32002, "{why}");
    let fork = json!({"sessionId": session, "cwd": client.work(), "mcpServers": []});
    let copied = client.call("session/fork", fork);
    let copy = copied["sessionId"].as_str().unwrap();
    assert_ne!(copy, session);
    assert_eq!(
        option(&copied["configOptions"], "model")["currentValue"],
        "other"
    );
    client.take_updates();
    client.prompt(copy, "and you?");
    assert_eq!(client.text(), "I am other.");
}

#[test]
fn further_folders_are_told_and_listed_until_they_are_left_out() {
    let script = turn(json!([{"text": "{{system}}{{note}}"}]));
    let mut client = Acp::new(script).start();
    let (cwd, more) = (client.work(), client.root().join("more"));
    fs::create_dir(&more).unwrap();
    fs::write(more.join("AGENTS.md"), "say it in verse").unwrap();
    let open =
        |more: &Value| json!({"cwd": cwd, "mcpServers": null, "additionalDirectories": more});
    for wrong in [
        json!(["relative"]),
        json!([""]),
        json!([more.join("none")]),
        json!(more),
    ] {
        let (code, why) = client.refused("session/new", open(&wrong));
        assert_eq!(code, -32602);
        assert!(why.contains("additionalDirectories"), "{wrong}: {why}");
    }
    let opened = client.call("session/new", open(&json!([more])));
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    client.prompt(&session, "go");
    let text = client.text();
    assert!(
        text.contains(&more.display().to_string()) && text.contains("say it in verse"),
        "{text}"
    );
    let listed = |client: &mut AcpClient| {
        let listed = client.call("session/list", json!({}));
        listed["sessions"][0]["additionalDirectories"].clone()
    };
    assert_eq!(listed(&mut client), json!([more]));
    // A client that does not name them again does not get them back.
    let mut client = client.restart();
    let mut again = open(&Value::Null);
    again["sessionId"] = session.as_str().into();
    client.call("session/resume", again);
    assert_eq!(listed(&mut client), Value::Null);
    client.take_updates();
    client.prompt(&session, "go");
    assert!(!client.text().contains("say it in verse"));
}

#[test]
fn who_has_logged_out_authenticates_first() {
    let mut client = Acp::new(turn(json!([{"text": "done"}]))).start();
    let session = client.session();
    client.call("logout", json!({}));
    let cwd = client.work();
    let new = json!({"cwd": cwd, "mcpServers": []});
    assert_eq!(client.refused("session/new", new.clone()).0, -32000);
    let prompt = client.begin_prompt(&session, "go");
    assert_eq!(client.error(prompt).0, -32000);
    client.call("session/list", json!({}));
    client.call("authenticate", json!({"methodId": "none"}));
    client.call("session/new", new);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
}

#[test]
fn a_client_that_shows_summaries_gets_the_one_of_a_compaction() {
    let script = json!({
        "turns": [{"steps": [{"text": "I heard {{last_user}}"}]}], "repeat": true,
        "summary": "They said much.",
    });
    let mut client = Acp::new(script)
        .capabilities(json!({"session": {"compaction": {}}}))
        .start();
    let session = client.session();
    client.prompt(&session, &"a long story ".repeat(200));
    client.take_updates();
    client.prompt(&session, "/compact");
    let of = |update: &Value| update["compactionId"].clone();
    let begun = client.update("compaction_update");
    assert_eq!(begun["status"], "in_progress");
    let chunk = client.update("compaction_summary_chunk");
    assert_eq!(chunk["content"]["text"], "They said much.");
    let done = client.update("compaction_update");
    assert_eq!(done["status"], "completed");
    assert_eq!(done["summary"][0]["text"], "They said much.");
    assert!(of(&begun).is_string());
    assert_eq!([of(&chunk), of(&done)], [of(&begun), of(&begun)]);
}

#[test]
#[cfg(feature = "developer")]
fn a_call_has_the_name_of_its_tool() {
    let script = turn(json!([shell("true"), {"text": "done"}]));
    let mut client = Acp::new(script).configured(developer()).start();
    let session = client.session();
    client.prompt(&session, "go");
    assert_eq!(client.update("tool_call")["name"], "developer__shell");
}

#[test]
fn a_session_tells_what_it_has_cost() {
    let stream = |cached: u64| {
        let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100,
            "prompt_tokens_details": {"cached_tokens": cached}});
        let answer = json!({"id": "1", "model": "gpt-4o", "choices": [
            {"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}], "usage": usage});
        Reply::stream(format!("data: {answer}\n\ndata: [DONE]\n\n"))
    };
    let server = ModelServer::with(move |seen| {
        let is_second = seen.body.matches("yes?").count() > 1;
        stream(if is_second { 400 } else { 0 })
    });
    let mut client = Acp::new(json!({}))
        .env("GOOSE_PROVIDER", "openai")
        .env("GOOSE_MODEL", "gpt-4o")
        .env("OPENAI_HOST", &server.url)
        .env("OPENAI_API_KEY", "a key of a test")
        .start();
    let session = client.session();
    let mut costs = Vec::new();
    for _ in 0..2 {
        client.take_updates();
        assert_eq!(client.prompt(&session, "yes?"), "end_turn");
        let mut last = client.update("usage_update");
        while client
            .updates
            .iter()
            .any(|it| it["params"]["update"]["sessionUpdate"] == "usage_update")
        {
            last = client.update("usage_update");
        }
        costs.push(last["cost"].clone());
    }
    // 2.50 and 10 dollars for a million tokens of input and output, 1.25 for input from the cache.
    let cost = |amount: f64| json!({"amount": amount, "currency": "USD"});
    assert_eq!(costs, [cost(0.0035), cost(0.0065)]);
    let mut client = client.restart();
    let cwd = client.work();
    client.call(
        "session/load",
        json!({"sessionId": session, "cwd": cwd, "mcpServers": []}),
    );
    assert_eq!(client.update("usage_update")["cost"], cost(0.0065));
}

#[test]
fn audio_of_a_prompt_reaches_the_model_or_is_told_in_words() {
    let server = ModelServer::with(|seen| {
        if seen.body.contains("input_audio") && seen.body.contains("cmVmdXNl") {
            let error = json!({"error": {"message": "This model does not support `input_audio`."}});
            return Reply::json("400 Bad Request", &error.to_string());
        }
        Reply::stream(model_server::says(&["Yes."]))
    });
    let mut client = Acp::new(json!({}))
        .env("GOOSE_PROVIDER", "openai")
        .env("GOOSE_MODEL", "gpt-audio")
        .env("OPENAI_HOST", &server.url)
        .env("OPENAI_API_KEY", "a key of a test")
        .connect();
    let begun = client.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(
        begun["agentCapabilities"]["promptCapabilities"]["audio"],
        true
    );
    let session = client.session();
    let audio = |data: &str| json!({"type": "audio", "data": data, "mimeType": "audio/x-wav"});
    let mut sent = 0;
    let mut requests = |client: &mut AcpClient, data: &str| {
        let prompt = json!([{"type": "text", "text": "listen"}, audio(data)]);
        let answer = client.call(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        );
        assert_eq!(answer["stopReason"], "end_turn");
        let bodies = server.seen().into_iter().map(|seen| seen.body);
        let is_turn = |body: &String| body.contains("listen") && !body.contains("You name chats");
        let turns: Vec<String> = bodies.filter(is_turn).collect();
        let new = turns[sent..].to_vec();
        sent = turns.len();
        new
    };
    let taken = requests(&mut client, "dGFrZW4=");
    let part = r#"{"type":"input_audio","input_audio":{"data":"dGFrZW4=","format":"wav"}}"#;
    assert!(taken.len() == 1 && taken[0].contains(part), "{taken:?}");
    let refused = requests(&mut client, "cmVmdXNl");
    assert_eq!(refused.len(), 2, "once with it and once without");
    let words = "(audio of type audio/wav, which the model did not take)";
    assert!(refused[1].contains(words), "{refused:?}");
    assert!(
        refused[1].contains(part),
        "the other one stays: {refused:?}"
    );

    let mut client = client.restart();
    let cwd = client.work();
    let load = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    client.call("session/load", load);
    let updates = client.take_updates();
    let shown: Vec<&Value> = (updates.iter().map(|it| &it["content"]))
        .filter(|it| it["type"] == "audio")
        .collect();
    assert_eq!(shown, [&audio("dGFrZW4="), &audio("cmVmdXNl")]);
}

#[test]
fn a_model_is_set_up_in_a_terminal() {
    let methods = |capabilities: Value| {
        let mut client = Acp::new(json!({})).connect();
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params)["authMethods"].clone()
    };
    assert!(!methods(json!({})).to_string().contains("terminal"));
    let methods = methods(json!({"auth": {"terminal": true}}));
    let method = methods.as_array().unwrap().last().unwrap().clone();
    assert_eq!(method["type"], "terminal");
    let arguments: Vec<&str> = (method["args"].as_array().unwrap().iter())
        .filter_map(Value::as_str)
        .collect();

    let root = temp_dir();
    let run = |answers: &str| {
        let mut process = gosling()
            .arg("acp")
            .args(&arguments)
            .env("GOOSE_PATH_ROOT", root.path())
            .env("HOME", root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(answers.as_bytes()).unwrap();
        drop(stdin);
        process.wait_with_output().unwrap()
    };
    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap_or_default();
    let early = run("openai\n");
    assert_eq!(early.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&early.stderr).contains("nothing was stored"));
    assert_eq!(
        read("config/config.yaml") + &read("config/secrets.yaml"),
        ""
    );
    let done = run("nobody\nopenai\nsk-of-a-test\n\n\n\n\n\n\n\n");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("There is none of that name"), "{said}");
    assert!(!said.contains("sk-of-a-test"), "{said}");
    let config = read("config/config.yaml");
    assert!(config.contains("GOOSE_PROVIDER: openai"), "{config}");
    assert!(!config.contains("sk-of-a-test"), "{config}");
    assert!(read("config/secrets.yaml").contains("sk-of-a-test"));
}

#[test]
fn a_client_chooses_where_requests_to_a_model_go_until_the_agent_ends() {
    let answer = json!({"id": "1", "model": "gpt-4o", "choices": [
        {"index": 0, "delta": {"content": "Routed."}, "finish_reason": "stop"}]});
    let stream = format!("data: {answer}\n\ndata: [DONE]\n\n");
    let server = ModelServer::with(move |seen| match seen.header("x-route") {
        Some("a secret route") => Reply::stream(stream.clone()),
        _ => Reply::json(
            "403 Forbidden",
            r#"{"error": {"message": "not by this way"}}"#,
        ),
    });
    let mut client = Acp::new(json!({}))
        .env("GOOSE_PROVIDER", "openai")
        .env("GOOSE_MODEL", "gpt-4o")
        .env("OPENAI_HOST", &server.url)
        .env("OPENAI_API_KEY", "a key of a test")
        .start();
    let session = client.session();
    let current = |client: &mut AcpClient| {
        let listed = client.call("providers/list", json!({}));
        let mut all = listed["providers"].as_array().unwrap().iter();
        let found = all.find(|it| it["providerId"] == "openai").unwrap().clone();
        assert_eq!(found["supported"], json!(["anthropic", "openai"]));
        found["current"].clone()
    };
    assert_eq!(current(&mut client)["apiType"], "openai");
    let prompt = client.begin_prompt(&session, "go");
    assert!(client.error(prompt).1.contains("not by this way"));

    let base = format!("{}/gateway/v1", server.url);
    let set = |field: &str, value: Value| {
        let mut set = json!({
            "providerId": "openai", "apiType": "openai", "baseUrl": base,
            "headers": {"X-Route": "a secret route"},
        });
        set[field] = value;
        set
    };
    for (field, value) in [
        ("providerId", json!("none")),
        ("apiType", json!("vertex")),
        ("baseUrl", json!("file:///etc/passwd")),
        ("baseUrl", json!("${HOME}")),
        ("headers", json!({"X-Route": 1})),
    ] {
        let (code, why) = client.refused("providers/set", set(field, value));
        assert_eq!(code, -32602);
        assert!(why.contains(field), "{why}");
    }
    assert_eq!(
        client.call("providers/set", set("_meta", json!({}))),
        json!({})
    );
    let shown = current(&mut client);
    assert_eq!(shown["baseUrl"], format!("{base}/chat/completions"));
    assert!(!shown.to_string().contains("secret"));
    client.take_updates();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(client.text(), "Routed.");
    assert!(
        server
            .seen()
            .last()
            .unwrap()
            .path
            .starts_with("/gateway/v1/")
    );

    client.call("providers/disable", json!({"providerId": "openai"}));
    assert_eq!(current(&mut client), Value::Null);
    let prompt = client.begin_prompt(&session, "go");
    assert!(client.error(prompt).1.contains("disabled"));
    // Nothing was stored.
    for file in ["config/config.yaml", "config/secrets.yaml"] {
        let text = fs::read_to_string(client.root().join(file)).unwrap_or_default();
        assert!(
            !text.contains("gateway") && !text.contains("secret route"),
            "{text}"
        );
    }
    let mut client = client.restart();
    let prompt = client.begin_prompt(&session, "go");
    assert!(client.error(prompt).1.contains("not by this way"));
}
