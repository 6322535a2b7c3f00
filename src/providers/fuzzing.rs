//! Fuzz targets for the wire protocols: response streams, and tool schemas and tool results in requests.

use super::catalog::litellm_table::parse_any;
use super::catalog::model_table::{Model, ModelTable};
use super::decoder_testing;
use super::listed_limits::listed_limits;
use super::model_output::reject_truncated_call;
use super::openai;
use super::request_form::RequestForm;
use super::tool_result_conversion::{IMAGES, tool_output};
use super::wire_protocol::{Endpoint, Protocol, WireProtocol};
use super::{Completion, CompletionRequest, Error, ModelConfig, Purpose, ToolSpec};
use crate::conversation::{Content, Message, Outcome, Role, ToolCall, ToolRequest, ToolResponse};
use crate::json;
use gosling_core::mcp::types::CallToolResult;
use gosling_core::text;
#[cfg(test)]
use gosling_core::text::fuzz_input::check_seeds;
use gosling_core::text::fuzz_input::{Target, cuts, texts};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The nesting limit of a call's arguments.
const DEPTH: usize = 100;

/// A fuzz target: panics when a property does not hold for these bytes.
type Fuzz = fn(&[u8]);

macro_rules! protocols {
    ($($feature:literal => $module:ident, $fuzz:expr;)*) => {
        /// The wire protocols of this build, each with its fuzz target.
        pub(super) const PROTOCOLS: &[(&WireProtocol, Fuzz)] = &[
            (&openai::PROTOCOL, |input| {
                completion(&openai::PROTOCOL, false, input)
            }),
            // The parts of a response may grow in parallel, so text deltas need not come in the order of the content.
            (&openai::RESPONSES_PROTOCOL, |input| {
                completion(&openai::RESPONSES_PROTOCOL, true, input)
            }),
            $(
                #[cfg(feature = $feature)]
                (&super::$module::PROTOCOL, $fuzz),
            )*
        ];
    };
}

protocols! {
    "anthropic" => anthropic, |input| completion(&super::anthropic::PROTOCOL, true, input);
    "ollama" => ollama, |input| completion(&super::ollama::PROTOCOL, false, input);
    "bedrock" => bedrock, |input| {
        completion(&super::bedrock::PROTOCOL, true, input);
        let stream = super::bedrock::stream_of_lines(input);
        completion(&super::bedrock::PROTOCOL, true, &stream);
    };
    "vertex" => vertex, |input| completion(&super::vertex::PROTOCOL, true, input);
    "google" => google, |input| completion(&super::google::PROTOCOL, false, input);
}

/// The fuzz targets of the providers.
pub fn targets() -> impl Iterator<Item = Target> {
    let protocols = PROTOCOLS.iter();
    let protocols = protocols.map(|(wire, fuzz)| Target::new(wire.name, *fuzz, 600));
    protocols.chain([
        Target::new("catalog", catalog, 600),
        Target::new("tool_schema", tool_schema, 1000),
        Target::new("tool_result", tool_result, 1000),
    ])
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(&targets().collect::<Vec<_>>());
}

type Boxed = Box<dyn Protocol>;

fn connect(protocol: &WireProtocol) -> Boxed {
    let endpoint = Endpoint::new("http://h/v1/chat/completions", "http://h/v1/models");
    (protocol.connect)(endpoint)
}

