//! The origin of reasoning that goes back only behind what it followed:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>

use crate::CompletionRequest;
use crate::conversation::{Content, Message, Role};
use crate::model_traits::ModelTraits;
use crate::request_form::RequestForm;
use crate::thinking_origin::origin;
use serde::Serialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

/// Which reasoning goes back: that of this endpoint and model, and of Claude what stands where it was made.
pub(crate) struct ReasoningBack<'f> {
    form: &'f RequestForm,
    bound: Option<BoundOrigin>,
    /// The origin of reasoning that is not bound.
    own: String,
}

impl<'f> ReasoningBack<'f> {
    /// Behind the system prompt and the tools of a request to this endpoint.
    pub(crate) fn new(request: &CompletionRequest<'_>, url: &str, form: &'f RequestForm) -> Self {
        let model = &request.model.model_name;
        let bound = ModelTraits::of(model).binds_thinking.then(|| {
            let mut bound = BoundOrigin(DefaultHasher::new());
            bound.add((url, model, request.system));
            for tool in request.tools {
                bound.add((&tool.name, &tool.description, tool.input_schema.get()));
            }
            bound
        });
        let own = origin(url, model);
        ReasoningBack { form, bound, own }
    }

    /// Reasoning goes back only where it was made.
    pub(crate) fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// The origin of reasoning that follows what was written so far.
    pub(crate) fn origin(&self) -> String {
        match &self.bound {
            Some(bound) => format!("{:016x}", bound.0.finish()),
            None => self.own.clone(),
        }
    }

    /// The origin of the reasoning in this message that goes back; `None` if none does.
    pub(crate) fn own_in(&self, message: &Message) -> Option<String> {
        let is_thought =
            |part: &Content| matches!(part, Content::Thinking(_) | Content::RedactedThinking(_));
        let has_any = message.content.iter().any(is_thought);
        let own = has_any.then(|| self.origin());
        own.filter(|own| !self.form.refused_thinking.contains(own))
    }

    /// Goes on behind a message, which is written as these blocks.
    pub(crate) fn passed(&mut self, message: &Message, blocks: &[impl Serialize]) {
        if let Some(bound) = &mut self.bound {
            bound.add(message.role == Role::User);
            // Writing to a hash does not fail, and the blocks are written once more for the request.
            let _ = serde_json::to_writer(bound, blocks);
        }
    }
}

/// A hash of all that stands before reasoning in a request.
struct BoundOrigin(DefaultHasher);

impl BoundOrigin {
    fn add(&mut self, part: impl Hash) {
        part.hash(&mut self.0);
    }
}

impl io::Write for BoundOrigin {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
