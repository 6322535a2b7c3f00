//! The catalog of providers: those that gosling knows, and those that the user describes in files.
//!
//! The catalog reads settings for every use, from the environment first, so that a new key takes effect at
//! once. It keeps a provider, with its connections, while the settings stay the same.

mod builtin_providers;
mod current_table;
pub mod custom_providers;
mod default_model;
mod fast_model;
mod known_facts;
mod listed_models;
pub mod litellm_table;
pub mod model_table;
mod price;
mod provider_rows;
mod provider_settings;
mod templates;
#[cfg(test)]
mod tests;
pub(super) mod vendor_settings;
pub(super) mod vendors;

use super::lead_worker;
use super::listed_limits::ListedLimits;
use super::model_families;
use super::provider_spec::{ProviderSpec, SettingRole};
use super::thinking_effort::claude_params;
use super::{Error, ErrorClass, ModelConfig, Provider};
use crate::outbound::is_loopback_url;
use crate::store::settings::{CONTEXT_LIMIT, PROVIDER, Setting};
use crate::store::{self, Config, Secrets};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use builtin_providers::{builtin_providers, builtin_settings};
use current_table::soon;
pub use current_table::{replace_table, today};
use custom_providers::{CustomProvider, CustomProviders};
use default_model::default_model;
use gosling_core::agent::Stores;
use gosling_core::provider::catalog::{
    ConfigKey, DEFAULT_CONTEXT, KnownModel, ProviderMetadata, ProviderType, model_config, no_login,
};
use gosling_core::provider::{
    Catalog, FastModel, InProcessCatalog, InProcessProvider, LeadModel, ModelInfo, Price,
    ProviderDetails, not_made, unknown,
};
use known_facts::{KnownFacts, ProviderFacts};
use model_table::{Model, ModelTable};
pub use provider_settings::misplaced_secret;
use provider_settings::{Settings, SettingsReader};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How many files that cannot be used one error names.
const MAX_UNUSED_FILES: usize = 3;

/// The catalog of a server.
pub(super) fn create(
    stores: &Stores,
    offline: bool,
    own: Vec<InProcessProvider>,
) -> Box<dyn Catalog> {
    let catalog = ProviderCatalog::new(stores.config.clone(), stores.secrets.clone(), offline);
    Box::new(catalog.with_data(&stores.paths.data).with(own))
}

/// All providers.
pub struct ProviderCatalog {
    config: Config,
    secrets: Arc<Secrets>,
    custom: CustomProviders,
    own: InProcessCatalog,
    offline: bool,
    made: Mutex<HashMap<String, Made>>,
    facts: Arc<KnownFacts>,
    /// What a client has said of providers until the program ends; `None` for one that is not to be used.
    routes: Mutex<HashMap<String, Option<CustomProvider>>>,
}

/// A provider in use, and the settings that it was made with.
struct Made {
    settings: Settings,
    provider: Arc<dyn Provider>,
}

