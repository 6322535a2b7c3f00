//! What a server tells its client outside of calls.

use crate::client::NotificationHandler;
use crate::jsonrpc::RawJson;
use gosling_text::json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A message of a server that needs no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// [`list_tools`](crate::Client::list_tools) would answer something else now.
    ToolsChanged,
    /// [`list_resources`](crate::Client::list_resources) would.
    ResourcesChanged,
    /// [`list_prompts`](crate::Client::list_prompts) would.
    PromptsChanged,
    /// A resource with this URI was changed.
    ResourceUpdated(String),
    /// A log message that belongs to no call, or to one without a callback for it.
    Log(LogMessage),
    /// Any other notification, also one whose parameters are wrong.
    Other {
        /// For example `notifications/progress`.
        method: String,
        /// The parameters.
        params: Option<RawJson>,
    },
}

/// A log message of a server. MCP 2025-11-25, server/utilities/logging.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
    pub level: String,
    /// What has written it.
    #[serde(default)]
    pub logger: Option<String>,
    /// The message: any JSON, often a text.
    pub data: RawJson,
}

impl Event {
    /// The event that a notification is.
    pub fn read(method: &str, params: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let text = params.map_or("{}", RawValue::get);
        let known = match method {
            "notifications/tools/list_changed" => Some(Event::ToolsChanged),
            "notifications/resources/list_changed" => Some(Event::ResourcesChanged),
            "notifications/prompts/list_changed" => Some(Event::PromptsChanged),
            "notifications/resources/updated" => {
                let updated = json::from_str(text).ok();
                updated.map(|Updated { uri }| Event::ResourceUpdated(uri))
            }
            "notifications/message" => json::from_str(text).ok().map(Event::Log),
            _ => None,
        };
        known.unwrap_or_else(|| Event::Other {
            method: method.to_owned(),
            params: params.map(ToOwned::to_owned),
        })
    }
}

/// Passes each notification to a callback as an event.
pub(super) struct EventCallback<F>(pub(super) F);

impl<F: Fn(Event) + Send + Sync> NotificationHandler for EventCallback<F> {
    fn notification(&self, method: &str, params: Option<&RawValue>, _: Option<i64>) {
        (self.0)(Event::read(method, params));
    }
}
