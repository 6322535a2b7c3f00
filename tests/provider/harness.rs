//! A completion request, and a sink that records what it receives.

use gosling::conversation::{Content, Message, Outcome, Role, ToolRequest};
use gosling::provider::{
    Completion, CompletionRequest, DeltaSink, Error, ModelConfig, Provider, Purpose, ToolSpec,
};
use gosling::providers::{Endpoint, HttpProvider, HttpProviderOptions};
use gosling::sys::cancel::Cancel;
use std::time::Duration;

/// The key, which must not appear in an error.
pub const KEY: &str = "sk-very-secret-key";

/// The deltas and retries that the sink received, in order.
#[derive(Debug, Default, PartialEq)]
pub struct RecordingSink {
    pub all: Vec<String>,
    pub retries: Vec<(u32, Duration, String)>,
    pub notices: Vec<String>,
}

impl DeltaSink for RecordingSink {
    fn begin(&mut self, id: Option<&str>) {
        self.all.push(format!("begin {}", id.unwrap_or("-")));
    }

    fn text(&mut self, text: &str) {
        self.all.push(format!("text {text}"));
    }

    fn reasoning(&mut self, text: &str) {
        self.all.push(format!("reasoning {text}"));
    }

    fn retry(&mut self, attempt: u32, wait: Duration, reason: &Error) {
        self.retries.push((attempt, wait, reason.message.clone()));
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
}

impl RecordingSink {
    /// All text, whatever the pieces were.
    pub fn text(&self) -> String {
        let pieces = self
            .all
            .iter()
            .filter_map(|line| line.strip_prefix("text "));
        pieces.collect()
    }
}

/// A provider with chat completions at this URL, with the key.
pub fn openai(url: &str) -> HttpProvider {
    with(url, |_| {}, Duration::from_secs(20))
}

pub fn with(url: &str, change: impl FnOnce(&mut Endpoint), timeout: Duration) -> HttpProvider {
    let mut options = Endpoint::new(
        format!("{url}/v1/chat/completions"),
        format!("{url}/v1/models"),
    );
    options.headers = vec![("Authorization".into(), format!("Bearer {KEY}"))];
    change(&mut options);
    let remote = HttpProviderOptions {
        timeout,
        key_hint: "set EXAMPLE_API_KEY".into(),
        ..HttpProviderOptions::new("Example")
    };
    HttpProvider::openai("example", options, remote)
}

/// The parts of a completion request.
pub struct Question {
    pub model: ModelConfig,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    /// The estimated number of input tokens.
    pub input: u64,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            model: ModelConfig {
                model_name: "m".into(),
                ..ModelConfig::default()
            },
            system: "be brief".into(),
            messages: vec![Message::text(Role::User, "hello")],
            tools: Vec::new(),
            input: 0,
        }
    }
}

impl Question {
    pub fn ask(&self, provider: &dyn Provider) -> (Result<Completion, Error>, RecordingSink) {
        self.ask_until(provider, &Cancel::new())
    }

    pub fn ask_until(
        &self,
        provider: &dyn Provider,
        cancel: &Cancel,
    ) -> (Result<Completion, Error>, RecordingSink) {
        let messages: Vec<&Message> = self.messages.iter().collect();
        let ask = CompletionRequest {
            model: &self.model,
            system: &self.system,
            messages: &messages,
            tools: &self.tools,
            purpose: Purpose::Turn,
            input: self.input,
        };
        let mut recorded = RecordingSink::default();
        let answer = provider.complete(&ask, cancel, &mut recorded);
        (answer, recorded)
    }
}

/// A tool with this name.
pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "a tool".into(),
        input_schema: serde_json::from_str("{}").unwrap(),
    }
}

/// The content in short: `text …`, `call NAME ID ARGUMENTS`.
pub fn brief(answer: &Completion) -> Vec<String> {
    answer.content.iter().map(part).collect()
}

fn part(content: &Content) -> String {
    match content {
        Content::Text(text) => format!("text {}", text.text),
        Content::Reasoning(thought) => format!("reasoning {}", thought.text),
        Content::Image(image) => format!("image {} {}", image.mime_type, image.data),
        Content::ToolRequest(request) => call(request),
        other => format!("{other:?}"),
    }
}

fn call(request: &ToolRequest) -> String {
    match &request.tool_call {
        Outcome::Success { value } => {
            format!("call {} {} {}", value.name, request.id, value.arguments)
        }
        Outcome::Error { error } => format!("bad call {}: {error}", request.id),
    }
}