/// A provider that the catalog has found by its name.
enum Found<'a> {
    Builtin(&'static ProviderSpec),
    InProcess(&'a InProcessProvider),
    Custom(Box<CustomProvider>),
}

impl ProviderCatalog {
    /// A catalog that reads these settings and the folder `custom_providers` next to them. With `offline`
    /// it refuses providers on other machines.
    pub fn new(config: Config, secrets: Arc<Secrets>, offline: bool) -> Self {
        let custom = CustomProviders::of(&config);
        ProviderCatalog {
            own: InProcessCatalog::new(config.clone(), []),
            config,
            secrets,
            custom,
            offline,
            made: Mutex::default(),
            facts: Arc::default(),
            routes: Mutex::default(),
        }
    }

    /// With the table of models in this folder if it is newer than that of the program, and what providers have
    /// told of their models.
    pub fn with_data(mut self, data: &Path) -> Self {
        self.facts = Arc::new(KnownFacts::new(data));
        self
    }

    /// Adds providers that are part of the program.
    pub fn with(mut self, own: impl IntoIterator<Item = InProcessProvider>) -> Self {
        self.add(own.into_iter().collect());
        self
    }

    /// The URL to which a provider sends its requests with these settings.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if there is none of this name, it is not configured, or it is in this process.
    pub fn url(&self, name: &str) -> Result<String, Error> {
        Ok(self.settings_of(&self.find(name)?)?.endpoint.url)
    }

    fn settings_of(&self, found: &Found<'_>) -> Result<Settings, Error> {
        match found {
            Found::Builtin(spec) => provider_settings::resolve(spec, self.reader()),
            Found::Custom(custom) => custom.resolve(self.reader()),
            Found::InProcess(own) => {
                let message = format!("{} is in this process", own.display_name);
                Err(Error::new(ErrorClass::Config, message))
            }
        }
    }

    fn info(&self, found: &Found<'_>, provider: &str, model: &str) -> Option<ModelInfo> {
        if let Found::Custom(custom) = found
            && let Some(own) = custom.models.iter().find(|own| own.name == model)
        {
            let (context_limit, max_output_tokens) = (own.context_limit, own.max_tokens);
            return Some(ModelInfo {
                context_limit,
                max_output_tokens,
                ..without_limits(provider, model)
            });
        }
        let table = found.table_name();
        let known = table.and_then(|table| self.facts.model(table, model));
        let listed = self.facts.listed.of(provider, model);
        known
            .as_ref()
            .map(|known| known.window)
            .or(listed.map(|listed| listed.window))?;
        let mut info = without_limits(provider, model);
        if let Some(known) = known {
            let price = |kind: usize| known.price.get(kind).copied().flatten();
            info = ModelInfo {
                context_limit: known.window,
                max_output_tokens: known.output,
                input_token_cost: price(0),
                output_token_cost: price(1),
                cache_read_token_cost: price(2),
                cache_write_token_cost: price(3),
                reasoning: known.thinking,
                ..info
            };
        }
        if let Some(ListedLimits { window, output }) = listed {
            info.context_limit = window;
            info.max_output_tokens = output.or(info.max_output_tokens);
        }
        Some(info)
    }

    /// The table of models in use, and whether it is that of the program.
    pub fn model_table(&self) -> (ModelTable, bool) {
        self.facts.tables.whole()
    }

    /// The names of the builtin providers, each with the name that the table of models has for it.
    pub fn table_names(&self) -> Vec<(&'static str, &'static str)> {
        builtin_providers()
            .map(|spec| (spec.name, spec.table_name()))
            .collect()
    }

    fn find(&self, name: &str) -> Result<Found<'_>, Error> {
        match lock(&self.routes).get(name) {
            Some(Some(custom)) => return Ok(Found::Custom(Box::new(custom.clone()))),
            Some(None) => {
                let why = format!("a client has disabled the provider {name}");
                return Err(Error::new(ErrorClass::Config, why));
            }
            None => {}
        }
        let named = builtin_providers().find(|spec| spec.name == name);
        if let Some(spec) = named
            && !spec.yields
        {
            return Ok(Found::Builtin(spec));
        }
        if let Some(own) = self.own.find(name) {
            return Ok(Found::InProcess(own));
        }
        let mut customs = self.custom.read();
        if let Some(at) = customs.iter().position(|custom| custom.name == name) {
            return Ok(Found::Custom(Box::new(customs.swap_remove(at))));
        }
        let alias = || builtin_providers().find(|spec| spec.aliases.contains(&name));
        if let Some(spec) = named.or_else(alias) {
            return Ok(Found::Builtin(spec));
        }
        let builtin = builtin_providers().map(|spec| spec.name);
        let own = self.own.names();
        let customs = customs.iter().map(|custom| custom.name.as_str());
        let names: Vec<&str> = builtin.chain(own).chain(customs).collect();
        let mut error = unknown(name, &names);
        let (_, unused) = self.custom.read_all();
        if let Some(own) = unused.iter().find(|file| file.is_for(name)) {
            error.message = format!("{own}; correct the file");
        } else {
            // One of them may be meant.
            for file in unused.iter().take(MAX_UNUSED_FILES) {
                error.message += &format!("; {file}");
            }
        }
        Err(error)
    }

    fn reader(&self) -> SettingsReader<'_> {
        SettingsReader {
            config: &self.config,
            secrets: &self.secrets,
        }
    }

    fn is_chosen(&self, name: &str) -> bool {
        let chosen = PROVIDER.text(&self.config);
        chosen.is_ok_and(|chosen| chosen.as_deref() == Some(name))
    }

    fn is_builtin_configured(&self, spec: &ProviderSpec) -> bool {
        let reader = self.reader();
        let is_mentioned = || {
            let mut settings = spec.settings.iter();
            settings.any(|setting| reader.is_set(setting)) || self.is_chosen(spec.name)
        };
        provider_settings::resolve(spec, reader).is_ok() && (!spec.local || is_mentioned())
    }

    fn builtin_details(&self, spec: &ProviderSpec, table: &ModelTable) -> ProviderDetails {
        let models = table.providers.get(spec.table_name());
        let models = offered(models.map_or(&[][..], Vec::as_slice), spec.families);
        let config_keys = spec.settings.iter().map(|setting| ConfigKey {
            name: setting.name.to_owned(),
            required: setting.required,
            secret: setting.secret(),
            default: setting.default.map(str::to_owned),
            oauth_flow: setting.role == SettingRole::Login,
            primary: setting.primary,
        });
        let metadata = ProviderMetadata {
            display_name: spec.title.to_owned(),
            description: spec.description.to_owned(),
            model_doc_link: spec.doc.to_owned(),
            config_keys: config_keys.collect(),
            ..ProviderMetadata::new(
                spec.name,
                models.map(|model| KnownModel::new(&model.name, model.window)),
            )
        };
        let provider_type = if spec.preferred {
            ProviderType::Preferred
        } else {
            ProviderType::Builtin
        };
        metadata.details(self.is_builtin_configured(spec), provider_type)
    }

    fn custom_details(&self, custom: &CustomProvider) -> ProviderDetails {
        let key = custom.key_name().map(|name| ConfigKey {
            name: name.to_owned(),
            required: custom.requires_key(),
            secret: true,
            default: None,
            oauth_flow: false,
            primary: true,
        });
        let models = custom.models.iter();
        let metadata = ProviderMetadata {
            display_name: custom.display_name.clone(),
            description: custom.description.clone().unwrap_or_default(),
            config_keys: key.into_iter().collect(),
            ..ProviderMetadata::new(
                &custom.name,
                models.map(|model| KnownModel::new(&model.name, model.context_limit)),
            )
        };
        let is_configured = custom.resolve(self.reader()).is_ok();
        metadata.details(is_configured, ProviderType::Custom)
    }
}

