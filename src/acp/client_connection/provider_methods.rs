//! Goose's methods about providers: `providers/…`.

use super::ConnectionState;
use super::goose_params::{Outcome, Params, done};
use crate::error_objects::error_object;
use crate::http::Method;
use crate::mcp::jsonrpc::ErrorObject;
use crate::provider::ProviderDetails;
use crate::provider::catalog::ConfigKey;
use crate::sys::cancel::Cancel;
use serde_json::{Map, Value, json};

/// The custom providers of the HTTP API.
const CUSTOM: &str = "/config/custom-providers";

pub(crate) fn list(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let providers = wanted(state, params);
    let entries = providers.into_iter().map(|provider| {
        let about = provider.metadata;
        let keys = about.config_keys.iter().map(|key| {
            json!({
                "name": key.name, "required": key.required, "secret": key.secret,
                "default": key.default, "oauthFlow": key.oauth_flow, "primary": key.primary,
            })
        });
        let models = about.known_models.iter().map(|model| {
            json!({"id": model.name, "name": model.name, "contextLimit": model.context_limit})
        });
        json!({
            "providerId": provider.name,
            "providerName": about.display_name,
            "description": about.description,
            "defaultModel": about.default_model,
            "configured": provider.is_configured,
            "providerType": provider.provider_type,
            "category": "model",
            "configKeys": keys.collect::<Value>(),
            "setupSteps": [],
            "supportsRefresh": false,
            "refreshing": false,
            "stale": false,
            "models": models.collect::<Value>(),
        })
    });
    Ok(json!({"entries": entries.collect::<Value>()}))
}

pub(crate) fn model_info(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let catalog = state.registry.catalog();
    let known = catalog.model_info(params.text("provider")?, params.text("model")?);
    let known = known.map(|known| {
        json!({
            "provider": known.provider,
            "model": known.model,
            "contextLimit": known.context_limit,
            "maxOutputTokens": known.max_output_tokens,
            "reasoning": known.reasoning,
            "inputTokenCost": known.input_token_cost,
            "outputTokenCost": known.output_token_cost,
            "cacheReadTokenCost": known.cache_read_token_cost,
            "cacheWriteTokenCost": known.cache_write_token_cost,
            "currency": known.currency,
        })
    });
    Ok(json!({ "modelInfo": known }))
}

/// The names of the models that a provider has now.
pub(crate) fn supported_models(
    state: &ConnectionState,
    params: &Params,
    cancel: &Cancel,
) -> Outcome {
    let path = params.in_path("/config/providers/", "providerId", "/models")?;
    let models = state.call_route(Method::Get, &path, &[], &Value::Null, cancel)?;
    Ok(json!({"providerId": params.text("providerId")?, "models": models}))
}

/// The ways in which a provider can be set up, for the pages of the first start.
pub(crate) fn setup_catalog(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let providers = state.registry.catalog().entries().into_iter();
    let entries = providers.map(|provider| {
        let about = provider.metadata;
        let asked = |key: &&ConfigKey| {
            (key.required && key.default.is_none()) || (key.primary && key.secret)
        };
        let asked: Vec<_> = about.config_keys.iter().filter(asked).collect();
        let method = match asked.as_slice() {
            [] => "none",
            [key] if key.secret => "single_api_key",
            _ => "config_fields",
        };
        let fields = about
            .config_keys
            .iter()
            .filter(|key| key.primary || key.required);
        let fields = fields.map(|key| {
            json!({
                "key": key.name, "label": key.name, "secret": key.secret,
                "required": key.required, "defaultValue": key.default,
            })
        });
        json!({
            "providerId": provider.name,
            "name": about.display_name,
            "category": "model",
            "description": about.description,
            "setupMethod": method,
            "fields": fields.collect::<Value>(),
            "docUrl": about.model_doc_link,
            "group": "default",
            "showOnlyWhenInstalled": false,
            "supportsInstall": false,
            "supportsAuth": about.config_keys.iter().any(|key| key.oauth_flow),
            "supportsAuthStatus": false,
        })
    });
    Ok(json!({"providers": entries.collect::<Value>()}))
}

/// The hosts from which a custom provider can be made, those of one wire protocol if it is named.
pub(crate) fn list_templates(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let format = params.value("format").as_str();
    let mut all = state.registry.catalog().templates();
    all.retain(|template| format.is_none_or(|format| template["format"] == format));
    let entries = all.iter().map(|template| {
        json!({
            "providerId": template["id"], "name": template["name"], "format": template["format"],
            "apiUrl": template["api_url"], "docUrl": template["doc_url"], "envVar": template["env_var"],
            "modelCount": template["models"].as_array().map_or(0, Vec::len),
        })
    });
    Ok(json!({"providers": entries.collect::<Value>()}))
}

