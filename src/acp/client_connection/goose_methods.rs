//! Goose's own methods, `_goose/unstable/…`, and those of the protocol's draft: the tables, and those about settings.
//! Every other one is answered as unknown.

use super::ConnectionState;
use super::goose_params::{Method, Outcome, Params, done};
use super::route_methods::{self, RouteMethod};
use super::session_methods::commands;
use super::{extension_methods, provider_methods, stored_session_methods};
use crate::agent::ShownSetting;
use crate::error_objects::error_object;
use crate::http::Method as Verb;
use crate::mcp::jsonrpc::ErrorObject;
use crate::store::settings::{self, Setting};
use crate::sys::cancel::Cancel;
use gosling_shared::configured_extensions::Change;
use serde_json::{Value, json};
use std::path::Path;

/// What the names of Goose's methods begin with.
const PREFIX: &str = "_goose/unstable/";

/// A method of Goose's, ready to run.
#[derive(Clone, Copy)]
pub(crate) enum GooseMethod {
    Own(Method),
    Route(&'static RouteMethod),
}

impl GooseMethod {
    /// The method of this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let of = |methods: &[(&str, Method)], name: &str| {
            let found = methods.iter().find(|(known, _)| *known == name);
            found.map(|(_, run)| GooseMethod::Own(*run))
        };
        let Some(own) = name.strip_prefix(PREFIX) else {
            return of(DRAFT, name);
        };
        of(METHODS, own).or_else(|| route_methods::find(own).map(GooseMethod::Route))
    }

    pub(crate) fn run(self, state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
        match self {
            GooseMethod::Own(run) => run(state, params, cancel),
            GooseMethod::Route(route) => route.run(state, params, cancel),
        }
    }
}

/// Those of the protocol itself, but `initialize`.
const OF_PROTOCOL: [&str; 13] = [
    "authenticate",
    "logout",
    "session/cancel",
    "session/close",
    "session/delete",
    "session/list",
    "session/load",
    "session/new",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
    "session/set_model",
];

/// The names of all methods of clients but `initialize`, as they are sent.
pub fn method_names() -> Vec<String> {
    let own = METHODS.iter().map(|(name, _)| *name);
    let own = own.chain(route_methods::names());
    let drafts = DRAFT.iter().map(|(name, _)| (*name).to_owned());
    let mut names: Vec<String> = own.map(|name| format!("{PREFIX}{name}")).collect();
    names.extend(OF_PROTOCOL.map(str::to_owned));
    names.extend(drafts);
    names
}

/// Those of the protocol's draft. They are not announced, because they may change.
const DRAFT: &[(&str, Method)] = &[
    ("providers/disable", provider_methods::disable),
    ("providers/list", provider_methods::list_routes),
    ("providers/set", provider_methods::set_route),
    ("session/archive", stored_session_methods::close_and_archive),
    ("session/fork", stored_session_methods::fork),
    ("session/set_title", stored_session_methods::set_title),
    ("session/status", stored_session_methods::status),
    ("session/unarchive", stored_session_methods::unarchive),
];

