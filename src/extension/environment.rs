//! The environment of an extension: variables that it may not set, its secrets, and variables in header
//! values. CORE §8.1 (3, 4), §8.2 (2).

use super::Class;
use super::config::Envs;
use crate::sys::process::Command;
use std::collections::BTreeMap;

/// Variables that a configuration may not set, and why. Compared without regard to case. A name that ends in
/// `*` matches every variable with that prefix.
pub const REFUSED: &[(&str, &str)] = &[
    ("PATH", COMMANDS),
    ("PATHEXT", COMMANDS),
    ("ComSpec", COMMANDS),
    ("SystemRoot", COMMANDS),
    ("windir", COMMANDS),
    ("LD_*", LOADER),
    ("DYLD_*", LOADER),
    ("GLIBC_TUNABLES", LOADER),
    ("GCONV_PATH", LOADER),
    ("APPINIT_DLLS", LOADER),
    ("PYTHONPATH", INTERPRETER),
    ("PYTHONHOME", INTERPRETER),
    ("PYTHONSTARTUP", INTERPRETER),
    ("NODE_OPTIONS", INTERPRETER),
    ("RUBYOPT", INTERPRETER),
    ("RUBYLIB", INTERPRETER),
    ("GEM_PATH", INTERPRETER),
    ("GEM_HOME", INTERPRETER),
    ("NODE_PATH", INTERPRETER),
    ("PYTHONBREAKPOINT", INTERPRETER),
    ("PERL5OPT", INTERPRETER),
    ("PERL5LIB", INTERPRETER),
    ("CLASSPATH", INTERPRETER),
    ("JAVA_TOOL_OPTIONS", INTERPRETER),
    ("_JAVA_OPTIONS", INTERPRETER),
    ("JDK_JAVA_OPTIONS", INTERPRETER),
    ("DOTNET_STARTUP_HOOKS", INTERPRETER),
    ("LUA_INIT*", INTERPRETER),
    ("PHPRC", INTERPRETER),
    ("PHP_INI_SCAN_DIR", INTERPRETER),
    ("NPM_CONFIG_NODE_OPTIONS", INTERPRETER),
    ("NPM_CONFIG_SCRIPT_SHELL", INTERPRETER),
    ("GO111MODULE", INTERPRETER),
    ("GOROOT", INTERPRETER),
    ("BASH_ENV", SHELL),
    ("ENV", SHELL),
    ("SHELLOPTS", SHELL),
    ("BASHOPTS", SHELL),
    ("PROMPT_COMMAND", SHELL),
    ("IFS", SHELL),
    ("ZDOTDIR", SHELL),
    ("GIT_SSH", GIT),
    ("GIT_SSH_COMMAND", GIT),
    ("GIT_PROXY_COMMAND", GIT),
    ("GIT_EXTERNAL_DIFF", GIT),
    ("GIT_EXEC_PATH", GIT),
    ("GIT_CONFIG_*", GIT),
    ("SESSIONNAME", FOLDERS),
    ("TEMP", FOLDERS),
    ("TMP", FOLDERS),
    ("LOCALAPPDATA", FOLDERS),
    ("USERPROFILE", FOLDERS),
    ("HOMEDRIVE", FOLDERS),
    ("HOMEPATH", FOLDERS),
    (crate::sys::process::MARK, OURS),
    ("AGENT_SESSION_ID", OURS),
    (crate::sys::process::SERVER_KEY, SERVER),
];

