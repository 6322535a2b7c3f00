//! GitHub Copilot: OpenAI's protocols at a server that a token of GitHub is exchanged for.
//!
//! GitHub does not document the API for other programs than its own; this follows what Goose sends.

mod device_login;

use super::catalog::vendor_settings;
use super::credentials::tokens::{Fetched, TIMEOUT, TokenCache, TokenRequest};
use super::credentials::{Credentials, CredentialsSpec, Parameters};
use super::openai;
use super::provider_spec::{ProviderSpec, hosted};
use super::server_url::with_scheme;
use super::wire_protocol::HttpRequest;
use super::{Error, ErrorClass};
use crate::outbound::is_loopback_url;
use crate::sys::cancel::Cancel;
use crate::sys::clock::unix_seconds;
use crate::sys::lock;
use serde::Deserialize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ureq::http::{Method, Uri};

/// A token is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(60);
/// The server until a token names another.
const API: &str = "https://api.githubcopilot.com";
/// The longest token, in bytes.
const MAX_TOKEN: usize = 4096;
/// Without these GitHub refuses requests.
const EDITOR: [(&str, &str); 2] = [
    ("Editor-Version", "vscode/1.85.1"),
    ("Editor-Plugin-Version", "copilot/1.155.0"),
];

static CREDENTIALS: CredentialsSpec = CredentialsSpec {
    url: Some(|parameters| match parameters.get("GITHUB_COPILOT_TOKEN") {
        Some(_) => Ok(format!("{API}/chat/completions")),
        None => Err(Error::new(
            ErrorClass::Config,
            "it needs a login: run `gosling models login github_copilot`, or set GITHUB_COPILOT_TOKEN",
        )),
    }),
    ways: &[],
    login: Some(device_login::login),
    connect: |parameters, _, offline| {
        Arc::new(Copilot {
            parameters: parameters.clone(),
            offline,
            access: TokenCache::new(MARGIN),
            api: Mutex::new(API.to_owned()),
        })
    },
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "github_copilot",
    title: "GitHub Copilot",
    description: "Models of many vendors with a subscription of GitHub Copilot",
    credentials: Some(&CREDENTIALS),
    families: &["claude-sonnet-*"],
    doc: "https://docs.github.com/en/copilot/using-github-copilot/ai-models",
    settings: vendor_settings::COPILOT,
    ..hosted(&openai::PROTOCOL)
};

struct Copilot {
    parameters: Parameters,
    offline: bool,
    access: TokenCache<Access>,
    /// The server of the last token.
    api: Mutex<String>,
}

/// What the token of GitHub is exchanged for.
#[derive(Clone)]
struct Access {
    token: String,
    api: String,
}

