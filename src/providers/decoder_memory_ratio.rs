//! How much memory the decoders of model responses need, see `gosling_testing::memory_ratio`.

use super::decoder_testing::decode;
use super::fuzzing::PROTOCOLS;
use super::request_form::RequestForm;
use super::wire_protocol::Endpoint;
use super::{CompletionRequest, ModelConfig, Purpose};
use gosling_testing::memory_ratio::{at_most, filled};

const SIZE: usize = 1 << 20;

#[test]
fn memory_ratio_of_models() {
    let model = ModelConfig::default();
    let request = CompletionRequest {
        model: &model,
        system: "",
        messages: &[],
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    let call = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#;
    let streams = [
        filled(SIZE, "data: {\"choices\":[", "{},", "{}]}\n\n"),
        filled(SIZE, "data: {\"error\":[", "0,", "0]}\n\n"),
        filled(SIZE, "data: {\"error\":{\"message\":[", "[0],", "0]}}\n\n"),
        filled(
            SIZE,
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[",
            &format!("{call},"),
            &format!("{call}]}}}}]}}\n\n"),
        ),
        filled(
            SIZE,
            "",
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            "",
        ),
        filled(
            SIZE,
            "",
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "",
        ),
        filled(
            SIZE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[",
            "{},",
            "{}]}}]}\n\n",
        ),
        filled(
            SIZE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[",
            "{\"text\":\"\"},",
            "{}]}}]}\n\n",
        ),
        filled(
            SIZE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[",
            "{\"functionCall\":{\"name\":\"a\"}},",
            "{}]}}]}\n\n",
        ),
        filled(
            SIZE,
            "{\"message\":{\"content\":\"a\",\"tool_calls\":[",
            "{\"function\":{\"name\":\"a\",\"arguments\":{}}},",
            "{}]}}\n",
        ),
        filled(SIZE, "{\"error\":[", "[0],", "0]}\n"),
        filled(
            SIZE,
            "data: {\"type\":\"response.completed\",\"response\":{\"output\":[",
            "{},",
            "{}]}}\n\n",
        ),
        filled(
            SIZE,
            "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\",\"content\":[",
            "{},",
            "{}]}]}}\n\n",
        ),
        filled(
            SIZE,
            "",
            "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"reasoning\"}}\n\n",
            "",
        ),
        filled(
            SIZE,
            "",
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
            "",
        ),
        filled(SIZE, "", "x", "\n"),
    ];
    let blocks = (0..SIZE / 130).map(|n| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{n},\"content_block\":{{\"type\":\"tool_use\",\
             \"id\":\"a\",\"name\":\"f\",\"input\":{{}}}}}}\n\n"
        )
    });
    let begin = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"a\",\"usage\":{}}}\n\n";
    let blocks = begin.to_owned() + &blocks.collect::<String>();
    let streams = [&streams[..], &[blocks.into_bytes()]].concat();
    for (wire, _) in PROTOCOLS {
        let name = wire.name;
        let protocol = (wire.connect)(Endpoint::new("http://h", "http://h"));
        at_most(
            45,
            &format!("answer of a model ({name})"),
            &streams,
            |stream| {
                decode(
                    protocol.decoder(&request, &RequestForm::default()),
                    &[stream],
                )
            },
        );
        let bodies = |size| {
            let of = |begin, unit, end| filled(size, begin, unit, end);
            [
                of("{\"error\":[", "[0],", "0]}"),
                of("{\"data\":[", "{\"id\":\"\"},", "{\"id\":\"\"}]}"),
                of("{\"models\":[", "{\"name\":\"\"},", "{\"name\":\"\"}]}"),
                of("[", "{\"error\":{}},", "{}]"),
            ]
        };
        let refusals = bodies(super::http_provider::MAX_ERROR_BODY as usize);
        let what = format!("refusal of a model ({name})");
        at_most(95, &what, &refusals, |body| {
            protocol.classify_failure(400, body)
        });
        let what = format!("list of models ({name})");
        at_most(10, &what, &bodies(SIZE), |body| protocol.parse_models(body));
    }
}
