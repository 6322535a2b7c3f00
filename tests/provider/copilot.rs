//! GitHub Copilot, made by the catalog, against fakes of GitHub and of the server of the models.

use crate::catalog::catalog;
use crate::harness::{Question, brief};
use crate::model_server::{ModelServer, Reply, says};
use gosling::provider::{Catalog, ErrorClass};
use gosling::providers::ProviderCatalog;
use gosling::store::{Config, Secrets};
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const OWN: &str = "gho_own-secret";
const SHORT: &str = "tid=1;short-secret";

fn exchanged(token: &str, api: &str) -> Reply {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let body = json!({"token": token, "expires_at": now + 1800, "refresh_in": 1500,
        "endpoints": {"api": api}});
    Reply::json("200 OK", &body.to_string())
}

fn copilot(github: &ModelServer) -> ProviderCatalog {
    let variables = [
        ("GITHUB_COPILOT_HOST", github.url.as_str()),
        ("GITHUB_COPILOT_TOKEN", OWN),
    ];
    catalog(&variables)
}

#[test]
fn requests_go_to_the_server_that_the_exchanged_token_names() {
    let models = r#"{"data":[{"id":"gpt-4.1"},{"id":"claude-sonnet-4.5"}]}"#;
    let server = ModelServer::new(vec![
        Reply::stream(says(&["hi"])),
        Reply::json("200 OK", models),
    ]);
    let github = ModelServer::new(vec![exchanged(SHORT, &server.url)]);
    let copilot = copilot(&github).provider("github_copilot").unwrap();
    let answer = Question::default().ask(&*copilot).0.unwrap();
    assert_eq!(brief(&answer), ["text hi"]);
    assert_eq!(copilot.models(&Cancel::new()).unwrap().len(), 2);
    let seen = server.seen();
    assert_eq!(seen[0].path, "/chat/completions");
    assert_eq!(seen[1].path, "/models");
    for seen in &seen {
        let bearer = format!("Bearer {SHORT}");
        assert_eq!(seen.header("authorization"), Some(bearer.as_str()));
        assert_eq!(seen.header("copilot-integration-id"), Some("vscode-chat"));
        assert!(seen.header("editor-version").is_some());
    }
    assert_eq!(seen[0].header("x-initiator"), Some("user"));
    assert_eq!(seen[0].header("copilot-vision-request"), None);
    let exchange = &github.seen()[0];
    assert_eq!(exchange.path, "/copilot_internal/v2/token");
    assert_eq!(
        exchange.header("authorization"),
        Some("Bearer gho_own-secret")
    );
    assert_eq!(github.seen().len(), 1);
}

#[test]
fn a_refused_token_is_exchanged_anew_and_codex_goes_over_responses() {
    let words = r#"{"error":{"message":"model \"m\" is not accessible via the /chat/completions endpoint","code":"unsupported_api_for_model"}}"#;
    let done = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n\
                data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n";
    let server = ModelServer::new(vec![
        Reply::json("401 No", r#"{"error":{"message":"token expired"}}"#),
        Reply::json("400 No", words),
        Reply::stream(done),
    ]);
    let github = ModelServer::new(vec![
        exchanged("tid=0", &server.url),
        exchanged(SHORT, &server.url),
    ]);
    let copilot = copilot(&github).provider("github_copilot").unwrap();
    let _ = Question::default().ask(&*copilot);
    let paths: Vec<String> = server.seen().iter().map(|it| it.path.clone()).collect();
    assert_eq!(
        paths,
        ["/chat/completions", "/chat/completions", "/responses"]
    );
    assert_eq!(github.seen().len(), 2);
}

#[test]
fn a_hostile_exchange_is_an_error_without_secrets() {
    for (reply, class) in [
        (Reply::json("401 No", OWN), ErrorClass::Authentication),
        (Reply::json("200 OK", "{}"), ErrorClass::Protocol),
        (
            exchanged(SHORT, "https://evil.example"),
            ErrorClass::Protocol,
        ),
        (
            exchanged("a\r\nb: c", "https://api.githubcopilot.com"),
            ErrorClass::Protocol,
        ),
        (
            Reply::new("302 Found\r\nLocation: http://evil.example/", ""),
            ErrorClass::Config,
        ),
    ] {
        let github = ModelServer::new(vec![reply]);
        let copilot = copilot(&github).provider("github_copilot").unwrap();
        let error = Question::default().ask(&*copilot).0.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.starts_with("GitHub Copilot: "), "{error}");
        assert!(
            !error.message.contains(OWN) && !error.message.contains(SHORT),
            "{error}"
        );
    }
}

