//! The body of a request, serialized directly from the conversation.

use super::reasoning_signature::ReasoningSignature;
use crate::body_fields::BodyFields;
use crate::conversation::{Content, Message, Role, Thinking};
use crate::message_parts::{as_data_url, as_text, users_text};
use crate::model_output::replayed_call;
use crate::request_form::{ENCRYPTED_CONTENT, RequestForm, SUMMARY};
use crate::thinking_origin::is_own;
use crate::tool_name_encoding::encode_tool_name;
use crate::tool_result_conversion::hash64;
use crate::tool_result_conversion::{IMAGES, ImageData, tool_output, users_image};
use crate::wire_protocol::Endpoint;
use crate::{CompletionRequest, ToolSpec};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest id of a call that the API accepts, in bytes.
const MAX_CALL_ID: usize = 64;
/// The least limit on output that the API accepts, in tokens.
const MIN_OUTPUT: u64 = 16;
/// The parameter of chat completions that is a field of `reasoning` here.
const EFFORT: &str = "reasoning_effort";

/// The JSON text of the body. Reasoning goes back if its origin is `own`.
pub(crate) fn body(
    endpoint: &Endpoint,
    request: &CompletionRequest<'_>,
    form: &RequestForm,
    own: &str,
) -> serde_json::Result<Vec<u8>> {
    let body = Body {
        own,
        endpoint,
        request,
        form,
    };
    serde_json::to_vec(&body)
}

struct Body<'a> {
    own: &'a str,
    endpoint: &'a Endpoint,
    request: &'a CompletionRequest<'a>,
    form: &'a RequestForm,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (request, form) = (self.request, self.form);
        let model = request.model;
        let params = model.request_params.as_ref();
        let mut fields = BodyFields::new(s.serialize_map(None)?, params, form);
        fields.write("model", self.endpoint.model(&model.model_name))?;
        if !request.system.is_empty() {
            fields.write("instructions", request.system)?;
        }
        fields.write("input", self.input())?;
        if !request.tools.is_empty() {
            let tools: Vec<Tool<'_>> = request.tools.iter().map(Tool::new).collect();
            fields.write("tools", tools)?;
        }
        if self.endpoint.stream {
            fields.write("stream", true)?;
        }
        fields.write("store", false)?;
        let reasons = self.form.traits_of(&model.model_name).reasons;
        if reasons {
            fields.write("include", ["reasoning.encrypted_content"])?;
        }
        let effort = params.and_then(|params| params.get(EFFORT));
        // Without reasoning there is nothing to sum up.
        let has_summary = reasons && form.accepts(SUMMARY) && effort.is_none_or(|it| it != "none");
        let reasoning = Reasoning {
            effort: effort.filter(|_| form.accepts(EFFORT)),
            summary: has_summary.then_some("auto"),
        };
        if reasoning.effort.is_some() || reasoning.summary.is_some() {
            fields.write("reasoning", reasoning)?;
        }
        if let Some(temperature) = model.temperature
            && !reasons
        {
            fields.write("temperature", temperature)?;
        }
        if let Some(max) = model.max_tokens {
            fields.write("max_output_tokens", max.max(MIN_OUTPUT))?;
        }
        fields.end(&[EFFORT])
    }
}

#[derive(Serialize)]
struct Reasoning<'a> {
    /// As the user sets it for chat completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// One item of the input.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: Vec<Part<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: Cow<'a, RawValue>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    Reasoning {
        id: Cow<'a, str>,
        summary: Vec<Part<'a>>,
        encrypted_content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    OutputText {
        text: Cow<'a, str>,
    },
    SummaryText {
        text: Cow<'a, str>,
    },
    InputImage {
        #[serde(serialize_with = "as_data_url")]
        image_url: ImageData<'a>,
        detail: &'static str,
    },
}

