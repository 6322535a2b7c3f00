//! Tests of the decoder and of the list of models, without a network.

mod requests;

use super::chat_decoder::ChatDecoder;
use super::{Endpoint, OpenAi};
use crate::conversation::{Content, Outcome};
use crate::decoder_testing::{self, decode_every_split, event_stream};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::{Decoder, Protocol};
use crate::{Completion, Error, ErrorClass, StopReason, ToolSpec, Usage};
use serde_json::json;

fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let tool = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: "d".into(),
        input_schema: serde_json::from_str(r#"{"type":"object","properties":{}}"#).unwrap(),
    };
    names.iter().map(tool).collect()
}

fn decoder() -> Box<dyn Decoder> {
    let names = ToolNames::of(&tools(&["a.b"]));
    Box::new(ChatDecoder::new(names, String::new()))
}

fn decode(pieces: &[&[u8]]) -> (String, Result<Completion, Error>) {
    decoder_testing::decode(decoder(), pieces)
}

/// The completion in short, without generated ids.
fn brief(completion: &Completion) -> Vec<String> {
    let part = |content: &Content| match content {
        Content::Text(text) => format!("text {}", text.text),
        Content::Reasoning(thought) => format!("reasoning {}", thought.text),
        Content::Image(image) => format!("image {} {}", image.mime_type, image.data),
        Content::ToolRequest(request) => {
            let id = if request.id.starts_with("call_") {
                "new"
            } else {
                &request.id
            };
            match &request.tool_call {
                Outcome::Success { value } => format!("{id} {} {}", value.name, value.arguments),
                Outcome::Error { error } => format!("{id} {error}"),
            }
        }
        other => format!("{other:?}"),
    };
    completion.content.iter().map(part).collect()
}

/// Decodes in every way, and checks that all agree.
fn everyhow(stream: impl AsRef<[u8]>) -> (String, Result<Completion, Error>) {
    let stream = stream.as_ref();
    let (heard, whole) = decode(&[stream]);
    let shown = |outcome: &Result<Completion, Error>| match outcome {
        Ok(completion) => (
            brief(completion),
            Some((completion.usage, completion.stop)),
            None,
        ),
        Err(error) => (Vec::new(), None, Some(error.clone())),
    };
    decode_every_split(decoder, stream, |heard_split, split| {
        assert_eq!(shown(&split), shown(&whole));
        assert_eq!(heard_split, heard);
    });
    (heard, whole)
}