/// Those that are not routes, without the prefix.
const METHODS: &[(&str, Method)] = &[
    // gosling has no agents but its own, and no skills.
    ("agent-mentions/list", |_, _, _| Ok(json!({"agents": []}))),
    ("apps/delete", |_, params, _| {
        Err(params.invalid(
            "name",
            "gosling keeps no apps: remove the extension that has it",
        ))
    }),
    ("apps/list", extension_methods::list_apps),
    ("config/extensions/add", extension_methods::add_extension),
    ("config/extensions/list", extension_methods::list_extensions),
    ("config/extensions/remove", |state, params, _| {
        extension_methods::change_extension(state, params, Change::Remove)
    }),
    ("config/extensions/set-enabled", |state, params, _| {
        let change = if params.flag("enabled") {
            Change::Enable
        } else {
            Change::Disable
        };
        extension_methods::change_extension(state, params, change)
    }),
    ("config/read", read_setting),
    ("config/read-all", |state, _, _| {
        let registry = &state.registry;
        let config = ShownSetting::all(registry.stores(), registry.catalog());
        let config = config.map_err(error_object)?;
        Ok(json!({ "config": config }))
    }),
    ("config/remove", remove_setting),
    ("config/upsert", set_setting),
    ("defaults/clear", clear_defaults),
    ("defaults/read", read_defaults),
    ("defaults/save", save_defaults),
    ("dictation/config", |_, _, _| Ok(json!({"providers": {}}))),
    ("extensions/available", extension_methods::list_available),
    ("onboarding/import/scan", |_, _, _| {
        Ok(json!({"candidates": []}))
    }),
    ("preferences/read", read_preferences),
    ("preferences/remove", remove_preferences),
    ("preferences/save", save_preferences),
    (
        "providers/canonical-model-info",
        provider_methods::model_info,
    ),
    ("providers/catalog/list", provider_methods::list_templates),
    (
        "providers/catalog/template",
        provider_methods::read_template,
    ),
    (
        "providers/config/authenticate",
        provider_methods::authenticate,
    ),
    ("providers/config/delete", provider_methods::delete_config),
    ("providers/config/read", provider_methods::read_config),
    ("providers/config/save", provider_methods::save_config),
    ("providers/config/status", provider_methods::statuses),
    ("providers/custom/create", provider_methods::create_custom),
    ("providers/custom/delete", provider_methods::delete_custom),
    ("providers/custom/read", provider_methods::read_custom),
    ("providers/custom/update", provider_methods::update_custom),
    ("providers/inventory/refresh", provider_methods::refresh),
    ("providers/list", provider_methods::list),
    (
        "providers/setup/catalog/list",
        provider_methods::setup_catalog,
    ),
    (
        "providers/supported-models/list",
        provider_methods::supported_models,
    ),
    ("recipes/save", save_recipe),
    ("resources/read", extension_methods::read_resource),
    (
        "session/conversation/truncate",
        stored_session_methods::truncate,
    ),
    ("session/extensions/add", extension_methods::add_to_session),
    (
        "session/extensions/list",
        extension_methods::list_of_session,
    ),
    ("session/archive", stored_session_methods::archive),
    ("session/import", stored_session_methods::import),
    ("session/info", stored_session_methods::info),
    (
        "session/project/update",
        stored_session_methods::update_project,
    ),
    ("session/rename", stored_session_methods::rename),
    ("session/share/nostr", stored_session_methods::share),
    ("session/steer", stored_session_methods::steer),
    ("session/unarchive", stored_session_methods::unarchive),
    (
        "session/working-dir/update",
        stored_session_methods::update_working_dir,
    ),
    ("slash-commands/list", |state, _, _| {
        Ok(json!({ "availableCommands": commands(&state.registry) }))
    }),
    ("sources/list", |_, _, _| Ok(json!({"sources": []}))),
    ("tools/call", extension_methods::call_tool),
    ("tools/list", extension_methods::list_tools),
];

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
    let (key, value) = (params.text("key")?, params.value("value"));
    let stores = state.registry.stores();
    done(stores.set(key, value, params.flag("isSecret")))
}

fn remove_setting(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let key = params.text("key")?;
    let stores = state.registry.stores();
    let removed = stores.remove(key, params.flag("isSecret"));
    done(removed.map(drop))
}

fn read_defaults(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    let config = &state.registry.stores().config;
    let text = |setting: &Setting| setting.text(config).map_err(error_object);
    Ok(json!({"providerId": text(&settings::PROVIDER)?, "modelId": text(&settings::MODEL)?}))
}

/// Forgets the provider and the model.
fn clear_defaults(state: &ConnectionState, _: &Params, _: &Cancel) -> Outcome {
    done(state.registry.stores().config.edit(|root| {
        root.remove("GOOSE_PROVIDER");
        root.remove("GOOSE_MODEL");
        Ok(())
    }))
}

