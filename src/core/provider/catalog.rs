//! What sessions and clients ask about providers and models: a trait, and the shapes of the answers.

use super::{Error, ErrorClass, InProcessProvider, ModelConfig, Provider, Usage, unknown};
use crate::store::settings::{CONTEXT_LIMIT, MAX_TOKENS, Setting, TEMPERATURE};
use crate::store::{self, Config};
use crate::sys::cancel::Cancel;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The context size of a model that is not in a list.
#[doc(hidden)]
pub const DEFAULT_CONTEXT: u64 = 128_000;

/// The providers of a program and their models. What has a default here, a provider in the process needs not have.
pub trait Catalog: Send + Sync {
    /// Adds providers that run in the process.
    ///
    /// # Panics
    /// Another provider has one of their names, or one of them has none.
    fn add(&mut self, own: Vec<InProcessProvider>);

    /// The provider of this name.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if there is none, it is not configured, or it is on another machine and the
    /// server runs offline.
    fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, Error>;

    /// All providers, in the order in which clients show them.
    fn entries(&self) -> Vec<ProviderDetails>;

    /// Whether all required settings of a provider are set. A provider on this machine counts only if one of
    /// its settings is set or `GOOSE_PROVIDER` names it.
    fn is_configured(&self, name: &str) -> bool;

    /// Whether the provider can list its models.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if there is no provider of this name.
    fn lists_models(&self, name: &str) -> Result<bool, Error>;

    /// The models of a provider that the catalog knows and that are not retired, the one to begin with first.
    fn known_models(&self, name: &str) -> Vec<String>;

    /// A model with its limits: from the user's settings (`GOOSE_CONTEXT_LIMIT`, `GOOSE_MAX_TOKENS`,
    /// `GOOSE_TEMPERATURE`), or the known ones, or those of its family.
    fn model_config(&self, provider: &str, model: &str) -> ModelConfig;

    /// The names of all settings of providers, and whether each is a secret. Providers that the build leaves
    /// out count, because a configuration may hold their keys.
    fn setting_names(&self) -> Vec<(String, bool)>;

    /// The names of the secrets that extensions do not inherit.
    fn key_names(&self) -> Vec<String>;

    /// What is known of a model.
    fn model_info(&self, _provider: &str, _model: &str) -> Option<ModelInfo> {
        None
    }

    /// What the tokens of a model cost; `None` if its input or its output has no known price.
    fn price(&self, _provider: &str, _model: &str) -> Option<Price> {
        None
    }

    /// What the user should know of a model that its provider has retired or retires soon: one sentence.
    fn retirement(&self, _provider: &str, _model: &str) -> Option<String> {
        None
    }

    /// The model for names and summaries in sessions of the model `own`, with room for `tokens`; `None` for `own`
    /// itself.
    fn fast_model(&self, _provider: &str, _own: &str, _tokens: u64) -> Option<FastModel> {
        None
    }

    /// The lead model of a session that has had so many turns and has stored this of them; `None` if the user wants
    /// none.
    ///
    /// # Errors
    /// A setting is wrong or cannot be read.
    fn lead_model(
        &self,
        _stored: Option<&Value>,
        _turns: usize,
    ) -> store::Result<Option<Box<dyn LeadModel>>> {
        Ok(None)
    }

    /// The parameters with which settings of one provider alone ask a model to think.
    fn thinking_params(&self, _provider: &str, _model: &str) -> Map<String, Value> {
        Map::new()
    }

    /// Signs the user in to a provider and stores the secrets. It may take minutes; `progress` gets what the user has
    /// to do meanwhile.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if there is no provider of this name or it has no login, and those of the login.
    fn sign_in(
        &self,
        name: &str,
        _cancel: &Cancel,
        _progress: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        self.provider(name)?;
        Err(no_login(name))
    }

    /// The settings of builtin providers.
    fn settings(&self) -> Vec<Setting<'static>> {
        Vec::new()
    }

    /// The hosts from which the user can make a provider, by name: each a `ProviderTemplate` of Goose's OpenAPI document
    /// after 1.24.
    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The wire protocol and the URL of a provider that is configured.
    fn routing(&self, _name: &str) -> Option<(String, String)> {
        None
    }

    /// Uses a provider as this file of a custom provider says, until the program ends; not at all with `None`.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if it cannot be used so.
    fn route(&self, name: &str, _custom: Option<&Value>) -> Result<(), Error> {
        Err(unknown(name, &[]))
    }

    /// Drops what the catalog keeps of a provider: its connections.
    fn forget(&self, _name: &str) {}
}

/// The error for a provider that has no login.
#[doc(hidden)]
pub fn no_login(name: &str) -> Error {
    let message =
        format!("gosling cannot sign in to {name} with a browser; store a key for it instead");
    Error::new(ErrorClass::Config, message)
}

/// A model with the limits of the user's settings, else with these.
#[doc(hidden)]
pub fn model_config(config: &Config, model: &str, window: u64, output: Option<u64>) -> ModelConfig {
    ModelConfig {
        model_name: model.to_owned(),
        context_limit: CONTEXT_LIMIT.count_if_set(config).or(Some(window)),
        temperature: TEMPERATURE.number(config),
        max_tokens: MAX_TOKENS.count_if_set(config).or(output),
        ..ModelConfig::default()
    }
}

