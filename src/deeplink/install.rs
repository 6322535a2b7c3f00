//! Adding the extension of a link to the user's configuration.

use super::{ExtensionLink, Judged, Judgement, KnownSecret, LinkTransport, classify};
use crate::extension::screening_check::Screener;
use crate::extension::{config, program_lookup};
use crate::provider::Catalog;
use crate::store::{self, Config, Secrets};
use crate::sys::cancel::Cancel;
use gosling_screening::Settings as Screening;
use gosling_shared::find_program;
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;

/// Installs extensions into the user's files.
pub struct Installer<'a> {
    /// The file that gets the extension.
    pub config: &'a Config,
    /// The user's secrets.
    pub secrets: &'a Secrets,
    /// The providers, whose keys an extension gets only after a confirmation.
    pub catalog: &'a dyn Catalog,
    /// Checks the packages that the extension installs.
    pub screening: Screening,
}

/// What became of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The configuration has the extension.
    Added {
        /// Whether new sessions start it. It is disabled while it [needs
        /// configuration](Judged::needs_configuration).
        enabled: bool,
    },
    /// An extension of this name is configured, and stays as it is.
    Exists,
    /// It is blocked, or has not been confirmed. Nothing is stored.
    Refused,
}

impl Installer<'_> {
    /// Classifies a link with what the user's files know of its secrets, and advisories of its packages.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn classify(&self, link: &ExtensionLink) -> Result<Judged, store::Error> {
        let owners = self.owners()?;
        let failed = RefCell::new(None);
        let is_program = |name: &str| {
            let folders = program_lookup::search_path();
            find_program(name, Path::new("."), &folders).is_ok()
        };
        let secret = |name: &str| {
            let is_set = match self.secrets.get_for_extension(name) {
                Ok(secret) => secret.is_some(),
                Err(error) => {
                    *failed.borrow_mut() = Some(error);
                    false
                }
            };
            let mut owners = owners.iter();
            let owner = owners.find(|(secret, _)| secret.eq_ignore_ascii_case(name));
            KnownSecret {
                is_set,
                owner: owner.map(|(_, owner)| owner.clone()),
            }
        };
        let judged = classify(link, &secret, &is_program);
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        let screened = match &link.transport {
            LinkTransport::Stdio { cmd, args } if judged.judgement != Judgement::Blocked => {
                // Variables that choose packages are blocked in links.
                self.screening.screen(cmd, args, &[], &Cancel::new())
            }
            _ => None,
        };
        Ok(match screened {
            Some(decision) => {
                self.screening.log(&decision, &config::key(&link.name));
                judged.screened(decision)
            }
            None => judged,
        })
    }

    /// Adds the extension, if it is allowed, or if the user has confirmed it. An extension of the same name is
    /// not replaced.
    ///
    /// # Errors
    /// The configuration cannot be read or written.
    pub fn install(&self, judged: &Judged, confirmed: bool) -> Result<Installation, store::Error> {
        let may = match judged.judgement {
            Judgement::Allowed => true,
            Judgement::ConfirmRequired => confirmed,
            Judgement::Blocked | Judgement::InvalidPayload => false,
        };
        let Some(config) = judged.config.as_ref().filter(|_| may) else {
            return Ok(Installation::Refused);
        };
        let enabled = judged.needs_configuration.is_empty();
        let entry = config.to_entry(enabled);
        if self.config.set_extension(&config.key(), &entry, false)? {
            Ok(Installation::Exists)
        } else {
            Ok(Installation::Added { enabled })
        }
    }

    /// The names of secrets that belong to a provider or an extension, with the owner.
    fn owners(&self) -> Result<Vec<(String, String)>, store::Error> {
        let names = self.catalog.setting_names().into_iter();
        let of_providers = names.filter(|(_, is_secret)| *is_secret);
        let of_providers = of_providers.map(|(name, _)| (name, "a model provider".to_owned()));
        let mut owners: Vec<(String, String)> = of_providers.collect();
        for (key, entry) in self.config.extensions()?.entries {
            let names = entry["env_keys"].as_array().into_iter().flatten();
            let names = names.filter_map(Value::as_str);
            let owner = format!("the extension {}", config::key(&key));
            owners.extend(names.map(|name| (name.to_owned(), owner.clone())));
        }
        Ok(owners)
    }
}
