//! The hosts of the catalog as templates for custom providers, for clients with a page for that.

use super::ProviderCatalog;
use super::current_table::today;
use super::model_table::Model;
use super::provider_rows::{LEFT_OUT, hosts};
use crate::json::to_value;
use crate::provider_spec::{ProviderSpec, SettingRole};
use serde::Serialize;
use serde_json::Value;

/// A host that speaks a wire protocol which a custom provider can have (`ProviderTemplate` of Goose's OpenAPI document
/// after 1.24).
#[derive(Debug, Serialize)]
struct ProviderTemplate {
    /// The name of the host's provider.
    id: &'static str,
    /// Its name for users.
    name: &'static str,
    /// The wire protocol: `openai` or `anthropic`.
    format: &'static str,
    /// The URL that a custom provider has.
    api_url: String,
    /// Its models.
    models: Vec<TemplateModel>,
    /// Always true.
    supports_streaming: bool,
    /// The variable with its key.
    env_var: &'static str,
    /// Where its models are documented.
    doc_url: &'static str,
}

/// A model of a template.
#[derive(Debug, Serialize)]
struct TemplateModel {
    /// The provider's name of it.
    id: String,
    /// The same.
    name: String,
    /// The context size in tokens.
    context_limit: u64,
    /// What it can do.
    capabilities: TemplateCapabilities,
    /// Whether it does not answer any more.
    deprecated: bool,
}

/// What a model can do.
#[derive(Debug, Serialize)]
struct TemplateCapabilities {
    /// It calls tools.
    tool_call: bool,
    /// It reasons.
    reasoning: bool,
    /// It sees images.
    attachment: bool,
    /// It takes a temperature.
    temperature: bool,
}

impl ProviderCatalog {
    /// The templates of this build, by name.
    pub(super) fn host_templates(&self) -> Vec<Value> {
        let known = hosts().iter().filter(|host| *host.protocol != LEFT_OUT);
        let mut templates: Vec<_> = known.filter_map(|host| self.template(host)).collect();
        let name = |template: &ProviderTemplate| template.name.to_lowercase();
        crate::sorting::sort_by(&mut templates, |a, b| name(a).cmp(&name(b)));
        let values = templates.iter().map(to_value);
        values.filter_map(Result::ok).collect()
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
            models: models.iter().map(template_model).collect(),
            supports_streaming: true,
            env_var: find(SettingRole::Key)?.name,
            doc_url: host.doc,
        })
    }
}

fn template_model(model: &Model) -> TemplateModel {
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
