//! What Goose Desktop calls over `/acp` besides chat: each method, its result, and what wrong parameters get.
#![cfg(all(feature = "acp", feature = "scripted"))]

mod support;

use serde_json::{Value, json};
use std::fs;
use support::scripted::{Action, Script};
use support::server::{Extension, RunningServer, Server};
use support::web_socket::WebSocketClient;

/// The key in a query.
const TOKEN: &str = "open%20sesame";

/// A server with a scripted model whose turns respond to words of the user.
fn server(turns: &[(&str, Value)]) -> RunningServer {
    let turns = turns
        .iter()
        .map(|(word, steps)| json!({"when": {"user": word}, "steps": steps, "usage": {"input": 7, "output": 3}}));
    let script = json!({"turns": turns.collect::<Value>(), "name": "A chat"});
    Server::scripted(script).start()
}

/// A client with the capabilities of Desktop 1.41.
fn desktop(server: &RunningServer) -> WebSocketClient {
    let mut client = WebSocketClient::connect(server.address(), &format!("/acp?token={TOKEN}"), "");
    client.call(
        "initialize",
        json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "elicitation": {"form": {}},
                "_meta": {"goose": {"customNotifications": true, "recipeParameterRequests": true}},
            },
            "clientInfo": {"name": "goose-desktop", "version": "1.41.0"},
        }),
    );
    client
}

#[track_caller]
fn goose(client: &mut WebSocketClient, method: &str, params: Value) -> Value {
    client.call(&format!("_goose/unstable/{method}"), params)
}

#[track_caller]
fn refused(client: &mut WebSocketClient, method: &str, params: Value) -> Value {
    let id = client.begin(&format!("_goose/unstable/{method}"), params);
    let response = client.response(id);
    assert!(response["error"].is_object(), "{method}: {response}");
    response["error"].clone()
}

fn new_session(client: &mut WebSocketClient, server: &RunningServer) -> String {
    let opened = client.call(
        "session/new",
        json!({"cwd": server.work(), "mcpServers": [], "_meta": {"client": "goose-desktop"}}),
    );
    opened["sessionId"].as_str().unwrap().to_owned()
}

#[test]
fn a_first_start_can_be_finished() {
    let server = server(&[]);
    let mut client = desktop(&server);
    let read = goose(
        &mut client,
        "providers/config/read",
        json!({"providerId": "openai"}),
    );
    let fields = read["fields"].as_array().unwrap();
    let key = fields
        .iter()
        .find(|it| it["key"] == "OPENAI_API_KEY")
        .unwrap();
    assert_eq!(
        *key,
        json!({"key": "OPENAI_API_KEY", "value": null, "isSet": false, "isSecret": true, "required": false})
    );
    let saved = goose(
        &mut client,
        "providers/config/save",
        json!({"providerId": "openai", "fields": [
            {"key": "OPENAI_API_KEY", "value": "sk-very-secret"},
            {"key": "OPENAI_HOST", "value": "http://127.0.0.1:1"},
        ]}),
    );
    assert_eq!(
        saved["status"],
        json!({"providerId": "openai", "isConfigured": true})
    );
    assert_eq!(saved["refresh"], json!({"started": [], "skipped": []}));
    let read = goose(
        &mut client,
        "providers/config/read",
        json!({"providerId": "openai"}),
    );
    assert!(!read.to_string().contains("sk-very"), "{read}");
    let fields = read["fields"].as_array().unwrap();
    let host = fields.iter().find(|it| it["key"] == "OPENAI_HOST").unwrap();
    assert_eq!(host["value"], "http://127.0.0.1:1");
    let secrets = goose(&mut client, "providers/secrets/list", json!({}));
    let secret = &secrets["secrets"][0];
    assert_eq!(
        (&secret["id"], &secret["provider"]),
        (&json!("OPENAI_API_KEY"), &json!("openai"))
    );
    assert_eq!(secret["hasSecret"], true);
    let status = goose(
        &mut client,
        "providers/config/status",
        json!({"providerIds": ["openai"]}),
    );
    assert_eq!(
        status["statuses"],
        json!([{"providerId": "openai", "isConfigured": true}])
    );
    goose(
        &mut client,
        "providers/secrets/delete",
        json!({"id": "OPENAI_API_KEY"}),
    );
    let error = refused(
        &mut client,
        "providers/secrets/delete",
        json!({"id": "HOME"}),
    );
    assert_eq!(error["code"], -32602, "{error}");
    let deleted = goose(
        &mut client,
        "providers/config/delete",
        json!({"providerId": "openai"}),
    );
    assert_eq!(deleted["status"]["isConfigured"], false);
    let error = refused(
        &mut client,
        "providers/config/save",
        json!({"providerId": "openai", "fields": [{"key": "GOOSE_MODE", "value": "auto"}]}),
    );
    assert!(
        error["message"].as_str().unwrap().contains("GOOSE_MODE"),
        "{error}"
    );
    goose(&mut client, "defaults/clear", json!({}));
    let defaults = goose(&mut client, "defaults/read", json!({}));
    assert_eq!(defaults["providerId"], Value::Null);
    let setup = goose(&mut client, "providers/setup/catalog/list", json!({}));
    let openai = setup["providers"].as_array().unwrap();
    let openai = openai
        .iter()
        .find(|it| it["providerId"] == "openai")
        .unwrap();
    assert_eq!(openai["setupMethod"], "single_api_key");
}

