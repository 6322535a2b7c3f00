//! One valid and one invalid request for each operation, in an order in which each finds what it needs.

use serde_json::{Value, json};

/// A request and the status of its answer. `{name}` in path and body is a value that the walk has collected.
pub struct Ask {
    pub path: String,
    pub body: Option<Value>,
    pub status: u16,
    /// Whether the request has the key.
    pub keyed: bool,
}

pub struct Case {
    /// Method and path as in the document.
    pub operation: &'static str,
    pub valid: Ask,
    pub invalid: Ask,
    /// A field of the valid answer, and the name under which later requests use it.
    pub keeps: Option<(&'static str, &'static str)>,
}

impl Case {
    fn path(operation: &'static str) -> &'static str {
        operation.split_once(' ').expect("a method and a path").1
    }

    /// The valid request has this body, the answer this status; the invalid one has no key.
    fn new(operation: &'static str, status: u16, body: impl Into<Option<Value>>) -> Case {
        let ask = |status, body, keyed| Ask {
            path: Case::path(operation).to_owned(),
            body,
            status,
            keyed,
        };
        Case {
            operation,
            valid: ask(status, body.into(), true),
            invalid: ask(401, None, false),
            keeps: None,
        }
    }

    /// The invalid request has this body.
    fn not(mut self, status: u16, body: impl Into<Option<Value>>) -> Case {
        self.invalid = Ask {
            path: Case::path(self.operation).to_owned(),
            body: body.into(),
            status,
            keyed: true,
        };
        self
    }

    /// The invalid request has this path, and the body of the valid one.
    fn not_at(mut self, status: u16, path: &str) -> Case {
        self.invalid = Ask {
            path: path.to_owned(),
            body: self.valid.body.clone(),
            status,
            keyed: true,
        };
        self
    }

    fn at(mut self, path: &str) -> Case {
        self.valid.path = path.to_owned();
        self
    }

    fn keeps(mut self, field: &'static str, name: &'static str) -> Case {
        self.keeps = Some((field, name));
        self
    }
}

fn recipe() -> Value {
    json!({"version": "1.0.0", "title": "T", "description": "D", "instructions": "Be brief", "prompt": "go"})
}

fn message(text: &str) -> Value {
    json!({"role": "user", "created": 0, "content": [{"type": "text", "text": text}],
        "metadata": {"userVisible": true, "agentVisible": true}})
}

fn extension(name: &str) -> Value {
    json!({"type": "stdio", "name": name, "description": "d", "cmd": "{mcp}", "args": ["{script}"]})
}

fn provider(name: &str) -> Value {
    json!({"engine": "openai", "display_name": name, "api_url": "http://127.0.0.1:9/v1", "api_key": "k",
        "models": ["m"], "supports_streaming": true, "requires_auth": true})
}

/// All operations.
pub fn cases() -> Vec<Case> {
    [
        agent(),
        turns(),
        settings(),
        providers(),
        recipes(),
        schedules(),
        sessions(),
        others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn agent() -> Vec<Case> {
    let session = || json!({"session_id": "{sid}"});
    let unknown = || json!({"session_id": "20000101_1"});
    vec![
        Case::new(
            "POST /agent/start",
            200,
            json!({"working_dir": "{work}", "extension_overrides": [extension("one")]}),
        )
        .not(422, json!({"working_dir": 1}))
        .keeps("/id", "sid"),
        Case::new(
            "POST /agent/resume",
            200,
            json!({"session_id": "{sid}", "load_model_and_extensions": true}),
        )
        .not(
            404,
            json!({"session_id": "20000101_1", "load_model_and_extensions": true}),
        ),
        Case::new("POST /agent/restart", 200, session()).not(404, unknown()),
        Case::new("GET /agent/tools", 200, None)
            .at("/agent/tools?session_id={sid}")
            .not_at(400, "/agent/tools"),
        Case::new(
            "POST /agent/add_extension",
            200,
            json!({"session_id": "{sid}", "config": extension("two")}),
        )
        .not(
            422,
            json!({"session_id": "{sid}", "config": {"type": "stdio", "name": "two"}}),
        ),
        Case::new(
            "POST /agent/remove_extension",
            200,
            json!({"session_id": "{sid}", "name": "two"}),
        )
        .not(422, json!({"session_id": "{sid}"})),
        Case::new(
            "POST /agent/call_tool",
            200,
            json!({"session_id": "{sid}", "name": "one__echo", "arguments": {"message": "x"}}),
        )
        .not(
            500,
            json!({"session_id": "{sid}", "name": "absent__echo", "arguments": {}}),
        ),
        Case::new(
            "POST /agent/read_resource",
            200,
            json!({"session_id": "{sid}", "extension_name": "one", "uri": "a://1"}),
        )
        .not(
            500,
            json!({"session_id": "{sid}", "extension_name": "absent", "uri": "a://1"}),
        ),
        Case::new(
            "POST /agent/update_provider",
            200,
            json!({"session_id": "{sid}", "provider": "scripted", "model": "script"}),
        )
        .not(
            400,
            json!({"session_id": "{sid}", "provider": "absent", "model": "m"}),
        ),
        Case::new("POST /agent/update_from_session", 200, session()).not(404, unknown()),
        Case::new(
            "POST /agent/update_working_dir",
            200,
            json!({"session_id": "{sid}", "working_dir": "{work}"}),
        )
        .not(
            400,
            json!({"session_id": "{sid}", "working_dir": "/absent/folder"}),
        ),
    ]
}

fn turns() -> Vec<Case> {
    vec![
        Case::new("POST /reply", 200, json!({"session_id": "{sid}", "user_message": message("hello")}))
            .not(422, json!({"session_id": "{sid}", "user_message": {"role": "nobody"}})),
        Case::new("POST /action-required/tool-confirmation", 200,
            json!({"sessionId": "{sid}", "id": "none", "action": "allow_once", "principalType": "Tool"}))
            .not(422, json!({"sessionId": "{sid}", "id": "none", "action": "perhaps"})),
    ]
}

fn settings() -> Vec<Case> {
    let key = |key: &str| json!({"key": key, "is_secret": false});
    vec![
        Case::new("POST /config/init", 200, None),
        Case::new(
            "POST /config/upsert",
            200,
            json!({"key": "a_key", "value": {"b": 1}, "is_secret": false}),
        )
        .not(422, json!({"key": "a_key", "is_secret": "no"})),
        Case::new("POST /config/read", 200, key("a_key")).not(422, json!({"key": "a_key"})),
        Case::new("GET /config", 200, None),
        Case::new("GET /config/validate", 200, None),
        Case::new("POST /config/backup", 200, None),
        Case::new("POST /config/recover", 200, None),
        Case::new("POST /config/remove", 200, key("a_key")).not(422, json!({"is_secret": false})),
        Case::new(
            "POST /config/extensions",
            200,
            json!({"name": "three", "enabled": false, "config": extension("three")}),
        )
        .not(422, json!({"name": "three", "config": extension("three")})),
        Case::new("GET /config/extensions", 200, None),
        Case::new("DELETE /config/extensions/{name}", 200, None).at("/config/extensions/three"),
        Case::new(
            "POST /config/permissions",
            200,
            json!({"tool_permissions": [{"tool_name": "one__echo", "permission": "always_allow"}]}),
        )
        .not(
            422,
            json!({"tool_permissions": [{"tool_name": "one__echo", "permission": "perhaps"}]}),
        ),
        Case::new("GET /config/slash_commands", 200, None),
        Case::new("GET /config/prompts", 200, None),
        Case::new(
            "PUT /config/prompts/{name}",
            200,
            json!({"content": "Be kind."}),
        )
        .at("/config/prompts/system.md")
        .not_at(404, "/config/prompts/absent.md"),
        Case::new("GET /config/prompts/{name}", 200, None)
            .at("/config/prompts/system.md")
            .not_at(404, "/config/prompts/absent.md"),
        Case::new("DELETE /config/prompts/{name}", 200, None)
            .at("/config/prompts/system.md")
            .not_at(404, "/config/prompts/absent.md"),
    ]
}

fn providers() -> Vec<Case> {
    let scripted = || json!({"provider": "scripted"});
    vec![
        Case::new("GET /config/providers", 200, None),
        Case::new("GET /config/providers/{name}/models", 200, None)
            .at("/config/providers/scripted/models")
            .not_at(400, "/config/providers/absent/models"),
        Case::new("POST /config/providers/{name}/oauth", 400, None)
            .at("/config/providers/openai/oauth")
            .not_at(400, "/config/providers/absent/oauth"),
        Case::new("POST /config/check_provider", 200, scripted())
            .not(400, json!({"provider": "absent"})),
        Case::new(
            "POST /config/set_provider",
            200,
            json!({"provider": "scripted", "model": "script"}),
        )
        .not(400, json!({"provider": "absent", "model": "m"})),
        Case::new(
            "POST /config/canonical-model-info",
            200,
            json!({"provider": "openai", "model": "gpt-4o"}),
        )
        .not(422, scripted()),
        Case::new(
            "POST /config/detect-provider",
            404,
            json!({"api_key": "of no known form"}),
        )
        .not(422, json!({})),
        Case::new("POST /config/custom-providers", 200, provider("Mine"))
            .not(422, json!({"engine": "openai"})),
        Case::new("GET /config/custom-providers/{id}", 200, None)
            .at("/config/custom-providers/custom_mine")
            .not_at(404, "/config/custom-providers/custom_absent"),
        Case::new("PUT /config/custom-providers/{id}", 200, provider("Mine"))
            .at("/config/custom-providers/custom_mine")
            .not_at(404, "/config/custom-providers/custom_absent"),
        Case::new("DELETE /config/custom-providers/{id}", 200, None)
            .at("/config/custom-providers/custom_mine")
            .not_at(404, "/config/custom-providers/custom_absent"),
    ]
}

fn recipes() -> Vec<Case> {
    let of = |recipe: Value| json!({ "recipe": recipe });
    let saved = || json!({"id": "{rid}"});
    let absent = || json!({"id": "absent"});
    vec![
        Case::new("POST /recipes/encode", 200, of(recipe()))
            .not(422, of(json!({"title": 1})))
            .keeps("/deeplink", "link"),
        Case::new("POST /recipes/decode", 200, json!({"deeplink": "{link}"}))
            .not(400, json!({"deeplink": "!!"})),
        Case::new(
            "POST /recipes/parse",
            200,
            json!({"content": "version: 1.0.0\ntitle: T\ndescription: D\ninstructions: hi\n"}),
        )
        .not(400, json!({"content": "title: [unfinished"})),
        Case::new("POST /recipes/to-yaml", 200, of(recipe())).not(422, of(json!({"title": 1}))),
        Case::new("POST /recipes/scan", 200, of(recipe())).not(422, of(json!({"title": 1}))),
        Case::new("POST /recipes/create", 200, json!({"session_id": "{sid}"}))
            .not(404, json!({"session_id": "20000101_1"})),
        Case::new("POST /recipes/save", 200, of(recipe()))
            .not(422, of(json!({"title": 1})))
            .keeps("/id", "rid"),
        Case::new("GET /recipes/list", 200, None),
        Case::new(
            "POST /recipes/slash-command",
            200,
            json!({"id": "{rid}", "slash_command": "brief"}),
        )
        .not(404, absent()),
        Case::new(
            "POST /recipes/schedule",
            200,
            json!({"id": "{rid}", "cron_schedule": "0 0 9 * * *"}),
        )
        .not(404, absent()),
        Case::new("POST /recipes/delete", 204, saved()).not(404, absent()),
    ]
}

fn schedules() -> Vec<Case> {
    // Its run goes on until it is killed.
    let mut waits = recipe();
    waits["prompt"] = "wait".into();
    let job = json!({"id": "nightly", "cron": "0 0 3 * * *", "recipe": waits});
    let at = |operation: &'static str, status: u16, body: Option<Value>| {
        let with = |id: &str| Case::path(operation).replace("{id}", id);
        Case::new(operation, status, body)
            .at(&with("nightly"))
            .not_at(404, &with("absent"))
    };
    vec![
        Case::new("POST /schedule/create", 200, job).not(
            400,
            json!({"id": "other", "cron": "at dawn", "recipe": recipe()}),
        ),
        Case::new("GET /schedule/list", 200, None),
        at(
            "PUT /schedule/{id}",
            200,
            Some(json!({"cron": "0 30 3 * * *"})),
        ),
        at("POST /schedule/{id}/pause", 204, None),
        at("POST /schedule/{id}/unpause", 204, None),
        at("POST /schedule/{id}/run_now", 200, None),
        at("GET /schedule/{id}/inspect", 200, None),
        Case::new("POST /schedule/{id}/kill", 200, None).at("/schedule/nightly/kill"),
        Case::new("GET /schedule/{id}/sessions", 200, None)
            .at("/schedule/nightly/sessions?limit=5")
            .not_at(400, "/schedule/nightly/sessions?limit=many"),
        at("DELETE /schedule/delete/{id}", 204, None),
    ]
}

fn sessions() -> Vec<Case> {
    let at = |operation: &'static str, status: u16, body: Option<Value>| {
        let with = |id: &str| Case::path(operation).replace("{session_id}", id);
        Case::new(operation, status, body)
            .at(&with("{sid}"))
            .not_at(404, &with("20000101_1"))
    };
    vec![
        Case::new("GET /sessions", 200, None),
        Case::new("GET /sessions/insights", 200, None),
        Case::new("GET /sessions/search", 200, None)
            .at("/sessions/search?query=hello")
            .not_at(400, "/sessions/search?query=hello&after_date=yesterday"),
        at("GET /sessions/{session_id}", 200, None),
        at("GET /sessions/{session_id}/extensions", 200, None),
        Case::new(
            "PUT /sessions/{session_id}/name",
            200,
            json!({"name": "A name"}),
        )
        .at("/sessions/{sid}/name")
        .not(422, json!({})),
        at(
            "PUT /sessions/{session_id}/user_recipe_values",
            200,
            Some(json!({"userRecipeValues": {"word": "x"}})),
        )
        .at("/sessions/{recipe_session}/user_recipe_values"),
        at("GET /sessions/{session_id}/export", 200, None).keeps("", "export"),
        Case::new("POST /sessions/import", 200, json!({"json": "{export}"}))
            .not(400, json!({"json": "{"})),
        at(
            "POST /sessions/{session_id}/fork",
            200,
            Some(json!({"copy": true, "truncate": false})),
        ),
        at("GET /diagnostics/{session_id}", 200, None),
        Case::new("POST /agent/stop", 200, json!({"session_id": "{sid}"})).not(422, json!({})),
        at("DELETE /sessions/{session_id}", 200, None),
    ]
}

fn others() -> Vec<Case> {
    vec![
        Case::new("GET /status", 200, None).not(413, json!({})),
        Case::new("GET /mcp-ui-proxy", 200, None)
            .at("/mcp-ui-proxy?secret={key}")
            .not_at(401, "/mcp-ui-proxy?secret=no"),
        Case::new("GET /system_info", 200, None),
        Case::new("POST /handle_openrouter", 200, None),
        Case::new("POST /handle_tetrate", 200, None),
        Case::new("POST /telemetry/event", 202, json!({"event_name": "x"}))
            .not(422, json!({"event_name": 1})),
        Case::new("GET /tunnel/status", 200, None),
        Case::new("POST /tunnel/start", 400, None),
        Case::new("POST /tunnel/stop", 200, None),
    ]
}
