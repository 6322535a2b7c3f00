//! The table of models: limits, abilities, prices and dates of retirement. One is part of the program; a file of
//! the same form replaces it if it is newer. No I/O and no clock.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The table that the program has: `tests/models/make_snapshot.py` makes it.
pub(super) const SNAPSHOT: &str = include_str!("models.json");
/// The largest table, in bytes.
pub const MAX_TABLE: u64 = 16 << 20;
/// The form of a table.
const FORMAT: &str = "gosling-models-1";
/// The most models in a table, and the most providers.
const MAX_MODELS: usize = 20_000;
const MAX_PROVIDERS: usize = 500;
/// The longest text in a table, in bytes.
const MAX_TEXT: usize = 256;
/// The largest window or limit on output that makes sense, in tokens.
const MAX_TOKENS: u64 = 1 << 32;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The provider's name of it.
    pub name: String,
    /// The context size in tokens: input and output together.
    pub window: u64,
    /// The limit on output tokens; that of the window if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The protocol that it needs.
    #[serde(default, skip_serializing_if = "ModelEndpoint::is_chat")]
    pub endpoint: ModelEndpoint,
    /// Whether it calls tools.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub tools: bool,
    /// Whether it sees images.
    #[serde(default, skip_serializing_if = "is_no")]
    pub images: bool,
    /// Whether it reasons.
    #[serde(default, skip_serializing_if = "is_no")]
    pub thinking: bool,
    /// US dollars for a million tokens of input, of output, of input from the cache, and of writing to the cache, as
    /// far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price: Vec<Option<f64>>,
    /// The date from which on it does not answer, `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<String>,
    /// The model that the provider names in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
}

/// Which of OpenAI's protocols a model needs; for other protocols it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEndpoint {
    /// Chat completions, or the provider's own protocol.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

impl ModelEndpoint {
    fn is_chat(&self) -> bool {
        *self == Self::Chat
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !*value
}

impl Model {
    /// Whether it does not answer any more on this date, `YYYY-MM-DD`.
    pub fn is_retired(&self, date: &str) -> bool {
        (self.retired.as_deref()).is_some_and(|retired| retired <= date)
    }

    /// Whether it is within the limits.
    pub(super) fn check(&self) -> Result<(), String> {
        let texts = [Some(&self.name), self.successor.as_ref()];
        if self.name.is_empty() || texts.into_iter().flatten().any(|it| it.len() > MAX_TEXT) {
            return Err(format!("a name is empty or longer than {MAX_TEXT} bytes"));
        }
        let limits = [Some(self.window), self.output];
        if limits
            .into_iter()
            .flatten()
            .any(|it| it == 0 || it > MAX_TOKENS)
        {
            return Err(format!("the limits of {:?} make no sense", self.name));
        }
        let is_price = |price: &f64| (0.0..=1e6).contains(price);
        if self.price.len() > 4 || !self.price.iter().flatten().all(is_price) {
            return Err(format!("the prices of {:?} make no sense", self.name));
        }
        match &self.retired {
            Some(date) => check_date(date),
            None => Ok(()),
        }
    }
}

/// Whether a text is a date, `YYYY-MM-DD`.
fn check_date(date: &str) -> Result<(), String> {
    match crate::sys::clock::Utc::parse(date) {
        Some(_) if date.len() == 10 => Ok(()),
        _ => Err(format!("{date:?} is not a date like 2026-11-26")),
    }
}

/// A table.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct ModelTable {
    format: &'static str,
    /// When it was made, `YYYY-MM-DD`.
    pub date: String,
    /// Where its facts come from.
    pub source: String,
    /// The models of each provider, those to offer first at the beginning.
    pub providers: BTreeMap<String, Vec<Model>>,
}

/// A table whose models are still text.
#[derive(Deserialize)]
struct Unread<'a> {
    format: String,
    date: String,
    #[serde(default)]
    source: String,
    #[serde(borrow)]
    providers: BTreeMap<String, &'a RawValue>,
}

impl<'a> Unread<'a> {
    fn of(json: &'a str) -> Result<Self, String> {
        let table: Unread<'a> = crate::json::from_str(json).map_err(|error| error.to_string())?;
        if table.format != FORMAT {
            return Err(format!(
                "its format is {:?}, not {FORMAT:?}",
                table.format.chars().take(64).collect::<String>()
            ));
        }
        check_date(&table.date)?;
        if table.providers.len() > MAX_PROVIDERS || table.source.len() > MAX_TEXT {
            return Err(format!(
                "it has more than {MAX_PROVIDERS} providers, or a source longer than {MAX_TEXT} bytes"
            ));
        }
        Ok(table)
    }
}

