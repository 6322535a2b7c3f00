//! The mode and the options of a session: mode, provider, model, and what extensions it has.

use super::ConnectionState;
use crate::agent::{Mode, ModelChoice};
use crate::conversation::Session;
use crate::error_objects::error_object;
use crate::extension::{ExtensionConfig, configured};
use crate::mcp::jsonrpc::{ErrorObject, INVALID_PARAMS};
use crate::open_session::OpenSession;
use crate::provider::thinking_effort::{EFFORT, EFFORTS};
use crate::sys::cancel::Cancel;
use gosling_shared::{configured_extensions, set_effort};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The most models that are offered.
const MAX_MODELS: usize = 500;

const MODE: &str = "mode";
const PROVIDER: &str = "provider";
const MODEL: &str = "model";
/// What the ids of the options that switch extensions begin with; the key of the extension follows.
pub(crate) const EXTENSION: &str = "extension:";
/// The most extensions that are offered.
const MAX_EXTENSIONS: usize = 100;
/// The value that leaves the effort to the settings.
const DEFAULT_EFFORT: &str = "default";

/// The parameters of `session/set_mode`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetMode {
    pub(crate) session_id: String,
    mode_id: String,
}

/// The parameters of `session/set_config_option`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetConfigOption {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

/// The parameters of `session/set_model`, which older clients send.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModel {
    pub(crate) session_id: String,
    model_id: String,
}

impl ConnectionState {
    fn mode_of(&self, session: &Session) -> Mode {
        Mode::of_session(session, self.registry.stores())
    }

    /// The modes of a session.
    pub(crate) fn modes(&self, session: &Session) -> Value {
        json!({
            "currentModeId": self.mode_of(session).as_str(),
            "availableModes": described_modes("id"),
        })
    }

    /// The options of a session with their values. `listed` are models that the provider lists, if it was asked.
    pub(crate) fn config_options(&self, session: &Session, listed: Option<&[String]>) -> Value {
        let mut options = vec![json!({
            "id": MODE, "name": "Mode", "category": "mode", "type": "select",
            "description": "Which tool calls need your approval",
            "currentValue": self.mode_of(session).as_str(),
            "options": described_modes("value"),
        })];
        let mut shown = session.clone();
        self.registry.models().show(&mut shown);
        let catalog = self.registry.catalog();
        let current = shown.provider_name.unwrap_or_default();
        let providers = catalog.entries().into_iter().filter(|it| it.is_configured);
        let mut providers: Vec<Value> = providers
            .map(|it| json!({"value": it.name, "name": it.metadata.display_name}))
            .collect();
        if providers.iter().all(|it| it["value"] != *current) {
            let name = if current.is_empty() { "none" } else { &current };
            providers.insert(0, json!({"value": current, "name": name}));
        }
        options.push(json!({
            "id": PROVIDER, "name": "Provider", "category": "model_config", "type": "select",
            "description": "The service that runs the model",
            "currentValue": current,
            "options": providers,
        }));
        let config = shown.model_config.unwrap_or_default();
        if let Some(model) = config["model_name"].as_str() {
            let known;
            let names = match listed {
                Some(listed) => listed,
                None => {
                    known = catalog.known_models(&current);
                    &known
                }
            };
            let mut names: Vec<&str> = names.iter().map(String::as_str).take(MAX_MODELS).collect();
            if !names.contains(&model) {
                names.insert(0, model);
            }
            let models = names
                .iter()
                .map(|name| json!({"value": name, "name": name}));
            options.push(json!({
                "id": MODEL, "name": "Model", "category": "model", "type": "select",
                "currentValue": model,
                "options": models.collect::<Value>(),
            }));
            let efforts = std::iter::once(&DEFAULT_EFFORT).chain(EFFORTS);
            let efforts = efforts.map(|name| json!({"value": name, "name": name}));
            let effort = config["request_params"][EFFORT].as_str();
            options.push(json!({
                "id": EFFORT, "name": "Thinking", "category": "thought_level", "type": "select",
                "description": "How much the model thinks before it answers, if it does",
                "currentValue": effort.filter(|it| EFFORTS.contains(it)).unwrap_or(DEFAULT_EFFORT),
                "options": efforts.collect::<Value>(),
            }));
        }
        if self.client().boolean_options {
            options.extend(self.extension_options(session));
        }
        options.into()
    }