impl Catalog for ProviderCatalog {
    fn add(&mut self, own: Vec<InProcessProvider>) {
        for InProcessProvider { name, .. } in &own {
            let mut taken = builtin_providers().filter(|spec| !spec.yields);
            let is_taken = taken.any(|spec| spec.name == name);
            assert!(!is_taken, "two providers are called {name:?}");
        }
        self.own.add(own);
    }

    fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, Error> {
        let failed = |error: Error| not_made(name, &error);
        let found = self.find(name).map_err(failed)?;
        let mut settings = match &found {
            Found::InProcess(own) => return self.own.make(own).map_err(failed),
            found => self.settings_of(found).map_err(failed)?,
        };
        settings.endpoint.context = CONTEXT_LIMIT.count_if_set(&self.config);
        if self.offline && !is_loopback_url(&settings.endpoint.url) {
            return Err(failed(Error::new(
                ErrorClass::Config,
                "It is on another machine, and gosling runs offline; use one on this machine or \
                 start it without --offline",
            )));
        }
        if let Some(known) = lock(&self.made).get(name)
            && known.settings == settings
        {
            return Ok(known.provider.clone());
        }
        self.facts.listed.begin(name, &settings.endpoint.url);
        let url = settings.endpoint.url.clone();
        let facts = ProviderFacts {
            all: self.facts.clone(),
            provider: name.to_owned(),
            table: found.table_name().unwrap_or_default().to_owned(),
            url,
        };
        let provider =
            (settings.clone()).provider(name, self.offline, Arc::new(facts), &self.secrets);
        let now = Made {
            settings,
            provider: provider.clone(),
        };
        // One entry for each name, so the map stays small.
        lock(&self.made).insert(name.to_owned(), now);
        Ok(provider)
    }

