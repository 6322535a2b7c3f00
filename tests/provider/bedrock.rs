//! Amazon Bedrock, made by the catalog, against a fake of AWS that checks signatures by the published rules.

use crate::catalog::{catalog, provider};
use crate::harness::{Question, brief, tool};
use crate::http_peer::ReceivedRequest;
use crate::model_server::{ModelServer, Reply};
use gosling::provider::{Catalog, ErrorClass};
use ring::{digest, hmac};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const MODEL: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";

fn crc32(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = (rest >> 1) ^ (0xedb8_8320 & (rest & 1).wrapping_neg());
        }
    }
    !rest
}

fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend(name.as_bytes());
        head.push(7);
        head.extend((value.len() as u16).to_be_bytes());
        head.extend(value.as_bytes());
    }
    let payload = payload.to_string();
    let mut frame = (16 + head.len() as u32 + payload.len() as u32)
        .to_be_bytes()
        .to_vec();
    frame.extend((head.len() as u32).to_be_bytes());
    frame.extend(crc32(&frame).to_be_bytes());
    frame.extend(head);
    frame.extend(payload.as_bytes());
    frame.extend(crc32(&frame).to_be_bytes());
    frame
}

fn event(kind: &str, payload: Value) -> Vec<u8> {
    frame(
        &[(":message-type", "event"), (":event-type", kind)],
        &payload,
    )
}

fn exception(kind: &str, words: &str) -> Vec<u8> {
    let headers = [(":message-type", "exception"), (":exception-type", kind)];
    frame(&headers, &json!({"message": words}))
}

fn stream(frames: &[Vec<u8>]) -> Reply {
    Reply::new(
        "200 OK\r\nContent-Type: application/vnd.amazon.eventstream",
        frames.concat(),
    )
}

fn says(text: &str) -> Reply {
    stream(&[
        event("messageStart", json!({"role": "assistant"})),
        event(
            "contentBlockDelta",
            json!({"contentBlockIndex": 0, "delta": {"text": text}}),
        ),
        event("messageStop", json!({"stopReason": "end_turn"})),
        event(
            "metadata",
            json!({"usage": {"inputTokens": 3, "outputTokens": 2}}),
        ),
    ])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Panics unless the request is signed for this region by the key.
fn check_signature(seen: &ReceivedRequest, region: &str, secret: &str) {
    check_signature_for(&format!("{region}/bedrock"), seen, secret);
}

/// Panics unless the request is signed for this `region/service` by the key.
fn check_signature_for(place: &str, seen: &ReceivedRequest, secret: &str) {
    let header = |name: &str| seen.header(name).unwrap_or_else(|| panic!("no {name}"));
    let authorization = header("authorization");
    let time = header("x-amz-date");
    let names = authorization
        .split_once("SignedHeaders=")
        .and_then(|(_, rest)| rest.split_once(','))
        .unwrap()
        .0;
    assert!(names.contains("host"));
    let headers: String = (names.split(';'))
        .map(|name| format!("{name}:{}\n", header(name)))
        .collect();
    let hash = |text: &[u8]| hex(digest::digest(&digest::SHA256, text).as_ref());
    let path = seen.path.replace('%', "%25");
    let canonical = format!(
        "POST\n{path}\n\n{headers}\n{names}\n{}",
        hash(seen.body.as_bytes())
    );
    let scope = format!("{}/{place}/aws4_request", &time[..8]);
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
        hash(canonical.as_bytes())
    );
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in scope.split('/').chain([text.as_str()]) {
        let signing = hmac::Key::new(hmac::HMAC_SHA256, &key);
        key = hmac::sign(&signing, part.as_bytes()).as_ref().to_vec();
    }
    assert!(
        authorization.ends_with(&format!("Signature={}", hex(&key))),
        "{seen:?}"
    );
}

fn question() -> Question {
    let mut question = Question::default();
    question.model.model_name = MODEL.into();
    question
}

fn with_key(server: &ModelServer) -> Vec<(&'static str, &str)> {
    vec![
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &server.url),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ]
}