fn chunk(delta: &str) -> String {
    format!("data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
}

fn finish(reason: &str) -> String {
    let choice = format!(r#"{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}"#);
    format!("data: {{\"id\":\"c1\",\"choices\":[{choice}]}}\n\n")
}

const DONE: &str = "data: [DONE]\n\n";

#[track_caller]
fn yields(deltas: &[&str], expected: &[&str]) -> Completion {
    let chunks: String = deltas.iter().map(|delta| chunk(delta)).collect();
    let (_, completion) = everyhow(&(chunks + &finish("stop") + DONE));
    let completion = completion.unwrap();
    assert_eq!(brief(&completion), expected);
    completion
}

#[test]
fn text_is_the_same_wherever_the_bytes_are_cut() {
    let stream = chunk(r#"{"role":"assistant","content":""}"#)
        + ": keep-alive\r\n\r\n"
        + &chunk(r#"{"content":"héllo \ud83d\ude00\n"}"#).replace('\n', "\r\n")
        + "event: other\ndata: {\"id\":\"c1\",\ndata: \"choices\":[{\"delta\":{\"content\":\"w\"}}]}\n\n"
        + &finish("stop")
        + "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n"
        + DONE;
    let (heard, completion) = everyhow(&stream);
    let completion = completion.unwrap();
    assert_eq!(brief(&completion), ["text héllo 😀\nw"]);
    assert_eq!(heard, "begin: c1\ntext: héllo 😀\nw");
    let usage = Usage {
        input: Some(3),
        output: Some(2),
        total: Some(5),
        ..Usage::default()
    };
    assert_eq!(
        (completion.usage, completion.stop),
        (usage, StopReason::Complete)
    );
}

#[test]
fn any_split_of_a_stream_gives_the_same_answer() {
    let stream = chunk(r#"{"reasoning_content":"hm \u00e9"}"#)
        + &chunk(r#"{"content":"é😀"}"#)
        + &chunk(
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":"}}]}"#,
        )
        + &chunk(r#"{"tool_calls":[{"index":1,"id":"y","function":{"name":"g","arguments":""}}]}"#)
        + &chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"é\"}"}}]}"#)
        + &finish("tool_calls")
        + DONE;
    let bytes = stream.as_bytes();
    // A small linear congruential generator: the same splits in every run.
    let mut seed = 1_u32;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    for _ in 0..2000 {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let most = 1 + next(40);
            let (piece, after) = rest.split_at((1 + next(most)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let (heard, completion) = decode(&pieces);
        let expected = ["reasoning hm é", "text é😀", r#"x f {"a":"é"}"#, "y g {}"];
        assert_eq!(brief(&completion.unwrap()), expected);
        assert_eq!(heard, "begin: c1\nthought: hm é\ntext: é😀");
    }
}

#[test]
fn calls_are_put_together_however_they_are_cut() {
    let one = |piece: &str| format!(r#"{{"tool_calls":[{piece}]}}"#);
    let by_index = [
        r#"{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}"#,
        r#"{"index":1,"id":"y","function":{"name":"g","arguments":"{\"b\""}}"#,
        r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
        r#"{"index":1,"function":{"arguments":":2}"}}"#,
    ]
    .map(one);
    let expected = [r#"x f {"a":1}"#, r#"y g {"b":2}"#];
    yields(&by_index.each_ref().map(String::as_str), &expected);
    for (pieces, expected) in [
        // The name in pieces, the id late.
        (
            vec![
                r#"{"index":0,"function":{"name":"fo"}}"#,
                r#"{"index":0,"id":"x","function":{"name":"o","arguments":"{"}}"#,
                r#"{"index":0,"id":"x","function":{"arguments":"}"}}"#,
            ],
            vec!["x foo {}"],
        ),
        // The id and the name repeated in every piece.
        (
            vec![
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}"#,
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}"#,
            ],
            vec!["x f {}"],
        ),
        // A new id for every piece.
        (
            vec![
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}"#,
                r#"{"index":0,"id":"x2","function":{"arguments":"}"}}"#,
            ],
            vec!["x f {}"],
        ),
        // Complete calls without an index, also without an id.
        (
            vec![
                r#"{"id":"x","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"id":"y","function":{"name":"f","arguments":"{\"a\":1}"}}"#,
                r#"{"function":{"name":"f","arguments":"{}"}}"#,
                r#"{"function":{"name":"f","arguments":"{}"}}"#,
            ],
            vec!["x f {}", r#"y f {"a":1}"#, "new f {}", "new f {}"],
        ),
        // The same index for all.
        (
            vec![
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":0,"id":"y","function":{"name":"g","arguments":"{}"}}"#,
                r#"{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#,
            ],
            vec!["x f {}", "y g {}", "new f {}", "new f {}"],
        ),
        // The same id for two calls; the turn gives one of them another id.
        (
            vec![
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}"#,
                r#"{"index":1,"id":"x","function":{"name":"f","arguments":"{}"}}"#,
            ],
            vec!["x f {}", "x f {}"],
        ),
        // Arguments as an object, as null, and not at all.
        (
            vec![
                r#"{"index":0,"id":"x","function":{"name":"f","arguments":{"a": 1e2}}}"#,
                r#"{"index":1,"id":"y","function":{"name":"f","arguments":null}}"#,
                r#"{"index":2,"id":"z","function":{"name":"f"}}"#,
            ],
            vec![r#"x f {"a": 1e2}"#, "y f {}", "z f {}"],
        ),
    ] {
        let pieces: Vec<String> = pieces.into_iter().map(one).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        yields(&pieces, &expected);
    }
}

#[test]
fn a_tool_whose_name_had_to_change_comes_back_as_itself() {
    let name = crate::tool_name_encoding::encode_tool_name("a.b").into_owned();
    let call = json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": name}}]});
    yields(&[&call.to_string()], &["x a.b {}"]);
}

#[test]
fn arguments_that_are_no_object_are_an_error_with_what_came() {
    let call = json!({"tool_calls": [{"index": 0, "id": "x",
        "function": {"name": "f", "arguments": "{\"a\": oops"}}]});
    let completion = yields(
        &[&call.to_string()],
        &[
            "x The arguments of the call to f are not a JSON object: they are not JSON (expected value at line 1 column 7)",
        ],
    );
    let Content::ToolRequest(request) = &completion.content[0] else {
        panic!();
    };
    let metadata = request.metadata.as_ref().unwrap();
    assert_eq!(metadata, &json!({"name": "f", "arguments": "{\"a\": oops"}));
}

#[test]
fn thoughts_refusals_images_and_parts_are_heard() {
    yields(&[r#"{"reasoning":"a","content":null}"#], &["reasoning a"]);
    yields(
        &[r#"{"reasoning":"a","reasoning_content":"a"}"#],
        &["reasoning a"],
    );
    yields(&[r#"{"content":null,"refusal":"no"}"#], &["text no"]);
    yields(
        &[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"x"}]}"#,
        ],
        &["reasoning t", "text x"],
    );
    yields(
        &[
            r#"{"content":"see","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"image_url":{"url":"https://elsewhere"}}]}"#,
        ],
        &["text see", "image image/png AAAA"],
    );
}

#[test]
fn an_answer_in_one_object_is_read_too() {
    let object = r#"
        {"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",
        "content":"a}\"","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},
        "finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}
    "#;
    let (heard, completion) = everyhow(object);
    let completion = completion.unwrap();
    assert_eq!(brief(&completion), ["text a}\"", "x f {}"]);
    assert_eq!(heard, "begin: c1\ntext: a}\"");
    assert_eq!(
        (completion.stop, completion.usage.output),
        (StopReason::Length, Some(2))
    );
}

#[test]
fn an_end_counts_if_it_was_said_either_way() {
    let text = chunk(r#"{"content":"a"}"#);
    for (end, stop) in [
        (DONE.to_owned(), StopReason::Complete),
        (finish("stop"), StopReason::Complete),
        (finish("length"), StopReason::Length),
        (finish("content_filter") + DONE, StopReason::Filtered),
    ] {
        let (_, completion) = everyhow(&(text.clone() + &end));
        assert_eq!(completion.unwrap().stop, stop);
    }
    for cut in [text.clone(), text + "data: {\"choi", String::new()] {
        let (_, completion) = decode(&[cut.as_bytes()]);
        assert_eq!(completion.unwrap_err().class, ErrorClass::Transport);
    }
}

#[test]
fn an_error_in_mid_stream_ends_the_answer_and_keeps_what_was_heard() {
    let text = chunk(r#"{"content":"a"}"#);
    for (error, class) in [
        (
            r#"{"error":{"message":"boom","code":502},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"object":"error","message":"boom","code":400}"#,
            ErrorClass::Refused,
        ),
        (
            r#"{"error":"boom, rate limit"}"#,
            ErrorClass::RateLimit { after: None },
        ),
    ] {
        let (heard, completion) = everyhow(format!("{text}event: error\ndata: {error}\n\n{DONE}"));
        let error = completion.unwrap_err();
        assert_eq!(error.class, class);
        assert!(error.message.contains("boom"), "{error}");
        assert_eq!(heard, "begin: c1\ntext: a");
    }
    let fine = "data: {\"error\":null,\"choices\":[]}\n\n".to_owned() + DONE;
    assert!(everyhow(&fine).1.is_ok());
}

#[test]
fn nonsense_is_told_from_a_broken_connection() {
    let (_, completion) = everyhow(event_stream(&[r#"{"choices":5}"#]));
    assert_eq!(completion.unwrap_err().class, ErrorClass::Protocol);
    let (_, completion) = everyhow(event_stream(&["nonsense"]));
    let error = completion.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protocol);
    assert!(error.message.contains("nonsense"), "{error}");
}

#[test]
fn bytes_that_are_no_text_do_not_lose_the_rest() {
    let stream = [
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}\n\n",
        DONE.as_bytes(),
    ]
    .concat();
    let (_, completion) = decode(&[&stream]);
    assert_eq!(brief(&completion.unwrap()), ["text a\u{fffd}b"]);
}

#[test]
fn endless_calls_are_cut_off() {
    let call = r#"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#;
    let (_, completion) = decode(&[chunk(call).repeat(1001).as_bytes()]);
    assert_eq!(completion.unwrap_err().class, ErrorClass::Protocol);
}

#[test]
fn an_answer_is_not_lost_because_its_count_of_tokens_is_none() {
    for (details, cached) in [
        (r#"{"cached_tokens":5}"#, Some(5)),
        ("null", None),
        ("[1]", None),
        (r#""none""#, None),
    ] {
        let counts = r#""prompt_tokens":7,"completion_tokens":-5,"total_tokens":1e300"#;
        let counts = format!(r#"{{{counts},"prompt_tokens_details":{details}}}"#);
        let usage = format!("data: {{\"choices\":[],\"usage\":{counts}}}\n\n");
        let stream = chunk(r#"{"content":"hi"}"#) + &usage + &finish("stop") + "data: [DONE]\n\n";
        let completion = everyhow(&stream).1.unwrap();
        assert_eq!(brief(&completion), ["text hi"]);
        let counted = &completion.usage;
        assert_eq!((counted.input, counted.output), (Some(7), None));
        assert_eq!(counted.cached, cached, "{details}");
    }
}

#[test]
fn the_list_of_models_is_read_in_its_common_shapes() {
    let openai = OpenAi::new(Endpoint::new("http://a", "http://b"));
    for list in [
        r#"{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}"#,
        r#"[{"id":"a"},{"id":"b","x":1}]"#,
    ] {
        assert_eq!(openai.parse_models(list.as_bytes()).unwrap(), ["a", "b"]);
    }
    let error = openai.parse_models(b"{}").unwrap_err();
    assert_eq!(error.class, ErrorClass::Protocol);
}

#[test]
fn models_that_need_responses_are_offered() {
    let all = [
        "gpt-4o",
        "gpt-5",
        "gpt-5-codex",
        "gpt-5.5",
        "o3-pro",
        "codex-mini-latest",
    ];
    let list = json!({"data": all.map(|id| json!({"id": id}))}).to_string();
    let openai = OpenAi::new(Endpoint::new(
        "https://api.openai.com/v1/chat/completions",
        "https://api.openai.com/v1/models",
    ));
    assert_eq!(openai.parse_models(list.as_bytes()).unwrap(), all);
}

#[test]
fn the_endpoint_is_found_from_what_the_file_names() {
    for (base, url) in [
        ("https://x.example", "https://x.example/v1/chat/completions"),
        (
            "https://x.example/v1",
            "https://x.example/v1/chat/completions",
        ),
        (
            "https://x.example/a/v1/chat/completions",
            "https://x.example/a/v1/chat/completions",
        ),
        (
            "https://x.example/v1/chat",
            "https://x.example/v1/chat/completions",
        ),
        (
            "https://x.example/v1/responses",
            "https://x.example/v1/responses",
        ),
    ] {
        assert_eq!(super::chat_url(base), url);
    }
    for base in [
        "https://x.example/v1",
        "https://x.example/v1/responses",
        "https://x.example/v1/chat/completions",
    ] {
        let url = (super::RESPONSES_PROTOCOL.url_in_file)(base);
        assert_eq!(url, "https://x.example/v1/responses");
    }
}