    /// An option for each extension that is configured or that the session has, on if the session has it.
    fn extension_options(&self, session: &Session) -> Vec<Value> {
        let of_session = session.enabled_extensions().iter();
        let of_session = of_session.filter_map(|it| ExtensionConfig::from_value(it.clone()).ok());
        let of_session: Vec<ExtensionConfig> = of_session.collect();
        let listed = configured::list(&self.registry.stores().config);
        let entries = listed.map(|listed| listed.entries).unwrap_or_default();
        let configured = entries.into_iter().filter_map(|entry| entry.config.ok());
        let mut options: Vec<Value> = Vec::new();
        for extension in of_session.iter().cloned().chain(configured) {
            let id = format!("{EXTENSION}{}", extension.key());
            if options.iter().all(|option| option["id"] != *id) {
                options.push(json!({
                    "id": id, "name": extension.name(), "category": "_extension", "type": "boolean",
                    "description": "Whether this session has the extension",
                    "currentValue": of_session.iter().any(|it| it.key() == extension.key()),
                }));
            }
        }
        options.truncate(MAX_EXTENSIONS);
        options
    }

    /// Switches an extension of a session on or off.
    pub(crate) fn set_extension_option(
        &self,
        params: &SetConfigOption,
        cancel: &Cancel,
    ) -> Result<Value, ErrorObject> {
        let session = self.session(&params.session_id)?;
        let key = params.config_id.strip_prefix(EXTENSION).unwrap_or_default();
        let known = configured_extensions::find(&self.registry.stores().config, key)
            .map_err(error_object)?;
        let stored = self.stored(&session.id)?;
        let mut own = stored.enabled_extensions().iter();
        let own = own.find_map(|it| {
            let read = ExtensionConfig::from_value(it.clone()).ok();
            read.filter(|extension| extension.key() == key)
        });
        let configured = known.and_then(|entry| entry.config.ok());
        let changed = match (params.value.as_bool(), own, configured) {
            (None, _, _) => return Err(invalid("value", "it must be true or false")),
            (Some(true), Some(_), _) | (Some(false), None, Some(_)) => Ok(()),
            (Some(true), None, Some(extension)) => {
                (self.registry).add_extension(&session.id, &extension, cancel)
            }
            (Some(false), Some(own), _) => self.registry.remove_extension(&session.id, own.name()),
            (Some(_), None, None) => {
                let why = format!("there is no option {:?}", params.config_id);
                return Err(invalid("configId", &why));
            }
        };
        changed.map_err(error_object)?;
        let stored = self.stored(&session.id)?;
        Ok(json!({"configOptions": self.config_options(&stored, None)}))
    }

    /// Asks the provider for its models, if it lists them, and sends the options with them.
    pub(crate) fn send_listed_models(&self, session: &OpenSession, cancel: &Cancel) {
        let Ok(mut stored) = self.registry.files().session(&session.id) else {
            return;
        };
        self.registry.models().show(&mut stored);
        let Some(name) = &stored.provider_name else {
            return;
        };
        let catalog = self.registry.catalog();
        if !catalog.lists_models(name).unwrap_or(false) {
            return;
        }
        let listed = catalog
            .provider(name)
            .and_then(|provider| provider.models(cancel));
        match listed {
            Ok(models) if models != catalog.known_models(name) => {
                let options = self.config_options(&stored, Some(&models));
                self.send_options(session, &options);
            }
            Ok(_) => {}
            Err(error) => log::debug!("models not listed provider={name} reason={error}"),
        }
    }

    fn send_options(&self, session: &OpenSession, options: &Value) {
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": options});
        self.send_update(&session.id, &update);
    }

    pub(crate) fn set_mode(&self, params: &SetMode) -> Result<Value, ErrorObject> {
        let session = self.session(&params.session_id)?;
        self.change_mode(&session, "modeId", &params.mode_id)?;
        let stored = self.stored(&session.id)?;
        self.send_options(&session, &self.config_options(&stored, None));
        Ok(json!({}))
    }

