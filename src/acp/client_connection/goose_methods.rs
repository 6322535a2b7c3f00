//! Goose's own methods, `_goose/unstable/…`, as far as Goose Desktop needs them to start and to chat, and
//! `session/fork`. Every other one is answered as unknown.

use super::ConnectionState;
use super::session_methods::{START_LIMIT, commands, describe};
use crate::agent::{self, ShownSetting};
use crate::conversation::Session;
use crate::error_objects::{error_object, invalid_params};
use crate::extension::configured::{self, Change};
use crate::extension::{ExtensionConfig, config};
use crate::goose_extensions::{self, from_goose, to_goose};
use crate::mcp::jsonrpc::ErrorObject;
use crate::store::settings::{self, Setting};
use crate::sys::cancel::Cancel;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What the names of Goose's methods begin with.
const PREFIX: &str = "_goose/unstable/";

/// A method: takes its parameters, and a token that is cancelled with the request.
pub(crate) type Method = fn(&ConnectionState, &Params, &Cancel) -> Outcome;

/// The result of a request, or why there is none.
pub(crate) type Outcome = Result<Value, ErrorObject>;

/// The method of this name.
pub(crate) fn find(name: &str) -> Option<Method> {
    if name == "session/fork" {
        return Some(fork);
    }
    Some(match name.strip_prefix(PREFIX)? {
        "config/extensions/add" => add_extension,
        "config/extensions/list" => list_extensions,
        "config/extensions/remove" => {
            |state, params, _| change_extension(state, params, Change::Remove)
        }
        "config/extensions/set-enabled" => |state, params, _| {
            let change = if params.flag("enabled") {
                Change::Enable
            } else {
                Change::Disable
            };
            change_extension(state, params, change)
        },
        "config/read" => read_setting,
        "config/read-all" => |state, _, _| {
            let registry = &state.registry;
            let config = ShownSetting::all(registry.stores(), registry.catalog());
            let config = config.map_err(error_object)?;
            Ok(json!({ "config": config }))
        },
        "config/remove" => remove_setting,
        "config/upsert" => set_setting,
        "defaults/read" => read_defaults,
        "defaults/save" => save_defaults,
        "providers/canonical-model-info" => model_info,
        "providers/list" => list_providers,
        "resources/read" => read_resource,
        "session/conversation/truncate" => truncate,
        "session/info" => |state, params, _| {
            let mut session = state.stored(params.text("sessionId")?)?;
            state.registry.models().show(&mut session);
            Ok(json!({ "session": describe(&session) }))
        },
        "session/rename" => |state, params, _| {
            let renamed = (state.registry).rename(params.text("sessionId")?, params.text("title")?);
            done(renamed)
        },
        "slash-commands/list" => {
            |state, _, _| Ok(json!({ "availableCommands": commands(&state.registry) }))
        }
        "tools/call" => call_tool,
        "tools/list" => list_tools,
        _ => return None,
    })
}

/// The parameters of a request.
pub(crate) struct Params {
    method: String,
    all: Value,
}

impl Params {
    pub(crate) fn read(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        let all = match params {
            Some(params) => crate::mcp::params::read_params(method, Some(params))?,
            None => json!({}),
        };
        Ok(Params {
            method: method.to_owned(),
            all,
        })
    }

    /// The string in a field.
    fn text(&self, field: &str) -> Result<&str, ErrorObject> {
        let text = self.all[field].as_str();
        text.ok_or_else(|| self.invalid(field, "it is not a string"))
    }

    /// Whether a field is `true`.
    fn flag(&self, field: &str) -> bool {
        self.all[field] == Value::Bool(true)
    }

    fn invalid(&self, field: &str, why: &str) -> ErrorObject {
        invalid_params(&self.method, &format!("`{field}`: {why}"))
    }
}

impl ConnectionState {
    /// The extensions that the `_meta` of `session/new` asks for instead of the configured ones.
    ///
    /// # Errors
    /// If one of them is none, or a recipe is asked for.
    pub(crate) fn wanted_extensions(
        &self,
        meta: &Value,
    ) -> Result<Option<Vec<Value>>, ErrorObject> {
        let refused = |field: &str, why: &str| {
            invalid_params("session/new", &format!("`_meta.{field}`: {why}"))
        };
        for field in ["recipeId", "recipeDeeplink"] {
            if !meta[field].is_null() {
                let why = "recipes are not run here; use `gosling run`, or the HTTP API";
                return Err(refused(field, why));
            }
        }
        let Some(wanted) = meta["enabledExtensions"].as_array() else {
            return Ok(None);
        };
        let mut extensions = Vec::new();
        for extension in wanted {
            let read = from_goose(extension.clone());
            let read = read.map_err(|why| refused("enabledExtensions", &why))?;
            extensions.push(self.with_configured_fields(read)?.to_value());
        }
        Ok(Some(extensions))
    }

