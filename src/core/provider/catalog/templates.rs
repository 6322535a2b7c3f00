//! The hosts of the catalog as templates for custom providers, for clients with a page for that.

use super::Catalog;
use super::current_table::today;
use super::model_table::Model;
use super::provider_rows::{LEFT_OUT, hosts};
use crate::provider::provider_spec::{ProviderSpec, SettingRole};
use serde::Serialize;

/// A host that speaks a wire protocol which a custom provider can have (`ProviderTemplate` of Goose's OpenAPI document
/// after 1.24).
#[derive(Debug, Serialize)]
pub struct ProviderTemplate {
    /// The name of the host's provider.
    pub id: &'static str,
    /// Its name for users.
    pub name: &'static str,
    /// The wire protocol: `openai` or `anthropic`.
    pub format: &'static str,
    /// The URL that a custom provider has.
    pub api_url: String,
    /// Its models.
    pub models: Vec<TemplateModel>,
    /// Always true.
    pub supports_streaming: bool,
    /// The variable with its key.
    pub env_var: &'static str,
    /// Where its models are documented.
    pub doc_url: &'static str,
}

/// A model of a template.
#[derive(Debug, Serialize)]
pub struct TemplateModel {
    /// The provider's name of it.
    pub id: String,
    /// The same.
    pub name: String,
    /// The context size in tokens.
    pub context_limit: u64,
    /// What it can do.
    pub capabilities: TemplateCapabilities,
    /// Whether it does not answer any more.
    pub deprecated: bool,
}

/// What a model can do.
#[derive(Debug, Serialize)]
pub struct TemplateCapabilities {
    /// It calls tools.
    pub tool_call: bool,
    /// It reasons.
    pub reasoning: bool,
    /// It sees images.
    pub attachment: bool,
    /// It takes a temperature.
    pub temperature: bool,
}

impl Catalog {
    /// The templates of this build, by name.
    pub fn templates(&self) -> Vec<ProviderTemplate> {
        let known = hosts().iter().filter(|host| *host.protocol != LEFT_OUT);
        let mut templates: Vec<_> = known.filter_map(|host| self.template(host)).collect();
        templates.sort_by_key(|template| template.name.to_lowercase());
        templates
    }

    /// `None` if the host has no address of its own.
    fn template(&self, host: &ProviderSpec) -> Option<ProviderTemplate> {
        let find = |role| host.settings.iter().find(|setting| setting.role == role);
        let base = find(SettingRole::Host)?.default?;
        let set = find(SettingRole::Path).and_then(|setting| setting.default);
        let fixed = Some(host.path).filter(|path| !path.is_empty());
        let path = set.or(fixed).unwrap_or_default();
        let path = path.strip_suffix("chat/completions").unwrap_or(path);
        let models = self.facts.tables.of(host.table_name());
        Some(ProviderTemplate {
            id: host.name,
            name: host.title,
            format: host.protocol.name,
            api_url: format!("{base}/{path}").trim_end_matches('/').to_owned(),
            models: models.iter().map(TemplateModel::of).collect(),
            supports_streaming: true,
            env_var: find(SettingRole::Key)?.name,
            doc_url: host.doc,
        })
    }
}

impl TemplateModel {
    fn of(model: &Model) -> Self {
        TemplateModel {
            id: model.name.clone(),
            name: model.name.clone(),
            context_limit: model.window,
            capabilities: TemplateCapabilities {
                tool_call: model.tools,
                reasoning: model.thinking,
                attachment: model.images,
                temperature: !model.thinking,
            },
            deprecated: model.is_retired(&today()),
        }
    }
}
