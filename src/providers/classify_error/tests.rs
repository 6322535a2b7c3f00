use super::*;

#[test]
fn each_status_has_its_class_and_phrases_refine_it() {
    let rate = ErrorClass::RateLimit { after: None };
    for (status, body, class) in [
        (
            401,
            r#"{"error":{"message":"no"}}"#,
            ErrorClass::Authentication,
        ),
        (403, "", ErrorClass::Authentication),
        (
            403,
            r#"{"error":"Your newly created team doesn't have any credits yet."}"#,
            ErrorClass::Credits,
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}"#,
            ErrorClass::Refused,
        ),
        (
            403,
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country not supported"}}"#,
            ErrorClass::Authentication,
        ),
        (409, "conflict", ErrorClass::Server),
        (498, "", ErrorClass::Server),
        (
            400,
            r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}"#,
            ErrorClass::Server,
        ),
        (
            429,
            r#"{"error":{"message":"Please try again in 1m2.5s."}}"#,
            ErrorClass::RateLimit {
                after: Some(std::time::Duration::from_millis(62_500)),
            },
        ),
        (402, "", ErrorClass::Credits),
        (429, r#"{"error":{"message":"slow down"}}"#, rate),
        (
            429,
            r#"{"error":{"message":"x","type":"insufficient_quota"}}"#,
            ErrorClass::Credits,
        ),
        (
            400,
            r#"{"error":{"message":"Your credit balance is too low"}}"#,
            ErrorClass::Credits,
        ),
        (
            400,
            r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
            ErrorClass::ContextExceeded,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
            ErrorClass::ContextExceeded,
        ),
        (
            400,
            r#"{"error":"prompt is too long: 9 > 8"}"#,
            ErrorClass::ContextExceeded,
        ),
        (413, "", ErrorClass::ContextExceeded),
        (
            413,
            r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size","code":"rate_limit_exceeded"}}"#,
            rate,
        ),
        (
            400,
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000"}}"#,
            ErrorClass::ContextExceeded,
        ),
        (
            400,
            r#"{"error":null,"message":"x","code":"context_length_exceeded"}"#,
            ErrorClass::ContextExceeded,
        ),
        (400, r#"{"message":"bad tool"}"#, ErrorClass::Refused),
        (404, "no such model", ErrorClass::Refused),
        (422, r#"{"detail":"x"}"#, ErrorClass::Refused),
        (408, "", ErrorClass::Server),
        (500, "context window", ErrorClass::Server),
        (503, "<html>", ErrorClass::Server),
        (529, "", ErrorClass::Server),
    ] {
        assert_eq!(
            classify_body(status, body.as_bytes()).0,
            class,
            "{status} {body}"
        );
    }
}

#[test]
fn a_failure_over_an_image_is_told_from_others() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"messages.0.content.0.image.source.base64: Could not process image"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"messages[7]: unknown variant `image_url`, expected `text`"}}"#,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"m is not a multimodal model"}}"#,
        ),
        (
            500,
            r#"{"error":{"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}}"#,
        ),
        (400, r#"{"detail":"messages[1].content must be a string"}"#),
        (400, "Unsupported MIME type: image/webp"),
        (413, "the image is too large"),
    ] {
        let (class, words) = classify_body(status, body.as_bytes());
        assert!(is_image_error(status, class, &words), "{status} {body}");
    }
    for (status, body) in [
        (400, "the throughput is not provisioned, which is invalid"),
        (400, "`llama-3.2-90b-vision-preview` does not support tools"),
        (400, "invalid schema for the tool image__resize"),
        (400, "tools.0.name: expected a string"),
        (401, "invalid image"),
        (408, "timed out while the image was loaded"),
        (
            413,
            "prompt is too long: an image may have at most 9 tokens",
        ),
        (429, "too many images"),
        (500, "cannot divide by zero in division"),
        (503, "the worker for image input is unavailable"),
        (0, "failed to load image"),
    ] {
        let (class, words) = classify_body(status, body.as_bytes());
        assert!(!is_image_error(status, class, &words), "{status} {body}");
    }
}

#[test]
fn the_words_are_found_in_any_common_shape() {
    for (body, words) in [
        (r#"{"error":{"message":"a"}}"#, "a"),
        (r#"{"error":"a"}"#, "a"),
        (r#"{"error":null,"message":"a"}"#, "a"),
        (r#"{"message":"a"}"#, "a"),
        (r#"{"detail":"a"}"#, "a"),
        (r#"[{"error":{"code":400,"message":"a"}}]"#, "a"),
        (
            r#"{"error":{"message":"a","metadata":{"raw":"b"}}}"#,
            "a: b",
        ),
        (r#"{"x":1}"#, r#"{"x":1}"#),
        ("plain", "plain"),
    ] {
        assert_eq!(classify_body(400, body.as_bytes()).1, words);
    }
}

#[test]
fn an_error_in_mid_stream_is_judged_by_its_code_or_its_words() {
    for (json, class) in [
        (
            r#"{"error":{"code":502,"message":"x"}}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"error":{"code":"429","message":"x"}}"#,
            ErrorClass::RateLimit { after: None },
        ),
        (
            r#"{"error":{"type":"rate_limit_exceeded","message":"x"}}"#,
            ErrorClass::RateLimit { after: None },
        ),
        (
            r#"{"error":{"type":"invalid_request_error","message":"x"}}"#,
            ErrorClass::Refused,
        ),
        (
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            ErrorClass::ContextExceeded,
        ),
        (
            r#"{"error":{"type":"server_error","message":"x"}}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"error":{"type":"authentication_error","message":"x"}}"#,
            ErrorClass::Authentication,
        ),
        (
            r#"{"error":{"type":"overloaded_error","message":"not_found: a free worker"}}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"error":{"code":503,"message":"invalid_request to a worker"}}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"error":null,"message":"invalid_request"}"#,
            ErrorClass::Refused,
        ),
        (r#"{"error":"who knows"}"#, ErrorClass::Server),
        (
            r#"{"error":{"type":"rate_limit_error","message":"too many tokens per minute"}}"#,
            ErrorClass::RateLimit { after: None },
        ),
    ] {
        assert_eq!(
            stream_error(&serde_json::from_str(json).unwrap()).class,
            class,
            "{json}"
        );
    }
}
