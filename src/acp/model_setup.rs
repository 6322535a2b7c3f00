//! `gosling acp --setup`: asks a person at a terminal for the provider, its settings and the model, and stores them. An
//! editor starts it as a method of authentication of the type `terminal`.

use crate::agent::Registry;
use crate::command_line::{Failure, failed};
use crate::provider::ProviderDetails;
use crate::provider::catalog::ConfigKey;
use crate::store;
use crate::sys::HiddenInput;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use std::io::{BufRead, Read, Write};

/// How many models are shown.
const MAX_SHOWN: usize = 20;
/// The longest name or title that is shown, in characters.
const MAX_NAME: usize = 80;
/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// The questions and the answers.
pub(crate) struct ModelSetup<'s, R, W> {
    pub(crate) registry: &'s Registry,
    pub(crate) input: R,
    pub(crate) output: W,
}

impl<R: BufRead, W: Write> ModelSetup<'_, R, W> {
    /// Asks everything and stores it at the end.
    ///
    /// # Errors
    /// When the answers end early, and nothing is stored then; or when something cannot be stored.
    pub(crate) fn run(&mut self) -> Result<(), Failure> {
        let provider = self.provider()?;
        let mut values = Vec::new();
        for key in &provider.metadata.config_keys {
            if !key.oauth_flow
                && (key.required || key.primary)
                && let Some(value) = self.setting(key)?
            {
                values.push((key, value));
            }
        }
        let model = self.model(&provider)?;
        let stores = self.registry.stores();
        for (key, value) in values {
            let stored = stores.set(&key.name, &value.into(), key.secret);
            stored.map_err(not_stored)?;
        }
        let chosen = [("GOOSE_PROVIDER", &provider.name), ("GOOSE_MODEL", &model)];
        for (name, value) in chosen {
            let stored = stores.config.upsert(name, &value.as_str().into());
            stored.map_err(not_stored)?;
        }
        let signs_in = |key: &ConfigKey| key.oauth_flow;
        if provider.metadata.config_keys.iter().any(signs_in)
            && self.ask(&format!("Sign in to {} now? [y/N] ", provider.name))? == "y"
        {
            let output = &mut self.output;
            let mut progress = |text: &str| {
                let _ = writeln!(output, "{text}");
            };
            let catalog = self.registry.catalog();
            let signed_in = catalog.sign_in(&provider.name, &Cancel::new(), &mut progress);
            signed_in.map_err(failed("not signed in"))?;
        }
        let path = stores.config.path().display().to_string();
        self.say(&format!(
            "\nStored. {} answers from now on, with the model {model}; {path} has the settings.",
            provider.name
        ))
    }

    fn provider(&mut self) -> Result<ProviderDetails, Failure> {
        let mut all = self.registry.catalog().entries();
        self.say("Providers of models:\n")?;
        for provider in &all {
            let title = printable(&provider.metadata.display_name, MAX_NAME);
            let state = if provider.is_configured {
                " (set up)"
            } else {
                ""
            };
            self.say(&format!(
                "  {:<24} {title}{state}",
                printable(&provider.name, MAX_NAME)
            ))?;
        }
        loop {
            let name = self.ask("\nProvider: ")?;
            match all.iter().position(|provider| provider.name == name) {
                Some(at) => return Ok(all.swap_remove(at)),
                None => self.say("There is none of that name.")?,
            }
        }
    }

    /// The value of a setting; `None` if it stays as it is.
    fn setting(&mut self, key: &ConfigKey) -> Result<Option<String>, Failure> {
        let stores = self.registry.stores();
        let is_set = if key.secret {
            stores.secrets.get(&key.name).map_err(not_stored)?.is_some()
        } else {
            stores.config.get(&key.name).map_err(not_stored)?.is_some()
        };
        let may_stay = is_set || !key.required || key.default.is_some();
        let state = match (&key.default, is_set) {
            (_, true) => " (set; an empty line keeps it)".to_owned(),
            (Some(default), false) => format!(" (an empty line means {default})"),
            (None, false) if may_stay => " (may be empty)".to_owned(),
            (None, false) => String::new(),
        };
        loop {
            let hidden = key.secret.then(HiddenInput::begin);
            let answer = self.ask(&format!("{}{state}: ", key.name));
            drop(hidden);
            match answer? {
                value if !value.is_empty() => return Ok(Some(value)),
                _ if may_stay => return Ok(None),
                _ => self.say("The provider needs it.")?,
            }
        }
    }

    fn model(&mut self, provider: &ProviderDetails) -> Result<String, Failure> {
        let known = self.registry.catalog().known_models(&provider.name);
        if !known.is_empty() {
            let names = known.iter().take(MAX_SHOWN);
            let names: Vec<String> = names.map(|name| printable(name, MAX_NAME)).collect();
            let more = match known.len().saturating_sub(MAX_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.say(&format!("\nModels: {}{more}", names.join(", ")))?;
        }
        let default = &provider.metadata.default_model;
        let question = match default.as_str() {
            "" => "Model: ".to_owned(),
            default => format!("Model (an empty line means {default}): "),
        };
        loop {
            match self.ask(&question)? {
                model if !model.is_empty() => return Ok(model),
                _ if !default.is_empty() => return Ok(default.clone()),
                _ => self.say("It needs a name.")?,
            }
        }
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.output, "{text}").map_err(failed("stdout"))
    }

    /// The answer, without blanks around it.
    fn ask(&mut self, question: &str) -> Result<String, Failure> {
        let asked = (self.output.write_all(question.as_bytes())).and_then(|()| self.output.flush());
        asked.map_err(failed("stdout"))?;
        let mut line = String::new();
        let mut input = Read::by_ref(&mut self.input).take(MAX_ANSWER);
        let read = input.read_line(&mut line);
        match read.map_err(failed("stdin"))? {
            0 => Err(Failure::Failed(
                "the answers end early; nothing was stored".to_owned(),
            )),
            _ => Ok(line.trim().to_owned()),
        }
    }
}

fn not_stored(error: store::Error) -> Failure {
    Failure::Failed(error.to_string())
}
