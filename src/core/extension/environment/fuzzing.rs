//! The fuzz target of variables.

use super::*;
use crate::mcp::transport::http::header_variables::expand;

/// The fuzz target of variables, see [`crate::fuzzing`]. The input is a name, a value, and a header that refers to
/// variables.
pub fn variables(input: &[u8]) {
    let [name, value, header] = crate::text::fuzz_input::texts(input);
    let checked = check_name(&name);
    assert_eq!(checked, check_name(&name));
    let in_lower_case = check_name(&name.to_ascii_lowercase());
    assert_eq!(checked.is_ok(), in_lower_case.is_ok());
    let message = checked.clone().err().unwrap_or_default();
    assert!(!message.contains(char::is_control), "{message}");
    let envs = serde_json::json!({ name.as_str(): value });
    let envs: Envs = serde_json::from_value(envs).expect("an object of strings");
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
        let get = |name: &str| environment.get(name);
        if let Ok(text) = expand(&header, get) {
            // Each reference is at least one byte and becomes the value.
            assert!(text.len() <= header.len() * value.len().max(1));
        }
        assert_eq!(expand("no reference", get), Ok("no reference".to_owned()));
    }
    let inherited = Inherited {
        clean: true,
        provider_keys: vec![name.clone()],
    };
    assert!(!inherited.keeps(&name, false));
}