/// Decoding gives the same completion for every split, the completion contains what the sink received, and
/// it can be sent back to the model.
fn completion(wire: &WireProtocol, mixes_parts: bool, input: &[u8]) {
    let protocol = connect(wire);
    let model = ModelConfig::default();
    let request = completion_request(&model, &[], &[]);
    let read = cuts(input).map(|pieces| {
        let (heard, mut completion) =
            decoder_testing::decode(protocol.decoder(&request, &RequestForm::default()), &pieces);
        if let Ok(completion) = &mut completion {
            reject_truncated_call(completion);
        }
        (heard, completion)
    });
    let [one, two, many] = read
        .each_ref()
        .map(|(heard, completion)| (heard, comparable(completion)));
    assert_eq!(one, two, "cut once");
    assert_eq!(one, many, "cut often");
    for status in [400, 429, 500] {
        let (_, words) = protocol.classify_failure(status, input);
        assert!(words.len() <= 500 + 6 * input.len());
    }
    if let Ok(models) = protocol.parse_models(input) {
        assert!(models.len() <= input.len());
    }
    let [(heard, Ok(completion)), ..] = read else {
        return;
    };
    check_deltas(&heard, &completion, mixes_parts);
    check_replay(&protocol, completion);
}

/// A completion or error as text, without the random ids of calls that had none.
fn comparable(completion: &Result<Completion, Error>) -> String {
    let completion = match completion {
        Err(error) => return format!("{error:?}"),
        Ok(completion) => completion,
    };
    let mut content = json::to_value(&completion.content).expect("content can be written");
    for part in content.as_array_mut().into_iter().flatten() {
        if let Some(id) = part.get_mut("id")
            && id.as_str().is_some_and(is_drawn)
        {
            *id = Value::Null;
        }
    }
    format!(
        "{:?} {:?} {:?} {content}",
        completion.id, completion.usage, completion.stop
    )
}

fn is_drawn(id: &str) -> bool {
    let digits = id.strip_prefix("call_");
    digits.is_some_and(|digits| digits.len() == 24 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn check_deltas(heard: &str, completion: &Completion, mixes_parts: bool) {
    let (mut texts, mut length) = (String::new(), 0);
    for part in &completion.content {
        match part {
            Content::Text(text) => {
                length += text.text.len();
                if !texts.is_empty() {
                    texts.push('\n');
                }
                texts += &text.text;
            }
            Content::ToolRequest(request) => {
                assert!(!request.id.is_empty(), "a call without an id");
                if let Outcome::Success { value } = &request.tool_call {
                    let arguments = value.arguments.get();
                    assert!(
                        !json::is_deeper_than(DEPTH, arguments.as_bytes()),
                        "deep arguments"
                    );
                    let read = json::from_str::<Map<String, Value>>(arguments);
                    read.expect("arguments are an object");
                }
            }
            _ => {}
        }
    }
    let deltas = heard.matches("text: ").count();
    assert!(
        length <= heard.len() && (length == 0 || deltas > 0),
        "{heard:?} {length}"
    );
    if !mixes_parts && !heard.contains('\n') && completion.content.len() == 1 {
        let only = heard.strip_prefix("text: ");
        assert!(only.is_none_or(|only| only == texts));
    }
}

/// Sends the completion back, with a response to each of its calls, as part of the next request.
fn check_replay(protocol: &Boxed, completion: Completion) {
    let responses = completion.content.iter().filter_map(|part| match part {
        Content::ToolRequest(request) => Some(Content::ToolResponse(ToolResponse {
            id: request.id.clone(),
            tool_result: Outcome::Success {
                value: CallToolResult::default(),
            },
            metadata: None,
        })),
        _ => None,
    });
    let responses = Message::new(Role::User, responses.collect());
    let completion = Message::new(Role::Assistant, completion.content);
    let question = Message::text(Role::User, "?");
    let mut messages = vec![&question];
    // The history contains no empty message.
    messages.extend(
        [&completion, &responses]
            .into_iter()
            .filter(|message| !message.content.is_empty()),
    );
    let model = ModelConfig::default();
    let outgoing = protocol.http_request(
        &completion_request(&model, &messages, &[]),
        &RequestForm::default(),
    );
    let outgoing = outgoing.unwrap_or_else(|error| panic!("it cannot be told again: {error:?}"));
    let body = outgoing.body.expect("a question has a body");
    json::from_slice::<&RawValue>(&body).expect("a question is JSON");
}

fn completion_request<'a>(
    model: &'a ModelConfig,
    messages: &'a [&'a Message],
    tools: &'a [ToolSpec],
) -> CompletionRequest<'a> {
    CompletionRequest {
        model,
        system: "",
        messages,
        tools,
        purpose: Purpose::Turn,
        input: 0,
    }
}

