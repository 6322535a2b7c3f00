//! The credentials of AWS: a bearer token, or a key from the settings, a profile, a web identity, a container's agent
//! or the metadata of an instance, in the order of AWS's own programs.

use super::aws_profile::{Profile, read_file};
use super::aws_region_and_key::{config, fetched_key, region, signature};
use super::aws_role::KeySource;
use super::sigv4::AwsKey;
use crate::credentials::tokens::{Fetched, TIMEOUT, TokenCache, TokenRequest};
use crate::credentials::{Credentials, Parameters};
use crate::outbound::is_loopback_url;
use crate::sys::cancel::Cancel;
use crate::sys::clock::Utc;
use crate::wire_protocol::HttpRequest;
use crate::{Error, ErrorClass};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Method, Uri};

/// A key is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(300);
/// How long the metadata of an instance may take: on most machines there are none.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);
const METADATA: &str = "http://169.254.169.254";
const CONTAINER_AGENT: &str = "http://169.254.170.2";
/// The hosts of plain HTTP from which a container may get its key, beside this machine.
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// Credentials for a service.
pub(super) fn connect(
    service: &'static str,
    parameters: &Parameters,
    offline: bool,
) -> Arc<dyn Credentials> {
    Arc::new(Aws {
        service,
        parameters: parameters.clone(),
        offline,
        key: TokenCache::new(MARGIN),
    })
}

struct Aws {
    service: &'static str,
    parameters: Parameters,
    offline: bool,
    key: TokenCache<AwsKey>,
}

impl Credentials for Aws {
    fn authorize(
        &self,
        request: &HttpRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, Error> {
        if let Some(token) = self.parameters.get("AWS_BEARER_TOKEN_BEDROCK") {
            return Ok(vec![(
                "Authorization".to_owned(),
                format!("Bearer {token}"),
            )]);
        }
        let key = self.key.get(cancel, || self.fetch(cancel))?;
        let region = region(&self.parameters)?;
        let method = request.body.as_ref().map_or("GET", |_| "POST");
        let body = request.body.as_deref().unwrap_or_default();
        signature(method, &request.url, body, (&region, self.service), &key)
    }

    fn forget(&self) -> bool {
        self.key.forget()
    }
}

impl Aws {
    fn fetch(&self, cancel: &Cancel) -> Result<Fetched<AwsKey>, Error> {
        let parameters = &self.parameters;
        if let Some(id) = parameters.get("AWS_ACCESS_KEY_ID") {
            let secret = parameters.get("AWS_SECRET_ACCESS_KEY").ok_or_else(|| {
                config("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned())
            })?;
            let key = AwsKey {
                id: id.to_owned(),
                secret: secret.to_owned(),
                session_token: parameters.get("AWS_SESSION_TOKEN").map(str::to_owned),
            };
            return Ok(fetched_key(key, None));
        }
        let profile = Profile::read(parameters);
        let source = KeySource {
            parameters,
            offline: self.offline,
            cancel,
        };
        if let Some(key) = source.of_profile(&profile)? {
            return Ok(key);
        }
        if parameters.get("AWS_PROFILE").is_some() {
            return Err(config(format!(
                "there is no key in the profile {} of AWS_PROFILE",
                profile.title()
            )));
        }
        let role = parameters.get("AWS_ROLE_ARN");
        if let Some((role, file)) = role.zip(parameters.get("AWS_WEB_IDENTITY_TOKEN_FILE")) {
            let session = parameters.get("AWS_ROLE_SESSION_NAME");
            return source.with_web_identity(role, file, session);
        }
        match self.container_url()? {
            Some(url) => self.container_key(&url, cancel),
            None => self.instance_key(cancel),
        }
    }

    /// The address from which a container gets its key.
    fn container_url(&self) -> Result<Option<String>, Error> {
        if let Some(path) = self
            .parameters
            .get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        {
            if !path.starts_with('/') {
                let message = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash";
                return Err(config(message.to_owned()));
            }
            return Ok(Some(format!("{CONTAINER_AGENT}{path}")));
        }
        let Some(url) = self.parameters.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") else {
            return Ok(None);
        };
        let uri: Option<Uri> = url.parse().ok();
        let is_safe = is_loopback_url(url)
            || uri.is_some_and(|uri| {
                uri.scheme_str() == Some("https")
                    || (uri.host()).is_some_and(|host| CONTAINER_HOSTS.contains(&host))
            });
        if is_safe {
            Ok(Some(url.to_owned()))
        } else {
            let message = "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine";
            Err(config(message.to_owned()))
        }
    }

