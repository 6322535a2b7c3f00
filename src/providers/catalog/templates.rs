//! The hosts of the catalog as templates for custom providers, for clients with a page for that.

use super::ProviderCatalog;
use super::current_table::today;
use super::model_table::Model;
use super::provider_rows::{LEFT_OUT, hosts};
use crate::provider_spec::{ProviderSpec, SettingRole};
use gosling_core::provider::catalog::{ProviderTemplate, TemplateCapabilities, TemplateModel};

impl ProviderCatalog {
    /// The templates of this build, by name.
    pub(super) fn host_templates(&self) -> Vec<ProviderTemplate> {
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
