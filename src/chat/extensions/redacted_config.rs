//! Configurations of extensions without their secrets, to show them to a user.

use crate::extension::ExtensionConfig;
use crate::extension::environment::may_be_secret;
use crate::extension::wrappers::has;
use crate::store::mask;
use crate::text::redact;
use gosling_shared::redact_credentials;
use serde_json::Value;

/// The fields that hold no secrets by their meaning. Known secrets are redacted in them.
const SHOWN: &str = "type name display_name description cmd args env_keys available_tools tools instructions code \
    dependencies container timeout bundled";

/// The configuration with its variables and headers masked, as well as the query of its address and the fields
/// that no type has. `secrets` and what looks like credentials are redacted everywhere.
pub(super) fn redacted_config(config: &ExtensionConfig, secrets: &[String]) -> Value {
    let mut shown = config.to_value();
    for (name, value) in shown.as_object_mut().into_iter().flatten() {
        match (name.as_str(), &mut *value) {
            ("uri", Value::String(uri)) => {
                if let Some((address, query)) = uri.split_once('?') {
                    *uri = format!("{address}?{}", mask(&query.into()));
                }
                redact_texts(value, secrets);
            }
            ("envs" | "headers", Value::Object(values)) => {
                for value in values.values_mut() {
                    *value = mask(value).into();
                }
            }
            (name, _) if has(SHOWN, name) => redact_texts(value, secrets),
            (_, Value::Null | Value::Bool(_)) => {}
            (_, value) => *value = mask(value).into(),
        }
    }
    shown
}

/// The values of the configuration that may be secrets.
pub(super) fn values_to_redact(config: &ExtensionConfig) -> Vec<String> {
    let values = config.plain_values().map(|[_, _, value]| value);
    let values = values.filter(|value| may_be_secret(value));
    values.map(str::to_owned).collect()
}

fn redact_texts(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = redact(&redact_credentials(text), secrets),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| redact_texts(value, secrets)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|value| redact_texts(value, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