pub(crate) fn read_template(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let id = params.text("providerId")?;
    let mut all = state.registry.catalog().templates().into_iter();
    let found = all.find(|template| template["id"] == id);
    let found = found.ok_or_else(|| params.invalid("providerId", "there is no such template"))?;
    let models = found["models"].as_array().into_iter().flatten();
    let models = models.map(|model| {
        let can = &model["capabilities"];
        json!({
            "id": model["id"], "name": model["name"], "contextLimit": model["context_limit"],
            "capabilities": {
                "toolCall": can["tool_call"], "reasoning": can["reasoning"],
                "attachment": can["attachment"], "temperature": can["temperature"],
            },
            "deprecated": model["deprecated"],
        })
    });
    Ok(json!({"template": {
        "providerId": found["id"], "name": found["name"], "format": found["format"],
        "apiUrl": found["api_url"], "models": models.collect::<Value>(),
        "supportsStreaming": found["supports_streaming"], "envVar": found["env_var"],
        "docUrl": found["doc_url"],
    }}))
}

/// Nothing of a provider is cached: each list is fetched when it is asked for.
pub(crate) fn refresh(_: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let names = params.value("providerIds").as_array().into_iter().flatten();
    let skipped =
        names.map(|name| json!({"providerId": name, "reason": "does_not_support_refresh"}));
    Ok(json!({"started": [], "skipped": skipped.collect::<Value>()}))
}

pub(crate) fn statuses(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let providers = wanted(state, params).into_iter();
    let statuses =
        providers.map(|it| json!({"providerId": it.name, "isConfigured": it.is_configured}));
    Ok(json!({"statuses": statuses.collect::<Value>()}))
}

/// The wire protocols of the draft that a client can choose.
const PROTOCOLS: [&str; 2] = ["anthropic", "openai"];

/// Where the requests of each provider go; null for one that is not configured, or that a client has disabled.
pub(crate) fn list_routes(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let catalog = state.registry.catalog();
    let providers = catalog.entries().into_iter().map(|provider| {
        let current = catalog.routing(&provider.name);
        let current = current.map(|(protocol, url)| json!({"apiType": protocol, "baseUrl": url}));
        json!({
            "providerId": provider.name, "supported": PROTOCOLS, "required": false,
            "current": current,
        })
    });
    Ok(json!({"providers": providers.collect::<Value>()}))
}

/// Sends the requests of a provider elsewhere until this process ends: nothing of it is stored, since the headers are
/// secrets.
pub(crate) fn set_route(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let known = provider(state, params)?;
    let protocol = params.text("apiType")?;
    if !PROTOCOLS.contains(&protocol) {
        let all = PROTOCOLS.join(" and ");
        return Err(params.invalid("apiType", &format!("only {all} are supported")));
    }
    let headers = params.value("headers");
    let is_text = |headers: &Map<String, Value>| headers.values().all(Value::is_string);
    if !headers.is_null() && !headers.as_object().is_some_and(is_text) {
        return Err(params.invalid("headers", "they are no object with strings"));
    }
    let custom = json!({
        "name": known.name, "display_name": known.metadata.display_name,
        "catalog_provider_id": known.name, "engine": protocol,
        "base_url": params.text("baseUrl")?, "headers": headers, "requires_auth": false,
    });
    let routed = state.registry.catalog().route(&known.name, Some(&custom));
    routed.map_err(|error| params.invalid("baseUrl", &error.to_string()))?;
    Ok(json!({}))
}

/// Lets no request go to a provider until a client sets where they go.
pub(crate) fn disable(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let known = provider(state, params)?;
    done(state.registry.catalog().route(&known.name, None))
}

/// The settings of a provider with their values; of a secret only whether it is set.
pub(crate) fn read_config(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let stores = state.registry.stores();
    let mut fields = Vec::new();
    for key in provider(state, params)?.metadata.config_keys {
        let value = if key.secret {
            None
        } else {
            stores.config.get(&key.name).map_err(error_object)?
        };
        let is_set = if key.secret {
            stores
                .secrets
                .get(&key.name)
                .map_err(error_object)?
                .is_some()
        } else {
            value.is_some()
        };
        let text = value.map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        });
        fields.push(json!({
            "key": key.name, "value": text, "isSet": is_set, "isSecret": key.secret,
            "required": key.required,
        }));
    }
    Ok(json!({ "fields": fields }))
}

/// Stores settings of a provider, all or none of them if one is not of this provider.
pub(crate) fn save_config(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let keys = provider(state, params)?.metadata.config_keys;
    let given = params.value("fields").as_array();
    let given = given.ok_or_else(|| params.invalid("fields", "it is not a list"))?;
    let mut values = Vec::new();
    for field in given {
        let (Some(name), Some(value)) = (field["key"].as_str(), field["value"].as_str()) else {
            return Err(
                params.invalid("fields", "a field has no `key` or `value` that is a string")
            );
        };
        let known = keys.iter().find(|key| key.name == name);
        let key = known.ok_or_else(|| {
            params.invalid("fields", &format!("the provider has no setting {name:?}"))
        })?;
        values.push((key, value));
    }
    let stores = state.registry.stores();
    for (key, value) in values {
        let stored = stores.set(&key.name, &value.into(), key.secret);
        stored.map_err(error_object)?;
    }
    change(state, params.text("providerId")?)
}

