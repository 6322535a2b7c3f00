//! The choice of the model that answers for a session.

use crate::activity::Entry;
use crate::agent::session::session_recipes;
use crate::agent::turn::turn_channel::Model;
use crate::agent::{Error, Stores};
use crate::conversation::Session;
use crate::provider::thinking_effort;
use crate::provider::{self, Catalog, ErrorClass, LeadModel, ModelConfig, Price};
use crate::store::settings;
use serde_json::{Map, Value};

/// The roles of two models that share a session.
pub(in crate::agent) const LEAD: &str = "lead";
pub(in crate::agent) const WORKER: &str = "worker";

/// The model that a client chooses for a session.
#[derive(Clone, Debug, Default)]
pub struct ModelChoice {
    /// The provider's name.
    pub provider: String,
    /// The model's name; the configured one if absent.
    pub model: Option<String>,
    /// Overrides the catalog's value, in tokens.
    pub context_limit: Option<u64>,
    /// Added to every request.
    pub request_params: Option<Map<String, Value>>,
}

/// Chooses the models of sessions.
#[derive(Clone, Copy)]
pub struct Models<'s> {
    pub(in crate::agent) stores: &'s Stores,
    pub(in crate::agent) catalog: &'s dyn Catalog,
}

impl Models<'_> {
    /// What the tokens of a model cost, if that is known.
    pub(in crate::agent) fn price(&self, model: &Model) -> Option<Price> {
        self.catalog
            .price(model.provider.name(), &model.config.model_name)
    }

    /// The name of the provider for the session: its own, else its recipe's, else that of the
    /// configuration. Without one, every turn of the session ends with an error.
    ///
    /// # Errors
    /// [`Error::Store`] when files cannot be read.
    pub fn provider_of(self, session: &Session) -> Result<Option<String>, Error> {
        let name = session.provider_name.clone();
        match name.or_else(|| session_recipes::setting(session, "goose_provider")) {
            None => Ok(settings::PROVIDER.text(&self.stores.config)?),
            name => Ok(name),
        }
    }

    /// The session's model: its own, else its recipe's, else the configured one.
    ///
    /// # Errors
    /// When there is none, or its provider cannot be used.
    pub fn of(self, session: &Session) -> Result<Model, Error> {
        let Some(name) = self.provider_of(session)? else {
            let why = "No model is configured: set GOOSE_PROVIDER and GOOSE_MODEL in config.yaml or \
                       in the environment (`gosling help models`), or choose one for this session";
            return Err(provider::Error::new(ErrorClass::Config, why).into());
        };
        let provider = self.catalog.provider(&name)?;
        let stored = session.model_config.clone();
        let stored = stored.and_then(|config| crate::json::from_value(&config).ok());
        let mut config = match stored {
            Some(config) => {
                let config: ModelConfig = config;
                // The stored number is for clients; requests use the current settings.
                let now = self.catalog.model_config(&name, &config.model_name);
                ModelConfig {
                    max_tokens: now.max_tokens,
                    ..config
                }
            }
            None => {
                let model = match session_recipes::setting(session, "goose_model") {
                    None => settings::MODEL.text(&self.stores.config)?,
                    model => model,
                };
                self.model_config(&name, model.as_deref())?
            }
        };
        if let Some(temperature) = session_recipes::settings(session)["temperature"].as_f64() {
            config.temperature = Some(temperature);
        }
        thinking_effort::add_settings(&self.stores.config, self.catalog, &name, &mut config);
        self.permitted(Model { provider, config })
    }

    /// Writes into `session` the model that would answer, if it has none.
    pub fn show(self, session: &mut Session) {
        if session.provider_name.is_none()
            && let Ok(model) = self.of(session)
        {
            self.set_shown(session, &model);
        }
    }

    /// Writes the model into `session` as clients see it: with its maximal number of output tokens, even if
    /// requests leave that number out.
    pub fn set_shown(self, session: &mut Session, model: &Model) {
        let provider = model.provider.name();
        let mut config = model.config.clone();
        if config.max_tokens.is_none() {
            let known = self.catalog.model_info(provider, &config.model_name);
            config.max_tokens = known.and_then(|known| known.max_output_tokens);
        }
        session.provider_name = Some(provider.to_owned());
        session.model_config = crate::json::to_value(&config).ok();
    }

    /// Changes the session's model, from the next turn on.
    ///
    /// # Errors
    /// When there is no such session, the provider is unknown or not configured, or neither the choice nor the
    /// configuration names a model.
    pub fn choose(self, id: &str, choice: ModelChoice) -> Result<(), Error> {
        self.stores.session_files().session(id)?;
        let provider = self.catalog.provider(&choice.provider)?;
        let named = choice.model.filter(|model| !model.trim().is_empty());
        let named = match named {
            None => settings::MODEL.text(&self.stores.config)?,
            named => named,
        };
        let mut config = self.model_config(&choice.provider, named.as_deref())?;
        config.context_limit = choice.context_limit.or(config.context_limit);
        config.request_params = choice.request_params.or(config.request_params);
        let model = self.permitted(Model { provider, config })?;
        self.stores
            .sessions
            .update(id, |session| self.set_shown(session, &model))?;
        Ok(())
    }

    /// The model with this name, else the first one that the catalog lists for the provider.
    fn model_config(self, provider: &str, model: Option<&str>) -> Result<ModelConfig, Error> {
        let known = || self.catalog.known_models(provider).into_iter().next();
        match model.map(str::to_owned).or_else(known) {
            Some(model) => Ok(self.catalog.model_config(provider, &model)),
            None => {
                let why =
                    format!("No model is named for {provider}: set GOOSE_MODEL, or choose one");
                Err(provider::Error::new(ErrorClass::Config, why).into())
            }
        }
    }

    /// The model that answers the next turn of a session whose own model is `own`. If a lead model shares the
    /// session, also its role, `lead` or `worker`.
    pub(in crate::agent) fn for_turn(
        self,
        own: &Model,
        lead: Option<&dyn LeadModel>,
    ) -> Result<(Model, Option<&'static str>), Error> {
        match lead {
            None => Ok((own.clone(), None)),
            Some(lead) if lead.is_next() => Ok((self.lead(lead, own)?, Some(LEAD))),
            Some(_) => Ok((own.clone(), Some(WORKER))),
        }
    }

    /// The lead model of a session whose own model is `own`.
    pub(in crate::agent) fn lead(self, lead: &dyn LeadModel, own: &Model) -> Result<Model, Error> {
        let (provider, model) = lead.names();
        let provider = match provider {
            Some(name) => self.catalog.provider(name)?,
            None => own.provider.clone(),
        };
        let config = self.catalog.model_config(provider.name(), model);
        self.permitted(Model { provider, config })
    }

    /// The model, if the policy allows it.
    fn permitted(self, mut model: Model) -> Result<Model, Error> {
        let activity = &self.stores.activity;
        let checked = activity.check(&Entry {
            extension: model.provider.name(),
            subject: &model.config.model_name,
            ..Entry::new("model", "")
        });
        checked.map_err(Error::config)?;
        if let Some(policy) = activity.policy() {
            model.provider = policy.meter(activity, model.provider);
        }
        Ok(model)
    }
}
