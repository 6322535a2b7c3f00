//! The Converse API of Amazon Bedrock, always as a stream of binary events.
//!
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>

mod aws;
mod aws_profile;
mod aws_region_and_key;
mod aws_role;
mod converse_decoder;
mod converse_request;
mod event_frames;
mod sigv4;
#[cfg(test)]
mod tests;

use super::anthropic::claude_effort;
use super::body_fields::with_parameters;
use super::catalog::vendor_settings;
use super::credentials::CredentialsSpec;
use super::provider_spec::{ProviderSpec, hosted};
use super::request_form::RequestForm;
use super::server_url::base_url;
use super::thinking_effort::EffortParams;
use super::tool_name_encoding::ToolNames;
use super::tool_schema::SchemaRules;
use super::wire_protocol::{Decoder, Endpoint, HttpRequest, Protocol, WireProtocol};
use super::{CompletionRequest, Error, ErrorClass, classify_error};
use converse_decoder::ConverseDecoder;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use sigv4::UNRESERVED;

/// The request parameters that are fields of the API; the model gets all others.
const API_FIELDS: [&str; 8] = [
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "inferenceConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
];

pub(super) static PROTOCOL: WireProtocol = WireProtocol {
    name: "bedrock",
    key_header: None,
    base_url,
    endpoint_url: |base, _| base.to_owned(),
    url_in_file: str::to_owned,
    requires_output_limit: false,
    connect: |server| Box::new(Bedrock { server }),
};

static CREDENTIALS: CredentialsSpec = CredentialsSpec {
    url: Some(
        |parameters| match parameters.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME") {
            Some(url) => Ok(url.trim_end_matches('/').to_owned()),
            None => {
                let region = aws_region_and_key::region(parameters)?;
                let domain = aws_region_and_key::domain(&region);
                Ok(format!("https://bedrock-runtime.{region}.{domain}"))
            }
        },
    ),
    ways: &[],
    login: None,
    connect: |parameters, _, offline| aws::connect("bedrock", parameters, offline),
};

/// Those of Claude, the strictest of its models.
static RULES: SchemaRules = SchemaRules {
    max_tools: usize::MAX,
    property_names: Some(("_.-", 64)),
};

pub(super) static VENDOR: ProviderSpec = ProviderSpec {
    name: "aws_bedrock",
    title: "Amazon Bedrock",
    description: "Models of many vendors in one's own account of AWS",
    credentials: Some(&CREDENTIALS),
    lists_models: false,
    families: &["us.anthropic.claude-sonnet-*"],
    doc: "https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html",
    settings: vendor_settings::BEDROCK,
    ..hosted(&PROTOCOL)
};

/// A server with this protocol.
struct Bedrock {
    server: Endpoint,
}

impl Protocol for Bedrock {
    fn http_request(
        &self,
        request: &CompletionRequest<'_>,
        form: &RequestForm,
    ) -> serde_json::Result<HttpRequest> {
        let (body, _) = converse_request::body(request, &self.server.url, form);
        let params = request.model.request_params.as_ref();
        let bytes = with_parameters(&body, params, form, set)?;
        let model = utf8_percent_encode(&request.model.model_name, UNRESERVED);
        let path = format!("/model/{model}/converse-stream");
        Ok(self.server.request(&path, Some(bytes)))
    }

    fn schema_rules(&self) -> &'static SchemaRules {
        &RULES
    }

    fn effort_params(&self) -> (EffortParams, &str) {
        let params: EffortParams = |url, model, effort| {
            if model.contains("claude-") {
                claude_effort(url, model, effort)
            } else {
                Value::Null
            }
        };
        (params, &self.server.url)
    }

    fn decoder(&self, request: &CompletionRequest<'_>, form: &RequestForm) -> Box<dyn Decoder> {
        let (_, origin) = converse_request::body(request, &self.server.url, form);
        Box::new(ConverseDecoder::new(ToolNames::of(request.tools), origin))
    }

    fn classify_failure(&self, status: u16, body: &[u8]) -> (ErrorClass, String) {
        let (_, words) = classify_error::classify_body(status, body);
        (error(status, "", &words).class, words)
    }

    /// Not called, because the provider does not list its models.
    fn models_request(&self) -> HttpRequest {
        self.server.request("/foundation-models", None)
    }

    fn parse_models(&self, _: &[u8]) -> Result<Vec<String>, Error> {
        Err(Error::protocol("this provider does not list its models"))
    }
}

/// Sets a field of the API, of which two objects are merged, or one that the model gets.
fn set(body: &mut Value, name: &str, value: &Value) {
    if !API_FIELDS.contains(&name) {
        return set(body, "additionalModelRequestFields", &json!({name: value}));
    }
    match (body.get_mut(name), value) {
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
        _ => body[name] = value.clone(),
    }
}

/// An error of the service: `kind` is its exception, `status` is 0 for one in the stream.
fn error(status: u16, kind: &str, words: &str) -> Error {
    let kind = kind.to_ascii_lowercase();
    let is = |name: &str| kind.starts_with(name);
    let class = if status == 429 || is("throttling") || is("servicequotaexceeded") {
        ErrorClass::RateLimit { after: None }
    } else if is("accessdenied") || is("expiredtoken") || is("unrecognizedclient") {
        ErrorClass::Authentication
    } else if is("validation") || is("resourcenotfound") {
        classify_error::classify(400, &kind, words)
    } else if status == 424 || is("model") || is("internalserver") || is("serviceunavailable") {
        ErrorClass::Server
    } else {
        classify_error::classify(status, &kind, words)
    };
    let words = if words.is_empty() { &kind } else { words };
    Error::new(class, words)
}

/// A body of events for fuzzing: one for each line, the event's name up to the first space and then its JSON.
#[cfg(any(test, fuzzing))]
pub(super) fn stream_of_lines(input: &[u8]) -> Vec<u8> {
    let lines = input.split(|byte| *byte == b'\n');
    let frames = lines.map(|line| {
        let at = line.iter().position(|byte| *byte == b' ');
        let (name, payload) = line.split_at(at.unwrap_or(line.len()));
        let name = String::from_utf8_lossy(&name[..name.len().min(80)]);
        let kind = if name.ends_with("Exception") {
            [(":message-type", "exception"), (":exception-type", &*name)]
        } else {
            [(":message-type", "event"), (":event-type", &*name)]
        };
        event_frames::write_frame(&kind, payload)
    });
    frames.flatten().collect()
}
