//! Vertex AI, made by the catalog, against a fake of Google's token endpoint.

use crate::catalog::provider;
use crate::harness::{Question, brief};
use crate::model_server::{ModelServer, Reply};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gosling::provider::{ErrorClass, Provider};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const REFRESH: &str = "refresh-token-secret";
/// An RSA key that was made for these tests.
const KEY: &str = include_str!("service_account_key.pem");

/// A file of credentials, which is removed with the value.
struct KeyFile(std::path::PathBuf);

impl KeyFile {
    fn new(name: &str, token_uri: &str) -> KeyFile {
        let file = json!({"type": "authorized_user", "client_id": "c", "client_secret": "s&s",
            "refresh_token": REFRESH, "token_uri": token_uri});
        KeyFile::with(name, &file)
    }

    fn with(name: &str, file: &Value) -> KeyFile {
        let path = std::env::temp_dir().join(format!("gosling-{}-{name}.json", std::process::id()));
        std::fs::write(&path, file.to_string()).unwrap();
        KeyFile(path)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn vertex(server: &ModelServer, file: &KeyFile) -> Arc<dyn Provider> {
    let variables = [
        ("GCP_PROJECT_ID", "p-1"),
        ("GCP_VERTEX_AI_HOST", server.url.as_str()),
        ("GOOGLE_APPLICATION_CREDENTIALS", file.0.to_str().unwrap()),
    ];
    provider("gcp_vertex_ai", &variables)
}

fn question(model: &str) -> Question {
    let mut question = Question::default();
    question.model.model_name = model.into();
    question
}

fn token(token: &str) -> Reply {
    let body = json!({"access_token": token, "expires_in": 3600, "token_type": "Bearer"});
    Reply::json("200 OK", &body.to_string())
}

const GEMINI: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"f1\",\"name\":\"a\",\"args\":{\"x\":1}}}]},",
    "\"finishReason\":\"STOP\"}]}\r\n\r\n",
);
const CLAUDE: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

#[test]
fn gemini_and_claude_are_asked_with_one_token() {
    let tokens = ModelServer::new(vec![token("access-1")]);
    let server = ModelServer::new(vec![Reply::stream(GEMINI), Reply::stream(CLAUDE)]);
    let file = KeyFile::new("both", &tokens.url);
    let vertex = vertex(&server, &file);
    let answer = question("gemini-2.5-pro").ask(&*vertex).0.unwrap();
    assert_eq!(brief(&answer), [r#"call a f1 {"x":1}"#]);
    let answer = question("claude-sonnet-4-5@20250929")
        .ask(&*vertex)
        .0
        .unwrap();
    assert_eq!(brief(&answer), ["call a t1 {}"]);
    let form = tokens.seen()[0].body.clone();
    assert!(
        form.contains("client_secret=s%26s&refresh_token=refresh%2Dtoken"),
        "{form}"
    );
    assert_eq!(tokens.seen().len(), 1);
    let base = "/v1/projects/p-1/locations/us-central1/publishers";
    let paths = [
        format!("{base}/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
        format!("{base}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"),
    ];
    for (seen, path) in server.seen().iter().zip(paths) {
        assert_eq!(seen.path, path);
        assert_eq!(seen.header("authorization"), Some("Bearer access-1"));
    }
    let claude = &server.bodies()[1];
    assert_eq!(claude["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(claude["stream"], true);
    assert!(claude.get("model").is_none());
}

/// The claims of a token that the key of the service account has signed; panics if it has not.
fn checked_claims(assertion: &str) -> Value {
    let base64: String = (KEY.lines())
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(base64).unwrap()).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public().as_ref());
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
    let part = |text: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    };
    let (header, claims) = signed.split_once('.').unwrap();
    let expected = json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"});
    assert_eq!(part(header), expected);
    part(claims)
}

#[test]
fn a_service_account_signs_its_claims() {
    let tokens = ModelServer::new(vec![token("access-1")]);
    let server = ModelServer::new(vec![Reply::stream(GEMINI)]);
    let file = json!({"type": "service_account", "client_email": "a@p-1.iam.gserviceaccount.com",
        "private_key": KEY, "private_key_id": "key-1", "token_uri": tokens.url});
    let file = KeyFile::with("service", &file);
    let vertex = vertex(&server, &file);
    question("gemini-2.5-pro").ask(&*vertex).0.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer access-1"));
    let form = tokens.seen()[0].body.replace("%2D", "-");
    let form = form.replace("%2E", ".").replace("%5F", "_");
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let claims = checked_claims(form.strip_prefix(grant).unwrap());
    assert_eq!(claims["iss"], "a@p-1.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], tokens.url);
    let scope = "https://www.googleapis.com/auth/cloud-platform";
    assert_eq!(claims["scope"], scope);
    let seconds = |name: &str| claims[name].as_i64().unwrap();
    assert_eq!(seconds("exp") - seconds("iat"), 3600);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert!(seconds("iat").abs_diff(now.as_secs() as i64) < 120);
}

#[test]
fn a_key_that_is_none_is_not_repeated() {
    let server = ModelServer::new(Vec::new());
    let file = json!({"type": "service_account", "client_email": "a", "private_key": "c2VjcmV0"});
    let file = KeyFile::with("no-key", &file);
    let error = question("gemini-2.5-pro").ask(&*vertex(&server, &file)).0;
    let error = error.unwrap_err();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(error.message.contains("private key"), "{error}");
    assert!(!error.message.contains("c2VjcmV0"), "{error}");
}

#[test]
fn an_expired_token_is_fetched_anew_once() {
    let tokens = ModelServer::new(vec![token("access-one"), token("access-two")]);
    let expired = Reply::json(
        "401 No",
        r#"{"error":{"code":401,"message":"expired access-two"}}"#,
    );
    let replies = vec![
        expired.clone(),
        Reply::stream(GEMINI),
        expired.clone(),
        expired,
    ];
    let server = ModelServer::new(replies);
    let file = KeyFile::new("expired", &tokens.url);
    let vertex = vertex(&server, &file);
    question("gemini-2.5-pro").ask(&*vertex).0.unwrap();
    assert_eq!(
        server.seen()[1].header("authorization"),
        Some("Bearer access-two")
    );
    // The token endpoint has nothing left.
    let error = question("gemini-2.5-pro").ask(&*vertex).0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
    assert!(!error.message.contains(REFRESH), "{error}");
}

#[test]
fn a_hostile_token_endpoint_is_an_error_in_time() {
    let big = "a".repeat(10 << 20);
    for (reply, class) in [
        (
            Reply::new("302 Found\r\nLocation: http://evil.example/", ""),
            ErrorClass::Config,
        ),
        (Reply::json("200 OK", &big), ErrorClass::Protocol),
        (
            Reply::new("200 OK\r\nContent-Type: text/html", "<html>"),
            ErrorClass::Protocol,
        ),
        (Reply::json("400 No", REFRESH), ErrorClass::Authentication),
        (Reply::default().hold(), ErrorClass::Timeout),
    ] {
        let tokens = ModelServer::new(vec![reply]);
        let server = ModelServer::new(Vec::new());
        let file = KeyFile::new("hostile", &tokens.url);
        let begin = Instant::now();
        let error = question("gemini-2.5-pro").ask(&*vertex(&server, &file)).0;
        let error = error.unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(15));
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.starts_with("Google Vertex AI: "), "{error}");
        assert!(!error.message.contains(REFRESH), "{error}");
        assert!(server.seen().is_empty());
    }
}

#[test]
fn a_file_cannot_send_its_secrets_to_just_any_host() {
    let server = ModelServer::new(Vec::new());
    for uri in [
        "https://evil.example/token",
        "http://oauth2.googleapis.com/token",
        "https://evilgoogleapis.com/token",
        "https://googleapis.com.evil.example/",
    ] {
        let file = KeyFile::new("elsewhere", uri);
        let error = question("gemini-2.5-pro").ask(&*vertex(&server, &file)).0;
        let error = error.unwrap_err();
        assert_eq!(error.class, ErrorClass::Config);
        assert!(error.message.contains("googleapis.com"), "{error}");
    }
}
