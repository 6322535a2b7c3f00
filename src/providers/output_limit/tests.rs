use super::*;
use LimitError::{Most, Room, TooLarge};

#[test]
fn what_providers_say_about_the_limit_on_output_is_read() {
    for (words, what) in [
        (
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease \
             input length or `max_tokens` and try again",
            Some(Room(21_041)),
        ),
        (
            "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got \
             200000 instead.",
            Some(Most(128_000)),
        ),
        (
            "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for \
             claude-3-5-sonnet-20241022",
            Some(Most(8_192)),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 32768. This model's maximum context \
             length is 32768 tokens and your request has 26 input tokens (32768 > 32768 - 26).",
            Some(Room(32_742)),
        ),
        (
            "This model's maximum context length is 2048 tokens. However, your request has 8 input \
             tokens plus 2045 'max_tokens'.",
            Some(Room(2_040)),
        ),
        (
            "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens \
             (568 in the messages, 6048 in the completion). Please reduce the length of the messages or \
             completion.",
            Some(Room(5_480)),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5060 tokens \
             (5060 in the messages, 0 in the completion).",
            Some(Room(0)),
        ),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 \
             tokens (99000 of text input, 1000 of tool input, 40000 in the output).",
            Some(Room(31_072)),
        ),
        (
            "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas \
             you provided 128000.",
            Some(Most(16_384)),
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is \
             less than the `context_window` for this model",
            Some(Most(8_192)),
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            Some(Most(8_192)),
        ),
        ("max_tokens is too large", Some(TooLarge)),
        (
            "max_tokens must be greater than thinking.budget_tokens",
            None,
        ),
        ("max_tokens must be > 0", None),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model.",
            None,
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", None),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 \
             tokens.",
            None,
        ),
        ("exceed context limit: much", None),
        ("99999999999999999999 > 9", None),
        ("", None),
    ] {
        assert_eq!(parse_limit_error(words), what, "{words}");
    }
}

#[test]
fn a_limit_that_holds_for_every_request_is_remembered() {
    let mut limits = LearnedLimits::default();
    limits.learn("m", Some(9_000), Room(5_000));
    limits.learn("m", Some(9_000), Most(5));
    assert_eq!(limits.apply("m", Some(9_000)), Some(9_000));
    limits.learn("m", Some(9_000), Most(8_000));
    limits.learn("m", Some(9_000), Most(8_500));
    for (wanted, sent) in [
        (Some(9_000), Some(8_000)),
        (Some(7_000), Some(7_000)),
        (None, None),
    ] {
        assert_eq!(limits.apply("m", wanted), sent);
    }
    assert_eq!(limits.apply("n", Some(9_000)), Some(9_000));
    // The protocol adds a default limit.
    limits.learn("n", None, Most(4_096));
    assert_eq!(limits.apply("n", None), Some(4_096));
    limits.learn("o", Some(9_000), TooLarge);
    assert_eq!(limits.apply("o", Some(10_000)), None);
    assert_eq!(limits.apply("o", Some(8_000)), Some(8_000));
}
