//! `gosling models`, and what a table of models of the user's changes.
#![cfg(feature = "openai")]

#[path = "support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;
#[path = "support/model_server.rs"]
#[allow(dead_code)]
mod model_server;
mod support;

use model_server::{ModelServer, Reply};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use support::server::{Server, gosling};
use support::{TempDir, temp_dir};

/// A folder for the files of one gosling.
struct Root(TempDir);

impl Root {
    fn new() -> Self {
        Root(temp_dir())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn table(&self) -> PathBuf {
        self.path().join("data/models.json")
    }

    /// What `gosling models` prints, and what it says of a failure.
    #[track_caller]
    fn prints(&self, arguments: &[&str], code: i32) -> String {
        let output = gosling()
            .arg("models")
            .args(arguments)
            .env("GOOSE_PATH_ROOT", self.path())
            .env("HOME", self.path())
            .output()
            .expect("gosling runs");
        let text = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}{said}");
        text + &said
    }
}

/// A table of one provider.
fn table(date: &str, provider: &str, models: &Value) -> String {
    let providers = json!({ provider: models });
    json!({"format": "gosling-models-1", "date": date, "source": "a test", "providers": providers})
        .to_string()
}

#[test]
fn models_are_listed_with_limits_prices_and_dates() {
    let root = Root::new();
    let all = root.prints(&[], 0);
    assert!(all.starts_with("models of 20"), "{all}");
    assert!(all.contains(", part of the program: gosling, facts from LiteLLM (MIT)\n"));
    for provider in ["\nanthropic\n", "\nopenai\n", "\nopenrouter\n"] {
        assert!(all.contains(provider), "{provider}");
    }
    let openai = root.prints(&["openai"], 0);
    let line = |name: &str| {
        let mut lines = openai.lines();
        let found = lines.find(|line| line.split_whitespace().next() == Some(name));
        let words: Vec<&str> = found.expect(name).split_whitespace().collect();
        words.join(" ")
    };
    assert_eq!(
        line("gpt-6.1-sol"),
        "gpt-6.1-sol 1050000 128000 responses tir 2/10/0.1/2.5"
    );
    assert_eq!(
        line("gpt-4o"),
        "gpt-4o 128000 16384 chat ti- 2.5/10/1.25 retired 2027-01-14, then gpt-6-luna"
    );
    assert!(!openai.contains("anthropic"));
    let azure = root.prints(&["azure_openai"], 0);
    assert!(azure.contains("gpt-6.1-sol"), "{azure}");
    let local = root.prints(&["vllm"], 0);
    assert!(local.contains("its own list has them"), "{local}");
    assert!(
        root.prints(&["nope"], 1)
            .contains("no provider nope is known")
    );
    let list: Value = serde_json::from_str(&root.prints(&["groq", "--json"], 0)).unwrap();
    assert_eq!(list["providers"]["groq"][0]["window"], 131_072);
    assert!(!root.path().join("data").exists(), "listing writes nothing");
}

#[test]
fn a_newer_list_is_used_once_it_has_been_checked() {
    let root = Root::new();
    let models = json!([{"name": "gpt-9", "window": 9, "price": [1, 2]}]);
    let newer = root.file("newer.json", &table("2126-01-01", "openai", &models));
    let told = root.prints(&["update", &newer], 0);
    assert!(told.starts_with("1 models of 1 providers in "), "{told}");
    let listed = root.prints(&["openai"], 0);
    assert!(
        listed.starts_with("models of 2126-01-01, data/models.json: a test\n"),
        "{listed}"
    );
    assert!(
        listed.contains("gpt-9") && !listed.contains("gpt-4o"),
        "{listed}"
    );
    // The others stay those of the program.
    assert!(root.prints(&["groq"], 0).contains("openai/gpt-oss-120b"));

    let before = fs::read(root.table()).unwrap();
    for (text, why) in [
        ("{\n \"providers\": ,", "line 2 column"),
        ("[]", "line 1 column"),
        (
            &table("2126-01-01", "openai", &json!([])),
            "it has no models",
        ),
        (
            &table("2126-01-01", "openai", &json!([{"name": "m"}])),
            "the models of \"openai\", from line 1 on: missing field `window`",
        ),
    ] {
        let bad = root.file("bad.json", text);
        let said = root.prints(&["update", &bad], 1);
        assert!(
            said.contains("is not used: ") && said.contains(why),
            "{said}"
        );
        assert_eq!(fs::read(root.table()).unwrap(), before);
    }
    let large = root.file("large.json", &" ".repeat((16 << 20) + 1));
    assert!(root.prints(&["update", &large], 1).contains("is not used"));
    assert!(
        root.prints(&["update", "/no/such/file"], 1)
            .contains("there is no such file")
    );
    root.prints(&["update"], 2);

    let older = root.file("older.json", &table("2020-01-01", "openai", &models));
    let told = root.prints(&["update", &older], 0);
    assert!(
        told.contains("it is not newer than that of the program"),
        "{told}"
    );
    assert!(root.prints(&["openai"], 0).contains("gpt-4o"));
}

