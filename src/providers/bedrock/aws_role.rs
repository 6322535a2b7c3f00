//! The key of a profile: its own, that of a role that it takes on, or that of a login with IAM Identity Center (SSO).
//!
//! <https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html>,
//! <https://docs.aws.amazon.com/singlesignon/latest/PortalAPIReference/API_GetRoleCredentials.html>,
//! <https://docs.aws.amazon.com/singlesignon/latest/OIDCAPIReference/API_CreateToken.html>

use super::aws_profile::{Profile, read_file};
use super::aws_region_and_key::{
    self as aws, UNLIMITED, config, fetched_key, is_region, signature,
};
use super::sigv4::{AwsKey, UNRESERVED};
use crate::Error;
use crate::credentials::Parameters;
use crate::credentials::tokens::{Fetched, TIMEOUT, TokenRequest};
use crate::store::files::write_atomic;
use crate::sys::cancel::Cancel;
use crate::sys::clock::{Utc, unix_seconds};
use crate::sys::to_hex;
use percent_encoding::utf8_percent_encode;
use ring::digest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use ureq::http::Method;

/// The most profiles of which one takes on the role with the key of the next.
const MAX_PROFILES: usize = 5;
/// A login is refreshed this long before it expires, in seconds.
const LOGIN_MARGIN: i64 = 60;
/// The longest that a login is said to be valid, in seconds.
const MAX_LOGIN: i64 = 90 * 24 * 3600;
const SESSION_NAME: &str = "gosling";

/// Gets the keys of profiles.
pub(super) struct KeySource<'a> {
    pub(super) parameters: &'a Parameters,
    /// Refuse every host but this machine.
    pub(super) offline: bool,
    pub(super) cancel: &'a Cancel,
}

