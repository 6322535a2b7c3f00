//! Access tokens of Microsoft Entra ID for Azure: a secret, a certificate or a federated token of an application, or the
//! managed identity of a machine, or the user who is signed in to `az`, in the order of Azure's own libraries.
//!
//! <https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow>,
//! <https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token>

mod azure_cli;

use crate::credentials::tokens::oauth_token::{fetch_token, parse_token};
use crate::credentials::tokens::signed_claims::{pem_block, signed_claims};
use crate::credentials::tokens::{Fetched, TokenCache, TokenRequest};
use crate::credentials::{Credentials, CredentialsSpec, Parameters};
use crate::outbound::is_loopback_url;
use crate::sys::cancel::Cancel;
use crate::sys::clock::unix_seconds;
use crate::sys::fs::read_start;
use crate::wire_protocol::HttpRequest;
use crate::{Error, ErrorClass};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest;
use ring::signature::RSA_PSS_SHA256;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Method;

/// A token is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(300);
/// How long the metadata of a machine may take: on most machines there are none.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an assertion is valid, in seconds.
const ASSERTION_LIFETIME: i64 = 600;
/// The most bytes of a file that are read.
const MAX_FILE: u64 = 64 << 10;
const RESOURCE: &str = "https://cognitiveservices.azure.com";
const AUTHORITY: &str = "https://login.microsoftonline.com";
const METADATA: &str = "http://169.254.169.254";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ENDPOINT_TITLE: &str = "the token endpoint of Microsoft Entra ID";

pub(super) static SPEC: CredentialsSpec = CredentialsSpec {
    url: None,
    ways: &[],
    login: None,
    connect: |parameters, _, offline| {
        Arc::new(Entra {
            parameters: parameters.clone(),
            offline,
            token: TokenCache::new(MARGIN),
        })
    },
};

struct Entra {
    parameters: Parameters,
    offline: bool,
    token: TokenCache<String>,
}

impl Credentials for Entra {
    fn authorize(&self, _: &HttpRequest, cancel: &Cancel) -> Result<Vec<(String, String)>, Error> {
        let token = self.token.get(cancel, || self.fetch(cancel))?;
        let value = format!("Bearer {token}");
        Ok(vec![("Authorization".to_owned(), value)])
    }

    fn forget(&self) -> bool {
        self.token.forget()
    }
}

impl Entra {
    fn fetch(&self, cancel: &Cancel) -> Result<Fetched<String>, Error> {
        let get = |name: &str| self.parameters.get(name);
        let client = get("AZURE_CLIENT_ID");
        if let (Some(tenant), Some(client)) = (get("AZURE_TENANT_ID"), client) {
            let proof = match (
                get("AZURE_CLIENT_SECRET"),
                get("AZURE_CLIENT_CERTIFICATE_PATH"),
                get("AZURE_FEDERATED_TOKEN_FILE"),
            ) {
                (Some(secret), ..) => Some(("client_secret", secret.to_owned())),
                (None, Some(path), _) => {
                    let url = self.token_url(tenant)?;
                    Some(("client_assertion", certified(path, client, &url)?))
                }
                (None, None, Some(path)) => {
                    let token = read(path, "AZURE_FEDERATED_TOKEN_FILE")?;
                    Some(("client_assertion", token.trim().to_owned()))
                }
                (None, None, None) => None,
            };
            if let Some(proof) = proof {
                return self.token_of_application(tenant, client, proof, cancel);
            }
        }
        if let (Some(endpoint), Some(secret)) = (get("IDENTITY_ENDPOINT"), get("IDENTITY_HEADER")) {
            return self.token_of_app_service(endpoint, secret, client, cancel);
        }
        match self.token_of_machine(client, cancel) {
            // `az` would ask Microsoft.
            Err(error) if error.class == ErrorClass::Config && !self.offline => {
                azure_cli::token(RESOURCE, cancel)?.ok_or(error)
            }
            found => found,
        }
    }