/// Variables that a link may not name either, because a person who installs from a link does not see what they
/// change.
const REFUSED_IN_LINKS: &[(&str, &str)] = &[
    ("UV_*", SOURCES),
    ("PIP_*", SOURCES),
    ("PIPX_*", SOURCES),
    ("NPM_CONFIG_*", SOURCES),
    ("YARN_*", SOURCES),
    ("DOCKER_*", CONNECTIONS),
    ("HTTP_PROXY", CONNECTIONS),
    ("HTTPS_PROXY", CONNECTIONS),
    ("ALL_PROXY", CONNECTIONS),
    ("NO_PROXY", CONNECTIONS),
    ("SSL_CERT_FILE", CONNECTIONS),
    ("SSL_CERT_DIR", CONNECTIONS),
    ("NODE_EXTRA_CA_CERTS", CONNECTIONS),
    ("NODE_TLS_REJECT_UNAUTHORIZED", CONNECTIONS),
    ("REQUESTS_CA_BUNDLE", CONNECTIONS),
    ("CURL_CA_BUNDLE", CONNECTIONS),
    ("HOME", FOLDERS),
    ("XDG_*", FOLDERS),
    ("TMPDIR", FOLDERS),
    ("APPDATA", FOLDERS),
    ("PROGRAMDATA", FOLDERS),
];

const COMMANDS: &str = "it decides which programs are found";
const LOADER: &str = "it makes the dynamic loader load other code";
const INTERPRETER: &str = "it makes an interpreter or runtime load other code";
const SHELL: &str = "it makes a shell run other code";
const GIT: &str = "it makes git run other programs";
const SERVER: &str = "it is the key of this server";
const SOURCES: &str = "it decides where packages come from";
const CONNECTIONS: &str = "it decides which servers a program connects to and trusts";
const FOLDERS: &str = "programs look for their files and libraries there";
const OURS: &str = "gosling sets it itself";

/// From this length on, in bytes, a plain value is redacted too unless it is a path, because many users write
/// keys into `envs`. A shorter value could be part of any word.
const LIKELY_SECRET: usize = 8;

/// Why a configuration may not set this variable; `None` if it may.
pub fn refusal(variable: &str) -> Option<&'static str> {
    reason_in(REFUSED, variable)
}

/// Why a link may not name this variable; `None` if it may.
pub fn refusal_in_link(variable: &str) -> Option<&'static str> {
    refusal(variable).or_else(|| reason_in(REFUSED_IN_LINKS, variable))
}

fn reason_in(refused: &[(&str, &'static str)], variable: &str) -> Option<&'static str> {
    let mut refused = refused.iter();
    let hit = refused.find(|(pattern, _)| matches(pattern, variable));
    hit.map(|(_, reason)| *reason)
}

fn matches(pattern: &str, variable: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => variable
            .get(..prefix.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(prefix)),
        None => variable.eq_ignore_ascii_case(pattern),
    }
}

/// The variables of one extension, with their values, and which values are secret.
#[derive(Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    secrets: Vec<String>,
}

impl Environment {
    /// Merges `envs` with the secrets that `env_keys` names. `envs` takes precedence.
    ///
    /// # Errors
    /// A variable may not be set, is invalid, or has no secret of its name.
    pub fn merge(
        envs: &Envs,
        env_keys: &[String],
        secret: &dyn Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let mut environment = Environment::default();
        for (name, value) in envs.iter() {
            check(name, value)?;
            if value.len() >= LIKELY_SECRET && !value.starts_with(['/', '~']) {
                environment.secrets.push(value.to_owned());
            }
            environment
                .variables
                .insert(name.to_owned(), value.to_owned());
        }
        for name in env_keys {
            if environment.variables.contains_key(name) {
                continue;
            }
            check_name(name)?;
            let value = secret(name)?.ok_or_else(|| {
                format!(
                    "the secret `{name}` of `env_keys` is not set; add it to secrets.yaml, or \
                     send it to /config/upsert with `is_secret`"
                )
            })?;
            check(name, &value)?;
            environment.secrets.push(value.clone());
            environment.variables.insert(name.clone(), value);
        }
        Ok(environment)
    }

    /// The variables and their values.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.variables.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values to redact.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Expands `$VAR` and `${VAR}`. A `$` that no variable name follows is kept.
    ///
    /// # Errors
    /// `${VAR}` names an unknown variable. An unknown `$VAR` is kept, because a `$` may be part of a
    /// password.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some((name, end)) = after
                .strip_prefix('{')
                .and_then(|braced| braced.split_once('}'))
            {
                let value = self.variables.get(name).ok_or_else(|| {
                    format!("`${{{name}}}` is neither in `envs` nor in `env_keys`")
                })?;
                out.push_str(value);
                rest = end;
                continue;
            }
            let length = after
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(after.len());
            match self.variables.get(&after[..length]) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[at..at + 1 + length]),
            }
            rest = &after[length..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn check(name: &str, value: &str) -> Result<(), String> {
    check_name(name)?;
    if value.contains('\0') {
        return Err(format!(
            "the value of the environment variable `{name}` contains NUL; remove it"
        ));
    }
    Ok(())
}

/// Refuses a variable that no configuration may set.
///
/// # Errors
/// The message names the variable and the reason.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(|c: char| c == '=' || c.is_control()) {
        return Err(format!(
            "{name:?} cannot be an environment variable: it is empty, or contains `=`, NUL, a line break or \
             another control character"
        ));
    }
    if let Some(reason) = refusal(name) {
        return Err(format!(
            "the environment variable `{name}` may not be set by an extension, because {reason}; \
             remove it"
        ));
    }
    Ok(())
}

