use super::*;
use crate::extension::environment::REFUSED;

/// What a link may not name either.
const NAMES_IN_LINKS: &str = "
    UV_* PIP_* PIPX_* NPM_CONFIG_* PNPM_* YARN_* BUN_* DENO_* COREPACK_* CARGO_* RUSTUP_* GOPROXY GOSUMDB GOPRIVATE
    GOINSECURE GOPATH GOMODCACHE GEM_* BUNDLE_* NUGET_*
    DOCKER_* CONTAINER_HOST HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE
    NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CURL_HOME NETRC GIT_SSL_*
    HOME XDG_* TMPDIR APPDATA PROGRAMDATA PREFIX JAVA_HOME DOTNET_ROOT* VIRTUAL_ENV CONDA_* PYENV_* RBENV_* NVM_*
    VOLTA_* ASDF_* MISE_*
";

/// Variables that the pattern matches.
fn examples(pattern: &str) -> [String; 2] {
    let name = pattern.replace('*', "ANY");
    [name.to_ascii_lowercase(), name]
}

fn patterns(table: &'static [(&str, &str)]) -> impl Iterator<Item = &'static str> {
    table.iter().flat_map(|(row, _)| row.split_whitespace())
}

#[test]
fn every_written_name_is_refused_and_what_no_configuration_may_set() {
    let written = NAMES_IN_LINKS.split_whitespace().chain(patterns(REFUSED));
    for name in written.flat_map(examples) {
        assert!(refusal_in_link(&name).is_some(), "{name}");
    }
    for name in ["UV_INDEX_URL", "pnpm_home", "Curl_Home", "DOCKER_HOST"] {
        assert!(refusal_in_link(name).is_some(), "{name}");
    }
}

#[test]
fn every_refused_name_is_written_here() {
    let written: Vec<&str> = NAMES_IN_LINKS.split_whitespace().collect();
    for pattern in patterns(REFUSED_IN_LINKS) {
        assert!(written.contains(&pattern), "add {pattern:?} to this file");
    }
}