    fn entries(&self) -> Vec<ProviderDetails> {
        let (table, _) = self.facts.tables.whole();
        let customs = self.custom.read();
        let is_custom = |name: &str| customs.iter().any(|custom| custom.name == name);
        let builtin = builtin_providers().filter(|spec| !(spec.yields && is_custom(spec.name)));
        let builtin = builtin.map(|spec| self.builtin_details(spec, &table));
        let own = self.own.entries().into_iter();
        let is_own = |name: &str| self.own.find(name).is_some();
        let custom = customs.iter().filter(|custom| !is_own(&custom.name));
        let custom = custom.map(|custom| self.custom_details(custom));
        builtin.chain(own).chain(custom).collect()
    }

    fn is_configured(&self, name: &str) -> bool {
        match self.find(name) {
            Ok(Found::Builtin(spec)) => self.is_builtin_configured(spec),
            Ok(Found::InProcess(own)) => self.own.is_configured(&own.name),
            Ok(found) => self.settings_of(&found).is_ok(),
            Err(_) => false,
        }
    }

    fn lists_models(&self, name: &str) -> Result<bool, Error> {
        Ok(match self.find(name)? {
            Found::Builtin(spec) => spec.lists_models,
            Found::Custom(custom) => custom.lists_models(),
            Found::InProcess(_) => true,
        })
    }

    fn known_models(&self, name: &str) -> Vec<String> {
        match self.find(name) {
            Ok(Found::Builtin(spec)) => {
                let models = self.facts.tables.of(spec.table_name());
                let offered = offered(&models, spec.families);
                offered.map(|model| model.name.clone()).collect()
            }
            Ok(Found::Custom(custom)) => {
                custom.models.into_iter().map(|model| model.name).collect()
            }
            Ok(Found::InProcess(own)) => self.own.known_models(&own.name),
            Err(_) => Vec::new(),
        }
    }

    fn model_config(&self, provider: &str, model: &str) -> ModelConfig {
        let found = self.find(provider).ok();
        let known = (found.as_ref()).and_then(|found| self.info(found, provider, model));
        let family = model_families::limits_of(model);
        let (most_context, requires_output_limit) = match &found {
            Some(Found::Builtin(spec)) => (spec.max_context, spec.protocol.requires_output_limit),
            Some(Found::Custom(_) | Found::InProcess(_)) | None => (u64::MAX, false),
        };
        // Models in a cloud do not need this machine's memory.
        let most_context = if model.ends_with("cloud") {
            u64::MAX
        } else {
            most_context
        };
        let context = match (&known, family) {
            (Some(known), _) => known.context_limit,
            (None, Some(family)) => family.window,
            (None, None) => DEFAULT_CONTEXT,
        };
        // If a request may omit the limit, the server knows better: it may run the model with another
        // context, or count the limit as output against a rate limit. In a file the user sets it.
        let sends_output_limit = requires_output_limit || matches!(found, Some(Found::Custom(_)));
        let output = known.filter(|_| sends_output_limit);
        let output = output.and_then(|known| known.max_output_tokens);
        let of_family = family.filter(|_| requires_output_limit);
        let output = output.or(of_family.map(|family| family.output));
        model_config(&self.config, model, context.min(most_context), output)
    }

    fn setting_names(&self) -> Vec<(String, bool)> {
        let mut names: Vec<(String, bool)> = builtin_settings()
            .map(|setting| (setting.name.to_owned(), setting.secret()))
            .collect();
        let customs = self.custom.read();
        let keys = customs.iter().filter_map(CustomProvider::key_name);
        names.extend(keys.map(|name| (name.to_owned(), true)));
        names
    }

    fn key_names(&self) -> Vec<String> {
        let own = builtin_settings().filter(|setting| setting.is_own_secret());
        let mut names: Vec<String> = own.map(|setting| setting.name.to_owned()).collect();
        let customs = self.custom.read();
        let keys = customs.iter().filter_map(CustomProvider::key_name);
        names.extend(keys.map(str::to_owned));
        names
    }

    fn model_info(&self, provider: &str, model: &str) -> Option<ModelInfo> {
        self.info(&self.find(provider).ok()?, provider, model)
    }