    /// The extension with those fields of the configured one of its name and kind that Goose's clients do not
    /// know, such as its container, and with its variables if it has none.
    fn with_configured_fields(
        &self,
        extension: ExtensionConfig,
    ) -> Result<ExtensionConfig, ErrorObject> {
        let config = &self.registry.stores().config;
        let before = configured::find(config, extension.name()).map_err(error_object)?;
        Ok(match before.map(|entry| entry.config) {
            Some(Ok(before)) => goose_extensions::with_fields_of(extension, &before),
            _ => extension,
        })
    }

    /// Adds what Goose's clients expect when a session is opened: which extensions have started. Waits for
    /// them, within [`START_LIMIT`]. False if the result does not tell it.
    pub(crate) fn add_goose_state(
        &self,
        result: &mut Value,
        session: &Session,
        cancel: &Cancel,
    ) -> bool {
        if self.client().is_goose
            && let Ok(agent) = self.registry.agent(&session.id)
            && let Ok(results) = agent.wait_within(Some(START_LIMIT), cancel)
        {
            result["_meta"] = json!({"workingDir": session.working_dir});
            if let Some(results) = results {
                result["_meta"]["extensionResults"] = json!(results);
                return true;
            }
        }
        false
    }
}

/// The empty result of a change.
fn done<E: Into<agent::Error>>(outcome: Result<(), E>) -> Outcome {
    outcome.map(|()| json!({})).map_err(error_object)
}

fn read_setting(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let (key, is_secret) = (params.text("key")?, params.flag("isSecret"));
    let (stores, catalog) = (state.registry.stores(), state.registry.catalog());
    let shown = ShownSetting::of(stores, catalog, key, is_secret);
    let value = match shown.map_err(error_object)? {
        Some(ShownSetting::Plain(value)) => value,
        Some(ShownSetting::Masked(text)) => text.into(),
        None => Value::Null,
    };
    Ok(json!({ "value": value }))
}

fn set_setting(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let (key, value) = (params.text("key")?, &params.all["value"]);
    let stores = state.registry.stores();
    let set = if params.flag("isSecret") {
        stores.secrets.set(key, value)
    } else {
        stores.config.upsert(key, value)
    };
    done(set)
}

fn remove_setting(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let key = params.text("key")?;
    let stores = state.registry.stores();
    let removed = if params.flag("isSecret") {
        stores.secrets.remove(key).map(drop)
    } else {
        stores.config.remove(key).map(drop)
    };
    done(removed)
}

fn read_defaults(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let config = &state.registry.stores().config;
    let text = |setting: &Setting| setting.text(config).map_err(error_object);
    Ok(json!({"providerId": text(&settings::PROVIDER)?, "modelId": text(&settings::MODEL)?}))
}

fn save_defaults(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let provider = params.text("providerId")?;
    let known = state.registry.catalog().provider(provider);
    known.map_err(|error| params.invalid("providerId", &error.to_string()))?;
    let saved = state.registry.stores().config.edit(|root| {
        root.insert("GOOSE_PROVIDER".into(), provider.into());
        if let Some(model) = params.all["modelId"].as_str() {
            root.insert("GOOSE_MODEL".into(), model.into());
        }
        Ok(())
    });
    saved.map_err(error_object)?;
    Ok(json!({"providerId": provider, "modelId": params.all["modelId"]}))
}