/// Removes all settings of a provider.
pub(crate) fn delete_config(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let stores = state.registry.stores();
    for key in provider(state, params)?.metadata.config_keys {
        let removed = stores.remove(&key.name, key.secret);
        removed.map_err(error_object)?;
    }
    change(state, params.text("providerId")?)
}

pub(crate) fn authenticate(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let path = params.in_path("/config/providers/", "providerId", "/oauth")?;
    state.call_route(Method::Post, &path, &[], &json!({}), cancel)?;
    change(state, params.text("providerId")?)
}

pub(crate) fn create_custom(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let answer = state.call_route(Method::Post, CUSTOM, &[], &custom_body(params), cancel)?;
    let id = answer.as_str().and_then(|text| text.rsplit("ID: ").next());
    let id = id.unwrap_or_default();
    let mut result = change(state, id)?;
    result["providerId"] = id.into();
    Ok(result)
}

pub(crate) fn read_custom(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let path = params.in_path("/config/custom-providers/", "providerId", "")?;
    let read = state.call_route(Method::Get, &path, &[], &Value::Null, cancel)?;
    let (id, config) = (params.text("providerId")?, &read["config"]);
    let key = config["api_key_env"]
        .as_str()
        .filter(|name| !name.is_empty());
    let stored = key.map(|name| state.registry.stores().secrets.get(name));
    let has_key = stored
        .transpose()
        .map_err(error_object)?
        .flatten()
        .is_some();
    let models = config["models"].as_array().into_iter().flatten();
    Ok(json!({
        "provider": {
            "providerId": id,
            "engine": config["engine"],
            "displayName": config["display_name"],
            "apiUrl": config["base_url"],
            "models": models.map(|model| model["name"].clone()).collect::<Value>(),
            "supportsStreaming": config["supports_streaming"],
            "headers": config["headers"].as_object().cloned().unwrap_or_default(),
            "requiresAuth": config["requires_auth"].as_bool().unwrap_or(key.is_some()),
            "catalogProviderId": config["catalog_provider_id"],
            "basePath": config["base_path"],
            "apiKeyEnv": key,
            "apiKeySet": has_key,
            "preservesThinking": config["preserves_thinking"].as_bool().unwrap_or_default(),
        },
        "editable": read["is_editable"],
        "status": status(state, id),
    }))
}

pub(crate) fn update_custom(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let path = params.in_path("/config/custom-providers/", "providerId", "")?;
    state.call_route(Method::Put, &path, &[], &custom_body(params), cancel)?;
    let id = params.text("providerId")?;
    let mut result = change(state, id)?;
    result["providerId"] = id.into();
    Ok(result)
}

pub(crate) fn delete_custom(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let path = params.in_path("/config/custom-providers/", "providerId", "")?;
    state.call_route(Method::Delete, &path, &[], &Value::Null, cancel)?;
    Ok(json!({"providerId": params.text("providerId")?, "refresh": nothing_to_refresh()}))
}

/// The body of the HTTP API for a custom provider. What is absent is not sent, so that it stays as it is.
fn custom_body(params: &Params) -> Value {
    let mut body = json!({
        "engine": params.value("engine"),
        "display_name": params.value("displayName"),
        "api_url": params.value("apiUrl"),
        "api_key": params.value("apiKey").as_str().unwrap_or_default(),
        "models": params.value("models").as_array().cloned().unwrap_or_default(),
    });
    for (theirs, ours) in [
        ("headers", "headers"),
        ("requires_auth", "requiresAuth"),
        ("supports_streaming", "supportsStreaming"),
        ("base_path", "basePath"),
        ("catalog_provider_id", "catalogProviderId"),
        ("preserves_thinking", "preservesThinking"),
    ] {
        if !params.value(ours).is_null() {
            body[theirs] = params.value(ours).clone();
        }
    }
    body
}

/// The providers that the parameters name; all if they name none.
fn wanted(state: &ConnectionState, params: &Params) -> Vec<ProviderDetails> {
    let wanted = params.value("providerIds").as_array();
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    let mut providers = state.registry.catalog().entries();
    providers.retain(|it| wanted.is_none_or(|names| names.iter().any(|name| *name == *it.name)));
    providers
}

/// The provider that the parameters name.
fn provider(state: &ConnectionState, params: &Params) -> Result<ProviderDetails, ErrorObject> {
    let id = params.text("providerId")?;
    let mut entries = state.registry.catalog().entries().into_iter();
    let found = entries.find(|entry| entry.name == id);
    found.ok_or_else(|| params.invalid("providerId", &format!("there is no provider {id:?}")))
}

fn status(state: &ConnectionState, id: &str) -> Value {
    json!({"providerId": id, "isConfigured": state.registry.catalog().is_configured(id)})
}

/// What a change of a provider's settings answers.
fn change(state: &ConnectionState, id: &str) -> Outcome {
    Ok(json!({"status": status(state, id), "refresh": nothing_to_refresh()}))
}

fn nothing_to_refresh() -> Value {
    json!({"started": [], "skipped": []})
}
