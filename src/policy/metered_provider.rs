//! A provider whose models are asked only as far as the policy allows, and whose tokens are counted.
//!
//! Each request is judged, not only the choice of a model: that is how fast models, lead models and the requests of MCP
//! servers are judged, too, and how a policy that changes holds within a turn.

use crate::activity::{Activity, Caller, Entry};
use crate::conversation::Content;
use crate::live_policy::key_of;
use crate::provider::{
    Completion, CompletionRequest, DeltaSink, Error, ErrorClass, Provider, Usage,
};
use crate::quotas::Counts;
use crate::sys::cancel::Cancel;
use serde::Serialize;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

thread_local! {
    /// Whether this thread asks a metered provider. A lead model may use that of the session's own model, which is
    /// metered already.
    static IS_METERED: Cell<bool> = const { Cell::new(false) };
}

/// The bytes of a token, where the provider reports none.
const BYTES_PER_TOKEN: u64 = 4;

/// See the [module](self).
pub(crate) struct MeteredProvider {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) activity: Activity,
    /// Who has the model: the thread that asks it may be that of an MCP server.
    pub(crate) caller: Caller,
    pub(crate) counts: Arc<Counts>,
}

impl MeteredProvider {
    fn check(&self, model: &str) -> Result<(), Error> {
        let caller = Caller {
            denied: OnceLock::new(),
            ..self.caller.clone()
        };
        let (checked, denied) = caller.asks(|| {
            let checked = self.activity.check(&Entry {
                extension: self.provider.name(),
                subject: model,
                ..Entry::new("model_request", "")
            });
            (checked, Caller::current().denied.get().copied().flatten())
        });
        checked.map_err(|why| {
            let class = match denied {
                Some(seconds) => ErrorClass::RateLimit {
                    after: Some(Duration::from_secs(seconds)),
                },
                None => ErrorClass::Refused,
            };
            Error::new(class, why)
        })
    }
}

impl Provider for MeteredProvider {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        if IS_METERED.get() {
            return self.provider.complete(request, cancel, sink);
        }
        self.check(&request.model.model_name)?;
        IS_METERED.set(true);
        let reset = ResetOnDrop;
        let answer = self.provider.complete(request, cancel, sink);
        drop(reset);
        let tokens = match &answer {
            Ok(answer) => tokens(&answer.usage, request, &answer.content),
            Err(error) if may_have_worked(error.class) => tokens_of(request),
            Err(_) => 0,
        };
        self.counts.add_tokens(key_of(&self.caller), tokens);
        answer
    }

    fn uses_input_size(&self) -> bool {
        self.provider.uses_input_size()
    }

    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, Error> {
        self.provider.models(cancel)
    }
}

/// Ends the request of this thread, also if it panics.
struct ResetOnDrop;

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        IS_METERED.set(false);
    }
}

/// Whether a model may have read the request although there is no answer.
fn may_have_worked(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Cancelled | ErrorClass::Transport | ErrorClass::Timeout | ErrorClass::Protocol
    )
}

/// The tokens of an answer: as the provider reports them, else by its size.
fn tokens(usage: &Usage, request: &CompletionRequest<'_>, content: &[Content]) -> u64 {
    let input = usage.input.unwrap_or_else(|| tokens_of(request));
    let output = (usage.output).unwrap_or_else(|| size(&content) / BYTES_PER_TOKEN);
    let sum = input.saturating_add(output);
    sum.max(usage.total.unwrap_or_default())
}

/// The tokens of a request, by its size.
fn tokens_of(request: &CompletionRequest<'_>) -> u64 {
    let tools = request.tools.iter().map(|tool| {
        let texts = tool.name.len() + tool.description.len();
        texts + tool.input_schema.get().len()
    });
    let beside = request.system.len() + tools.sum::<usize>();
    let bytes = size(&request.messages).saturating_add(beside as u64);
    bytes / BYTES_PER_TOKEN
}

/// The size of something in JSON.
fn size(value: &impl Serialize) -> u64 {
    serde_json::to_vec(value).map_or(0, |json| json.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::{may_have_worked, tokens};
    use crate::conversation::{Content, Message, Role};
    use crate::provider::{CompletionRequest, ErrorClass, ModelConfig, Purpose, Usage};

    #[test]
    fn tokens_are_those_of_the_provider_else_by_size() {
        let config = ModelConfig::default();
        let message = Message::text(Role::User, "x".repeat(4000));
        let request = CompletionRequest {
            model: &config,
            system: "",
            messages: &[&message],
            tools: &[],
            purpose: Purpose::Turn,
            input: 0,
        };
        let usage = |input, output, total| Usage {
            input,
            output,
            total,
            ..Usage::default()
        };
        let content = vec![Content::text("y".repeat(400))];
        let count = |usage: Usage| tokens(&usage, &request, &content);
        assert_eq!(count(usage(Some(3), Some(4), None)), 7);
        assert_eq!(count(usage(Some(3), Some(4), Some(9))), 9);
        assert_eq!(count(usage(Some(u64::MAX), Some(4), None)), u64::MAX);
        assert!(count(usage(None, Some(4), None)) >= 1004);
        assert!(count(usage(Some(3), None, None)) >= 103);
        assert!(may_have_worked(ErrorClass::Cancelled));
        assert!(!may_have_worked(ErrorClass::Refused));
    }
}
