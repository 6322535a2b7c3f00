//! Access tokens of Google Cloud: from the key of a service account, the login of a user, or the metadata of a
//! machine of Google.
//!
//! <https://developers.google.com/identity/protocols/oauth2/service-account>

use crate::credentials::tokens::oauth_token::{fetch_token, parse_token};
use crate::credentials::tokens::signed_claims::signed_claims;
use crate::credentials::tokens::{Fetched, TokenCache, TokenRequest};
use crate::credentials::{Credentials, Parameters};
use crate::outbound::is_loopback_url;
use crate::sys::cancel::Cancel;
use crate::sys::clock::unix_seconds;
use crate::sys::fs::read_start;
use crate::wire_protocol::HttpRequest;
use crate::{Error, ErrorClass};
use ring::signature::RSA_PKCS1_SHA256;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Method, Uri};

/// A token is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a token is asked for, in seconds: as long as Google allows.
const LIFETIME: i64 = 3600;
/// How long the metadata of a machine may take: on most machines there are none.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
const METADATA_HOST: &str = "169.254.169.254";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// The most bytes of a file that are read.
const MAX_FILE: u64 = 64 << 10;
const VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Credentials from the file of the settings, that of gcloud, or the metadata.
pub(super) fn connect(parameters: &Parameters, offline: bool) -> Arc<dyn Credentials> {
    Arc::new(Google {
        parameters: parameters.clone(),
        offline,
        token: TokenCache::new(MARGIN),
    })
}

struct Google {
    parameters: Parameters,
    offline: bool,
    token: TokenCache<String>,
}

impl Credentials for Google {
    fn authorize(&self, _: &HttpRequest, cancel: &Cancel) -> Result<Vec<(String, String)>, Error> {
        let token = self.token.get(cancel, || self.fetch(cancel))?;
        Ok(vec![(
            "Authorization".to_owned(),
            format!("Bearer {token}"),
        )])
    }

    fn forget(&self) -> bool {
        self.token.forget()
    }
}

/// A file of credentials. It does not implement `Debug`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CredentialsFile {
    ServiceAccount {
        client_email: String,
        private_key: String,
        private_key_id: Option<String>,
        token_uri: Option<String>,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        token_uri: Option<String>,
    },
    #[serde(other)]
    Other,
}

impl Google {
    fn fetch(&self, cancel: &Cancel) -> Result<Fetched<String>, Error> {
        let Some(file) = self.file()? else {
            return self.metadata_token(cancel);
        };
        let (uri, form) = match file {
            CredentialsFile::ServiceAccount {
                client_email,
                private_key,
                private_key_id,
                token_uri,
            } => {
                let uri = token_uri.unwrap_or_else(|| TOKEN_URI.to_owned());
                let claims = json!({
                    "iss": client_email,
                    "scope": SCOPE,
                    "aud": uri,
                    "iat": unix_seconds(),
                    "exp": unix_seconds().saturating_add(LIFETIME),
                });
                let header = json!({"alg": "RS256", "typ": "JWT", "kid": private_key_id});
                let title = "the private key in the file of credentials";
                let assertion =
                    signed_claims(&RSA_PKCS1_SHA256, &header, &claims, &private_key, title)?;
                let kind = "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned();
                (uri, vec![("grant_type", kind), ("assertion", assertion)])
            }
            CredentialsFile::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
                token_uri,
            } => {
                let form = vec![
                    ("grant_type", "refresh_token".to_owned()),
                    ("client_id", client_id),
                    ("client_secret", client_secret),
                    ("refresh_token", refresh_token),
                ];
                (token_uri.unwrap_or_else(|| TOKEN_URI.to_owned()), form)
            }
            CredentialsFile::Other => {
                return Err(config(
                    "the file of credentials is neither of a service account nor of a user; run \
                     `gcloud auth application-default login`",
                ));
            }
        };
        check_token_uri(&uri)?;
        let title = "the token endpoint of Google";
        fetch_token(title, &uri, &form, self.offline, cancel)
    }

    /// The file of credentials; none if the settings name none and gcloud has written none.
    fn file(&self) -> Result<Option<CredentialsFile>, Error> {
        let set = self.parameters.get(VARIABLE).map(PathBuf::from);
        let is_set = set.is_some();
        let Some(path) = set.or_else(gcloud_file) else {
            return Ok(None);
        };
        let text = match read_start(&path, MAX_FILE) {
            Err(_) if !is_set => return Ok(None),
            Err(error) => {
                let message = format!("the file of {VARIABLE} cannot be read: {error}");
                return Err(config(message));
            }
            Ok(text) => text,
        };
        // The error of serde could contain a part of the file.
        let file = crate::json::from_slice(&text)
            .map_err(|_| config("the file of credentials is not one of Google's"))?;
        Ok(Some(file))
    }

    fn metadata_token(&self, cancel: &Cancel) -> Result<Fetched<String>, Error> {
        let host = self.parameters.get("GCE_METADATA_HOST");
        let host = host.unwrap_or(METADATA_HOST);
        let request = TokenRequest {
            title: "the metadata server of Google",
            method: Method::GET,
            url: &format!(
                "http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
            ),
            headers: &[("Metadata-Flavor".to_owned(), "Google".to_owned())],
            body: "",
            offline: self.offline,
            timeout: METADATA_TIMEOUT,
        };
        let body = request.run(cancel).map_err(|error| match error.class {
            // This is not a machine of Google.
            ErrorClass::Transport | ErrorClass::Timeout => config(format!(
                "it needs credentials of Google: set {VARIABLE} to the file of a service account, or run `gcloud \
                 auth application-default login`"
            )),
            _ => error,
        })?;
        parse_token(&body, request.title)
    }
}

/// Where gcloud writes the credentials of its user.
fn gcloud_file() -> Option<PathBuf> {
    let folder = match std::env::var_os("CLOUDSDK_CONFIG") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir()?.join(".config/gcloud"),
    };
    Some(folder.join("application_default_credentials.json"))
}

/// A file must not send what it contains to just any host.
fn check_token_uri(uri: &str) -> Result<(), Error> {
    let parsed: Option<Uri> = uri.parse().ok();
    let is_google = parsed.is_some_and(|uri| {
        let host = uri.host().unwrap_or_default();
        uri.scheme_str() == Some("https")
            && (host == "googleapis.com" || host.ends_with(".googleapis.com"))
    });
    if is_google || is_loopback_url(uri) {
        return Ok(());
    }
    Err(config(
        "the `token_uri` in the file of credentials is not an address of googleapis.com",
    ))
}

fn config(message: impl Into<String>) -> Error {
    Error::new(ErrorClass::Config, message)
}
