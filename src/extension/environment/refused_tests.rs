//! The refused variables, written out a second time: a name that the tables lose is noticed here, and a new one has
//! to be written in both places.

use super::*;

/// What no configuration may set.
const NAMES: &[&str] = &[
    "PATH",
    "PATHEXT",
    "ComSpec",
    "SystemRoot",
    "windir",
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "APPINIT_DLLS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_PATH",
    "GEM_HOME",
    "NODE_PATH",
    "PYTHONBREAKPOINT",
    "PERL5OPT",
    "PERL5LIB",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "LUA_INIT*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "NPM_CONFIG_NODE_OPTIONS",
    "NPM_CONFIG_SCRIPT_SHELL",
    "GO111MODULE",
    "GOROOT",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "IFS",
    "ZDOTDIR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_CONFIG_*",
    "SESSIONNAME",
    "TEMP",
    "TMP",
    "LOCALAPPDATA",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "GOSLING_PROCESS_MARK",
    "AGENT_SESSION_ID",
    "GOOSE_SERVER__SECRET_KEY",
];

/// What a link may not name either.
const NAMES_IN_LINKS: &[&str] = &[
    "UV_*",
    "PIP_*",
    "PIPX_*",
    "NPM_CONFIG_*",
    "YARN_*",
    "DOCKER_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HOME",
    "XDG_*",
    "TMPDIR",
    "APPDATA",
    "PROGRAMDATA",
];

/// A variable that the pattern matches.
fn example(pattern: &str) -> String {
    pattern.replace('*', "ANY")
}

#[test]
fn every_written_name_is_refused() {
    for pattern in NAMES {
        for name in [example(pattern), example(pattern).to_ascii_lowercase()] {
            assert!(refusal(&name).is_some(), "{name}");
            assert!(check_name(&name).is_err(), "{name}");
            assert!(refusal_in_link(&name).is_some(), "{name} in a link");
        }
    }
    for pattern in NAMES_IN_LINKS {
        for name in [example(pattern), example(pattern).to_ascii_lowercase()] {
            assert!(refusal_in_link(&name).is_some(), "{name} in a link");
        }
    }
}

#[test]
fn every_refused_name_is_written_here() {
    for (table, written) in [(REFUSED, NAMES), (REFUSED_IN_LINKS, NAMES_IN_LINKS)] {
        for (pattern, _) in table {
            assert!(written.contains(pattern), "add {pattern:?} to this file");
        }
    }
}