impl KeySource<'_> {
    /// The key of a profile; `None` if it names none.
    ///
    /// # Errors
    /// [`ErrorClass::Config`](crate::ErrorClass::Config) if the profile is incomplete or needs what
    /// gosling cannot do, and those of the requests.
    pub(super) fn of_profile(&self, profile: &Profile) -> Result<Option<Fetched<AwsKey>>, Error> {
        self.of_chain(profile, 1)
    }

    fn of_chain(&self, profile: &Profile, nth: usize) -> Result<Option<Fetched<AwsKey>>, Error> {
        let title = profile.title();
        if let Some(role) = profile.get("role_arn") {
            if let Some(file) = profile.get("web_identity_token_file") {
                let session = profile.get("role_session_name");
                return self.with_web_identity(role, file, session).map(Some);
            }
            if let Some(source) = profile.get("source_profile") {
                if nth >= MAX_PROFILES {
                    return Err(config(format!(
                        "the profile {title} is behind more than {MAX_PROFILES} others; is it its own `source_profile`?"
                    )));
                }
                let source = Profile::named(self.parameters, source);
                let own = (source.name == profile.name).then(|| source.key());
                let key = match own {
                    Some(key) => key,
                    None => self.of_chain(&source, nth + 1)?.map(|key| key.token),
                };
                let key = key.ok_or_else(|| {
                    config(format!("there is no key in the profile {}", source.title()))
                })?;
                return self.take_on(role, profile, &key).map(Some);
            }
        }
        if let Some(token) = profile.key() {
            let lifetime = UNLIMITED;
            return Ok(Some(Fetched { token, lifetime }));
        }
        if profile.get("sso_session").is_some() || profile.get("sso_start_url").is_some() {
            return self.of_login(profile).map(Some);
        }
        match profile.unsupported() {
            None => Ok(None),
            Some(kind) => Err(config(format!(
                "the profile {title} gets its key by {kind}, which gosling does not do: set the variables that `aws \
                 configure export-credentials --profile {title} --format env` prints"
            ))),
        }
    }

    /// AssumeRole.
    fn take_on(
        &self,
        role: &str,
        profile: &Profile,
        key: &AwsKey,
    ) -> Result<Fetched<AwsKey>, Error> {
        if profile.get("mfa_serial").is_some() {
            return Err(config(format!(
                "the role of the profile {} requires the code of a device (`mfa_serial`), which gosling cannot ask for",
                profile.title()
            )));
        }
        let name = profile.get("role_session_name").unwrap_or(SESSION_NAME);
        let mut form = vec![
            ("Action", "AssumeRole"),
            ("Version", "2011-06-15"),
            ("RoleArn", role),
            ("RoleSessionName", name),
        ];
        let optional = [
            ("ExternalId", "external_id"),
            ("DurationSeconds", "duration_seconds"),
        ];
        for (field, name) in optional {
            form.extend(profile.get(name).map(|value| (field, value)));
        }
        self.ask_sts(&form, Some(key))
    }

    /// AssumeRoleWithWebIdentity, with the token in a file.
    pub(super) fn with_web_identity(
        &self,
        role: &str,
        file: &str,
        session: Option<&str>,
    ) -> Result<Fetched<AwsKey>, Error> {
        let token = read_file(file.into()).ok_or_else(|| {
            config("the file of a web identity's token cannot be read".to_owned())
        })?;
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", "2011-06-15"),
            ("RoleArn", role),
            ("RoleSessionName", session.unwrap_or(SESSION_NAME)),
            ("WebIdentityToken", token.trim()),
        ];
        self.ask_sts(&form, None)
    }

    fn ask_sts(
        &self,
        form: &[(&str, &str)],
        key: Option<&AwsKey>,
    ) -> Result<Fetched<AwsKey>, Error> {
        let region = aws::region(self.parameters)?;
        let url = self.endpoint("AWS_ENDPOINT_URL_STS", "sts", &region) + "/";
        let escaped = |(name, value): &(&str, &str)| {
            format!("{name}={}", utf8_percent_encode(value, UNRESERVED))
        };
        let body: Vec<String> = form.iter().map(escaped).collect();
        let body = body.join("&");
        let content_type = "application/x-www-form-urlencoded; charset=utf-8";
        let mut headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        if let Some(key) = key {
            let place = (region.as_str(), "sts");
            headers.extend(signature("POST", &url, body.as_bytes(), place, key)?);
        }
        let title = "the token service of AWS (STS)";
        let response = self.run(title, Method::POST, &url, &headers, &body)?;
        let text = String::from_utf8_lossy(&response);
        let element = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            let (value, _) = rest.split_once("</")?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let key = element("AccessKeyId").zip(element("SecretAccessKey"));
        let (id, secret) = key.ok_or_else(|| no_key(title))?;
        let session_token = element("SessionToken");
        let expires = element("Expiration").and_then(|text| Utc::parse(&text));
        let key = AwsKey {
            id,
            secret,
            session_token,
        };
        Ok(fetched_key(key, expires.map(Utc::unix_seconds)))
    }

    /// GetRoleCredentials, with the login of `aws sso login`.
    fn of_login(&self, profile: &Profile) -> Result<Fetched<AwsKey>, Error> {
        let title = profile.title();
        let session = profile.get("sso_session");
        let section = session.map(|name| Profile::sso_session(self.parameters, name));
        let shared = section.as_ref().unwrap_or(profile);
        let value = |of: &Profile, name: &str| {
            (of.get(name).map(str::to_owned))
                .ok_or_else(|| config(format!("the profile {title} has no `{name}`")))
        };
        let region = value(shared, "sso_region")?;
        if !is_region(&region) {
            let message = format!("the `sso_region` of the profile {title} is not a region");
            return Err(config(message));
        }
        let start_url = value(shared, "sso_start_url")?;
        let account = value(profile, "sso_account_id")?;
        let role = value(profile, "sso_role_name")?;
        let token = self.login_token(session.unwrap_or(&start_url), &region, &title)?;
        let url = format!(
            "{}/federation/credentials?account_id={}&role_name={}",
            self.endpoint("AWS_ENDPOINT_URL_SSO", "portal.sso", &region),
            utf8_percent_encode(&account, UNRESERVED),
            utf8_percent_encode(&role, UNRESERVED)
        );
        let headers = [("x-amz-sso_bearer_token".to_owned(), token)];
        let title = "the portal of AWS (SSO)";
        let response = self.run(title, Method::GET, &url, &headers, "")?;
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            role_credentials: RoleCredentials,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RoleCredentials {
            access_key_id: String,
            secret_access_key: String,
            session_token: Option<String>,
            /// In milliseconds since 1970.
            expiration: Option<i64>,
        }
        let body: Body = crate::json::from_slice(&response).map_err(|_| no_key(title))?;
        let RoleCredentials {
            access_key_id: id,
            secret_access_key: secret,
            session_token,
            expiration,
        } = body.role_credentials;
        let key = AwsKey {
            id,
            secret,
            session_token,
        };
        Ok(fetched_key(key, expiration.map(|time| time / 1000)))
    }

    /// The token of a login, refreshed if it has expired. `name` is what the login's file has its name from.
    fn login_token(&self, name: &str, region: &str, title: &str) -> Result<String, Error> {
        let sign_in = || {
            config(format!(
                "the login of the profile {title} has expired or is missing: run `aws sso login --profile {title}`"
            ))
        };
        let (path, mut login) = self.login_file(name).ok_or_else(sign_in)?;
        let text = |login: &Value, name: &str| login[name].as_str().map(str::to_owned);
        let expires = text(&login, "expiresAt").map(|time| time.replace("UTC", "Z"));
        let expires = expires.and_then(|time| Utc::parse(&time));
        let is_valid =
            expires.is_some_and(|time| time.unix_seconds() > unix_seconds() + LOGIN_MARGIN);
        if is_valid && let Some(token) = text(&login, "accessToken") {
            return Ok(token);
        }
        let [client, secret, refresh] = ["clientId", "clientSecret", "refreshToken"]
            .map(|name| text(&login, name).ok_or_else(sign_in));
        let body = json!({"grantType": "refresh_token", "clientId": client?,
            "clientSecret": secret?, "refreshToken": refresh?});
        let url = self.endpoint("AWS_ENDPOINT_URL_SSO_OIDC", "oidc", region) + "/token";
        let headers = [("Content-Type".to_owned(), "application/json".to_owned())];
        let title = "the login service of AWS (SSO OIDC)";
        let response = self.run(title, Method::POST, &url, &headers, &body.to_string())?;
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Token {
            access_token: String,
            expires_in: i64,
            refresh_token: Option<String>,
        }
        let token: Token = crate::json::from_slice(&response).map_err(|_| no_key(title))?;
        let expires = unix_seconds() + token.expires_in.clamp(0, MAX_LOGIN);
        login["accessToken"] = token.access_token.as_str().into();
        login["expiresAt"] = Utc::from_unix(expires).to_string().into();
        if let Some(refresh) = token.refresh_token {
            login["refreshToken"] = refresh.into();
        }
        // AWS's own programs go on with this login. Without the file it lasts until the token expires.
        if let Err(error) = write_atomic(&path, login.to_string().as_bytes()) {
            log::warn!("the refreshed login of AWS is not stored: {error}");
        }
        Ok(token.access_token)
    }

    /// The file of a login: beside the file of profiles, or where AWS's programs write it.
    fn login_file(&self, name: &str) -> Option<(PathBuf, Value)> {
        let name = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes());
        let name = format!("sso/cache/{}.json", to_hex(name.as_ref()));
        let set = self.parameters.get("AWS_CONFIG_FILE").map(PathBuf::from);
        let beside = set.and_then(|path| Some(path.parent()?.join(&name)));
        let home = std::env::home_dir().map(|home| home.join(".aws").join(&name));
        [beside, home].into_iter().flatten().find_map(|path| {
            let text = read_file(path.clone())?;
            let login: Value = crate::json::from_slice(text.as_bytes()).ok()?;
            login.is_object().then_some((path, login))
        })
    }

    /// The address of a service, without a slash at its end.
    fn endpoint(&self, variable: &str, service: &str, region: &str) -> String {
        match self.parameters.get(variable) {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("https://{service}.{region}.{}", aws::domain(region)),
        }
    }

    fn run(
        &self,
        title: &str,
        method: Method,
        url: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Result<Vec<u8>, Error> {
        let request = TokenRequest {
            title,
            method,
            url,
            headers,
            body,
            offline: self.offline,
            timeout: TIMEOUT,
        };
        request.run(self.cancel)
    }
}

fn no_key(title: &str) -> Error {
    Error::protocol(format!("{title} answered with something else than a key"))
}
