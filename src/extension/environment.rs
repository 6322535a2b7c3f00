//! The environment of an extension: variables that it may not set, its secrets, and variables in header
//! values. CORE §8.1 (3, 4), §8.2 (2).

use super::config::Envs;
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
    ("PERL5OPT", INTERPRETER),
    ("PERL5LIB", INTERPRETER),
    ("CLASSPATH", INTERPRETER),
    ("JAVA_TOOL_OPTIONS", INTERPRETER),
    ("_JAVA_OPTIONS", INTERPRETER),
    ("GO111MODULE", INTERPRETER),
    ("GOROOT", INTERPRETER),
    ("BASH_ENV", SHELL),
    ("ENV", SHELL),
    ("SHELLOPTS", SHELL),
    ("BASHOPTS", SHELL),
    ("PROMPT_COMMAND", SHELL),
    ("IFS", SHELL),
    ("SESSIONNAME", WINDOWS),
    ("TEMP", WINDOWS),
    ("TMP", WINDOWS),
    ("LOCALAPPDATA", WINDOWS),
    ("USERPROFILE", WINDOWS),
    ("HOMEDRIVE", WINDOWS),
    ("HOMEPATH", WINDOWS),
    (crate::sys::process::MARK, OURS),
    ("AGENT_SESSION_ID", OURS),
];

const COMMANDS: &str = "it decides which programs are found";
const LOADER: &str = "it makes the dynamic loader load other code";
const INTERPRETER: &str = "it makes an interpreter or runtime load other code";
const SHELL: &str = "it makes a shell run other code";
const WINDOWS: &str = "programs look for their files and libraries there";
const OURS: &str = "gosling sets it itself";

/// From this length on, in bytes, a plain value is redacted too unless it is a path, because many users write
/// keys into `envs`. A shorter value could be part of any word.
const LIKELY_SECRET: usize = 8;

/// Why a configuration may not set this variable; `None` if it may.
pub fn refusal(variable: &str) -> Option<&'static str> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => variable
            .get(..prefix.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(prefix)),
        None => variable.eq_ignore_ascii_case(pattern),
    };
    let hit = REFUSED.iter().find(|(pattern, _)| matches(pattern));
    hit.map(|(_, reason)| *reason)
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
    if let Some(reason) = refusal(name) {
        return Err(format!(
            "the environment variable `{name}` may not be set by an extension, because {reason}; \
             remove it"
        ));
    }
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(format!(
            "{name:?} cannot be an environment variable: its name is empty or contains `=`, or its name or \
             value contains NUL"
        ));
    }
    Ok(())
}

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
