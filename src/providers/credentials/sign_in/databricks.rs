//! Access tokens of Databricks: for a service principal (OAuth, machine to machine), or for the user who signed in with
//! a browser.
//!
//! <https://docs.databricks.com/dev-tools/auth/oauth-m2m>, <https://docs.databricks.com/dev-tools/auth/oauth-u2m>

mod browser_login;

use crate::credentials::tokens::oauth_token::{fetch_issued, fetch_token};
use crate::credentials::tokens::{Fetched, TokenCache};
use crate::credentials::{Credentials, CredentialsSpec, Parameters};
use crate::server_url::{base_url, origin};
use crate::store::Secrets;
use crate::store::file_lock::{FileLock, LOCK_TIMEOUT};
use crate::sys::cancel::Cancel;
use crate::wire_protocol::HttpRequest;
use crate::{Error, ErrorClass};
use std::sync::Arc;
use std::time::Duration;

/// A token is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(120);
const HOST: &str = "DATABRICKS_HOST";
const ID: &str = "DATABRICKS_CLIENT_ID";
const SECRET: &str = "DATABRICKS_CLIENT_SECRET";
/// What the login in a browser gives.
const REFRESH: &str = "DATABRICKS_REFRESH_TOKEN";
/// The app of Databricks for command lines, as in Goose.
const CLIENT: &str = "databricks-cli";
const TITLE: &str = "the token endpoint of Databricks";

pub(super) static SPEC: CredentialsSpec = CredentialsSpec {
    url: None,
    ways: &[&[ID, SECRET], &[REFRESH]],
    login: Some(browser_login::login),
    connect: |parameters, secrets, offline| {
        Arc::new(Databricks {
            parameters: parameters.clone(),
            secrets: secrets.clone(),
            offline,
            token: TokenCache::new(MARGIN),
        })
    },
};

struct Databricks {
    parameters: Parameters,
    secrets: Arc<Secrets>,
    offline: bool,
    token: TokenCache<String>,
}

impl Credentials for Databricks {
    fn authorize(
        &self,
        request: &HttpRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, Error> {
        let token = self
            .token
            .get(cancel, || self.fetch(&request.url, cancel))?;
        let value = format!("Bearer {token}");
        Ok(vec![("Authorization".to_owned(), value)])
    }

    fn forget(&self) -> bool {
        self.token.forget()
    }
}

impl Databricks {
    /// The workspace of the request issues the token.
    fn fetch(&self, url: &str, cancel: &Cancel) -> Result<Fetched<String>, Error> {
        let url = token_url(url);
        let get = |name: &str| self.parameters.get(name).map(str::to_owned);
        let (Some(id), Some(secret)) = (get(ID), get(SECRET)) else {
            return self.refresh(&url, cancel);
        };
        let form = [
            ("grant_type", "client_credentials".to_owned()),
            ("scope", "all-apis".to_owned()),
            ("client_id", id),
            ("client_secret", secret),
        ];
        fetch_token(TITLE, &url, &form, self.offline, cancel)
    }

    /// A token for the user who signed in. The refresh token may count once, so that one process after the other uses
    /// the one that is stored.
    fn refresh(&self, url: &str, cancel: &Cancel) -> Result<Fetched<String>, Error> {
        let lock = self.secrets.path().with_file_name("databricks_login.lock");
        let _lock = FileLock::acquire(&lock, LOCK_TIMEOUT)?;
        let stored = self.secrets.get(REFRESH)?;
        let current = match (&stored, self.parameters.get(REFRESH)) {
            (Some(stored), _) => stored.expose_text().into_owned(),
            (None, Some(given)) => given.to_owned(),
            (None, None) => {
                let message = format!(
                    "it needs DATABRICKS_TOKEN, {ID} with {SECRET}, or a login: \
                     `gosling models login databricks`"
                );
                return Err(Error::new(ErrorClass::Config, message));
            }
        };
        let form = [
            ("grant_type", "refresh_token".to_owned()),
            ("client_id", CLIENT.to_owned()),
            ("refresh_token", current.clone()),
        ];
        let issued = fetch_issued(TITLE, url, &form, self.offline, cancel);
        let (access, refresh) = issued.map_err(|error| match error.class {
            ErrorClass::Authentication => {
                let again = "sign in again with `gosling models login databricks`";
                Error::new(error.class, format!("{}; {again}", error.message))
            }
            _ => error,
        })?;
        if let Some(next) = refresh.filter(|next| *next != current) {
            self.secrets.set(REFRESH, &next.into())?;
        }
        Ok(access)
    }
}

fn token_url(url: &str) -> String {
    format!("{}/oidc/v1/token", origin(&base_url(url)))
}
