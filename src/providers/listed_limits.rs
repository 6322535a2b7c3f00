//! The limits of models in a server's list of models; each server has names of its own for them. No I/O.

use serde::Deserialize;
use serde_json::Value;

/// The most models of one list whose limits are kept.
pub(super) const MAX_LISTED: usize = 2_000;
/// The longest name of such a model, in bytes.
const MAX_NAME: usize = 256;
/// The largest limit that makes sense, in tokens.
const MAX_TOKENS: u64 = 1 << 32;
/// The members with the window in a model of a list, the one of the running server first. Anthropic, OpenRouter and
/// Together, Groq, Mistral and LM Studio, vLLM, Gemini, llama.cpp.
const WINDOWS: [&str; 10] = [
    "/meta/n_ctx",
    "/loaded_context_length",
    "/top_provider/context_length",
    "/max_model_len",
    "/max_input_tokens",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/inputTokenLimit",
    "/limits/max_context_window_tokens",
];
/// The members with the limit on output.
const OUTPUTS: [&str; 4] = [
    "/top_provider/max_completion_tokens",
    "/max_completion_tokens",
    "/outputTokenLimit",
    // Of Anthropic.
    "/max_tokens",
];

/// The limits of a model, as far as its server tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedLimits {
    pub(super) window: u64,
    pub(super) output: Option<u64>,
}

/// The models in the body of a list that have limits there.
pub(super) fn listed_limits(body: &[u8]) -> Vec<(String, ListedLimits)> {
    #[derive(Deserialize)]
    struct List {
        #[serde(alias = "models")]
        data: Vec<Value>,
    }
    let models = crate::json::from_slice::<List>(body).map(|list| list.data);
    let models = models.or_else(|_| crate::json::from_slice::<Vec<Value>>(body));
    let models = models.unwrap_or_default();
    models.iter().filter_map(limits).take(MAX_LISTED).collect()
}

fn limits(model: &Value) -> Option<(String, ListedLimits)> {
    let name = model["id"].as_str().or_else(|| model["name"].as_str())?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    if name.is_empty() || name.len() > MAX_NAME {
        return None;
    }
    let first = |places: &[&str]| {
        let found = places.iter().filter_map(|at| model.pointer(at)?.as_u64());
        found
            .into_iter()
            .find(|tokens| (1..=MAX_TOKENS).contains(tokens))
    };
    let window = first(&WINDOWS)?;
    let output = first(&OUTPUTS).filter(|output| *output <= window);
    Some((name.to_owned(), ListedLimits { window, output }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_in_every_list_are_found() {
        for (body, name, window, output) in [
            // Anthropic
            (
                r#"{"data":[{"type":"model","id":"claude-x","max_input_tokens":1000000,"max_tokens":128000}]}"#,
                "claude-x",
                1_000_000,
                Some(128_000),
            ),
            // OpenRouter
            (
                r#"{"data":[{"id":"a/b","context_length":200000,"top_provider":{"context_length":190000,"max_completion_tokens":64000}}]}"#,
                "a/b",
                190_000,
                Some(64_000),
            ),
            (
                r#"{"data":[{"id":"a/b","context_length":200000,"top_provider":{"context_length":null,"max_completion_tokens":null}}]}"#,
                "a/b",
                200_000,
                None,
            ),
            // Groq
            (
                r#"{"data":[{"id":"g","context_window":131072,"max_completion_tokens":65536}]}"#,
                "g",
                131_072,
                Some(65_536),
            ),
            // Mistral
            (
                r#"{"data":[{"id":"m","max_context_length":262144,"capabilities":{"vision":true}}]}"#,
                "m",
                262_144,
                None,
            ),
            // vLLM
            (
                r#"{"data":[{"id":"v","max_model_len":4096}]}"#,
                "v",
                4_096,
                None,
            ),
            // llama.cpp
            (
                r#"{"object":"list","data":[{"id":"l.gguf","meta":{"n_ctx":8192,"n_ctx_train":131072}}]}"#,
                "l.gguf",
                8_192,
                None,
            ),
            // LM Studio
            (
                r#"{"data":[{"id":"q","max_context_length":40960,"loaded_context_length":16384}]}"#,
                "q",
                16_384,
                None,
            ),
            // Gemini
            (
                r#"{"models":[{"name":"models/gemini-x","inputTokenLimit":1048576,"outputTokenLimit":65536}]}"#,
                "gemini-x",
                1_048_576,
                Some(65_536),
            ),
            // Together
            (
                r#"[{"id":"t","context_length":131072}]"#,
                "t",
                131_072,
                None,
            ),
        ] {
            let found = listed_limits(body.as_bytes());
            let limits = ListedLimits { window, output };
            assert_eq!(found, [(name.to_owned(), limits)], "{body}");
        }
    }

    #[test]
    fn lists_without_limits_and_hostile_ones_have_none() {
        for body in [
            "",
            "{",
            "null",
            r#"{"data":[{"id":"a"}]}"#,
            r#"{"data":[{"id":"a","context_length":-1}]}"#,
            r#"{"data":[{"id":"a","context_length":99999999999999}]}"#,
            r#"{"data":[{"id":1,"context_length":5}, null, []]}"#,
            r#"{"data":[{"id":"","context_length":5}]}"#,
        ] {
            assert_eq!(listed_limits(body.as_bytes()), [], "{body}");
        }
        let many: Vec<String> = (0..5000)
            .map(|n| format!(r#"{{"id":"m{n}","context_length":5}}"#))
            .collect();
        let body = format!("[{}]", many.join(","));
        assert_eq!(listed_limits(body.as_bytes()).len(), MAX_LISTED);
    }
}
