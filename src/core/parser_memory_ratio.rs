//! The memory that parsers of input from outside take, for the worst inputs; other such tests are next to their
//! parsers. The table in the documentation of the crate is the output of `cargo test --lib memory_ratio --
//! --nocapture --include-ignored`.

use crate::conversation::Session;
use crate::json;
use crate::mcp::jsonrpc;
use gosling_outbound::sse;
use gosling_testing::memory_ratio::{at_most, dense_json, filled};
use serde_json::Value;

const MIB: usize = 1 << 20;

/// JSON texts of `size` bytes whose values take the most memory.
fn values(size: usize, begin: &str, end: &str) -> Vec<Vec<u8>> {
    let cost = [json::VALUE, json::ARRAY, json::OBJECT];
    dense_json(size, begin, end, json::most_memory(size), cost)
}

#[test]
fn memory_ratio_of_json() {
    let texts = values(MIB, "", "");
    at_most(40, "JSON as values, 1 MiB", &texts, |text| {
        json::from_slice::<Value>(text)
    });
}

#[test]
#[ignore = "takes long, and says no more than the one of 1 MiB unless the table is made anew"]
fn memory_ratio_of_much_json() {
    let texts = values(8 * MIB, "", "");
    at_most(30, "JSON as values, 8 MiB", &texts, |text| {
        json::from_slice::<Value>(text)
    });
}

#[test]
fn memory_ratio_of_json_rpc() {
    let dense = |begin: &str, unit: &str, end: &str| filled(MIB, begin, unit, end);
    let messages = [
        dense(
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":["#,
            "0,",
            "0]}",
        ),
        dense(r#"{"jsonrpc":"2.0","id":1,"result":["#, "[],", "0]}"),
        dense(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""#,
            "\\n",
            r#"","data":[0]}}"#,
        ),
        dense(r#"{"jsonrpc":"2.0","id":1,"error":""#, "\u{7f}", r#""}"#),
        dense(r#"{"jsonrpc":"2.0","id":""#, "\\n", r#"","method":"x"}"#),
        dense(r#"{"jsonrpc":"2.0","id":1,"x":"#, "[", ""),
        dense(r#"{"jsonrpc":"2.0","method":1,"x":["#, "0,", "0]}"),
        dense("{", "\"\":0,", "\"\":0}"),
    ];
    at_most(20, "JSON-RPC message", &messages, |text| {
        jsonrpc::parse(text, false)
    });
    let batches = [
        dense("[", "0,", "0]"),
        dense("[", "{},", "0]"),
        dense("[", r#"{"jsonrpc":"2.0","id":1,"method":"x"},"#, "0]"),
        dense(&format!("[{}", "0,".repeat(998)), " ", "0]"),
        dense(r#"[{"jsonrpc":"2.0","id":1,"result":["#, "0,", "0]}]"),
    ];
    at_most(5, "JSON-RPC batch", &batches, |text| {
        jsonrpc::parse(text, true)
    });
}

#[test]
fn memory_ratio_of_event_streams() {
    let streams = [
        filled(MIB, "", "data\n", "\n"),
        filled(MIB, "data: ", "x", "\n\n"),
        filled(MIB, "", "data: x\n\n", ""),
        filled(MIB, "", "x", ""),
        filled(MIB, "id: ", "x", "\n\n"),
    ];
    at_most(5, "event stream", &streams, |text| {
        let mut decoder = sse::Decoder::new(64 * MIB);
        let mut last = Vec::new();
        let read = decoder.push(text, |event| last = event.to_vec());
        (decoder, last, read)
    });
}

#[test]
fn memory_ratio_of_imports() {
    let mut files = values(MIB, r#"{"working_dir":"/","conversation":"#, "}");
    files.push(filled(MIB, "{\"working_dir\":\"/\"}\n", "0\n", ""));
    files.push(filled(MIB, "{\"working_dir\":\"/\"}\n", "[0]\n", ""));
    let message = r#"{"role":"user","created":0,"content":[]}"#;
    files.push(filled(
        MIB,
        "{\"working_dir\":\"/\"}\n",
        &format!("{message}\n"),
        "",
    ));
    files.push(filled(
        MIB,
        r#"{"working_dir":"/","conversation":["#,
        &format!("{message},"),
        &format!("{message}]}}"),
    ));
    at_most(40, "imported session", &files, |text| {
        Session::from_export(std::str::from_utf8(text).unwrap())
    });
}