/// What extensions that are programs inherit of this server's environment. Never its key (`sys::process`), and
/// never the keys of model providers, which an extension gets only if its `env_keys` name them.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Only the variables that programs need to run: those of [`BASE`].
    pub clean: bool,
    /// The variables with the keys of model providers.
    pub provider_keys: Vec<String>,
}

/// The variables that a program inherits under the setting `GOOSE_ENV_POLICY=clean`: its place, its user and
/// language, where packages and connections come from, and what Windows programs need. Compared as in
/// [`REFUSED`].
pub const BASE: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "WINDIR",
    "SYSTEMDRIVE",
    "PROGRAMDATA",
    "PROGRAMFILES*",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_*",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "UV_*",
    "PIP_*",
    "PIPX_*",
    "NPM_CONFIG_*",
];

impl Inherited {
    /// Removes the other variables of this process from those of a command.
    pub(super) fn apply(&self, command: &mut Command) {
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| !self.keeps(&name.to_string_lossy())) {
            command.env_remove(name);
        }
    }

    fn keeps(&self, name: &str) -> bool {
        let is_key = |key: &String| key.eq_ignore_ascii_case(name);
        !self.provider_keys.iter().any(is_key)
            && (!self.clean || BASE.iter().any(|pattern| matches(pattern, name)))
    }
}

/// The class of the error about these variables: security if one of them is refused.
pub fn class_of<'a>(mut names: impl Iterator<Item = &'a str>) -> Class {
    if names.any(|name| refusal(name).is_some()) {
        Class::Security
    } else {
        Class::Config
    }
}

/// The fuzz target of variables, see [`crate::fuzzing`]. The input is a name, a value, and a header that refers to
/// variables.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(input: &[u8]) {
    let [name, value, header] = crate::fuzzing::texts(input);
    let checked = check_name(&name);
    assert_eq!(checked, check_name(&name));
    let in_lower_case = check_name(&name.to_ascii_lowercase());
    assert_eq!(checked.is_ok(), in_lower_case.is_ok());
    let message = checked.clone().err().unwrap_or_default();
    assert!(!message.contains(char::is_control), "{message}");
    let envs: Envs = Envs::from_iter([(name.clone(), value.clone())]);
    for (envs, keys) in [
        (&envs, &[][..]),
        (&Envs::default(), std::slice::from_ref(&name)),
    ] {
        let found = |_: &str| Ok(Some(value.clone()));
        let Ok(environment) = Environment::merge(envs, keys, &found) else {
            assert!(checked.is_err() || value.contains('\0'));
            continue;
        };
        assert!(checked.is_ok() && refusal(&name).is_none());
        let variables: Vec<_> = environment.variables().collect();
        assert_eq!(variables, [(&*name, &*value)]);
        if let Ok(text) = environment.expand(&header) {
            // Each reference is at least one byte and becomes the value.
            assert!(text.len() <= header.len() * value.len().max(1));
        }
        assert_eq!(
            environment.expand("no reference"),
            Ok("no reference".to_owned())
        );
    }
    let inherited = Inherited {
        clean: true,
        provider_keys: vec![name.clone()],
    };
    assert!(!inherited.keeps(&name));
}