/// A fake login whose polls get these replies.
fn github_login(polls: Vec<Value>) -> ModelServer {
    let slot: Arc<std::sync::Mutex<String>> = Arc::default();
    let (own, polls) = (slot.clone(), std::sync::Mutex::new(polls.into_iter()));
    let server = ModelServer::with(move |request| match request.path.as_str() {
        "/login/device/code" => {
            let uri = format!("{}/login/device", own.lock().unwrap());
            let code = json!({"device_code": "d-secret", "user_code": "AB12-CD34",
                "verification_uri": uri, "expires_in": 900, "interval": 0});
            Reply::json("200 OK", &code.to_string())
        }
        _ => match polls.lock().unwrap().next() {
            Some(poll) => Reply::json("200 OK", &poll.to_string()),
            None => Reply::json("500 No", ""),
        },
    });
    *slot.lock().unwrap() = server.url.clone();
    server
}

/// Signs in with secrets in this file, and returns what the user was told.
fn sign_in(
    github: &ModelServer,
    file: &str,
    cancel: &Cancel,
) -> (Result<(), gosling::provider::Error>, String, Secrets) {
    let path = std::env::temp_dir().join(format!("gosling-{}-{file}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let url = github.url.clone();
    let config = Config::with_env(
        PathBuf::from("/no/such/folder/config.yaml"),
        Box::new(move |name: &str| (name == "GITHUB_COPILOT_HOST").then(|| url.clone())),
    );
    let secrets = || Secrets::with_env(path.clone(), Box::new(|_: &str| None));
    let catalog = ProviderCatalog::new(config, Arc::new(secrets()), false);
    let mut told = String::new();
    let outcome = catalog.sign_in("github_copilot", cancel, &mut |text| told += text);
    (outcome, told, secrets())
}

#[test]
fn a_login_waits_for_the_user_and_stores_the_token() {
    let github = github_login(vec![
        json!({"error": "authorization_pending"}),
        json!({"error": "slow_down", "interval": 1}),
        json!({"access_token": OWN}),
    ]);
    let (outcome, told, secrets) = sign_in(&github, "login.yaml", &Cancel::new());
    outcome.unwrap();
    assert_eq!(
        told,
        format!(
            "open {}/login/device in a browser and enter the code AB12-CD34",
            github.url
        )
    );
    let stored = secrets.get("GITHUB_COPILOT_TOKEN").unwrap().unwrap();
    assert_eq!(stored.expose_text(), OWN);
    let _ = std::fs::remove_file(secrets.path());
    let seen = github.bodies();
    assert_eq!(seen[0]["scope"], "read:user");
    assert_eq!(seen[1]["device_code"], "d-secret");
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_login_that_fails_stores_nothing() {
    for (poll, class) in [
        (
            json!({"error": "access_denied"}),
            ErrorClass::Authentication,
        ),
        (json!({"error": "expired_token"}), ErrorClass::Timeout),
        (json!({"error": "what d-secret"}), ErrorClass::Protocol),
        (json!({"access_token": "a\nb"}), ErrorClass::Protocol),
    ] {
        let github = github_login(vec![poll]);
        let (outcome, _, secrets) = sign_in(&github, "failed.yaml", &Cancel::new());
        let error = outcome.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(!error.message.contains("d-secret"), "{error}");
        assert!(secrets.get("GITHUB_COPILOT_TOKEN").unwrap().is_none());
    }
    let github = github_login(vec![json!({"error": "authorization_pending"}); 100]);
    let cancel = Cancel::new();
    let later = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        later.cancel();
    });
    let error = sign_in(&github, "cancelled.yaml", &cancel).0.unwrap_err();
    thread.join().unwrap();
    assert_eq!(error.class, ErrorClass::Cancelled);
}