fn save_defaults(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let provider = params.text("providerId")?;
    let known = state.registry.catalog().provider(provider);
    known.map_err(|error| params.invalid("providerId", &error.to_string()))?;
    let saved = state.registry.stores().config.edit(|root| {
        root.insert("GOOSE_PROVIDER".into(), provider.into());
        if let Some(model) = params.value("modelId").as_str() {
            root.insert("GOOSE_MODEL".into(), model.into());
        }
        Ok(())
    });
    saved.map_err(error_object)?;
    Ok(json!({"providerId": provider, "modelId": params.value("modelId")}))
}

/// Stores a recipe in the folder of the configuration, and says where it is.
fn save_recipe(state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
    let body = json!({"recipe": params.value("recipe"), "id": params.value("id")});
    let saved = state.call_route(Verb::Post, "/recipes/save", &[], &body, cancel)?;
    let all = state.call_route(Verb::Get, "/recipes/list", &[], &Value::Null, cancel)?;
    let mut all = all["manifests"].as_array().into_iter().flatten();
    let entry = all.find(|entry| entry["id"] == saved["id"]);
    let path = entry
        .and_then(|entry| entry["file_path"].as_str())
        .unwrap_or_default();
    let name = Path::new(path)
        .file_name()
        .map(|name| name.to_string_lossy());
    Ok(json!({"id": saved["id"], "file_path": path, "file_name": name.unwrap_or_default()}))
}

/// What Goose's clients call preferences, and the settings that they are.
const PREFERENCES: &[(&str, &str)] = &[
    ("autoCompactThreshold", "GOOSE_AUTO_COMPACT_THRESHOLD"),
    ("gooseThinkingEffort", "GOOSE_THINKING_EFFORT"),
    ("voiceAutoSubmitPhrases", "voice_auto_submit_phrases"),
    ("voiceDictationProvider", "voice_dictation_provider"),
    (
        "voiceDictationPreferredMic",
        "voice_dictation_preferred_mic",
    ),
];

/// The setting that is a preference.
fn preference(params: &Params, key: &Value) -> Result<&'static str, ErrorObject> {
    let found = PREFERENCES.iter().find(|(name, _)| key == name);
    let (_, setting) =
        found.ok_or_else(|| params.invalid("keys", &format!("there is no preference {key}")))?;
    Ok(setting)
}

/// The preferences that are set; of all if none is named.
fn read_preferences(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let named = params
        .value("keys")
        .as_array()
        .filter(|keys| !keys.is_empty());
    let keys = match named {
        Some(keys) => keys.clone(),
        None => PREFERENCES.iter().map(|(name, _)| (*name).into()).collect(),
    };
    let mut values = Vec::new();
    for key in keys {
        let setting = preference(params, &key)?;
        let value = state
            .registry
            .stores()
            .config
            .get(setting)
            .map_err(error_object)?;
        values.push(json!({"key": key, "value": value}));
    }
    Ok(json!({ "values": values }))
}

fn save_preferences(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let values = params.value("values").as_array().into_iter().flatten();
    let pairs = values.map(|it| Ok((preference(params, &it["key"])?, &it["value"])));
    let pairs: Vec<(&str, &Value)> = pairs.collect::<Result<_, ErrorObject>>()?;
    for (setting, value) in pairs {
        done(state.registry.stores().config.upsert(setting, value))?;
    }
    Ok(json!({}))
}

fn remove_preferences(state: &ConnectionState, params: &Params, _: &Cancel) -> Outcome {
    let keys = params.value("keys").as_array().into_iter().flatten();
    let settings = keys.map(|key| preference(params, key));
    let settings: Vec<&str> = settings.collect::<Result<_, ErrorObject>>()?;
    for setting in settings {
        done(state.registry.stores().config.remove(setting).map(drop))?;
    }
    Ok(json!({}))
}
