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