/// A tool, without the object around the function that chat completions have.
#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a RawValue,
    strict: bool,
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        Tool {
            r#type: "function",
            name: encode_tool_name(&tool.name),
            description: &tool.description,
            parameters: &tool.input_schema,
            // Strict schemas require all properties, which those of MCP servers do not.
            strict: false,
        }
    }
}

impl<'a> Body<'a> {
    fn input(&self) -> Vec<Item<'a>> {
        let request = self.request;
        let own = Some(self.own).filter(|_| self.form.accepts(ENCRYPTED_CONTENT));
        let mut items = Vec::with_capacity(request.messages.len());
        for message in request.messages {
            match message.role {
                Role::User => user(message, &mut items),
                Role::Assistant => assistant(message, own, &mut items),
            }
        }
        items
    }
}

/// The results of calls come before the rest of the user's message.
fn user<'a>(message: &'a Message, items: &mut Vec<Item<'a>>) {
    for response in message.tool_responses() {
        let tool_output = tool_output(&response.tool_result, &IMAGES);
        let text = tool_output.text;
        let output = if tool_output.images.is_empty() {
            Output::Text(text)
        } else {
            let text = Part::InputText { text: text.into() };
            let images = tool_output.images.into_iter().map(image_part);
            Output::Parts(std::iter::once(text).chain(images).collect())
        };
        let call_id = call_id(&response.id);
        items.push(Item::FunctionCallOutput { call_id, output });
    }
    let content: Vec<Part<'a>> = message.content.iter().filter_map(user_part).collect();
    if !content.is_empty() {
        let role = Role::User;
        items.push(Item::Message { role, content });
    }
}

fn user_part(content: &Content) -> Option<Part<'_>> {
    match content {
        Content::Text(text) => {
            let shown = users_text(text).filter(|text| !text.is_empty());
            shown.map(|text| Part::InputText { text: text.into() })
        }
        Content::Image(image) | Content::Audio(image) => {
            let replaced = |words: String| Part::InputText { text: words.into() };
            users_image(image, &IMAGES).map(|image| image.map_or_else(replaced, image_part))
        }
        _ => None,
    }
}

fn image_part(image_url: ImageData<'_>) -> Part<'_> {
    let detail = "auto";
    Part::InputImage { image_url, detail }
}

/// Reasoning belongs to the text or the call after it, and the API refuses it without one.
fn assistant<'a>(message: &'a Message, own: Option<&str>, items: &mut Vec<Item<'a>>) {
    let mut thoughts = Vec::new();
    for content in &message.content {
        let item = match content {
            Content::Thinking(thought) => {
                thoughts.extend(own.and_then(|own| reasoning_item(thought, own)));
                continue;
            }
            Content::Text(text) if !text.text.is_empty() => {
                let text = text.text.as_str().into();
                Item::Message {
                    role: Role::Assistant,
                    content: vec![Part::OutputText { text }],
                }
            }
            Content::ToolRequest(request) => {
                let (name, arguments) = replayed_call(request);
                Item::FunctionCall {
                    call_id: call_id(&request.id),
                    name: encode_tool_name(name),
                    arguments,
                }
            }
            _ => continue,
        };
        items.append(&mut thoughts);
        items.push(item);
    }
}

fn reasoning_item<'a>(thought: &'a Thinking, own: &str) -> Option<Item<'a>> {
    if !is_own(thought.origin.as_deref(), own) {
        return None;
    }
    let signature = ReasoningSignature::parse(&thought.signature)?;
    let summary = Some(thought.thinking.as_str()).filter(|text| !text.is_empty());
    let summary = summary.map(|text| Part::SummaryText { text: text.into() });
    Some(Item::Reasoning {
        id: signature.id,
        summary: summary.into_iter().collect(),
        encrypted_content: signature.encrypted_content,
    })
}

/// An id that the API accepts. Those of other providers may be longer.
fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= MAX_CALL_ID {
        return id.into();
    }
    format!("call_{:016x}", hash64(id.bytes())).into()
}