fn list_providers(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let wanted = params.all["providerIds"].as_array();
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    let mut providers = state.registry.catalog().entries();
    providers.retain(|it| wanted.is_none_or(|names| names.iter().any(|name| *name == *it.name)));
    let entries = providers.into_iter().map(|provider| {
        let about = provider.metadata;
        let keys = about.config_keys.iter().map(|key| {
            json!({
                "name": key.name, "required": key.required, "secret": key.secret,
                "default": key.default, "primary": key.primary,
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

fn model_info(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let catalog = state.registry.catalog();
    let known = catalog.model_info(params.text("provider")?, params.text("model")?);
    let known = known.map(|known| {
        json!({
            "provider": known.provider,
            "model": known.model,
            "contextLimit": known.context_limit,
            "maxOutputTokens": known.max_output_tokens,
            "reasoning": false,
            "inputTokenCost": known.input_token_cost,
            "outputTokenCost": known.output_token_cost,
            "cacheReadTokenCost": known.cache_read_token_cost,
            "cacheWriteTokenCost": known.cache_write_token_cost,
            "currency": known.currency,
        })
    });
    Ok(json!({ "modelInfo": known }))
}

fn list_extensions(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let listed = configured::list(&state.registry.stores().config).map_err(error_object)?;
    let mut warnings = listed.warnings;
    let mut shown = Vec::new();
    for entry in listed.entries {
        match entry.config.map(|config| to_goose(&config)) {
            Ok(Some(extension)) => shown.push(json!({
                "extension": extension, "enabled": entry.enabled, "configKey": entry.key,
            })),
            Ok(None) => warnings.push(format!("'{}': not shown by this client", entry.key)),
            Err(reason) => warnings.push(format!("'{}': {reason}", entry.key)),
        }
    }
    Ok(json!({"extensions": shown, "warnings": warnings}))
}

/// Stores an extension.
fn add_extension(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let store = &state.registry.stores().config;
    let invalid = |why: &str| params.invalid("extension", why);
    let extension = from_goose(params.all["extension"].clone()).map_err(|why| invalid(&why))?;
    let extension = state.with_configured_fields(extension)?;
    let enabled = params.flag("enabled");
    let set = configured::set(store, extension.name(), &extension, enabled, true);
    set.map_err(|error| invalid(&error.to_string()))?;
    Ok(json!({}))
}

fn change_extension(state: &ConnectionState, params: &Params, change: Change) -> Outcome {
    let store = &state.registry.stores().config;
    let key = params.text("configKey")?.to_owned();
    let changed = configured::change(store, std::slice::from_ref(&key), change);
    changed.map_err(|error| params.invalid("configKey", &error.to_string()))?;
    Ok(json!({}))
}

/// Copies a session, up to a moment if one is given.
fn fork(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let until = params.all["_meta"]["conversationBefore"].as_i64();
    let copied = state
        .registry
        .files()
        .copy(params.text("sessionId")?, until);
    let id = copied.map_err(error_object)?;
    let session = state.stored(&id)?;
    state.remember(&id, session.working_dir.clone());
    let mut result = state.state_of(&session);
    result["sessionId"] = id.into();
    Ok(result)
}

/// Removes the messages from a moment on.
fn truncate(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let from = params.all["truncateFrom"].as_i64();
    let from = from.ok_or_else(|| params.invalid("truncateFrom", "it is not a number"))?;
    done((state.registry).truncate(params.text("sessionId")?, Some(from)))
}

fn list_tools(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let id = params.text("sessionId")?;
    let agent = state.registry.agent(id).map_err(error_object)?;
    let extension = params.all["extensionName"].as_str();
    let tools = agent.tools(extension, cancel).map_err(error_object)?;
    let permissions = state
        .registry
        .stores()
        .permissions
        .all()
        .map_err(error_object)?;
    let tools = tools.into_iter().map(|listed| {
        json!({
            "permission": permissions.get(&listed.name),
            "name": listed.name,
            "parameters": listed.tool.parameters(),
            "description": listed.tool.description.unwrap_or_default(),
            "inputSchema": listed.tool.input_schema,
        })
    });
    Ok(json!({"tools": tools.collect::<Value>()}))
}

/// Calls a tool for the page of an MCP app.
fn call_tool(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let arguments = match &params.all["arguments"] {
        Value::Null => json!({}),
        arguments @ Value::Object(_) => arguments.clone(),
        _ => return Err(params.invalid("arguments", "it is not an object")),
    };
    let arguments = serde_json::value::to_raw_value(&arguments)
        .map_err(|error| params.invalid("arguments", &error.to_string()))?;
    let (id, name) = (params.text("sessionId")?, params.text("name")?);
    let agent = state.registry.agent(id).map_err(error_object)?;
    let result = agent.call(name, &arguments, cancel).map_err(error_object)?;
    Ok(json!({
        "content": result.content,
        "structuredContent": result.structured_content,
        "isError": result.is_error.unwrap_or(false),
        "_meta": result.meta,
    }))
}

fn read_resource(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let (id, uri) = (params.text("sessionId")?, params.text("uri")?);
    let agent = state.registry.agent(id).map_err(error_object)?;
    let extension = config::key(params.text("extensionName")?);
    let read = agent.read_resource(&extension, uri, cancel);
    Ok(json!({"result": read.map_err(error_object)?}))
}