    fn retirement(&self, provider: &str, model: &str) -> Option<String> {
        let Ok(Found::Builtin(spec)) = self.find(provider) else {
            return None;
        };
        let settings = provider_settings::resolve(spec, self.reader()).ok()?;
        if !provider_settings::is_at_vendor(spec, &settings.endpoint.url) {
            return None;
        }
        let known = self.facts.model(spec.table_name(), model)?;
        let date = known
            .retired
            .as_deref()
            .filter(|_| known.is_retired(&soon()))?;
        let title = spec.title;
        let what = if known.is_retired(&today()) {
            format!("{title} has retired the model {model} on {date}")
        } else {
            format!("{title} retires the model {model} on {date}")
        };
        Some(match known.successor {
            Some(successor) => format!("{what}; its successor is {successor}."),
            None => format!("{what}; choose another model."),
        })
    }

    fn sign_in(
        &self,
        name: &str,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let spec = match self.find(name)? {
            Found::Builtin(spec) => Some(spec),
            _ => None,
        };
        let Some((spec, login)) = spec.and_then(|spec| Some((spec, spec.credentials?.login?)))
        else {
            return Err(no_login(name));
        };
        let parameters = provider_settings::parameters(spec, self.reader())?;
        let made = login(&parameters, self.offline, cancel, progress);
        let made = made.map_err(|error| provider_settings::with_title(spec.title, error))?;
        for (name, secret) in made {
            self.secrets.set(name, &secret.into())?;
        }
        Ok(())
    }

    fn settings(&self) -> Vec<Setting<'static>> {
        builtin_settings()
            .map(|setting| setting.declared())
            .collect()
    }

    fn routing(&self, name: &str) -> Option<(String, String)> {
        let settings = self.settings_of(&self.find(name).ok()?).ok()?;
        Some((settings.protocol.name.to_owned(), settings.endpoint.url))
    }

    fn route(&self, name: &str, custom: Option<&Value>) -> Result<(), Error> {
        let invalid = |why| Error::new(ErrorClass::Config, why);
        let route = match custom {
            Some(custom) => {
                let custom = CustomProvider::parse(custom.to_string().as_bytes());
                let custom = custom.map_err(invalid)?;
                custom.resolve(self.reader())?;
                Some(custom)
            }
            None => None,
        };
        lock(&self.routes).insert(name.to_owned(), route);
        Ok(())
    }

    fn forget(&self, name: &str) {
        lock(&self.made).remove(name);
    }

    fn price(&self, provider: &str, model: &str) -> Option<Price> {
        self.known_price(provider, model)
    }

    fn fast_model(&self, provider: &str, own: &str, tokens: u64) -> Option<FastModel> {
        self.cheaper_model(provider, own, tokens)
    }

    fn lead_model(
        &self,
        stored: Option<&Value>,
        turns: usize,
    ) -> store::Result<Option<Box<dyn LeadModel>>> {
        lead_worker::read(&self.config, stored, turns)
    }

    fn thinking_params(&self, provider: &str, model: &str) -> Map<String, Value> {
        claude_params(&self.config, provider, model)
    }

    fn templates(&self) -> Vec<Value> {
        self.host_templates()
    }
}

impl Found<'_> {
    /// The provider in the table of models that has its models, if there is one.
    fn table_name(&self) -> Option<&str> {
        match self {
            Found::Builtin(spec) => Some(spec.table_name()),
            Found::Custom(custom) => custom.catalog_provider(),
            Found::InProcess(_) => None,
        }
    }
}

/// The models to offer: those that are not retired, the one to begin with first.
fn offered<'m>(models: &'m [Model], families: &[&str]) -> impl Iterator<Item = &'m Model> {
    let first = default_model(models, families, &soon());
    let today = today();
    let is_first = move |model: &Model| first.is_some_and(|first| first.name == model.name);
    let others = (models.iter()).filter(move |model| !model.is_retired(&today) && !is_first(model));
    first.into_iter().chain(others)
}

/// The model without limits and prices.
fn without_limits(provider: &str, model: &str) -> ModelInfo {
    ModelInfo {
        provider: provider.to_owned(),
        model: model.to_owned(),
        context_limit: 0,
        max_output_tokens: None,
        input_token_cost: None,
        output_token_cost: None,
        cache_read_token_cost: None,
        cache_write_token_cost: None,
        currency: "$",
        reasoning: false,
    }
}

/// Whether no file of the user can have this name.
fn is_reserved(name: &str) -> bool {
    builtin_providers().any(|spec| spec.name == name && !spec.yields)
}