#[test]
fn a_signed_request_gets_a_tool_call() {
    let server = ModelServer::new(vec![stream(&[
        event("messageStart", json!({"role": "assistant"})),
        event(
            "contentBlockStart",
            json!({"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t1", "name": "a__b"}}}),
        ),
        event(
            "contentBlockDelta",
            json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{\"x\":1}"}}}),
        ),
        event("messageStop", json!({"stopReason": "tool_use"})),
        event(
            "metadata",
            json!({"usage": {"inputTokens": 3, "outputTokens": 2}}),
        ),
    ])]);
    let mut question = question();
    question.tools = vec![tool("a__b")];
    let bedrock = provider("aws_bedrock", &with_key(&server));
    let answer = question.ask(&*bedrock).0.unwrap();
    assert_eq!(brief(&answer), [r#"call a__b t1 {"x":1}"#]);
    let seen = &server.seen()[0];
    let path = format!("/model/{}/converse-stream", MODEL.replace(':', "%3A"));
    assert_eq!(seen.path, path);
    check_signature(seen, "eu-west-1", SECRET);
}

#[test]
fn a_bearer_token_takes_the_place_of_a_signature() {
    let server = ModelServer::new(vec![says("hello")]);
    let mut variables = with_key(&server);
    variables.push(("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1"));
    let bedrock = provider("aws_bedrock", &variables);
    let answer = question().ask(&*bedrock).0.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    let seen = &server.seen()[0];
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer bedrock-api-key-1")
    );
}

#[test]
fn a_throttled_stream_is_retried_and_signed_again() {
    let throttled = stream(&[exception("throttlingException", "slow down")]);
    let server = ModelServer::new(vec![throttled, says("hello")]);
    let bedrock = provider("aws_bedrock", &with_key(&server));
    let (answer, recorded) = question().ask(&*bedrock);
    assert_eq!(brief(&answer.unwrap()), ["text hello"]);
    assert_eq!(recorded.retries.len(), 1);
    for seen in server.seen() {
        check_signature(&seen, "eu-west-1", SECRET);
    }
}

#[test]
fn a_wrong_checksum_is_an_error_of_the_protocol() {
    let mut bad = event("messageStart", json!({"role": "assistant"}));
    *bad.last_mut().unwrap() ^= 1;
    let server = ModelServer::new(vec![stream(&[bad])]);
    let bedrock = provider("aws_bedrock", &with_key(&server));
    let error = question().ask(&*bedrock).0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protocol);
    assert!(error.message.contains("checksum"), "{error}");
}

#[test]
fn a_secret_that_the_service_repeats_is_redacted() {
    let repeat = |seen: &ReceivedRequest| {
        let said = seen.header("authorization").unwrap().replace("Bearer ", "");
        Reply::json(
            "403 No",
            &json!({"message": format!("bad {said}")}).to_string(),
        )
    };
    let server = ModelServer::with(repeat);
    let mut variables = with_key(&server);
    variables.push(("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1"));
    let error = question()
        .ask(&*provider("aws_bedrock", &variables))
        .0
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Authentication);
    assert!(!error.message.contains("bedrock-api-key-1"), "{error}");
}

/// An agent of a container: its keys are `KEY1`, `KEY2` and so on.
fn agent() -> ModelServer {
    let count = std::sync::atomic::AtomicUsize::new(1);
    ModelServer::with(move |seen| {
        assert_eq!(seen.header("authorization"), Some("agent token"));
        let count = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let key = json!({"AccessKeyId": format!("KEY{count}"), "SecretAccessKey": SECRET,
            "Token": "session token", "Expiration": "2126-01-01T00:00:00Z"});
        Reply::json("200 OK", &key.to_string())
    })
}

fn from_agent<'a>(server: &'a ModelServer, url: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", &server.url),
        ("AWS_REGION", "us-east-1"),
        ("AWS_CONFIG_FILE", "/no/such/file"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "agent token"),
    ]
}