#[test]
fn a_list_of_litellm_is_fetched_and_converted() {
    let list = json!({
        "gpt-9": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 9000,
            "max_output_tokens": 100, "supports_function_calling": true, "input_cost_per_token": 1e-6,
            "output_cost_per_token": 2.5e-6},
        "x/y": {"litellm_provider": "unheard_of", "mode": "chat", "max_input_tokens": 9000,
            "supports_function_calling": true},
    });
    let server = ModelServer::new(vec![Reply::json("200 OK", &list.to_string())]);
    let root = Root::new();
    let told = root.prints(
        &["update", &format!("{}/list.json", server.url), "--offline"],
        0,
    );
    assert!(told.starts_with("1 models of 1 providers in "), "{told}");
    let stored: Value = serde_json::from_slice(&fs::read(root.table()).unwrap()).unwrap();
    assert_eq!(
        stored["providers"],
        json!({"openai": [{"name": "gpt-9", "window": 9000, "output": 100, "endpoint": "responses",
            "price": [1.0, 2.5]}]})
    );
    let far = root.prints(&["update", "https://far.example/x", "--offline"], 1);
    assert!(far.contains("far.example"), "{far}");
    let plain = root.prints(&["update", "http://far.example/x"], 1);
    assert!(plain.contains("needs https"), "{plain}");
}

/// The events of an answer.
fn answer() -> Reply {
    let chunks = [
        json!({"choices": [{"index": 0, "delta": {"content": "Hello."}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ];
    let lines: Vec<String> = chunks.iter().map(|it| format!("data: {it}\n\n")).collect();
    let body = lines.concat() + "data: [DONE]\n\n";
    Reply::stream(body)
}

#[test]
fn the_first_turn_with_a_retired_model_says_so_once() {
    let model = ModelServer::with(|_| answer());
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "databricks")
        .setting("GOOSE_MODEL", "old")
        .setting("DATABRICKS_HOST", model.url.as_str())
        .env("DATABRICKS_TOKEN", "t");
    let folder = server.root().join("data");
    fs::create_dir_all(&folder).unwrap();
    let models =
        json!([{"name": "old", "window": 100_000, "retired": "2001-02-03", "successor": "new"}]);
    let text = table("2126-01-01", "databricks", &models);
    fs::write(folder.join("models.json"), text).unwrap();
    let server = server.start();
    let session = server.session([]);
    let told = "Databricks has retired the model old on 2001-02-03; its successor is new.";
    let turn = session.say("hello").finishes();
    let notices = turn.parts_of("systemNotification");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0]["msg"], told);
    assert_eq!(notices[0]["notificationType"], "inlineMessage");
    session.say("hello again").finishes().never_has(told);
    let stored = session.stored().to_string();
    assert!(!stored.contains("has retired"), "{stored}");
}

#[test]
fn what_is_no_table_is_refused_without_advice_about_the_users_files() {
    let root = Root::new();
    let folder = root.path().to_string_lossy();
    let said = root.prints(&["update", &folder], 1);
    assert!(said.contains(&*folder), "{said}");
    assert!(!said.contains("put a backup in its place"), "{said}");
}
