//! MCP servers that are reached over Streamable HTTP.

use super::Started;
use crate::extension::config::{StreamableHttp, key};
use crate::extension::context::Context;
use crate::extension::environment::Environment;
use crate::extension::status::Location;
use crate::extension::{Error, Phase};
use crate::mcp::transport::http::header_variables::expand;
use crate::mcp::transport::http::{HttpOptions, HttpTransport};
use std::sync::Arc;

/// Prepares the address of a server.
///
/// # Errors
/// The configuration is not valid.
pub(super) fn start(context: &Context, config: &StreamableHttp) -> Result<Started, Error> {
    let (options, environment) = context.http_options(config)?;
    let transport = HttpTransport::new(options)
        .map_err(|e| Error::new(&config.name, Phase::Config, e.to_string()))?;
    let location = Location::Url(transport.origin().to_owned());
    let mut started = Started::new(Arc::new(transport), environment);
    started.location = Some(location);
    Ok(started)
}

impl Context {
    /// The options for the transport to this server.
    ///
    /// # Errors
    /// A variable or a header of the configuration is not valid.
    pub fn http_options(
        &self,
        config: &StreamableHttp,
    ) -> Result<(HttpOptions, Environment), Error> {
        let environment = self.environment(&config.name, &config.envs, &config.env_keys)?;
        let wrong = |reason: String| Error::new(&config.name, Phase::Config, reason);
        let mut options = HttpOptions::new(key(&config.name), &config.uri);
        for (header, value) in config.headers.iter() {
            let value = expand(value, |name| environment.get(name))
                .map_err(|reason| wrong(format!("header `{header}`: {reason}")))?;
            if value.contains('$') {
                let name = &config.name;
                log::warn!(
                    "a header contains a `$` that no variable replaces extension={name:?} header={header:?}"
                );
            }
            options.headers.push((header.to_owned(), value));
        }
        options.offline = self.offline;
        options.max_message = self.limits.message;
        Ok((options, environment))
    }
}
