//! Credentials that a request needs beyond a fixed header: tokens that expire, and signatures of the request.
//!
//! The HTTP provider asks for the headers just before each attempt. It redacts their values in errors as it does
//! those of the endpoint's own headers.

pub(super) mod sign_in;
#[cfg(feature = "credentials")]
pub(super) mod tokens;

use super::Error;
use super::wire_protocol::HttpRequest;
use crate::store::Secrets;
use crate::sys::cancel::Cancel;
use std::sync::Arc;

/// Where a provider gets the headers that authorize a request.
pub(super) trait Credentials: Send + Sync {
    /// The headers for one attempt of this request. May fetch a token, within ten seconds for each HTTP request
    /// that it takes.
    ///
    /// # Errors
    /// [`ErrorClass::Config`](super::ErrorClass::Config) if there are no credentials,
    /// [`ErrorClass::Authentication`](super::ErrorClass::Authentication) if a token is refused, and those of the
    /// network. The message names what the user can correct, and contains no secret; the caller adds the
    /// provider's name.
    fn authorize(
        &self,
        request: &HttpRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, Error>;

    /// The URL of a request that was just authorized, if the token names another server than the settings.
    fn url(&self, _: &str) -> Option<String> {
        None
    }

    /// Forgets what is cached, after the server has rejected it; false if nothing was, so that another attempt
    /// would send the same.
    fn forget(&self) -> bool;
}

/// The values of a provider's [`Host`](super::provider_spec::SettingRole::Host),
/// [`Parameter`](super::provider_spec::SettingRole::Parameter),
/// [`Credential`](super::provider_spec::SettingRole::Credential) and
/// [`Login`](super::provider_spec::SettingRole::Login) settings, by name.
///
/// It does not implement `Debug`, because some are secrets.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    /// Adds a value.
    pub(super) fn add(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }

    /// The value of a setting, if it is set and not blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let value = found.map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }
}

/// The URL of an endpoint.
pub(super) type MakeUrl = fn(&Parameters) -> Result<String, Error>;

/// What a provider with credentials of its own kind makes from its settings.
pub(super) struct CredentialsSpec {
    /// The URL of the endpoint. Without it, the provider's settings have the URL, and a key, in place of which the
    /// credentials are used.
    pub(super) url: Option<MakeUrl>,
    /// The settings without which they cannot stand in for a key: all of one way, if there are any.
    pub(super) ways: &'static [&'static [&'static str]],
    /// How the user signs in, if there is a login.
    pub(super) login: Option<Login>,
    /// The credentials; `offline` refuses every host but this machine.
    pub(super) connect: fn(&Parameters, &Arc<Secrets>, offline: bool) -> Arc<dyn Credentials>,
}

/// Signs the user in, and returns the secrets to store, by name. It may take minutes, because the user acts in a
/// browser meanwhile. The last argument gets each sentence that tells the user what to do next; `offline` refuses
/// every host but this machine.
///
/// # Errors
/// One sentence without secrets, to which the caller adds the provider's name: [`ErrorClass::Cancelled`],
/// [`ErrorClass::Timeout`] when the user does nothing, [`ErrorClass::Authentication`] when the user or the server
/// refuses, and those of the network.
///
/// [`ErrorClass::Cancelled`]: super::ErrorClass::Cancelled
/// [`ErrorClass::Timeout`]: super::ErrorClass::Timeout
/// [`ErrorClass::Authentication`]: super::ErrorClass::Authentication
pub(super) type Login = fn(
    &Parameters,
    offline: bool,
    &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<(&'static str, String)>, Error>;