    fn container_key(&self, url: &str, cancel: &Cancel) -> Result<Fetched<AwsKey>, Error> {
        let token = match self
            .parameters
            .get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        {
            Some(path) => Some(read_file(path.into()).ok_or_else(|| {
                let message = "the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read";
                config(message.to_owned())
            })?),
            None => (self.parameters.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")).map(str::to_owned),
        };
        let headers = token.map(|token| ("Authorization".to_owned(), token.trim().to_owned()));
        let headers: Vec<_> = headers.into_iter().collect();
        let request = TokenRequest {
            title: "the container's agent of AWS",
            method: Method::GET,
            url,
            headers: &headers,
            body: "",
            offline: self.offline,
            timeout: TIMEOUT,
        };
        parse_key(&request.run(cancel)?, request.title)
    }

    /// The key of the role of this instance: IMDSv2.
    fn instance_key(&self, cancel: &Cancel) -> Result<Fetched<AwsKey>, Error> {
        let set = self.parameters.get("AWS_EC2_METADATA_DISABLED");
        if set.is_some_and(|set| set.eq_ignore_ascii_case("true")) {
            return Err(no_key());
        }
        let base = self.parameters.get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let base = base.unwrap_or(METADATA).trim_end_matches('/');
        let run = |method, path: &str, header: (&str, &str)| {
            let request = TokenRequest {
                title: "the instance's metadata of AWS",
                method,
                url: &format!("{base}/latest/{path}"),
                headers: &[(header.0.to_owned(), header.1.to_owned())],
                body: "",
                offline: self.offline,
                timeout: METADATA_TIMEOUT,
            };
            request.run(cancel)
        };
        let lifetime = ("x-aws-ec2-metadata-token-ttl-seconds", "21600");
        let token = run(Method::PUT, "api/token", lifetime).map_err(|error| match error.class {
            // There are no metadata on this machine.
            ErrorClass::Transport | ErrorClass::Timeout => no_key(),
            _ => error,
        })?;
        let token = first_line(&token);
        let header = ("x-aws-ec2-metadata-token", token.as_str());
        const PATH: &str = "meta-data/iam/security-credentials/";
        let role = first_line(&run(Method::GET, PATH, header)?);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-".contains(c);
        if role.is_empty() || !role.chars().all(is_plain) {
            return Err(config("this instance of AWS has no role".to_owned()));
        }
        let key = run(Method::GET, &format!("{PATH}{role}"), header)?;
        parse_key(&key, "the instance's metadata of AWS")
    }
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The key in a response of an agent or of the metadata.
fn parse_key(body: &[u8], title: &str) -> Result<Fetched<AwsKey>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Body {
        access_key_id: String,
        secret_access_key: String,
        token: Option<String>,
        expiration: Option<String>,
    }
    let body: Body = crate::json::from_slice(body)
        .map_err(|_| Error::protocol(format!("{title} answered with something else than a key")))?;
    let expires = body.expiration.and_then(|text| Utc::parse(&text));
    let key = AwsKey {
        id: body.access_key_id,
        secret: body.secret_access_key,
        session_token: body.token,
    };
    Ok(fetched_key(key, expires.map(Utc::unix_seconds)))
}

fn no_key() -> Error {
    config(
        "it needs a key of AWS: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
         AWS_PROFILE"
            .to_owned(),
    )
}
