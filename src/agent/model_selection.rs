//! Which model answers for a session, and what clients say to a running turn.

use super::turn_channel::Model;
use super::{Confirmation, Error, Registry};
use crate::conversation::{Outcome, Session};
use crate::mcp::types::CallToolResult;
use crate::provider::{self, Choice, ErrorClass, LeadWorker, ModelConfig, Progress};
use serde_json::{Map, Value};

/// What a client wants a session's model to be.
#[derive(Clone, Debug, Default)]
pub struct ModelChoice {
    /// The provider's name.
    pub provider: String,
    /// The model's name; that of the configuration if absent.
    pub model: Option<String>,
    /// Instead of what is known of the model.
    pub context_limit: Option<u64>,
    /// Goes into every request.
    pub request_params: Option<Map<String, Value>>,
}

impl Registry {
    /// Whether the session, its recipe or the configuration names a provider. Without one, every turn
    /// of the session ends with an error.
    ///
    /// # Errors
    /// [`Error::NoSession`], or [`Error::Store`] when files cannot be read.
    pub fn has_provider(&self, id: &str) -> Result<bool, Error> {
        Ok(self.provider_of(&self.session(id)?)?.is_some())
    }

    /// The name of the provider for the session: its own, else its recipe's, else that of the
    /// configuration.
    fn provider_of(&self, session: &Session) -> Result<Option<String>, Error> {
        let name = session.provider_name.clone();
        match name.or_else(|| recipe_setting(session, "goose_provider")) {
            None => self.name_in_settings("GOOSE_PROVIDER"),
            name => Ok(name),
        }
    }

    /// The setting, unless it is blank.
    fn name_in_settings(&self, key: &str) -> Result<Option<String>, Error> {
        Ok(match self.stores().config.get(key)? {
            Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
            _ => None,
        })
    }

    /// The model that answers for the session: its own, else its recipe's, else that of the
    /// configuration.
    pub(super) fn model_of(&self, session: &Session) -> Result<Model, Error> {
        let Some(name) = self.provider_of(session)? else {
            let why = "No model is configured: set GOOSE_PROVIDER and GOOSE_MODEL, or choose one \
                       with POST /agent/update_provider";
            return Err(provider::Error::new(ErrorClass::Config, why).into());
        };
        let provider = self.catalog().provider(&name)?;
        let stored = session.model_config.clone();
        let stored = stored.and_then(|config| crate::json::from_value(&config).ok());
        let mut config = match stored {
            Some(config) => {
                let config: ModelConfig = config;
                // What is stored is for clients; requests follow the settings as they are now.
                let now = self.catalog().model_config(&name, &config.model_name);
                ModelConfig {
                    max_tokens: now.max_tokens,
                    ..config
                }
            }
            None => {
                let model = match recipe_setting(session, "goose_model") {
                    None => self.name_in_settings("GOOSE_MODEL")?,
                    model => model,
                };
                self.model_config(&name, model.as_deref())?
            }
        };
        let recipe = session.recipe.as_ref();
        if let Some(temperature) = recipe.and_then(|it| it["settings"]["temperature"].as_f64()) {
            config.temperature = Some(temperature);
        }
        Ok(Model { provider, config })
    }

    /// Says in `session` which model would answer, where none has been chosen yet.
    pub(super) fn show_model(&self, session: &mut Session) {
        if session.provider_name.is_none()
            && let Ok(model) = self.model_of(session)
        {
            self.set_shown_model(session, &model);
        }
    }

    /// Stores the model in `session`, as clients see it: with the most tokens that it can give, also where
    /// requests leave that number out.
    pub(super) fn set_shown_model(&self, session: &mut Session, model: &Model) {
        let provider = model.provider.name();
        let mut config = model.config.clone();
        if config.max_tokens.is_none() {
            let known = self.catalog().model_info(provider, &config.model_name);
            config.max_tokens = known.and_then(|known| known.max_output_tokens);
        }
        session.provider_name = Some(provider.to_owned());
        session.model_config = crate::json::to_value(&config).ok();
    }

    /// Changes the session's model, from the next turn on.
    ///
    /// # Errors
    /// When there is no such session, the provider is not known or not configured, or no model is
    /// named anywhere.
    pub fn set_model(&self, id: &str, choice: ModelChoice) -> Result<(), Error> {
        self.session(id)?;
        let provider = self.catalog().provider(&choice.provider)?;
        let named = choice.model.filter(|model| !model.trim().is_empty());
        let named = named.or_else(|| match self.setting("GOOSE_MODEL") {
            Some(Value::String(model)) => Some(model),
            _ => None,
        });
        let mut config = self.model_config(&choice.provider, named.as_deref())?;
        config.context_limit = choice.context_limit.or(config.context_limit);
        config.request_params = choice.request_params.or(config.request_params);
        let model = Model { provider, config };
        self.stores()
            .sessions
            .update(id, |session| self.set_shown_model(session, &model))?;
        Ok(())
    }

    /// The model of this name, else the first that is known of the provider.
    fn model_config(&self, provider: &str, model: Option<&str>) -> Result<ModelConfig, Error> {
        let known = || self.catalog().known_models(provider).into_iter().next();
        match model.map(str::to_owned).or_else(known) {
            Some(model) => Ok(self.catalog().model_config(provider, &model)),
            None => {
                let why =
                    format!("No model is named for {provider}: set GOOSE_MODEL, or choose one");
                Err(provider::Error::new(ErrorClass::Config, why).into())
            }
        }
    }

    /// The model that answers the next turn of a session whose own model is `own`, and its part if
    /// there are two: the setting `GOOSE_LEAD_MODEL` names a stronger one.
    pub(super) fn model_for(
        &self,
        own: &Model,
        progress: &Progress,
    ) -> Result<(Model, Option<&'static str>), Error> {
        let Some(policy) = LeadWorker::from_config(&self.stores().config)? else {
            return Ok((own.clone(), None));
        };
        match policy.choose(progress) {
            Choice::Worker => Ok((own.clone(), Some("worker"))),
            Choice::Lead { .. } => {
                let provider = match &policy.lead_provider {
                    Some(name) => self.catalog().provider(name)?,
                    None => own.provider.clone(),
                };
                let config = self
                    .catalog()
                    .model_config(provider.name(), &policy.lead_model);
                Ok((Model { provider, config }, Some("lead")))
            }
        }
    }

    /// SessionRequestHandler the question whether a tool may be called; false if nobody asks, any more.
    pub fn confirm(&self, id: &str, request: &str, answer: Confirmation) -> bool {
        self.live(id)
            .is_some_and(|agent| agent.channel.confirmations.answer(request, answer))
    }

    /// SessionRequestHandler an elicitation, with what the user filled in or with a no; false if nobody asks, any
    /// more.
    pub fn answer(&self, id: &str, request: &str, data: Option<Value>) -> bool {
        self.live(id)
            .is_some_and(|agent| agent.channel.answers.answer(request, data))
    }

    /// Says what a tool of the client gave; false if nobody waits for it, any more.
    pub fn tool_result(&self, id: &str, request: &str, result: Outcome<CallToolResult>) -> bool {
        self.live(id)
            .is_some_and(|agent| agent.channel.results.answer(request, result))
    }
}

/// A setting of the session's recipe.
fn recipe_setting(session: &Session, key: &str) -> Option<String> {
    Some(
        session.recipe.as_ref()?["settings"][key]
            .as_str()?
            .to_owned(),
    )
}