/// For any schema and name of an MCP server's tool the request is JSON, and the same each time.
fn tool_schema(input: &[u8]) {
    let [schema, name] = texts(input);
    let Ok(input_schema) = RawValue::from_string(schema) else {
        return;
    };
    let tools = [ToolSpec {
        description: name.clone(),
        name: format!("extension__{name}"),
        input_schema,
    }];
    let (model, question) = (ModelConfig::default(), Message::text(Role::User, "?"));
    let messages = [&question];
    for protocol in PROTOCOLS.iter().map(|(wire, _)| connect(wire)) {
        let body = || {
            let outgoing = protocol.http_request(
                &completion_request(&model, &messages, &tools),
                &RequestForm::default(),
            );
            let outgoing = outgoing.unwrap_or_else(|error| panic!("no question: {error:?}"));
            outgoing.body.expect("a question has a body")
        };
        let body = [body(), body()];
        assert!(body[0] == body[1], "the prompt cache would be cold");
        json::from_slice::<&RawValue>(&body[0]).expect("a question is JSON");
    }
}

/// A table of models that is read can be written and read again, and limits in a list of models make sense.
fn catalog(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(table) = parse_any(&text, "2026-11-26", |_| true) {
        let again = ModelTable::parse(&table.to_json()).expect("what is written can be read");
        let facts = |table: &ModelTable| -> Vec<(String, Vec<Model>)> {
            let lists = table.providers.iter();
            // Reading a price may change its last digit.
            let priceless = |model: &Model| Model {
                price: Vec::new(),
                ..model.clone()
            };
            lists
                .map(|(name, models)| (name.clone(), models.iter().map(priceless).collect()))
                .collect()
        };
        assert_eq!(facts(&again), facts(&table));
    }
    for (name, limits) in listed_limits(input) {
        assert!(!name.is_empty() && limits.window > 0);
        assert!(limits.output.is_none_or(|output| output <= limits.window));
    }
}

/// For any result of a tool the model gets text without hidden characters, in a request that is JSON.
fn tool_result(input: &[u8]) {
    let Ok(value) = json::from_slice::<CallToolResult>(input) else {
        return;
    };
    let tool_result = Outcome::Success { value };
    let tool_output = tool_output(&tool_result, &IMAGES);
    assert!(
        !tool_output.text.trim().is_empty(),
        "a model is told nothing"
    );
    text::fuzzing::nothing_hidden(&Value::String(tool_output.text));
    let call = ToolCall {
        name: "a__b".to_owned(),
        arguments: RawValue::from_string("{}".to_owned()).expect("it is JSON"),
    };
    let request = ToolRequest {
        id: "1".to_owned(),
        tool_call: Outcome::Success { value: call },
        metadata: None,
        meta: None,
    };
    let response = ToolResponse {
        id: "1".to_owned(),
        tool_result,
        metadata: None,
    };
    let messages = [
        Message::text(Role::User, "?"),
        Message::new(Role::Assistant, vec![Content::ToolRequest(request)]),
        Message::new(Role::User, vec![Content::ToolResponse(response)]),
    ];
    let messages: Vec<&Message> = messages.iter().collect();
    let model = ModelConfig::default();
    for protocol in PROTOCOLS.iter().map(|(wire, _)| connect(wire)) {
        let outgoing = protocol.http_request(
            &completion_request(&model, &messages, &[]),
            &RequestForm::default(),
        );
        let outgoing = outgoing.unwrap_or_else(|error| panic!("no question: {error:?}"));
        let body = outgoing.body.expect("a question has a body");
        let body: Value = json::from_slice(&body).expect("a question is JSON");
        text::fuzzing::nothing_hidden(&body);
    }
}
