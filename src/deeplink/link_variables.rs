//! The environment variables that a link may not name, although a configuration may set them.

use crate::extension::environment::{self, FOLDERS};

/// Variables that a link may not name either, because a person who installs from a link does not see what they
/// change.
const REFUSED_IN_LINKS: &[(&str, &str)] = &[
    (
        "UV_* PIP_* PIPX_* NPM_CONFIG_* PNPM_* YARN_* BUN_* DENO_* COREPACK_* CARGO_* RUSTUP_* GOPROXY GOSUMDB
        GOPRIVATE GOINSECURE GOPATH GOMODCACHE GEM_* BUNDLE_* NUGET_*",
        SOURCES,
    ),
    (
        "DOCKER_* CONTAINER_HOST HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE
        NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CURL_HOME NETRC
        GIT_SSL_*",
        CONNECTIONS,
    ),
    (
        "HOME XDG_* TMPDIR APPDATA PROGRAMDATA PREFIX JAVA_HOME DOTNET_ROOT* VIRTUAL_ENV CONDA_* PYENV_* RBENV_*
        NVM_* VOLTA_* ASDF_* MISE_*",
        FOLDERS,
    ),
];

const SOURCES: &str = "it decides where packages come from";
const CONNECTIONS: &str = "it decides which servers a program connects to and trusts";

/// Why a link may not name this variable; `None` if it may.
pub(crate) fn refusal_in_link(variable: &str) -> Option<&'static str> {
    environment::refusal(variable).or_else(|| environment::reason_in(REFUSED_IN_LINKS, variable))
}

#[cfg(test)]
mod tests;