    fn token_url(&self, tenant: &str) -> Result<String, Error> {
        let authority = self
            .parameters
            .get("AZURE_AUTHORITY_HOST")
            .unwrap_or(AUTHORITY);
        let authority = authority.trim_end_matches('/');
        if !authority.starts_with("https://") && !is_loopback_url(authority) {
            return Err(config("AZURE_AUTHORITY_HOST does not begin with https://"));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        if tenant.starts_with('.') || !tenant.chars().all(is_plain) {
            return Err(config("AZURE_TENANT_ID is neither an id nor a domain"));
        }
        Ok(format!("{authority}/{tenant}/oauth2/v2.0/token"))
    }

    fn token_of_application(
        &self,
        tenant: &str,
        client: &str,
        proof: (&str, String),
        cancel: &Cancel,
    ) -> Result<Fetched<String>, Error> {
        let mut form = vec![
            ("grant_type", "client_credentials".to_owned()),
            ("client_id", client.to_owned()),
            ("scope", format!("{RESOURCE}/.default")),
        ];
        if proof.0 == "client_assertion" {
            form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
        }
        form.push(proof);
        let url = self.token_url(tenant)?;
        fetch_token(ENDPOINT_TITLE, &url, &form, self.offline, cancel)
    }

    /// <https://learn.microsoft.com/azure/app-service/overview-managed-identity>
    fn token_of_app_service(
        &self,
        endpoint: &str,
        secret: &str,
        client: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Fetched<String>, Error> {
        let request = TokenRequest {
            title: "the identity endpoint of Azure",
            method: Method::GET,
            url: &query(endpoint, "2019-08-01", client),
            headers: &[("X-IDENTITY-HEADER".to_owned(), secret.to_owned())],
            body: "",
            offline: self.offline,
            timeout: METADATA_TIMEOUT,
        };
        let body = request.run(cancel)?;
        // It tells the time of the expiry.
        let mut answer: Value = crate::json::from_slice(&body).unwrap_or_default();
        let expiry = match &answer["expires_on"] {
            Value::String(text) => text.parse().ok(),
            number => number.as_i64(),
        };
        if let Some(expiry) = expiry {
            answer["expires_in"] = expiry.saturating_sub(unix_seconds()).max(0).into();
        }
        parse_token(answer.to_string().as_bytes(), request.title)
    }

    fn token_of_machine(
        &self,
        client: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Fetched<String>, Error> {
        let host = self.parameters.get("AZURE_POD_IDENTITY_AUTHORITY_HOST");
        let host = host.unwrap_or(METADATA).trim_end_matches('/');
        let url = format!("{host}/metadata/identity/oauth2/token");
        let request = TokenRequest {
            title: "the metadata server of Azure",
            method: Method::GET,
            url: &query(&url, "2018-02-01", client),
            headers: &[("Metadata".to_owned(), "true".to_owned())],
            body: "",
            offline: self.offline,
            timeout: METADATA_TIMEOUT,
        };
        let body = request.run(cancel).map_err(|error| match error.class {
            // This is not a machine of Azure.
            ErrorClass::Transport | ErrorClass::Timeout | ErrorClass::Config => config(
                "it needs AZURE_OPENAI_API_KEY, or credentials of Microsoft Entra ID: AZURE_TENANT_ID and \
                 AZURE_CLIENT_ID with AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH, a managed identity, or `az login`",
            ),
            _ => error,
        })?;
        parse_token(&body, request.title)
    }
}

/// The URL that asks for a token of a managed identity.
fn query(url: &str, version: &str, client: Option<&str>) -> String {
    let escape = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let of_client = client.map(|id| format!("&client_id={}", escape(id)));
    let resource = escape(RESOURCE);
    let of_client = of_client.unwrap_or_default();
    format!("{url}?api-version={version}&resource={resource}{of_client}")
}

/// The assertion of an application, signed with the key beside its certificate.
fn certified(path: &str, client: &str, audience: &str) -> Result<String, Error> {
    const NAME: &str = "AZURE_CLIENT_CERTIFICATE_PATH";
    let pem = read(path, NAME)?;
    let certificate = pem_block(&pem, "CERTIFICATE")
        .ok_or_else(|| config(format!("the file of {NAME} has no certificate in PEM")))?;
    let thumbprint = digest::digest(&digest::SHA256, &certificate);
    let header = json!({
        "alg": "PS256", "typ": "JWT", "x5t#S256": URL_SAFE_NO_PAD.encode(thumbprint),
    });
    let id = crate::sys::random_hex(16).map_err(|error| config(error.to_string()))?;
    let now = unix_seconds();
    let claims = json!({
        "aud": audience, "iss": client, "sub": client, "jti": id, "nbf": now, "iat": now,
        "exp": now.saturating_add(ASSERTION_LIFETIME),
    });
    let title = format!("the private key in the file of {NAME}, which is PKCS #8 in PEM,");
    signed_claims(&RSA_PSS_SHA256, &header, &claims, &pem, &title)
}

fn read(path: &str, variable: &str) -> Result<String, Error> {
    let read = read_start(Path::new(path), MAX_FILE);
    let bytes =
        read.map_err(|error| config(format!("the file of {variable} cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| config(format!("the file of {variable} is not text")))
}

fn config(message: impl Into<String>) -> Error {
    Error::new(ErrorClass::Config, message)
}