#[test]
fn a_custom_provider_is_created_changed_and_deleted() {
    let server = server(&[]);
    let mut client = desktop(&server);
    let mut provider = json!({
        "engine": "openai_compatible", "displayName": "My host", "apiUrl": "http://127.0.0.1:1/v1",
        "apiKey": "secret-key-1", "models": ["m1"], "requiresAuth": true, "preservesThinking": true,
        "headers": {"X-Team": "blue"},
    });
    let made = goose(&mut client, "providers/custom/create", provider.clone());
    let id = made["providerId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("custom_"), "{made}");
    assert_eq!(made["status"]["isConfigured"], true);
    let read = goose(
        &mut client,
        "providers/custom/read",
        json!({ "providerId": id }),
    );
    assert_eq!(read["editable"], true);
    assert_eq!(read["provider"]["models"], json!(["m1"]));
    assert_eq!(read["provider"]["apiKeySet"], true);
    assert_eq!(read["provider"]["preservesThinking"], true);
    assert_eq!(read["provider"]["headers"], json!({"X-Team": "blue"}));
    assert!(!read.to_string().contains("secret-key-1"));
    provider["providerId"] = id.as_str().into();
    provider["apiKey"] = Value::Null;
    provider["displayName"] = "Other".into();
    goose(&mut client, "providers/custom/update", provider);
    let read = goose(
        &mut client,
        "providers/custom/read",
        json!({ "providerId": id }),
    );
    assert_eq!(read["provider"]["displayName"], "Other");
    assert_eq!(read["provider"]["apiKeySet"], true);
    goose(
        &mut client,
        "providers/custom/delete",
        json!({ "providerId": id }),
    );
    refused(
        &mut client,
        "providers/custom/read",
        json!({ "providerId": id }),
    );
}

#[test]
fn a_custom_provider_can_be_made_from_a_template() {
    let server = server(&[]);
    let mut client = desktop(&server);
    let all = goose(&mut client, "providers/catalog/list", json!({}));
    let all = all["providers"].as_array().unwrap();
    assert!(all.len() > 30, "{}", all.len());
    let of = goose(
        &mut client,
        "providers/catalog/list",
        json!({"format": "anthropic"}),
    );
    let of = of["providers"].as_array().unwrap();
    assert!(of.iter().all(|it| it["format"] == "anthropic") && of.len() < all.len());
    let read = json!({"providerId": "openrouter"});
    let template = goose(&mut client, "providers/catalog/template", read);
    let template = &template["template"];
    assert_eq!(template["apiUrl"], "https://openrouter.ai/api/v1");
    assert_eq!(template["envVar"], "OPENROUTER_API_KEY");
    let model = &template["models"][0];
    assert!(model["contextLimit"].is_u64() && model["capabilities"]["toolCall"].is_boolean());
    let made = json!({
        "engine": "openai_compatible", "displayName": "Own router", "apiUrl": template["apiUrl"],
        "apiKey": "k-1234", "models": [model["id"]], "requiresAuth": true,
        "catalogProviderId": "openrouter",
    });
    let made = goose(&mut client, "providers/custom/create", made);
    let read = json!({"providerId": made["providerId"]});
    let read = goose(&mut client, "providers/custom/read", read);
    assert_eq!(read["provider"]["catalogProviderId"], "openrouter");
    refused(
        &mut client,
        "providers/catalog/template",
        json!({"providerId": "nobody"}),
    );
    let rest = server.get("/config/provider-catalog/openrouter");
    assert_eq!(rest.status, 200, "{rest:?}");
}

#[test]
fn a_session_is_exported_imported_moved_and_reported() {
    let server = server(&[("hello", json!([{"text": "Hi there."}]))]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let prompt = client.begin_prompt(&id, "hello");
    assert_eq!(client.response(prompt)["result"]["stopReason"], "end_turn");
    let exported = goose(&mut client, "session/export", json!({ "sessionId": id }));
    let text = exported["data"].as_str().unwrap();
    assert!(text.contains("Hi there."));
    let import = json!({"input": text, "source": "auto"});
    let imported = goose(&mut client, "session/import", import);
    assert_ne!(imported["sessionId"], *id);
    assert_eq!(imported["messageCount"], 2);
    let error = refused(
        &mut client,
        "session/import",
        json!({"input": "nevent1xyz", "source": "nostr"}),
    );
    assert!(error["message"].as_str().unwrap().contains("Nostr"));
    refused(
        &mut client,
        "session/import",
        json!({"input": "{", "source": "json"}),
    );
    let moved = server.root().join("elsewhere");
    fs::create_dir(&moved).unwrap();
    goose(
        &mut client,
        "session/working-dir/update",
        json!({"sessionId": id, "workingDir": moved}),
    );
    let info = goose(&mut client, "session/info", json!({ "sessionId": id }));
    assert_eq!(info["session"]["cwd"], json!(moved));
    refused(
        &mut client,
        "session/working-dir/update",
        json!({"sessionId": id, "workingDir": "/nowhere"}),
    );
    let report = goose(
        &mut client,
        "diagnostics/get",
        json!({"sessionId": id, "level": "full"}),
    );
    let report = &report["report"];
    assert_eq!(report["session"]["id"], *id, "{report}");
    assert!(
        report["config"]["configYaml"]
            .as_str()
            .unwrap()
            .contains("scripted")
    );
    let files = report["files"].as_array().unwrap();
    assert!(
        files
            .iter()
            .any(|file| file["content"].as_str().unwrap().contains("Hi there."))
    );
    refused(
        &mut client,
        "diagnostics/get",
        json!({"sessionId": "20200101_1"}),
    );
}

#[test]
fn extensions_of_a_session_come_and_go() {
    let server = server(&[]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let listed = goose(
        &mut client,
        "session/extensions/list",
        json!({ "sessionId": id }),
    );
    assert_eq!(listed["extensions"], json!([]));
    let memory = json!({"type": "builtin", "name": "memory"});
    goose(
        &mut client,
        "session/extensions/add",
        json!({"sessionId": id, "extension": memory}),
    );
    let listed = goose(
        &mut client,
        "session/extensions/list",
        json!({ "sessionId": id }),
    );
    assert_eq!(listed["extensions"][0]["name"], "memory");
    let tools = goose(&mut client, "tools/list", json!({ "sessionId": id }));
    let name = tools["tools"][0]["name"].as_str().unwrap().to_owned();
    let never = json!({"toolPermissions": [{"toolName": name, "permission": "never_allow"}]});
    goose(&mut client, "tools/permissions/set", never);
    let tools = goose(&mut client, "tools/list", json!({ "sessionId": id }));
    assert_eq!(tools["tools"][0]["permission"], "never_allow");
    let odd = json!({"toolPermissions": [{"toolName": name, "permission": "perhaps"}]});
    let error = refused(&mut client, "tools/permissions/set", odd);
    assert!(
        error["message"].as_str().unwrap().contains("perhaps"),
        "{error}"
    );
    goose(
        &mut client,
        "session/extensions/remove",
        json!({"sessionId": id, "name": "memory"}),
    );
    let listed = goose(
        &mut client,
        "session/extensions/list",
        json!({ "sessionId": id }),
    );
    assert_eq!(listed["extensions"], json!([]));
    let available = goose(&mut client, "extensions/available", json!({}));
    assert!(available["extensions"].as_array().unwrap().len() >= 3);
    refused(
        &mut client,
        "session/extensions/add",
        json!({"sessionId": id, "extension": 5}),
    );
}

#[test]
fn recipes_are_kept_scheduled_and_started_with_values_of_the_user() {
    let server = server(&[("blue", json!([{"text": "It is blue."}]))]);
    let mut client = desktop(&server);
    let recipe = json!({
        "version": "1.0.0", "title": "Colours", "description": "About a colour",
        "instructions": "Speak of {{colour}}.", "prompt": "Say {{colour}}",
        "parameters": [{"key": "colour", "input_type": "string", "requirement": "required",
            "description": "Which one"}],
    });
    let saved = goose(
        &mut client,
        "recipes/save",
        json!({"recipe": recipe, "id": null}),
    );
    let id = saved["id"].as_str().unwrap().to_owned();
    assert!(
        saved["file_path"]
            .as_str()
            .unwrap()
            .ends_with(saved["file_name"].as_str().unwrap())
    );
    let listed = goose(&mut client, "recipes/list", json!({}));
    assert_eq!(listed["recipes"][0]["recipe"]["title"], "Colours");
    let link = goose(&mut client, "recipes/encode", json!({ "recipe": recipe }));
    let decoded = goose(&mut client, "recipes/decode", link.clone());
    assert_eq!(decoded["recipe"]["title"], "Colours");
    let yaml = goose(&mut client, "recipes/to-yaml", json!({ "recipe": recipe }));
    let parsed = goose(
        &mut client,
        "recipes/parse",
        json!({"content": yaml["yaml"]}),
    );
    assert_eq!(parsed["recipe"]["title"], "Colours");
    let scan = goose(&mut client, "recipes/scan", json!({ "recipe": recipe }));
    assert_eq!(scan["has_security_warnings"], false);
    goose(
        &mut client,
        "recipes/slash-command",
        json!({"id": id, "slash_command": "colours"}),
    );

    // A session from the stored recipe: the client is asked before there is an answer.
    for how in [
        json!({"recipeId": id}),
        json!({"recipeDeeplink": link["deeplink"]}),
    ] {
        let begun = client.begin(
            "session/new",
            json!({"cwd": server.work(), "mcpServers": [], "_meta": how}),
        );
        let asked = client
            .until(|message| message["method"] == "_goose/unstable/session/recipe/request-params");
        assert_eq!(asked["params"]["parameters"][0]["key"], "colour");
        client.answer(
            &asked["id"],
            json!({"action": "submit", "values": {"colour": "blue"}}),
        );
        let opened = client.response(begun)["result"].clone();
        assert_eq!(
            opened["_meta"]["userRecipeValues"],
            json!({"colour": "blue"})
        );
        assert_eq!(opened["_meta"]["recipe"]["prompt"], "Say blue", "{opened}");
        let session = opened["sessionId"].as_str().unwrap().to_owned();
        let prompt = client.begin_prompt(&session, "Say blue");
        assert_eq!(client.response(prompt)["result"]["stopReason"], "end_turn");
    }
    // A user who cancels gets no session.
    let before = goose_sessions(&mut client);
    let begun = client.begin(
        "session/new",
        json!({"cwd": server.work(), "mcpServers": [], "_meta": {"recipeId": id}}),
    );
    let asked = client
        .until(|message| message["method"] == "_goose/unstable/session/recipe/request-params");
    client.answer(&asked["id"], json!({"action": "cancel"}));
    let error = client.response(begun)["error"].clone();
    assert_eq!(error["data"], json!({"reason": "recipe_params_cancelled"}));
    assert_eq!(goose_sessions(&mut client), before);

    goose(&mut client, "recipes/delete", json!({ "id": id }));
    assert_eq!(
        goose(&mut client, "recipes/list", json!({}))["recipes"],
        json!([])
    );
}

fn goose_sessions(client: &mut WebSocketClient) -> usize {
    let listed = client.call("session/list", json!({}));
    listed["sessions"].as_array().unwrap().len()
}

#[test]
fn schedules_are_made_paused_run_and_deleted() {
    let server = server(&[("go", json!([{"text": "Done."}]))]);
    let mut client = desktop(&server);
    assert_eq!(
        goose(&mut client, "schedules/list", json!({})),
        json!({"jobs": []})
    );
    let recipe = json!({"version": "1.0.0", "title": "Go", "description": "Goes",
        "instructions": "Go.", "prompt": "go"});
    let made = goose(
        &mut client,
        "schedules/create",
        json!({"id": "a b", "recipe": recipe, "cron": "0 0 1 1 *"}),
    );
    let id = made["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(made["job"]["currentlyRunning"], false);
    assert!(made["job"]["source"].is_string(), "{made}");
    let of = |id: &str| json!({ "scheduleId": id });
    goose(&mut client, "schedules/pause", of(&id));
    let listed = goose(&mut client, "schedules/list", json!({}));
    assert_eq!(listed["jobs"][0]["paused"], true);
    goose(&mut client, "schedules/unpause", of(&id));
    let changed = json!({"scheduleId": id, "cron": "0 0 2 2 *"});
    assert!(goose(&mut client, "schedules/update", changed)["job"]["cron"].is_string());
    let ran = goose(&mut client, "schedules/run-now", of(&id));
    assert_eq!(ran["status"], "completed");
    let session = ran["sessionId"].as_str().unwrap();
    support::until("the end of the run", || {
        let inspected = goose(
            &mut client,
            "schedules/running-job/inspect",
            json!({"jobId": id}),
        );
        (inspected["running"] == false).then_some(())
    });
    let sessions = goose(
        &mut client,
        "schedules/sessions/list",
        json!({"scheduleId": id, "limit": 5}),
    );
    assert_eq!(sessions["sessions"][0]["sessionId"], session, "{sessions}");
    goose(&mut client, "schedules/delete", of(&id));
    let error = refused(&mut client, "schedules/delete", of(&id));
    assert_eq!(error["code"], -32002, "{error}");
    refused(&mut client, "schedules/pause", json!({}));
}

#[test]
fn pages_without_content_get_empty_lists() {
    let server = server(&[]);
    let mut client = desktop(&server);
    for (method, params, expected) in [
        ("sources/list", json!({}), json!({"sources": []})),
        ("agent-mentions/list", json!({}), json!({"agents": []})),
        ("apps/list", json!({}), json!({"apps": []})),
        ("dictation/config", json!({}), json!({"providers": {}})),
        (
            "onboarding/import/scan",
            json!({}),
            json!({"candidates": []}),
        ),
    ] {
        assert_eq!(goose(&mut client, method, params), expected, "{method}");
    }
    let prompts = goose(&mut client, "config/prompts/list", json!({}));
    let first = &prompts["prompts"][0];
    assert!(
        first["defaultContent"].is_string() && first["isCustomized"] == false,
        "{first}"
    );
    let name = first["name"].clone();
    goose(
        &mut client,
        "config/prompts/save",
        json!({"name": name, "content": "Own words"}),
    );
    let read = goose(&mut client, "config/prompts/get", json!({"name": name}));
    assert_eq!(
        (&read["content"], &read["isCustomized"]),
        (&json!("Own words"), &json!(true))
    );
    goose(&mut client, "config/prompts/reset", json!({"name": name}));
    let save = json!({"values": [{"key": "autoCompactThreshold", "value": 0.5}]});
    goose(&mut client, "preferences/save", save);
    let read = goose(
        &mut client,
        "preferences/read",
        json!({"keys": ["autoCompactThreshold"]}),
    );
    assert_eq!(
        read["values"],
        json!([{"key": "autoCompactThreshold", "value": 0.5}])
    );
    goose(
        &mut client,
        "preferences/remove",
        json!({"keys": ["autoCompactThreshold"]}),
    );
    refused(
        &mut client,
        "preferences/save",
        json!({"values": [{"key": "GOOSE_MODE", "value": "auto"}]}),
    );
    let error = refused(&mut client, "local-inference/models/list", json!({}));
    assert_eq!(error["code"], -32601);
}

#[test]
fn a_models_error_is_an_answer_for_desktop_and_an_error_for_others() {
    let server = server(&[("fail", json!([{"error": "no credits left", "status": 401}]))]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let prompt = client.begin_prompt(&id, "fail");
    let said = client
        .until(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let text = said["params"]["update"]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.contains("no credits left"), "{text}");
    assert_eq!(client.response(prompt)["result"]["stopReason"], "end_turn");

    let mut other = WebSocketClient::connect(server.address(), &format!("/acp?token={TOKEN}"), "");
    other.call("initialize", json!({"protocolVersion": 1}));
    let prompt = other.begin_prompt(&id, "fail");
    assert!(other.response(prompt)["error"].is_object());
}

#[test]
fn a_loaded_session_tells_its_tokens() {
    let server = server(&[("hello", json!([{"text": "Hi."}]))]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let prompt = client.begin_prompt(&id, "hello");
    client.response(prompt);
    let mut second = desktop(&server);
    second.call(
        "session/load",
        json!({"sessionId": id, "cwd": server.work(), "mcpServers": []}),
    );
    let usage = second.until(|message| {
        message["method"] == "_goose/unstable/session/update"
            && message["params"]["update"]["sessionUpdate"] == "usage_update"
    });
    assert_eq!(usage["params"]["update"]["used"], 10, "{usage}");
    assert_eq!(second.update("usage_update")["used"], 10);
}

#[test]
fn a_call_has_the_user_interface_of_its_tool_and_its_progress() {
    let tool = json!({"name": "show", "inputSchema": {"type": "object"},
        "_meta": {"ui": {"resourceUri": "ui://one/view"}}});
    let script = Script::new()
        .on("tools/list", [Action::Result(json!({"tools": [tool]}))])
        .tool("show", [Action::Progress(2, 1), Action::text("Shown.")]);
    let call = json!([{"call": {"name": "one__show", "arguments": {}}}, {"text": "There."}]);
    let server = server(&[("show", call)]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let Extension(config) = Extension::scripted("one", &script);
    let added = server.post(
        "/agent/add_extension",
        json!({"session_id": id, "config": config}),
    );
    assert_eq!(added.status, 200, "{added:?}");
    let prompt = client.begin_prompt(&id, "show");
    let progress = client.until(|message| {
        message["params"]["update"]["_meta"]["toolNotification"]["type"] == "progress"
    });
    let update = &progress["params"]["update"];
    assert_eq!(update["status"], "in_progress");
    assert_eq!(update["_meta"]["toolNotification"]["params"]["progress"], 1);
    let app = json!({"resourceUri": "ui://one/view", "extensionName": "one", "toolName": "show"});
    let is_result = |message: &Value| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "tool_call_update" && update["status"] == "completed"
    };
    let live = client.until(is_result);
    assert_eq!(live["params"]["update"]["_meta"]["goose"]["mcpApp"], app);
    client.response(prompt);
    let mut second = desktop(&server);
    second.call(
        "session/load",
        json!({"sessionId": id, "cwd": server.work(), "mcpServers": []}),
    );
    let loaded = second.until(is_result);
    assert_eq!(loaded["params"]["update"]["_meta"]["goose"]["mcpApp"], app);
}

/// Waits for the question whether a tool may be called.
#[track_caller]
fn permission_asked(client: &mut WebSocketClient) -> Value {
    client.until(|message| message["method"] == "session/request_permission")
}

fn allow() -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}})
}

/// A server that asks before each call, and a session with `developer`.
fn asking_server(steps: Value) -> RunningServer {
    let told = json!({"when": {"user": "and "}, "steps": [{"text": "I heard {{last_user}}"}]});
    let turns = json!([{"when": {"user": "go"}, "steps": steps}, told]);
    Server::scripted(json!({"turns": turns, "name": "A chat"}))
        .setting("GOOSE_MODE", "approve")
        .with_developer()
        .start()
}

fn echo(text: &str) -> Value {
    json!({"call": {"name": "developer__shell", "arguments": {"command": format!("echo {text}")}}})
}

fn load(client: &mut WebSocketClient, server: &RunningServer, id: &str) {
    client.call(
        "session/load",
        json!({"sessionId": id, "cwd": server.work(), "mcpServers": []}),
    );
}

fn is_result(message: &Value) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == "tool_call_update" && update["status"] == "completed"
}

fn text_of_agent(client: &mut WebSocketClient) -> String {
    let update = client.update("agent_message_chunk");
    update["content"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_survives_three_reloads_with_its_question_open() {
    let server =
        asking_server(json!([{"text": "I call. "}, echo("kept"), {"text": "It is done."}]));
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    client.begin_prompt(&id, "go");
    let call = permission_asked(&mut client)["params"]["toolCall"]["toolCallId"].clone();
    for _ in 0..3 {
        drop(client);
        client = desktop(&server);
        load(&mut client, &server, &id);
        let shown = client.update("tool_call");
        assert_eq!(
            (&shown["toolCallId"], &shown["status"]),
            (&call, &json!("pending"))
        );
        let asked = permission_asked(&mut client);
        assert_eq!(asked["params"]["toolCall"]["toolCallId"], call);
        goose(&mut client, "session/info", json!({ "sessionId": id }));
        let again = client.messages.iter();
        let mut again = again.filter(|it| it["method"] == "session/request_permission");
        assert_eq!(again.next(), None, "it is asked once");
        client.messages.insert(0, asked);
    }
    let asked = permission_asked(&mut client);
    client.answer(&asked["id"], allow());
    let result = client.until(is_result);
    assert!(result.to_string().contains("kept"), "{result}");
    let mut said = String::new();
    while !said.ends_with("It is done.") {
        said = text_of_agent(&mut client);
    }
    // The history has it once.
    let mut late = desktop(&server);
    let idle = |message: &Value| {
        message["params"]["update"]["_meta"]["goose"]["activeRunId"].is_null()
            && message["params"]["update"]["sessionUpdate"] == "session_info_update"
    };
    client.until(idle);
    load(&mut late, &server, &id);
    let done = late
        .messages
        .iter()
        .filter(|it| it.to_string().contains("It is done."));
    assert_eq!(done.count(), 1);
}

#[test]
fn two_windows_see_one_turn_and_either_may_answer() {
    let server =
        asking_server(json!([{"text": "I call. "}, echo("both"), {"text": "It is done."}]));
    let (mut one, mut two) = (desktop(&server), desktop(&server));
    let id = new_session(&mut one, &server);
    load(&mut two, &server, &id);
    let prompt = one.begin_prompt(&id, "go");
    assert_eq!(two.update("user_message_chunk")["content"]["text"], "go");
    let first = permission_asked(&mut one);
    let second = permission_asked(&mut two);
    // A prompt of the second window meanwhile is told that the session is busy.
    let busy = two.begin_prompt(&id, "go");
    assert_eq!(two.response(busy)["result"]["stopReason"], "end_turn");
    two.until(|message| {
        message
            .to_string()
            .contains("A turn of this session is running")
    });
    two.answer(&second["id"], allow());
    let withdrawn = one.until(|message| message["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    // An answer that comes too late changes nothing.
    one.answer(&first["id"], json!({"outcome": {"outcome": "cancelled"}}));
    for client in [&mut one, &mut two] {
        assert!(client.until(is_result).to_string().contains("both"));
        client.until(|message| message.to_string().contains("It is done."));
    }
    assert_eq!(one.response(prompt)["result"]["stopReason"], "end_turn");
}

#[test]
fn either_window_may_cancel_and_a_later_turn_follows() {
    let server = asking_server(json!([echo("never"), {"text": "It is done."}]));
    let (mut one, mut two) = (desktop(&server), desktop(&server));
    let id = new_session(&mut one, &server);
    load(&mut two, &server, &id);
    let prompt = one.begin_prompt(&id, "go");
    permission_asked(&mut two);
    two.notify("session/cancel", json!({ "sessionId": id }));
    assert_eq!(one.response(prompt)["result"]["stopReason"], "cancelled");
    let prompt = two.begin_prompt(&id, "go");
    let asked = permission_asked(&mut two);
    two.answer(&asked["id"], allow());
    assert_eq!(two.response(prompt)["result"]["stopReason"], "end_turn");
}

/// The run that a window is told of.
fn active_run(client: &mut WebSocketClient) -> Value {
    let told = client
        .until(|message| message["params"]["update"]["_meta"]["goose"]["activeRunId"].is_string());
    told["params"]["update"]["_meta"]["goose"]["activeRunId"].clone()
}

#[test]
fn a_message_for_the_running_turn_comes_from_any_window() {
    let server = asking_server(json!([echo("it"), {"text": "It is done."}]));
    let (mut one, mut two) = (desktop(&server), desktop(&server));
    let id = new_session(&mut one, &server);
    let text = json!([{"type": "text", "text": "and blue"}]);
    let steer = json!({"sessionId": id, "expectedRunId": "none", "prompt": text});
    let none = refused(&mut one, "session/steer", steer.clone());
    assert_eq!(none["code"], -32602, "{none}");
    let prompt = one.begin_prompt(&id, "go");
    let question = permission_asked(&mut one);
    let run = active_run(&mut one);
    load(&mut two, &server, &id);
    assert_eq!(active_run(&mut two), run);
    let other = refused(&mut two, "session/steer", steer);
    assert_eq!(
        other["data"],
        json!({"expectedRunId": "none", "actualRunId": run})
    );
    for (prompt, why) in [(json!([]), "empty"), (json!("text"), "content blocks")] {
        let steer = json!({"sessionId": id, "expectedRunId": run, "prompt": prompt});
        let error = refused(&mut two, "session/steer", steer);
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
    let taken = goose(
        &mut two,
        "session/steer",
        json!({"sessionId": id, "expectedRunId": run, "prompt": text}),
    );
    assert_eq!(taken["runId"], run);
    for client in [&mut one, &mut two] {
        let queued = client.until(|message| {
            message["params"]["update"]["_meta"]["goose"]["queuedSteer"].is_object()
        });
        let expected = json!({"messageId": taken["messageId"], "runId": run});
        assert_eq!(
            queued["params"]["update"]["_meta"]["goose"]["queuedSteer"],
            expected
        );
    }
    let is_steer = |message: &Value| message["params"]["update"]["_meta"]["goose"]["steer"] == true;
    one.answer(&question["id"], allow());
    for client in [&mut one, &mut two] {
        let shown = client.until(is_steer)["params"]["update"].clone();
        assert_eq!(shown["sessionUpdate"], "user_message_chunk");
        assert_eq!(shown["content"]["text"], "and blue");
        assert_eq!(shown["messageId"], taken["messageId"]);
        let meta = &shown["_meta"]["goose"];
        assert_eq!(meta["messageId"], taken["messageId"]);
        assert_eq!(meta["steer"], true);
        let mut said = String::new();
        while said != "I heard and blue" {
            said = text_of_agent(client);
            assert_ne!(said, "It is done.");
        }
    }
    assert_eq!(one.response(prompt)["result"]["stopReason"], "end_turn");
    // The mark is in the history, too.
    let mut late = desktop(&server);
    load(&mut late, &server, &id);
    let shown = late.until(is_steer);
    assert_eq!(shown["params"]["update"]["messageId"], taken["messageId"]);
}

#[test]
fn a_page_follows_the_turn_of_another_client_and_answers_its_questions() {
    let server =
        asking_server(json!([{"text": "I call. "}, echo("rest"), {"text": "It is done."}]));
    let mut page = desktop(&server);
    let id = new_session(&mut page, &server);
    let session = server.known(&id);
    let turn = session.begin_turn("go");
    let shown = page.update("user_message_chunk");
    assert_eq!(shown["content"]["text"], "go");
    let run = active_run(&mut page);
    // A prompt of the page meanwhile is told that the session is busy.
    let busy = page.begin_prompt(&id, "go");
    assert_eq!(page.response(busy)["result"]["stopReason"], "end_turn");
    let question = permission_asked(&mut page);
    let text = json!([{"type": "text", "text": "and blue"}]);
    let steer = json!({"sessionId": id, "expectedRunId": run, "prompt": text});
    goose(&mut page, "session/steer", steer);
    page.answer(&question["id"], allow());
    assert!(page.until(is_result).to_string().contains("rest"));
    page.until(|message| message.to_string().contains("I heard and blue"));
    turn.rest().finishes().says("I heard and blue");
    let is_idle = |message: &Value| {
        let update = &message["params"]["update"];
        let run = update["_meta"]["goose"].get("activeRunId");
        update["sessionUpdate"] == "session_info_update" && run.is_some_and(Value::is_null)
    };
    page.until(is_idle);
    // A page that is loaded anew in the middle of such a turn joins it, and may end it.
    let turn = session.begin_turn("go");
    let mut late = desktop(&server);
    permission_asked(&mut page);
    load(&mut late, &server, &id);
    permission_asked(&mut late);
    late.notify("session/cancel", json!({ "sessionId": id }));
    turn.rest().fails("cancelled");
}

#[test]
fn settings_extensions_and_tools_answer_as_the_pages_read_them() {
    let server = server(&[("hello", json!([{"text": "Hello."}]))]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);

    let key = json!({"key": "GOOSE_TEMPERATURE", "isSecret": false});
    let set = json!({"key": "GOOSE_TEMPERATURE", "value": 0.5, "isSecret": false});
    goose(&mut client, "config/upsert", set);
    assert_eq!(goose(&mut client, "config/read", key.clone())["value"], 0.5);
    let all = goose(&mut client, "config/read-all", json!({}));
    assert_eq!(all["config"]["GOOSE_TEMPERATURE"], 0.5);
    goose(&mut client, "config/remove", key.clone());
    assert_eq!(goose(&mut client, "config/read", key)["value"], Value::Null);
    let defaults = json!({"providerId": "scripted", "modelId": "other"});
    goose(&mut client, "defaults/save", defaults);
    assert_eq!(
        goose(&mut client, "defaults/read", json!({}))["modelId"],
        "other"
    );

    let extension = json!({"type": "builtin", "name": "memory", "description": "", "timeout": 20});
    let add = json!({"extension": extension, "enabled": true});
    goose(&mut client, "config/extensions/add", add);
    let entry = |client: &mut WebSocketClient| {
        let listed = goose(client, "config/extensions/list", json!({}));
        let mut all = listed["extensions"].as_array().unwrap().clone().into_iter();
        all.find(|it| it["configKey"] == "memory")
    };
    assert_eq!(entry(&mut client).unwrap()["enabled"], true);
    let off = json!({"configKey": "memory", "enabled": false});
    goose(&mut client, "config/extensions/set-enabled", off);
    assert_eq!(entry(&mut client).unwrap()["enabled"], false);
    goose(
        &mut client,
        "config/extensions/remove",
        json!({"configKey": "memory"}),
    );
    assert_eq!(entry(&mut client), None);

    let providers = goose(&mut client, "providers/list", json!({}));
    assert!(providers["entries"].as_array().unwrap().len() > 20);
    let model = json!({"provider": "openai", "model": "gpt-4o"});
    let info = goose(&mut client, "providers/canonical-model-info", model);
    assert_eq!(info["modelInfo"]["contextLimit"], 128_000, "{info}");
    let name = json!({"providerId": "scripted"});
    goose(&mut client, "providers/supported-models/list", name);
    let refreshed = json!({"providerIds": ["scripted"]});
    goose(&mut client, "providers/inventory/refresh", refreshed);
    let commands = goose(&mut client, "slash-commands/list", json!({}));
    assert!(
        commands["availableCommands"]
            .to_string()
            .contains("compact")
    );

    let title = json!({"sessionId": id, "title": "Renamed"});
    goose(&mut client, "session/rename", title);
    let name = json!({ "sessionId": id });
    let info = |client: &mut WebSocketClient| {
        goose(client, "session/info", json!({ "sessionId": id }))["session"].clone()
    };
    assert_eq!(info(&mut client)["title"], "Renamed");
    goose(&mut client, "session/archive", name.clone());
    assert!(info(&mut client)["_meta"]["archivedAt"].is_string());
    goose(&mut client, "session/unarchive", name.clone());
    assert_eq!(info(&mut client)["_meta"].get("archivedAt"), None);
    let project = json!({"sessionId": id, "projectId": "garden"});
    goose(&mut client, "session/project/update", project);
    assert_eq!(info(&mut client)["_meta"]["projectId"], "garden");
    let none = json!({"sessionId": id, "projectId": null});
    goose(&mut client, "session/project/update", none);
    assert_eq!(info(&mut client)["_meta"].get("projectId"), None);
    for project in [json!(1), json!("p".repeat(1_000))] {
        let wrong = json!({"sessionId": id, "projectId": project});
        refused(&mut client, "session/project/update", wrong);
    }
    let relays = json!({"sessionId": id, "relays": ["wss://relay.example"]});
    let shared = refused(&mut client, "session/share/nostr", relays);
    assert!(
        shared["message"].as_str().unwrap().contains("export it"),
        "{shared}"
    );
    let prompt = client.begin_prompt(&id, "hello");
    client.response(prompt);
    assert_eq!(info(&mut client)["_meta"]["messageCount"], 2);
    let all = json!({"sessionId": id, "truncateFrom": 0});
    goose(&mut client, "session/conversation/truncate", all);
    assert_eq!(info(&mut client)["_meta"]["messageCount"], 0);
}

#[test]
fn sessions_are_titled_and_put_away_as_the_draft_of_the_protocol_has_it() {
    let server = server(&[("wait", json!([{"wait_ms": 60_000}]))]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let of = |id: &str| json!({ "sessionId": id });
    let status =
        |client: &mut WebSocketClient| client.call("session/status", of(&id))["status"].clone();
    assert_eq!(status(&mut client), "open");
    let titled = json!({"sessionId": id, "title": "  A garden "});
    assert_eq!(
        client.call("session/set_title", titled),
        json!({"title": "A garden"})
    );
    let code = |client: &mut WebSocketClient, method: &str, params: Value| {
        let id = client.begin(method, params);
        client.response(id)["error"]["code"].clone()
    };
    let nothing = json!({"sessionId": id, "title": "  "});
    assert_eq!(code(&mut client, "session/set_title", nothing), -32602);
    let prompt = client.begin_prompt(&id, "wait");
    client.call("session/archive", of(&id));
    assert_eq!(client.response(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(status(&mut client), "saved");
    client.call("session/unarchive", of(&id));
    assert_eq!(status(&mut client), "saved", "it was not opened by that");
    for method in ["session/status", "session/archive", "session/unarchive"] {
        assert_eq!(
            code(&mut client, method, of("20990101_1")),
            -32002,
            "{method}"
        );
    }
}

#[test]
fn what_is_not_there_is_refused_with_words() {
    let server = server(&[]);
    let mut client = desktop(&server);
    for (method, params, code, words) in [
        (
            "apps/export",
            json!({"name": "x"}),
            -32002,
            "gosling keeps no apps",
        ),
        (
            "apps/import",
            json!({"html": "<p>"}),
            -32602,
            "gosling keeps no apps",
        ),
        (
            "apps/delete",
            json!({"name": "x"}),
            -32602,
            "gosling keeps no apps",
        ),
        (
            "providers/config/authenticate",
            json!({"providerId": "openai"}),
            -32602,
            "store a key",
        ),
        (
            "recipes/schedule",
            json!({"id": "nope", "cron_schedule": "0 0 1 1 *"}),
            -32002,
            "nope",
        ),
        (
            "schedules/running-job/kill",
            json!({"jobId": "nope"}),
            -32002,
            "nope",
        ),
    ] {
        let error = refused(&mut client, method, params);
        assert_eq!(error["code"], code, "{method}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{method}: {message}");
    }
}

#[test]
#[cfg(feature = "demo")]
fn tools_and_resources_of_a_session_are_used() {
    let server = server(&[]);
    let mut client = desktop(&server);
    let id = new_session(&mut client, &server);
    let demo = json!({"type": "builtin", "name": "demo", "description": "", "timeout": 20});
    let add = json!({"sessionId": id, "extension": demo});
    goose(&mut client, "session/extensions/add", add);
    let call = json!({"sessionId": id, "name": "demo__add", "arguments": {"a": 2, "b": 3}});
    let called = goose(&mut client, "tools/call", call);
    assert_eq!(called["isError"], false, "{called}");
    let wrong = json!({"sessionId": id, "name": "demo__none", "arguments": {}});
    refused(&mut client, "tools/call", wrong);
    let uri = server.get(&format!("/agent/resources?session_id={id}"));
    let uri = uri.is(200).body["resources"][0]["uri"].clone();
    let read = json!({"sessionId": id, "uri": uri, "extensionName": "demo"});
    let read = goose(&mut client, "resources/read", read);
    assert!(read["result"]["contents"].is_array(), "{read}");
}