#[test]
fn an_expired_key_is_fetched_anew_once() {
    let expired = || Reply::json("403 No", r#"{"message":"The security token is expired"}"#);
    let server = ModelServer::new(vec![expired(), says("hello"), expired(), expired()]);
    let agent = agent();
    let bedrock = provider("aws_bedrock", &from_agent(&server, &agent.url));
    let answer = question().ask(&*bedrock).0.unwrap();
    assert_eq!(brief(&answer), ["text hello"]);
    let seen = server.seen();
    for (seen, key) in seen.iter().zip(["KEY1", "KEY2"]) {
        check_signature(seen, "us-east-1", SECRET);
        assert!(seen.header("authorization").unwrap().contains(key));
        assert_eq!(seen.header("x-amz-security-token"), Some("session token"));
    }
    let error = question().ask(&*bedrock).0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Authentication);
    assert_eq!(server.seen().len(), 4);
    assert_eq!(agent.seen().len(), 3);
}

#[test]
fn a_hostile_agent_is_an_error_in_time() {
    let big = "a".repeat(1 << 20);
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
        (Reply::json("200 OK", "{}"), ErrorClass::Protocol),
        (
            Reply::json("401 No", "agent token"),
            ErrorClass::Authentication,
        ),
        (Reply::default().hold(), ErrorClass::Timeout),
    ] {
        let agent = ModelServer::new(vec![reply.clone(), reply]);
        let server = ModelServer::new(Vec::new());
        let bedrock = provider("aws_bedrock", &from_agent(&server, &agent.url));
        let begin = Instant::now();
        let error = question().ask(&*bedrock).0.unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(15));
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.starts_with("Amazon Bedrock: "), "{error}");
        assert!(!error.message.contains("agent token"), "{error}");
        assert!(server.seen().is_empty());
    }
}

#[test]
fn a_key_is_not_fetched_from_just_any_host() {
    let server = ModelServer::new(Vec::new());
    let bedrock = provider("aws_bedrock", &from_agent(&server, "http://evil.example/"));
    let error = question().ask(&*bedrock).0.unwrap_err();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(
        error.message.contains("neither https nor on this machine"),
        "{error}"
    );
}

#[test]
fn an_instance_gets_the_key_of_its_role() {
    let metadata = ModelServer::with(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("PUT", "/latest/api/token") => Reply::new("200 OK", "metadata token"),
        (_, path) => {
            let token = seen.header("x-aws-ec2-metadata-token");
            assert_eq!(token, Some("metadata token"));
            let prefix = "/latest/meta-data/iam/security-credentials/";
            match path.strip_prefix(prefix).unwrap() {
                "" => Reply::new("200 OK", "role-1\n"),
                role => {
                    assert_eq!(role, "role-1");
                    let key = json!({"AccessKeyId": ID, "SecretAccessKey": SECRET,
                        "Token": "t", "Expiration": "2126-01-01T00:00:00Z"});
                    Reply::json("200 OK", &key.to_string())
                }
            }
        }
    });
    let server = ModelServer::new(vec![says("one"), says("two")]);
    let variables = [
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_CONFIG_FILE", "/no/such/file"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &metadata.url),
    ];
    let bedrock = provider("aws_bedrock", &variables);
    for _ in 0..2 {
        question().ask(&*bedrock).0.unwrap();
    }
    check_signature(&server.seen()[1], "us-east-1", SECRET);
    // The key is kept.
    assert_eq!(metadata.seen().len(), 3);
}