/// A provider as clients see it (`ProviderDetails` of Goose's OpenAPI document).
#[derive(Clone, Debug, Serialize)]
pub struct ProviderDetails {
    /// Its name in the configuration.
    pub name: String,
    /// Its description, models and settings.
    pub metadata: ProviderMetadata,
    /// Whether all required settings are set.
    pub is_configured: bool,
    /// Builtin or custom.
    pub provider_type: ProviderType,
}

/// The description, models and settings of a provider.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProviderMetadata {
    /// Its name in the configuration.
    pub name: String,
    /// Its name for users.
    pub display_name: String,
    /// One sentence for users.
    pub description: String,
    /// The model to begin with.
    pub default_model: String,
    /// Some of its models.
    pub known_models: Vec<KnownModel>,
    /// The vendor's list of models.
    pub model_doc_link: String,
    /// Its settings.
    pub config_keys: Vec<ConfigKey>,
    /// Not used by gosling, which allows any model.
    pub allows_unlisted_models: bool,
}

/// A model in a provider's list. Only [`ModelInfo`] has prices, as in Goose.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KnownModel {
    /// The provider's name of the model.
    pub name: String,
    /// The context size: input and output tokens together.
    pub context_limit: u64,
    /// Always absent.
    pub input_token_cost: Option<f64>,
    /// Always absent.
    pub output_token_cost: Option<f64>,
    /// Always absent.
    pub currency: Option<String>,
    /// Always absent.
    pub supports_cache_control: Option<bool>,
}

impl KnownModel {
    /// A model with this name and context size.
    pub fn new(name: &str, context_limit: u64) -> Self {
        KnownModel {
            name: name.to_owned(),
            context_limit,
            ..KnownModel::default()
        }
    }
}

/// A setting of a provider.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigKey {
    /// The name of the variable, the setting or the secret.
    pub name: String,
    /// The provider needs it.
    pub required: bool,
    /// It is stored with the secrets.
    pub secret: bool,
    /// The value if it is not set.
    pub default: Option<String>,
    /// A login makes it ([`Catalog::sign_in`]).
    pub oauth_flow: bool,
    /// Clients ask for it first.
    pub primary: bool,
}

/// Whether a provider is builtin or custom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum ProviderType {
    /// Builtin, and shown first.
    Preferred,
    /// Builtin.
    Builtin,
    /// Described in a file of the user.
    Custom,
}

/// The limits and prices of a model (`ModelInfoData` of Goose's OpenAPI document). A price is for a million
/// tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelInfo {
    /// The provider's name.
    pub provider: String,
    /// The model's name in the request.
    pub model: String,
    /// The context size: input and output tokens together.
    pub context_limit: u64,
    /// The limit on output tokens.
    pub max_output_tokens: Option<u64>,
    /// The price of input.
    pub input_token_cost: Option<f64>,
    /// The price of output.
    pub output_token_cost: Option<f64>,
    /// The price of input from the cache.
    pub cache_read_token_cost: Option<f64>,
    /// The price of writing input to the cache.
    pub cache_write_token_cost: Option<f64>,
    /// Always `$`.
    pub currency: &'static str,
    /// Whether it thinks. Not part of Goose's API of 1.24.
    #[serde(skip)]
    pub reasoning: bool,
}

impl ProviderMetadata {
    /// That of a provider with these models, of which the first is the one to begin with.
    pub fn new(name: &str, models: impl IntoIterator<Item = KnownModel>) -> Self {
        let known_models: Vec<KnownModel> = models.into_iter().collect();
        ProviderMetadata {
            name: name.to_owned(),
            default_model: (known_models.first()).map_or(String::new(), |it| it.name.clone()),
            known_models,
            ..ProviderMetadata::default()
        }
    }

    /// The whole entry.
    pub fn details(self, is_configured: bool, provider_type: ProviderType) -> ProviderDetails {
        ProviderDetails {
            name: self.name.clone(),
            metadata: self,
            is_configured,
            provider_type,
        }
    }
}

/// What the tokens of a request to a model cost, in US dollars.
pub type Price = Arc<dyn Fn(Usage) -> f64 + Send + Sync>;

/// A model that shares a session with the session's own one, the worker, before one of the turns.
pub trait LeadModel: Send + Sync {
    /// The name of its provider, if that is not the worker's, and its name.
    fn names(&self) -> (Option<&str>, &str);

    /// Whether it answers the turn.
    fn is_next(&self) -> bool;

    /// What the session stores after the turn; `failed` is `None` if the turn does not count. A turn failed if the
    /// arguments of a tool call were invalid, or if all of its tool calls failed. One in which the provider was
    /// unreachable does not count, as that says nothing about the model; the lead answers such a turn of the worker.
    fn after(&self, failed: Option<bool>) -> Value;
}

/// A model that answers in place of a session's own one.
pub struct FastModel {
    /// The model, asked not to think.
    pub config: ModelConfig,
    /// Remembers that its provider has refused it: it is not asked again until the program ends.
    pub refused: Box<dyn Fn() + Send + Sync>,
}

impl FastModel {
    /// It has failed; what may pass is not remembered.
    pub fn failed(&self, class: ErrorClass) {
        if matches!(
            class,
            ErrorClass::Config | ErrorClass::Authentication | ErrorClass::Refused
        ) {
            (self.refused)();
        }
    }
}