/// The models of one provider, which are in this text.
fn models_in(list: &RawValue) -> Result<Vec<Model>, String> {
    let models: Vec<Model> =
        crate::json::from_str(list.get()).map_err(|error| error.to_string())?;
    models.iter().try_for_each(Model::check)?;
    Ok(models)
}

impl ModelTable {
    /// A table of these models.
    pub(super) fn new(date: &str, source: &str, providers: BTreeMap<String, Vec<Model>>) -> Self {
        ModelTable {
            format: FORMAT,
            date: date.to_owned(),
            source: source.to_owned(),
            providers,
        }
    }

    /// Reads a table.
    ///
    /// # Errors
    /// Why it is none, with line and column if it is not JSON.
    pub fn parse(json: &str) -> Result<Self, String> {
        let unread = Unread::of(json)?;
        let mut table = ModelTable::new(&unread.date, &unread.source, BTreeMap::new());
        for (name, list) in unread.providers {
            let at = list.get().as_ptr() as usize - json.as_ptr() as usize;
            let line = json[..at].lines().count();
            let models = models_in(list)
                .map_err(|why| format!("the models of {name:?}, from line {line} on: {why}"))?;
            table.providers.insert(name, models);
        }
        table.check()?;
        Ok(table)
    }

    /// Whether the table is within its limits.
    pub(super) fn check(&self) -> Result<(), String> {
        let count: usize = self.providers.values().map(Vec::len).sum();
        if count > MAX_MODELS || self.providers.keys().any(|name| name.len() > MAX_TEXT) {
            return Err(format!("it has more than {MAX_MODELS} models"));
        }
        if count == 0 {
            return Err("it has no models".to_owned());
        }
        self.providers.values().flatten().try_for_each(Model::check)
    }

    /// The date of a table in this text, without reading the models.
    pub(super) fn date_of(json: &str) -> Option<String> {
        Unread::of(json).ok().map(|table| table.date)
    }

    /// The models of one provider in the text of a table, without reading the others.
    pub(super) fn models_of(json: &str, provider: &str) -> Vec<Model> {
        let unread = Unread::of(json).ok();
        let list = unread.and_then(|table| table.providers.get(provider).copied());
        list.and_then(|list| models_in(list).ok())
            .unwrap_or_default()
    }

    /// The table as text, a model in each line.
    pub fn to_json(&self) -> String {
        let text = |value: &str| serde_json::Value::from(value).to_string();
        let lists: Vec<String> = (self.providers.iter())
            .map(|(name, models)| {
                let rows: Vec<String> = (models.iter())
                    .filter_map(|model| serde_json::to_string(model).ok())
                    .collect();
                format!("{}:[\n{}\n]", text(name), rows.join(",\n"))
            })
            .collect();
        format!(
            "{{\"format\":{},\"date\":{},\"source\":{},\"providers\":{{\n{}\n}}}}\n",
            text(FORMAT),
            text(&self.date),
            text(&self.source),
            lists.join(",\n")
        )
    }
}

/// The model with the longest name that is a prefix of this name. A dated or otherwise extended name means it.
pub(super) fn longest_prefix<'m>(models: &'m [Model], name: &str) -> Option<&'m Model> {
    let name = own_name(name);
    let is_prefix = |known: &&Model| {
        let known = own_name(&known.name);
        let Some((start, rest)) = name.split_at_checked(known.len()) else {
            return false;
        };
        let mut pairs = start.iter().zip(known);
        pairs.all(|(one, other)| folded(*one) == folded(*other))
            && rest.first().is_none_or(|next| b"-.:@".contains(next))
    };
    models
        .iter()
        .filter(is_prefix)
        .max_by_key(|known| known.name.len())
}

/// A model's name without the prefixes of single providers.
fn own_name(name: &str) -> &[u8] {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_prefix("databricks-").unwrap_or(name);
    name.as_bytes()
}

/// A byte of a model's name without the spelling of single providers. Names are read with every request, so this
/// makes no copy of them.
fn folded(byte: u8) -> u8 {
    match byte {
        b'.' => b'-',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests;
