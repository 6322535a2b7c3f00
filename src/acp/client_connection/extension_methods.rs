//! Goose's methods about extensions, configured and of a session, and about their tools, resources and apps.

use super::ConnectionState;
use super::goose_params::{Outcome, Params};
use super::session_methods::START_LIMIT;
use crate::conversation::Session;
use crate::error_objects::{error_object, invalid_params};
use crate::extension::configured;
use crate::extension::{ExtensionConfig, config};
use crate::goose_extensions::{self, from_goose, to_goose};
use crate::http::Method;
use crate::mcp::jsonrpc::ErrorObject;
use crate::sys::cancel::Cancel;
use gosling_shared::configured_extensions::{self, Change};
use serde_json::{Value, json};

impl ConnectionState {
    /// The extensions that the `_meta` of `session/new` asks for instead of the configured ones.
    ///
    /// # Errors
    /// If one of them is none.
    pub(crate) fn wanted_extensions(
        &self,
        meta: &Value,
    ) -> Result<Option<Vec<Value>>, ErrorObject> {
        let refused = |field: &str, why: &str| {
            invalid_params("session/new", &format!("`_meta.{field}`: {why}"))
        };
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
    pub(crate) fn with_configured_fields(
        &self,
        extension: ExtensionConfig,
    ) -> Result<ExtensionConfig, ErrorObject> {
        let config = &self.registry.stores().config;
        let before = configured_extensions::find(config, extension.name()).map_err(error_object)?;
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

pub(crate) fn list_extensions(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
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
pub(crate) fn add_extension(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let store = &state.registry.stores().config;
    let invalid = |why: &str| params.invalid("extension", why);
    let extension = from_goose(params.value("extension").clone()).map_err(|why| invalid(&why))?;
    let extension = state.with_configured_fields(extension)?;
    let enabled = params.flag("enabled");
    let set = configured::set(store, extension.name(), &extension, enabled, true);
    set.map_err(|error| invalid(&error.to_string()))?;
    Ok(json!({}))
}

pub(crate) fn change_extension(
    state: &ConnectionState,
    params: &Params,
    change: Change,
) -> Outcome {
    let store = &state.registry.stores().config;
    let key = params.text("configKey")?.to_owned();
    let changed = configured_extensions::change(store, std::slice::from_ref(&key), change);
    changed.map_err(|error| params.invalid("configKey", &error.to_string()))?;
    Ok(json!({}))
}

/// The extensions that come with gosling.
pub(crate) fn list_available(_: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let names = crate::builtin::names();
    let shown = names
        .into_iter()
        .map(|name| json!({"type": "builtin", "name": name}));
    Ok(json!({"extensions": shown.collect::<Value>()}))
}

/// The extensions that a session has; those that Goose's clients have no form for are left out.
pub(crate) fn list_of_session(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let session = state.stored(params.text("sessionId")?)?;
    let configs = session.enabled_extensions().iter();
    let configs = configs.filter_map(|it| ExtensionConfig::from_value(it.clone()).ok());
    let shown = configs.filter_map(|config| to_goose(&config));
    Ok(json!({"extensions": shown.collect::<Value>()}))
}

pub(crate) fn add_to_session(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let given = params.value("extension");
    let extension = from_goose(given.clone()).map_err(|why| params.invalid("extension", &why))?;
    let extension = state.with_configured_fields(extension)?;
    let body = json!({"session_id": params.text("sessionId")?, "config": extension.to_value()});
    state.call_route(Method::Post, "/agent/add_extension", &[], &body, cancel)?;
    Ok(json!({}))
}

pub(crate) fn list_tools(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let id = params.text("sessionId")?;
    let agent = state.registry.agent(id).map_err(error_object)?;
    let extension = params.value("extensionName").as_str();
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
pub(crate) fn call_tool(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let arguments = match params.value("arguments") {
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

pub(crate) fn read_resource(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let (id, uri) = (params.text("sessionId")?, params.text("uri")?);
    let agent = state.registry.agent(id).map_err(error_object)?;
    let extension = config::key(params.text("extensionName")?);
    let read = agent.read_resource(&extension, uri, cancel);
    Ok(json!({"result": read.map_err(error_object)?}))
}
/// The MCP Apps of a session; without a session there are none.
pub(crate) fn list_apps(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let session = params.value("sessionId").as_str();
    let query = session.map(|id| ("session_id", id));
    if crate::features::is_left_out("desktop") {
        return Ok(json!({"apps": []}));
    }
    let query: Vec<(&str, &str)> = query.into_iter().collect();
    state.call_route(
        Method::Get,
        "/agent/list_apps",
        &query,
        &Value::Null,
        cancel,
    )
}
