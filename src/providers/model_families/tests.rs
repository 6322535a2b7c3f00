use super::*;

#[test]
fn a_model_that_no_list_contains_has_the_limits_of_its_family() {
    for (model, window, output) in [
        ("claude-sonnet-9", 200_000, 64_000),
        ("us.anthropic.claude-opus-7-20280101-v1:0", 200_000, 64_000),
        ("claude-3-haiku-20240307", 200_000, 4_096),
        ("anthropic/claude-3.5-sonnet", 200_000, 8_192),
        ("gpt-6.4-nova", 400_000, 128_000),
        ("openai/gpt-5.9", 400_000, 128_000),
        ("gpt-4.1-mini", 1_047_576, 32_768),
        ("gpt-4o", 128_000, 4_096),
        ("gpt-oss:20b", 131_072, 32_768),
        ("o3-mini", 200_000, 100_000),
        ("gemini-5-neon", 1_048_576, 65_536),
        ("grok-9", 256_000, 64_000),
        ("deepseek-r1-distill-llama-70b", 131_072, 8_192),
        ("deepseek-v4.2", 1_000_000, 65_536),
        ("accounts/x/models/kimi-k9", 262_144, 65_536),
        ("zai-org/GLM-5.9", 200_000, 65_536),
        ("Qwen/Qwen3-Coder-480B", 262_144, 65_536),
        ("qwen3:8b", 131_072, 32_768),
        ("meta-llama/Llama-4-Scout", 131_072, 16_384),
        ("llama-3.3-70b-versatile", 128_000, 8_192),
        ("llama3.3", 128_000, 8_192),
        ("mistral-large-9", 131_072, 32_768),
    ] {
        let limits = limits_of(model).unwrap_or_else(|| panic!("{model}"));
        assert_eq!((limits.window, limits.output), (window, output), "{model}");
    }
    for model in ["", "gpt-4onward", "o12", "phi-4", "clauded", "my-model"] {
        assert_eq!(limits_of(model), None, "{model}");
    }
}