#[cfg(test)]
mod refused_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn environment(envs: serde_json::Value, keys: &[&str]) -> Result<Environment, String> {
        let envs = serde_json::from_value(envs).unwrap();
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        Environment::merge(&envs, &keys, &|name| {
            Ok((name == "TOKEN").then(|| "s3cret".to_owned()))
        })
    }

    #[test]
    fn hijacks_are_refused_in_any_case_and_neighbours_are_not() {
        for name in [
            "PATH",
            "path",
            "LD_PRELOAD",
            "ld_audit",
            "DYLD_X",
            "NODE_OPTIONS",
        ] {
            let error = environment(json!({ name: "x" }), &[]).err().unwrap();
            assert!(error.contains(name), "{error}");
        }
        for name in ["MY_PATH", "PATHS", "LD", "NODE_ENV", "ENVIRONMENT"] {
            assert!(environment(json!({ name: "x" }), &[]).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_secret_may_not_be_a_hijack_either_and_must_be_there() {
        let envs: Envs = serde_json::from_value(json!({})).unwrap();
        let found = |_: &str| Ok(Some("x".to_owned()));
        assert!(Environment::merge(&envs, &["LD_PRELOAD".into()], &found).is_err());
        let error = environment(json!({}), &["ABSENT"]).err().unwrap();
        assert!(error.contains("ABSENT"), "{error}");
    }

    #[test]
    fn no_program_inherits_the_keys_of_providers_and_under_the_clean_policy_little_else() {
        let inherited = |clean| Inherited {
            clean,
            provider_keys: vec!["OPENAI_API_KEY".to_owned()],
        };
        for (name, open, clean) in [
            ("PATH", true, true),
            ("LC_ALL", true, true),
            ("https_proxy", true, true),
            ("UV_OFFLINE", true, true),
            ("AWS_SECRET_ACCESS_KEY", true, false),
            ("LD_PRELOAD", true, false),
            ("PATHS", true, false),
            ("OPENAI_API_KEY", false, false),
            ("openai_api_key", false, false),
        ] {
            assert_eq!(inherited(false).keeps(name), open, "{name}");
            assert_eq!(inherited(true).keeps(name), clean, "{name}");
        }
    }

    #[test]
    fn headers_are_filled_in() {
        let e = environment(json!({"A": "1", "A_B": "2"}), &["TOKEN"]).unwrap();
        for (text, expected) in [
            ("Bearer $TOKEN", "Bearer s3cret"),
            ("${A}$A_B-$A", "12-1"),
            ("$A_", "$A_"),
            ("pa$$word$", "pa$$word$"),
            ("${A", "${A"),
            ("ü$Aü", "ü1ü"),
        ] {
            assert_eq!(e.expand(text).unwrap(), expected);
        }
        assert!(e.expand("${NOPE}").unwrap_err().contains("NOPE"));
        assert_eq!(e.secrets(), ["s3cret"]);
    }

    #[test]
    fn what_may_be_a_key_is_a_secret_wherever_it_stands() {
        let envs = json!({"KEY": "sk-12345678", "DIR": "/home/someone", "MODE": "fast"});
        assert_eq!(environment(envs, &[]).unwrap().secrets(), ["sk-12345678"]);
    }
}
