use super::*;
use crate::mcp::transport::http::header_variables;
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
    for name in [
        "MY_PATH",
        "PATHS",
        "LDS",
        "NODE_ENV",
        "ENVIRONMENT",
        "MPLBACKEND",
    ] {
        assert!(environment(json!({ name: "x" }), &[]).is_ok(), "{name}");
    }
}

#[test]
fn a_program_reads_a_name_in_its_own_way() {
    for name in [
        "npm_config_node_options",
        "NPM_CONFIG_USERCONFIG",
        "pnpm_config_script_shell",
        "bash_func_ls",
        "UV_WORKING_DIRECTORY",
        "GIT_SSH_VARIANT",
    ] {
        assert!(refusal(name).is_some(), "{name}");
    }
    for name in [
        "a-b",
        "BASH_FUNC_ls%%",
        "A*",
        "npm_config_//r:a",
        "Ａ",
        "1",
        "A B",
        "A\u{ad}",
    ] {
        let error = check_name(name).unwrap_err();
        assert!(
            error.contains("cannot be") && !error.contains('\u{ad}'),
            "{error}"
        );
    }
    // What users set for good reasons.
    for name in [
        "npm_config_registry",
        "UV_INDEX_URL",
        "UV_PYTHON_PREFERENCE",
        "PIP_INDEX_URL",
        "PYTHONUNBUFFERED",
        "HTTP_PROXY",
        "HOME",
        "KUBECONFIG",
        "DOCKER_HOST",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "GIT_AUTHOR_NAME",
        "GOOGLE_API_KEY",
    ] {
        assert_eq!(check_name(name), Ok(()));
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
        assert_eq!(inherited(false).keeps(name, false), open, "{name}");
        assert_eq!(inherited(true).keeps(name, false), clean, "{name}");
        assert_eq!(inherited(false).keeps(name, true), clean, "{name}");
    }
}

#[test]
fn headers_are_filled_in() {
    let e = environment(json!({"A": "1", "A_B": "2"}), &["TOKEN"]).unwrap();
    let expand = |text| header_variables::expand(text, |name| e.get(name));
    for (text, expected) in [
        ("Bearer $TOKEN", "Bearer s3cret"),
        ("${A}$A_B-$A", "12-1"),
        ("$A_", "$A_"),
        ("pa$$word$", "pa$$word$"),
        ("${A", "${A"),
        ("ü$Aü", "ü1ü"),
    ] {
        assert_eq!(expand(text).unwrap(), expected);
    }
    assert!(expand("${NOPE}").unwrap_err().contains("NOPE"));
    assert_eq!(e.secrets(), ["s3cret"]);
}

#[test]
fn what_may_be_a_key_is_a_secret_wherever_it_stands() {
    let envs = json!({"KEY": "sk-12345678", "DIR": "/home/someone", "MODE": "fast"});
    assert_eq!(environment(envs, &[]).unwrap().secrets(), ["sk-12345678"]);
}