    pub(crate) fn set_config_option(&self, params: &SetConfigOption) -> Result<Value, ErrorObject> {
        let session = self.session(&params.session_id)?;
        let value = params.value.as_str();
        let value = value.ok_or_else(|| invalid("value", "it must be the value of an option"))?;
        match params.config_id.as_str() {
            MODE => {
                self.change_mode(&session, "value", value)?;
                let update =
                    json!({"sessionUpdate": "current_mode_update", "currentModeId": value});
                self.send_update(&session.id, &update);
            }
            PROVIDER => self.choose(&session, value, None)?,
            MODEL => {
                let provider = self.current_provider(&session)?;
                self.choose(&session, &provider, Some(value))?;
            }
            EFFORT => {
                let is_known = value == DEFAULT_EFFORT || EFFORTS.contains(&value);
                if !is_known {
                    return Err(invalid("value", &format!("there is no effort {value:?}")));
                }
                let effort = Some(value).filter(|value| *value != DEFAULT_EFFORT);
                let chosen = set_effort(&self.registry, &session.id, effort);
                chosen.map_err(error_object)?;
            }
            other => {
                return Err(invalid(
                    "configId",
                    &format!("there is no option {other:?}"),
                ));
            }
        }
        let stored = self.stored(&session.id)?;
        Ok(json!({"configOptions": self.config_options(&stored, None)}))
    }

    pub(crate) fn set_model(&self, params: &SetModel) -> Result<Value, ErrorObject> {
        let session = self.session(&params.session_id)?;
        let provider = self.current_provider(&session)?;
        self.choose(&session, &provider, Some(&params.model_id))?;
        let stored = self.stored(&session.id)?;
        self.send_options(&session, &self.config_options(&stored, None));
        Ok(json!({}))
    }

    fn change_mode(
        &self,
        session: &OpenSession,
        field: &str,
        mode: &str,
    ) -> Result<(), ErrorObject> {
        let known = Mode::ALL.into_iter().find(|known| known.as_str() == mode);
        let known = known.ok_or_else(|| invalid(field, &format!("there is no mode {mode:?}")))?;
        let set = self.registry.set_mode(&session.id, known);
        set.map_err(error_object)
    }

    fn current_provider(&self, session: &Arc<OpenSession>) -> Result<String, ErrorObject> {
        let mut stored = self.stored(&session.id)?;
        self.registry.models().show(&mut stored);
        let missing = || invalid("value", "choose a provider first");
        stored.provider_name.ok_or_else(missing)
    }

    /// Sets the model; without a name, the first that the catalog knows of the provider.
    fn choose(
        &self,
        session: &OpenSession,
        provider: &str,
        model: Option<&str>,
    ) -> Result<(), ErrorObject> {
        let known = || {
            self.registry
                .catalog()
                .known_models(provider)
                .into_iter()
                .next()
        };
        let model = model.map(str::to_owned).or_else(known);
        let choice = ModelChoice {
            provider: provider.to_owned(),
            model,
            ..ModelChoice::default()
        };
        let set = self.registry.models().choose(&session.id, choice);
        set.map_err(|error| invalid("value", &error.to_string()))
    }
}

fn invalid(field: &str, why: &str) -> ErrorObject {
    ErrorObject::new(INVALID_PARAMS, format!("Invalid `{field}`: {why}"))
}

/// All modes with what they do; `id` is the name of the field of their ids.
fn described_modes(id: &str) -> [Value; Mode::ALL.len()] {
    Mode::ALL.map(|mode| {
        let (name, description) = match mode {
            Mode::Auto => ("Auto", "Tools are called without asking"),
            Mode::Approve => ("Approve", "You approve every tool call"),
            Mode::SmartApprove => (
                "Smart approve",
                "You approve the calls that may change something",
            ),
            Mode::Chat => ("Chat", "No tools are called"),
        };
        json!({id: mode.as_str(), "name": name, "description": description})
    })
}