#[test]
fn without_a_region_it_is_not_configured() {
    let nowhere = [
        ("AWS_CONFIG_FILE", "/no/such/file"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file"),
    ];
    let error = catalog(&nowhere).provider("aws_bedrock").err().unwrap();
    assert_eq!(error.class, ErrorClass::Config);
    assert!(error.message.contains("AWS_REGION"), "{error}");
    assert!(!catalog(&nowhere).is_configured("aws_bedrock"));
}

/// A folder of AWS's files, which is removed with the value.
struct AwsFolder(std::path::PathBuf);

impl AwsFolder {
    fn new(name: &str, config: &str) -> AwsFolder {
        let path = std::env::temp_dir().join(format!("gosling-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("sso/cache")).unwrap();
        let folder = AwsFolder(path);
        folder.write("config", config);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// The answer of Bedrock to a request with these variables.
    fn ask(
        &self,
        server: &ModelServer,
        more: &[(&'static str, &str)],
    ) -> Result<Vec<String>, gosling::provider::Error> {
        let config = self.path("config");
        let mut variables = vec![
            ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_CONFIG_FILE", &config),
            ("AWS_SHARED_CREDENTIALS_FILE", "/no/such/file"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        variables.extend(more);
        let answer = question().ask(&*provider("aws_bedrock", &variables)).0?;
        Ok(brief(&answer))
    }
}

impl Drop for AwsFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ROLE_SECRET: &str = "role+secret/1";

/// An answer of STS to this action.
fn role_key(action: &str) -> Reply {
    let xml = format!(
        "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><Credentials>\
         <AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>{ROLE_SECRET}</SecretAccessKey>\
         <SessionToken>role token</SessionToken><Expiration>2126-01-01T00:00:00Z</Expiration>\
         </Credentials></{action}Result></{action}Response>"
    );
    Reply::new("200 OK\r\nContent-Type: text/xml", xml)
}

fn check_role(seen: &ReceivedRequest) {
    check_signature(seen, "us-east-1", ROLE_SECRET);
    let authorization = seen.header("authorization").unwrap();
    assert!(authorization.contains("Credential=ASIAROLE/"));
    assert_eq!(seen.header("x-amz-security-token"), Some("role token"));
}

#[test]
fn a_profile_takes_on_a_role_with_the_key_of_another() {
    let sts = ModelServer::new(vec![role_key("AssumeRole")]);
    let server = ModelServer::new(vec![says("hello")]);
    let config = format!(
        "[profile base]\naws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\n[profile work]\n\
         role_arn = arn:aws:iam::1:role/r\nsource_profile = base\nexternal_id = e&1\n"
    );
    let folder = AwsFolder::new("role", &config);
    let more = [("AWS_PROFILE", "work"), ("AWS_ENDPOINT_URL_STS", &sts.url)];
    assert_eq!(folder.ask(&server, &more).unwrap(), ["text hello"]);
    let seen = &sts.seen()[0];
    check_signature_for("us-east-1/sts", seen, SECRET);
    assert_eq!(
        seen.body,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&\
         RoleSessionName=gosling&ExternalId=e%261"
    );
    check_role(&server.seen()[0]);
}

#[test]
fn a_web_identity_takes_on_a_role() {
    let server = ModelServer::new(vec![says("one"), says("two")]);
    let folder = AwsFolder::new("web", "");
    folder.write("token", "web.identity.token\n");
    let file = folder.path("token");
    let profile = format!("[profile web]\nrole_arn = r\nweb_identity_token_file = {file}\n");
    folder.write("config", &profile);
    let action = "AssumeRoleWithWebIdentity";
    let sts = ModelServer::new(vec![role_key(action), role_key(action)]);
    let place = ("AWS_ENDPOINT_URL_STS", sts.url.as_str());
    let variables = [
        place,
        ("AWS_ROLE_ARN", "r"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", &file),
    ];
    folder.ask(&server, &variables).unwrap();
    folder
        .ask(&server, &[place, ("AWS_PROFILE", "web")])
        .unwrap();
    for (asked, seen) in sts.seen().iter().zip(server.seen()) {
        assert_eq!(asked.header("authorization"), None);
        let end = "RoleArn=r&RoleSessionName=gosling&WebIdentityToken=web.identity.token";
        assert!(asked.body.ends_with(end), "{asked:?}");
        check_role(&seen);
    }
    assert_eq!(sts.seen().len(), 2);
}

const SSO: &str = "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.example/start\n\
    [profile work]\nsso_session = corp\nsso_account_id = 111\nsso_role_name = R 1\n";
/// The SHA-1 of `corp`.
const LOGIN: &str = "sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";

#[test]
fn a_login_is_refreshed_and_gets_the_key_of_its_role() {
    let portal = ModelServer::with(|seen| {
        assert_eq!(
            seen.path,
            "/federation/credentials?account_id=111&role_name=R%201"
        );
        let token = seen.header("x-amz-sso_bearer_token");
        assert_eq!(token, Some("login-token-2"));
        let key = json!({"roleCredentials": {"accessKeyId": "ASIAROLE", "secretAccessKey": ROLE_SECRET,
            "sessionToken": "role token", "expiration": 4_922_899_200_000_i64}});
        Reply::json("200 OK", &key.to_string())
    });
    let tokens = ModelServer::with(|seen| {
        assert_eq!(seen.path, "/token");
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        let expected = json!({"grantType": "refresh_token", "clientId": "c", "clientSecret": "client-secret",
            "refreshToken": "refresh-1"});
        assert_eq!(body, expected);
        let token =
            json!({"accessToken": "login-token-2", "expiresIn": 3600, "refreshToken": "refresh-2"});
        Reply::json("200 OK", &token.to_string())
    });
    let server = ModelServer::new(vec![says("one"), says("two")]);
    let folder = AwsFolder::new("sso", SSO);
    let more = [
        ("AWS_PROFILE", "work"),
        ("AWS_ENDPOINT_URL_SSO", portal.url.as_str()),
        ("AWS_ENDPOINT_URL_SSO_OIDC", tokens.url.as_str()),
    ];
    let error = folder.ask(&server, &more).unwrap_err();
    assert_eq!(error.class, ErrorClass::Config);
    let hint = "aws sso login --profile work";
    assert!(error.message.contains(hint), "{error}");
    let login = json!({"accessToken": "login-token-1", "expiresAt": "2020-01-01T00:00:00UTC", "clientId": "c",
        "clientSecret": "client-secret", "refreshToken": "refresh-1", "region": "eu-west-1"});
    folder.write(LOGIN, &login.to_string());
    // The refreshed login is stored, so that the second provider does not refresh it.
    for _ in 0..2 {
        folder.ask(&server, &more).unwrap();
    }
    server.seen().iter().for_each(check_role);
    assert_eq!(tokens.seen().len(), 1);
    let stored = std::fs::read_to_string(folder.path(LOGIN)).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["refreshToken"], "refresh-2");
    assert_eq!(stored["region"], "eu-west-1");
}

#[test]
fn a_profile_that_cannot_be_used_says_why() {
    let server = ModelServer::new(Vec::new());
    let key = format!("aws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\n");
    for (profile, hint) in [
        (
            "role_arn = r\nsource_profile = q\n[profile q]\nrole_arn = r\nsource_profile = p\n",
            "behind more than 5",
        ),
        (
            "role_arn = r\nsource_profile = q\n",
            "no key in the profile q",
        ),
        (
            "role_arn = r\ncredential_source = Environment\n",
            "by role_arn",
        ),
        ("credential_process = /bin/true\n", "by credential_process"),
        ("sso_start_url = u\nsso_region = a.evil/\n", "not a region"),
        ("sso_session = s\n", "no `sso_region`"),
        (
            &format!("role_arn = r\nsource_profile = p\nmfa_serial = m\n{key}"),
            "mfa_serial",
        ),
    ] {
        let folder = AwsFolder::new("unusable", &format!("[profile p]\n{profile}"));
        let error = folder.ask(&server, &[("AWS_PROFILE", "p")]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Config, "{profile}: {error}");
        assert!(error.message.contains(hint), "{profile}: {error}");
        assert!(!error.message.contains(SECRET), "{error}");
    }
}

#[test]
fn a_hostile_token_service_is_an_error_without_secrets() {
    let folder = AwsFolder::new("hostile", "");
    folder.write("token", "web.identity.token");
    let file = folder.path("token");
    let half = "<AccessKeyId>web.identity.token</AccessKeyId>";
    for (reply, class) in [
        (
            Reply::new("302 Found\r\nLocation: http://evil.example/", ""),
            ErrorClass::Config,
        ),
        (
            Reply::new("200 OK", "a".repeat(1 << 20)),
            ErrorClass::Protocol,
        ),
        (Reply::new("200 OK", half), ErrorClass::Protocol),
        (Reply::new("403 No", half), ErrorClass::Authentication),
    ] {
        let (sts, server) = (ModelServer::new(vec![reply]), ModelServer::new(Vec::new()));
        let variables = [
            ("AWS_ENDPOINT_URL_STS", sts.url.as_str()),
            ("AWS_ROLE_ARN", "r"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", &file),
        ];
        let error = folder.ask(&server, &variables).unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.starts_with("Amazon Bedrock: "), "{error}");
        assert!(!error.message.contains("web.identity"), "{error}");
    }
}
