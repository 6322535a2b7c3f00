//! The body of a request of the Gemini API.

use super::{CALL_ID, SIGNATURE, TextSignature, gemini_schema};
use crate::conversation::{Content, Role, Text, ToolRequest, ToolResponse};
use crate::gemini_signatures::{FOREIGN_SIGNATURE, needs_signatures};
use crate::message_parts::users_text;
use crate::model_output::replayed_call;
use crate::thinking_origin::is_own;
use crate::tool_name_encoding::encode_tool_name;
use crate::tool_result_conversion::{ImageData, tool_output, users_image};
use crate::{CompletionRequest, ToolSpec};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The image types that Gemini accepts: <https://ai.google.dev/gemini-api/docs/image-understanding>.
/// Images and audio.
/// <https://ai.google.dev/gemini-api/docs/audio#supported-formats>
const MEDIA: [&str; 11] = [
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/wav",
    "audio/mpeg",
    "audio/aiff",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
];

/// The body of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    contents: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Generation::is_empty")]
    generation_config: Generation,
}

#[derive(Serialize)]
struct System<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind<'a> {
    Text(Cow<'a, str>),
    InlineData(Blob<'a>),
    FunctionCall(Call<'a>),
    FunctionResponse(Response<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: Cow<'a, str>,
    data: Cow<'a, str>,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Output(String),
    Error(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Function<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
}

impl Generation {
    fn is_empty(&self) -> bool {
        self.temperature.is_none() && self.max_output_tokens.is_none()
    }
}

/// The body of a request to `origin`, without the user's own parameters.
pub(super) fn body<'a>(request: &CompletionRequest<'a>, origin: &str) -> Body<'a> {
    let model = request.model;
    let system = (!request.system.trim().is_empty()).then(|| System {
        parts: vec![text(request.system)],
    });
    let tools = match request.tools {
        [] => Vec::new(),
        tools => vec![Tools {
            function_declarations: tools.iter().map(function).collect(),
        }],
    };
    Body {
        system_instruction: system,
        contents: turns(request, origin, needs_signatures(&model.model_name)),
        tools,
        generation_config: Generation {
            temperature: model.temperature,
            max_output_tokens: model.max_tokens.map(|wanted| request.cap_output(wanted)),
        },
    }
}

fn function(spec: &ToolSpec) -> Function<'_> {
    Function {
        name: encode_tool_name(&spec.name),
        description: &spec.description,
        parameters_json_schema: gemini_schema::parameters(spec.input_schema.get()),
    }
}

/// The messages, with adjacent messages of one role merged. Texts that `origin` signed get their signature. With
/// `sign_calls` the first call of each message gets one.
fn turns<'a>(request: &CompletionRequest<'a>, origin: &str, sign_calls: bool) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    // A result contains the function's name; the conversation has only the id.
    let mut calls: HashMap<&str, &ToolRequest> = HashMap::new();
    for message in request.messages {
        let mut parts = Vec::new();
        for content in &message.content {
            match content {
                Content::Text(part) => {
                    let shown = users_text(part).filter(|text| !text.is_empty());
                    parts.extend(shown.map(|shown| Part {
                        thought_signature: text_signature(part, origin),
                        ..text(shown)
                    }));
                }
                Content::Image(image) | Content::Audio(image) => {
                    let replaced = |words: String| Kind::Text(words.into()).into();
                    let image = users_image(image, &MEDIA);
                    parts.extend(image.map(|image| image.map_or_else(replaced, image_part)));
                }
                Content::ToolRequest(request) => {
                    calls.insert(&request.id, request);
                    parts.push(call(request));
                }
                Content::ToolResponse(tool_response) => response(tool_response, &calls, &mut parts),
                _ => {}
            }
        }
        if sign_calls && message.role == Role::Assistant {
            sign_first_call(&mut parts);
        }
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(turn) if turn.role == role => turn.parts.extend(parts),
            _ => turns.push(Turn { role, parts }),
        }
    }
    // A user message must come before a call.
    if turns.first().is_some_and(|turn| turn.role == "model") {
        let parts = vec![text("Continue.")];
        turns.insert(
            0,
            Turn {
                role: "user",
                parts,
            },
        );
    }
    turns
}

/// Adds the signature for foreign calls to the first of parallel calls; the others need none.
fn sign_first_call(parts: &mut [Part<'_>]) {
    let is_call = |part: &&mut Part<'_>| matches!(part.kind, Kind::FunctionCall(_));
    if let Some(first) = parts.iter_mut().find(is_call) {
        let foreign = || FOREIGN_SIGNATURE.into();
        first.thought_signature.get_or_insert_with(foreign);
    }
}

impl<'a> From<Kind<'a>> for Part<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Part {
            kind,
            thought_signature: None,
        }
    }
}

fn text_signature<'a>(text: &'a Text, own: &str) -> Option<Cow<'a, str>> {
    let signed: TextSignature<'_> = crate::json::from_str(text.meta.as_ref()?.get()).ok()?;
    is_own(Some(&signed.origin), own).then_some(signed.thought_signature)
}

fn text(text: &str) -> Part<'_> {
    Kind::Text(text.into()).into()
}

fn image_part(image: ImageData<'_>) -> Part<'_> {
    Kind::InlineData(Blob {
        mime_type: image.mime_type,
        data: image.data,
    })
    .into()
}

fn kept<'a>(request: &'a ToolRequest, name: &str) -> Option<&'a str> {
    request.metadata.as_ref()?.get(name)?.as_str()
}

fn call(request: &ToolRequest) -> Part<'_> {
    let (name, args) = replayed_call(request);
    let call = Kind::FunctionCall(Call {
        id: kept(request, CALL_ID),
        name: encode_tool_name(name),
        args,
    });
    Part {
        kind: call,
        thought_signature: kept(request, SIGNATURE).map(Cow::from),
    }
}

fn response<'a>(
    tool_response: &'a ToolResponse,
    calls: &HashMap<&str, &'a ToolRequest>,
    parts: &mut Vec<Part<'a>>,
) {
    let tool_output = tool_output(&tool_response.tool_result, &MEDIA);
    let request = calls.get(tool_response.id.as_str()).copied();
    let response = Response {
        id: request.and_then(|request| kept(request, CALL_ID)),
        name: encode_tool_name(request.map_or("unknown", |request| replayed_call(request).0)),
        response: if tool_output.failed {
            Outcome::Error(tool_output.text)
        } else {
            Outcome::Output(tool_output.text)
        },
    };
    // Results come first in the message, in their order.
    let is_response = |part: &Part<'_>| matches!(part.kind, Kind::FunctionResponse(_));
    let at = parts.iter().take_while(|part| is_response(part)).count();
    parts.insert(at, Kind::FunctionResponse(response).into());
    parts.extend(tool_output.images.into_iter().map(image_part));
}
