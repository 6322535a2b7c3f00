//! What stands in for a key: Microsoft Entra ID for Azure, and a service principal for Databricks, against fakes of
//! their token endpoints.

use crate::catalog::{catalog, provider};
use crate::harness::{Question, brief};
use crate::model_server::{ModelServer, Reply, says};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gosling::provider::{Catalog, Error, ErrorClass};
use gosling::providers::ProviderCatalog;
use gosling::store::{Config, Secrets};
use gosling::sys::cancel::Cancel;
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// A key and a certificate that are used nowhere else.
const CERTIFIED: &str = include_str!("sign_in/certified.pem");
/// The public key of it, as PKCS #1.
const PUBLIC_KEY: &[u8] = include_bytes!("sign_in/public_key.der");
const SECRET: &str = "very-secret";

fn token(token: &str, expires_in: Value) -> Reply {
    let body = json!({"access_token": token, "expires_in": expires_in});
    Reply::json("200 OK", &body.to_string())
}

/// Asks Azure's deployment with these settings beside its own.
fn azure(server: &ModelServer, settings: &[(&'static str, &str)]) -> Result<Vec<String>, Error> {
    let own = [
        ("AZURE_OPENAI_ENDPOINT", server.url.as_str()),
        ("AZURE_OPENAI_DEPLOYMENT_NAME", "d"),
    ];
    let provider = provider("azure_openai", &[&own, settings].concat());
    let answer = Question::default().ask(&*provider).0;
    answer.map(|answer| brief(&answer))
}

fn model() -> ModelServer {
    ModelServer::with(|seen| match seen.header("authorization") {
        Some("Bearer access") => Reply::stream(says(&["hello"])),
        _ => Reply::json("401 No", r#"{"error":{"message":"who are you?"}}"#),
    })
}

fn fields(form: &str) -> Vec<(String, String)> {
    form.split('&')
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            let mut pieces = value.split('%');
            let mut text = pieces.next().unwrap().to_owned();
            for piece in pieces {
                let (code, rest) = piece.split_at(2);
                text.push(u8::from_str_radix(code, 16).unwrap().into());
                text.push_str(rest);
            }
            (name.to_owned(), text)
        })
        .collect()
}

fn field(form: &str, name: &str) -> String {
    let fields = fields(form);
    let found = fields.into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name} in {form}")).1
}

#[test]
fn a_secret_of_an_application_is_exchanged_for_a_token() {
    let issuer = ModelServer::new(vec![token("access", json!(3600))]);
    let server = model();
    let settings = [
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_CLIENT_SECRET", SECRET),
        ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
    ];
    assert_eq!(azure(&server, &settings).unwrap(), ["text hello"]);
    let asked = &issuer.seen()[0];
    assert_eq!(asked.path, "/t-1/oauth2/v2.0/token");
    assert_eq!(field(&asked.body, "grant_type"), "client_credentials");
    assert_eq!(field(&asked.body, "client_secret"), SECRET);
    assert_eq!(
        field(&asked.body, "scope"),
        "https://cognitiveservices.azure.com/.default"
    );
}

#[test]
fn a_certificate_signs_what_the_application_asserts() {
    let issuer = ModelServer::new(vec![token("access", json!("3599"))]);
    let server = model();
    let path = file("certified.pem", CERTIFIED);
    let settings = [
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_CLIENT_CERTIFICATE_PATH", path.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
    ];
    assert_eq!(azure(&server, &settings).unwrap(), ["text hello"]);
    let form = issuer.seen()[0].body.clone();
    let assertion = field(&form, "client_assertion");
    let (text, signature) = assertion.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, PUBLIC_KEY)
        .verify(text.as_bytes(), &signature)
        .expect("the signature is that of the key");
    let parts: Vec<Value> = text
        .split('.')
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!(parts[0]["alg"], "PS256");
    assert_eq!(parts[0]["x5t#S256"].as_str().unwrap().len(), 43);
    assert_eq!(
        (&parts[1]["iss"], &parts[1]["sub"]),
        (&json!("c-1"), &json!("c-1"))
    );
    assert_eq!(
        parts[1]["aud"],
        format!("{}/t-1/oauth2/v2.0/token", issuer.url)
    );
    assert!(parts[1]["exp"].as_i64() > parts[1]["nbf"].as_i64());
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gosling-{}-{name}", std::process::id()));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_federated_token_and_managed_identities_are_taken() {
    let issuer = ModelServer::new(vec![token("access", json!(3600))]);
    let server = model();
    let path = file("federated", "a.federated.token\n");
    let settings = [
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_FEDERATED_TOKEN_FILE", path.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
    ];
    azure(&server, &settings).unwrap();
    let form = issuer.seen()[0].body.clone();
    assert_eq!(field(&form, "client_assertion"), "a.federated.token");

    let machine = ModelServer::new(vec![token("access", json!("86399"))]);
    let settings = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", machine.url.as_str())];
    azure(&server, &settings).unwrap();
    let asked = &machine.seen()[0];
    assert!(
        asked
            .path
            .starts_with("/metadata/identity/oauth2/token?api-version=2018-02-01&resource=")
    );
    assert_eq!(asked.header("metadata"), Some("true"));

    let far = json!({"access_token": "access", "expires_on": "4102444800"});
    let service = ModelServer::new(vec![Reply::json("200 OK", &far.to_string())]);
    let endpoint = format!("{}/msi/token", service.url);
    let settings = [
        ("IDENTITY_ENDPOINT", endpoint.as_str()),
        ("IDENTITY_HEADER", SECRET),
    ];
    azure(&server, &settings).unwrap();
    assert_eq!(service.seen()[0].header("x-identity-header"), Some(SECRET));
}