impl Credentials for Copilot {
    fn authorize(
        &self,
        request: &HttpRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, Error> {
        let Access { token, api } = self.access.get(cancel, || self.fetch(cancel))?;
        *lock(&self.api) = api;
        let mut headers = editor_headers();
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        add("Authorization", &format!("Bearer {token}"));
        add("Copilot-Integration-Id", "vscode-chat");
        if let Some(body) = &request.body {
            add("X-Initiator", initiator(body));
            if has_image(body) {
                add("Copilot-Vision-Request", "true");
            }
        }
        Ok(headers)
    }

    fn url(&self, url: &str) -> Option<String> {
        let path = url.strip_prefix(API)?;
        Some(format!("{}{path}", lock(&self.api)))
    }

    fn forget(&self) -> bool {
        self.access.forget()
    }
}

impl Copilot {
    fn fetch(&self, cancel: &Cancel) -> Result<Fetched<Access>, Error> {
        #[derive(Deserialize)]
        struct Body {
            token: String,
            expires_at: i64,
            refresh_in: Option<u64>,
            endpoints: Option<Endpoints>,
        }
        #[derive(Deserialize)]
        struct Endpoints {
            api: Option<String>,
        }
        let host = host(&self.parameters);
        let own = self.parameters.get("GITHUB_COPILOT_TOKEN");
        let mut headers = editor_headers();
        let bearer = format!("Bearer {}", own.unwrap_or_default());
        headers.push(("Authorization".to_owned(), bearer));
        headers.push(("Accept".to_owned(), "application/json".to_owned()));
        let request = TokenRequest {
            title: "the token endpoint of GitHub Copilot",
            method: Method::GET,
            url: &format!("{}/copilot_internal/v2/token", api_of_github(&host)),
            headers: &headers,
            body: "",
            offline: self.offline,
            timeout: TIMEOUT,
        };
        let body = request.run(cancel).map_err(|error| match error.class {
            ErrorClass::Authentication => Error::new(
                error.class,
                format!(
                    "{}; sign in with `gosling models login github_copilot` to a GitHub account with Copilot",
                    error.message
                ),
            ),
            _ => error,
        })?;
        let wrong = |what| Error::protocol(format!("{} answered with {what}", request.title));
        let body: Body =
            crate::json::from_slice(&body).map_err(|_| wrong("something else than a token"))?;
        if !is_token(&body.token) {
            return Err(wrong("a token that cannot be sent"));
        }
        let api = body.endpoints.and_then(|endpoints| endpoints.api);
        let api = api.map_or(API.to_owned(), |api| api.trim_end_matches('/').to_owned());
        if !is_copilot(&api, &host) {
            return Err(wrong("a server that is not one of GitHub"));
        }
        let left = body.expires_at.saturating_sub(unix_seconds());
        let left = u64::try_from(left).unwrap_or_default();
        let lifetime = Duration::from_secs(body.refresh_in.map_or(left, |early| early.min(left)));
        let token = body.token;
        Ok(Fetched {
            token: Access { token, api },
            lifetime,
        })
    }
}

fn editor_headers() -> Vec<(String, String)> {
    let headers = EDITOR.iter();
    headers
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The URL of GitHub, or of an own GitHub Enterprise.
fn host(parameters: &Parameters) -> String {
    let host = parameters.get("GITHUB_COPILOT_HOST");
    with_scheme(host.unwrap_or("github.com"), is_loopback_url)
}

/// The URL of the API of this GitHub.
fn api_of_github(host: &str) -> String {
    match host.split_once("://") {
        Some((scheme, name)) if !is_loopback_url(host) => format!("{scheme}://api.{name}"),
        _ => host.to_owned(),
    }
}

/// Whether a server may get requests of the users of this GitHub.
fn is_copilot(api: &str, host: &str) -> bool {
    if is_loopback_url(host) {
        return is_loopback_url(api);
    }
    let name_of = |url: &str| {
        url.parse()
            .ok()
            .and_then(|uri: Uri| uri.host().map(str::to_owned))
    };
    let (Some(name), Some(github)) = (name_of(api), name_of(host)) else {
        return false;
    };
    let is_in = |domain: &str| {
        name.strip_suffix(domain)
            .is_some_and(|it| it.ends_with('.'))
    };
    api.starts_with("https://") && (is_in("githubcopilot.com") || is_in(&github))
}

/// Whether this can be the value of a header.
fn is_token(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=MAX_TOKEN).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}

/// Who caused the request: a message of the user counts against a subscription, the results of tools do not.
fn initiator(body: &[u8]) -> &'static str {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default, alias = "input")]
        messages: Vec<Turn>,
    }
    #[derive(Deserialize)]
    struct Turn {
        role: Option<String>,
    }
    let body = crate::json::from_slice::<Body>(body).ok();
    let last = body.and_then(|mut body| body.messages.pop());
    match last.and_then(|turn| turn.role).as_deref() {
        Some("user") => "user",
        _ => "agent",
    }
}

/// Whether the body contains an image. In a text the quotes are escaped.
fn has_image(body: &[u8]) -> bool {
    let kinds: [&[u8]; 2] = [b"\"type\":\"image_url\"", b"\"type\":\"input_image\""];
    kinds
        .iter()
        .any(|kind| body.windows(kind.len()).any(|part| part == *kind))
}

#[cfg(test)]
mod tests;
