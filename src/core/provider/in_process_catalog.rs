//! The providers that are part of the program, as the catalog of a build that has no others.

use super::catalog::{
    Catalog, DEFAULT_CONTEXT, KnownModel, ProviderDetails, ProviderMetadata, ProviderType,
    model_config,
};
use super::key_names::KEY_NAMES;
use super::{Error, ErrorClass, ModelConfig, Provider};
use crate::features;
use crate::store::Config;
use crate::store::settings::PROVIDER;
use crate::sys::caught;
use std::borrow::Cow;
use std::sync::Arc;

/// A provider that is part of the program and has no wire protocol.
pub struct InProcessProvider {
    /// Its name in the configuration.
    pub name: Cow<'static, str>,
    /// Its name for users.
    pub display_name: Cow<'static, str>,
    /// One sentence for users.
    pub description: Cow<'static, str>,
    /// Its only model.
    pub model: Cow<'static, str>,
    /// Makes it.
    pub make: ProviderFactory,
}

impl InProcessProvider {
    /// A provider of this name with one model.
    pub fn new<F>(name: &str, model: &str, make: F) -> Self
    where
        F: Fn(&Config) -> Result<Arc<dyn Provider>, Error> + Send + Sync + 'static,
    {
        InProcessProvider {
            name: name.to_owned().into(),
            display_name: name.to_owned().into(),
            description: Cow::Borrowed(""),
            model: model.to_owned().into(),
            make: Box::new(make),
        }
    }
}

/// Makes a provider from the configuration.
pub type ProviderFactory = Box<dyn Fn(&Config) -> Result<Arc<dyn Provider>, Error> + Send + Sync>;

/// The providers that are part of the program.
pub struct InProcessCatalog {
    config: Config,
    providers: Vec<InProcessProvider>,
}

impl InProcessCatalog {
    /// A catalog of these providers, for these settings.
    ///
    /// # Panics
    /// Two of them have one name, or one has none.
    pub fn new(config: Config, providers: impl IntoIterator<Item = InProcessProvider>) -> Self {
        let mut catalog = InProcessCatalog {
            config,
            providers: Vec::new(),
        };
        catalog.add(providers.into_iter().collect());
        catalog
    }

    /// The provider of this name.
    pub fn find(&self, name: &str) -> Option<&InProcessProvider> {
        self.providers.iter().find(|it| it.name == name)
    }

    /// The names of the providers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|it| &*it.name)
    }

    /// Makes a provider.
    ///
    /// # Errors
    /// [`ErrorClass::Config`] if its settings are wrong, it panics, or it has another name than it is listed with.
    pub fn make(&self, provider: &InProcessProvider) -> Result<Arc<dyn Provider>, Error> {
        let made = caught("provider of the program", || (provider.make)(&self.config));
        match made.unwrap_or_else(|reason| Err(Error::new(ErrorClass::Config, reason))) {
            Ok(made) if made.name() != provider.name => {
                let message = format!("it calls itself {:?}", made.name());
                Err(Error::new(ErrorClass::Config, message))
            }
            made => made,
        }
    }

    fn existing(&self, name: &str) -> Result<&InProcessProvider, Error> {
        self.find(name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            unknown(name, &known)
        })
    }
}

/// The error for a provider that is none of the known ones.
pub fn unknown(name: &str, known: &[&str]) -> Error {
    let known = match known {
        [] => "None is known".to_owned(),
        known => format!("Known are {}", known.join(", ")),
    };
    let hint = features::hint_of_provider(name);
    let message = format!("Unsupported provider '{name}'. {known}{hint}");
    Error::new(ErrorClass::Config, message)
}

/// Says which provider could not be made.
pub fn not_made(name: &str, error: &Error) -> Error {
    let message = format!("Failed to create {name} provider: {}", error.message);
    Error::new(error.class, message)
}

impl Catalog for InProcessCatalog {
    fn add(&mut self, own: Vec<InProcessProvider>) {
        for provider in own {
            let name = &provider.name;
            let is_free = !name.is_empty() && self.find(name).is_none();
            assert!(
                is_free,
                "two providers are called {name:?}, or it is no name"
            );
            self.providers.push(provider);
        }
    }

    fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, Error> {
        let made = self.existing(name).and_then(|found| self.make(found));
        made.map_err(|error| not_made(name, &error))
    }

    fn entries(&self) -> Vec<ProviderDetails> {
        let entry = |own: &InProcessProvider| {
            let models = [KnownModel::new(&own.model, DEFAULT_CONTEXT)];
            let metadata = ProviderMetadata {
                display_name: own.display_name.to_string(),
                description: own.description.to_string(),
                ..ProviderMetadata::new(&own.name, models)
            };
            metadata.details(self.is_configured(&own.name), ProviderType::Builtin)
        };
        self.providers.iter().map(entry).collect()
    }

    fn is_configured(&self, name: &str) -> bool {
        let chosen = PROVIDER.text(&self.config);
        self.find(name).is_some() && chosen.is_ok_and(|chosen| chosen.as_deref() == Some(name))
    }

    fn lists_models(&self, name: &str) -> Result<bool, Error> {
        self.existing(name).map(|_| true)
    }

    fn known_models(&self, name: &str) -> Vec<String> {
        let model = self.find(name).map(|own| own.model.to_string());
        model.into_iter().collect()
    }

    fn model_config(&self, _: &str, model: &str) -> ModelConfig {
        model_config(&self.config, model, DEFAULT_CONTEXT, None)
    }

    fn setting_names(&self) -> Vec<(String, bool)> {
        let keys = self.key_names().into_iter();
        keys.map(|name| (name, true)).collect()
    }

    fn key_names(&self) -> Vec<String> {
        KEY_NAMES.iter().map(|&name| name.to_owned()).collect()
    }
}