#[test]
fn what_an_issuer_does_wrong_is_an_error_without_secrets() {
    let server = model();
    let replies = [
        Reply::json("400 Bad Request", &json!({"error": SECRET}).to_string()),
        Reply::raw(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n",
        ),
        Reply::new("200 OK", "x".repeat(10 << 20)),
        Reply::json("200 OK", r#"{"access_token": 5}"#),
        Reply::new("200 OK", "<html>"),
    ];
    for (at, reply) in replies.into_iter().enumerate() {
        let issuer = ModelServer::new(vec![reply]);
        let settings = [
            ("AZURE_TENANT_ID", "t-1"),
            ("AZURE_CLIENT_ID", "c-1"),
            ("AZURE_CLIENT_SECRET", SECRET),
            ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
        ];
        let error = azure(&server, &settings).unwrap_err();
        assert!(error.message.contains("Azure"), "{at}: {error}");
        assert!(!error.message.contains(SECRET), "{at}: {error}");
    }
    for (name, value) in [
        ("AZURE_AUTHORITY_HOST", "http://example.com"),
        ("AZURE_TENANT_ID", "../evil"),
    ] {
        let mut settings = vec![
            ("AZURE_CLIENT_ID", "c-1"),
            ("AZURE_CLIENT_SECRET", SECRET),
            (name, value),
        ];
        if name != "AZURE_TENANT_ID" {
            settings.push(("AZURE_TENANT_ID", "t-1"));
        }
        let error = azure(&server, &settings).unwrap_err();
        assert_eq!(error.class, ErrorClass::Config, "{error}");
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
fn a_key_comes_before_a_sign_in() {
    let server = ModelServer::new(vec![Reply::stream(says(&["hello"]))]);
    let settings = [
        ("AZURE_OPENAI_API_KEY", "k"),
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_CLIENT_SECRET", SECRET),
    ];
    azure(&server, &settings).unwrap();
    assert_eq!(server.seen()[0].header("api-key"), Some("k"));
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[test]
fn a_service_principal_of_databricks_gets_tokens_of_its_workspace() {
    let server = ModelServer::with(|seen| {
        if seen.path == "/oidc/v1/token" {
            let name = if seen.body.contains("all%2Dapis") {
                "access"
            } else {
                "wrong"
            };
            return token(name, json!(3600));
        }
        match seen.header("authorization") {
            Some("Bearer access") => Reply::stream(says(&["hello"])),
            _ => Reply::json("401 No", r#"{"message":"who are you?"}"#),
        }
    });
    let settings = [
        ("DATABRICKS_HOST", server.url.as_str()),
        ("DATABRICKS_CLIENT_ID", "c-1"),
        ("DATABRICKS_CLIENT_SECRET", SECRET),
    ];
    let provider = provider("databricks", &settings);
    let answer = Question::default().ask(&*provider).0.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    let form = server.seen()[0].body.clone();
    assert_eq!(field(&form, "client_secret"), SECRET);
    // Without either there is no provider, as before.
    let nothing = catalog(&[("DATABRICKS_HOST", "https://w.cloud.databricks.com")]);
    let Err(error) = nothing.provider("databricks") else {
        panic!("it has no key");
    };
    assert!(error.message.contains("DATABRICKS_TOKEN"), "{error}");
}

/// What a browser gets that is redirected to the end of a login.
fn redirect(query: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", 8020)).unwrap();
    write!(
        connection,
        "GET /?{query} HTTP/1.1\r\nHost: localhost:8020\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_user_signs_in_to_databricks_with_a_browser_and_the_token_is_renewed() {
    let server = ModelServer::with(|seen| {
        let fields = || fields(&seen.body);
        let has = |name: &str, value: &str| {
            fields()
                .iter()
                .any(|(known, text)| known == name && text == value)
        };
        let issued = |access: &str, refresh: &str| {
            let body = json!({
                "access_token": access, "refresh_token": refresh, "expires_in": 3600,
            });
            Reply::json("200 OK", &body.to_string())
        };
        if seen.path == "/oidc/v1/token" {
            return match () {
                () if has("code", "a b") => issued("first", "refresh-1"),
                () if has("refresh_token", "refresh-1") => issued("access", "refresh-2"),
                () => Reply::json("400 No", "{}"),
            };
        }
        match seen.header("authorization") {
            Some("Bearer access") => Reply::stream(says(&["hello"])),
            _ => Reply::json("401 No", r#"{"message":"who are you?"}"#),
        }
    });
    let path = file("databricks-secrets", "");
    let url = server.url.clone();
    let env = move |name: &str| (name == "DATABRICKS_HOST").then(|| url.clone());
    let config = Config::with_env("/no/such/folder/config.yaml".into(), Box::new(env));
    let secrets = || Secrets::with_env(path.clone(), Box::new(|_: &str| None));
    let catalog = ProviderCatalog::new(config, Arc::new(secrets()), false);
    let mut answers = Vec::new();
    let signed_in = catalog.sign_in("databricks", &Cancel::new(), &mut |told| {
        let find = |name: &str| {
            let (_, rest) = told.split_once(&format!("{name}=")).unwrap();
            rest.split(['&', ' ']).next().unwrap().to_owned()
        };
        assert_eq!(find("redirect_uri"), "http%3A%2F%2Flocalhost%3A8020");
        let (state, challenge) = (find("state"), find("code_challenge"));
        assert_eq!(challenge.len(), 43, "{told}");
        answers.push(thread::spawn(move || {
            let other = redirect("code=evil&state=1");
            (other, redirect(&format!("code=a%20b&state={state}")))
        }));
    });
    signed_in.unwrap();
    let (other, own) = answers.remove(0).join().unwrap();
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    assert!(own.contains("signed in"), "{own}");
    let form = fields(&server.seen()[0].body);
    let verifier = form.iter().find(|(name, _)| name == "code_verifier");
    assert_eq!(verifier.unwrap().1.len(), 64);
    let provider = catalog.provider("databricks").unwrap();
    let answer = Question::default().ask(&*provider).0.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    // A token that counts once is replaced by the next.
    let stored = secrets().get("DATABRICKS_REFRESH_TOKEN").unwrap().unwrap();
    assert_eq!(stored.expose_text(), "refresh-2");
    let _ = fs::remove_file(path);
}

#[test]
fn a_token_is_kept_and_fetched_anew_after_a_refusal_with_the_file_read_again() {
    let path = file("federated-anew", "");
    let issuer = ModelServer::new(vec![
        token("access-1", json!(3600)),
        token("access-2", json!(3600)),
    ]);
    let expired = Reply::json("401 No", r#"{"error":{"message":"expired"}}"#);
    let hello = || Reply::stream(says(&["hello"]));
    let server = ModelServer::new(vec![hello(), expired, hello()]);
    let settings = [
        ("AZURE_OPENAI_ENDPOINT", server.url.as_str()),
        ("AZURE_OPENAI_DEPLOYMENT_NAME", "d"),
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_FEDERATED_TOKEN_FILE", path.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
    ];
    let azure = provider("azure_openai", &settings);
    for assertion in ["first", "second"] {
        fs::write(&path, assertion).unwrap();
        Question::default().ask(&*azure).0.unwrap();
    }
    let seen = issuer.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|it| field(&it.body, "client_assertion"))
        .collect();
    assert_eq!(sent, ["first", "second"]);
    let seen = server.seen();
    let sent: Vec<_> = seen.iter().map(|it| it.header("authorization")).collect();
    let bearer = ["Bearer access-1", "Bearer access-1", "Bearer access-2"].map(Some);
    assert_eq!(sent, bearer);
}

#[test]
fn an_issuer_that_does_not_answer_is_an_error_in_time() {
    let issuer = ModelServer::new(vec![Reply::default().hold()]);
    let settings = [
        ("AZURE_TENANT_ID", "t-1"),
        ("AZURE_CLIENT_ID", "c-1"),
        ("AZURE_CLIENT_SECRET", SECRET),
        ("AZURE_AUTHORITY_HOST", issuer.url.as_str()),
    ];
    let error = azure(&model(), &settings).unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout, "{error}");
}
