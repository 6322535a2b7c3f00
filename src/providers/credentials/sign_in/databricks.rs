//! Access tokens of Databricks for a service principal (OAuth, machine to machine).
//!
//! <https://docs.databricks.com/dev-tools/auth/oauth-m2m>

use crate::credentials::tokens::oauth_token::fetch_token;
use crate::credentials::tokens::{Fetched, TokenCache};
use crate::credentials::{Credentials, CredentialsSpec, Parameters};
use crate::server_url::{base_url, origin};
use crate::sys::cancel::Cancel;
use crate::wire_protocol::HttpRequest;
use crate::{Error, ErrorClass};
use std::sync::Arc;
use std::time::Duration;

/// A token is fetched anew this long before it expires.
const MARGIN: Duration = Duration::from_secs(120);
const ID: &str = "DATABRICKS_CLIENT_ID";
const SECRET: &str = "DATABRICKS_CLIENT_SECRET";

pub(super) static SPEC: CredentialsSpec = CredentialsSpec {
    url: None,
    needs: &[ID, SECRET],
    connect: |parameters, offline| {
        Arc::new(Databricks {
            parameters: parameters.clone(),
            offline,
            token: TokenCache::new(MARGIN),
        })
    },
};

struct Databricks {
    parameters: Parameters,
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
        let get = |name: &str| self.parameters.get(name).map(str::to_owned);
        let (Some(id), Some(secret)) = (get(ID), get(SECRET)) else {
            let message = format!("it needs {ID} and {SECRET} of a service principal");
            return Err(Error::new(ErrorClass::Config, message));
        };
        let url = format!("{}/oidc/v1/token", origin(&base_url(url)));
        let form = [
            ("grant_type", "client_credentials".to_owned()),
            ("scope", "all-apis".to_owned()),
            ("client_id", id),
            ("client_secret", secret),
        ];
        let title = "the token endpoint of Databricks";
        fetch_token(title, &url, &form, self.offline, cancel)
    }
}
