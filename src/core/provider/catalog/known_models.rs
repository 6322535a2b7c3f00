//! The models of the builtin providers that speak OpenAI's protocol.
//!
//! Limits and prices are those that the vendors publish; a price is in US dollars for a million tokens.

use crate::provider::provider_spec::{ModelSpec, model};

pub(in crate::provider) const OPENAI: &[ModelSpec] = &[
    model("gpt-4o", 128_000).output(16_384, &[2.5, 10.0, 1.25]),
    model("gpt-4o-mini", 128_000).output(16_384, &[0.15, 0.6, 0.075]),
    model("gpt-4.1", 1_047_576).output(32_768, &[2.0, 8.0, 0.5]),
    model("gpt-4.1-mini", 1_047_576).output(32_768, &[0.4, 1.6, 0.1]),
    model("gpt-4.1-nano", 1_047_576).output(32_768, &[0.1, 0.4, 0.025]),
    model("o1", 200_000).output(100_000, &[15.0, 60.0, 7.5]),
    model("o3", 200_000).output(100_000, &[2.0, 8.0, 0.5]),
    model("o3-mini", 200_000).output(100_000, &[1.1, 4.4, 0.55]),
    model("o4-mini", 200_000).output(100_000, &[1.1, 4.4, 0.275]),
    model("gpt-3.5-turbo", 16_385).output(4_096, &[0.5, 1.5]),
    model("gpt-4-turbo", 128_000).output(4_096, &[10.0, 30.0]),
    model("gpt-4", 8_192).output(4_096, &[30.0, 60.0]),
    model("gpt-5", 400_000).output(128_000, &[1.25, 10.0, 0.125]),
    model("gpt-5-mini", 400_000).output(128_000, &[0.25, 2.0, 0.025]),
    model("gpt-5-nano", 400_000).output(128_000, &[0.05, 0.4, 0.005]),
    model("gpt-5.1", 400_000).output(128_000, &[1.25, 10.0, 0.125]),
];

pub(super) const GROQ: &[ModelSpec] = &[
    model("openai/gpt-oss-120b", 131_072).output(65_536, &[0.15, 0.6]),
    model("openai/gpt-oss-20b", 131_072).output(65_536, &[0.075, 0.3]),
    model("llama-3.3-70b-versatile", 131_072).output(32_768, &[0.59, 0.79]),
    model("llama-3.1-8b-instant", 131_072).output(131_072, &[0.05, 0.08]),
    model("qwen/qwen3-32b", 131_072).output(40_960, &[0.29, 0.59]),
    model("moonshotai/kimi-k2-instruct-0905", 262_144).output(16_384, &[1.0, 3.0]),
];

pub(super) const MISTRAL: &[ModelSpec] = &[
    model("mistral-large-latest", 131_072).prices(&[2.0, 6.0]),
    model("mistral-medium-latest", 131_072).prices(&[0.4, 2.0]),
    model("mistral-small-latest", 131_072).prices(&[0.1, 0.3]),
    model("codestral-latest", 262_144).prices(&[0.3, 0.9]),
    model("devstral-medium-latest", 131_072).prices(&[0.4, 2.0]),
    model("magistral-medium-latest", 131_072).prices(&[2.0, 5.0]),
];

pub(super) const DEEPSEEK: &[ModelSpec] = &[
    model("deepseek-chat", 131_072).output(8_192, &[0.28, 0.42, 0.028]),
    model("deepseek-reasoner", 131_072).output(65_536, &[0.28, 0.42, 0.028]),
];

pub(super) const XAI: &[ModelSpec] = &[
    model("grok-code-fast-1", 256_000).prices(&[0.2, 1.5, 0.02]),
    model("grok-4", 256_000).prices(&[3.0, 15.0, 0.75]),
    model("grok-4-fast-reasoning", 2_000_000).prices(&[0.2, 0.5, 0.05]),
    model("grok-4-fast-non-reasoning", 2_000_000).prices(&[0.2, 0.5, 0.05]),
    model("grok-3", 131_072).prices(&[3.0, 15.0, 0.75]),
    model("grok-3-mini", 131_072).prices(&[0.3, 0.5, 0.075]),
];

pub(super) const OPENROUTER: &[ModelSpec] = &[
    model("anthropic/claude-sonnet-4.5", 200_000).output(64_000, &[3.0, 15.0, 0.3, 3.75]),
    model("anthropic/claude-opus-4.5", 200_000).output(64_000, &[5.0, 25.0, 0.5, 6.25]),
    model("openai/gpt-5", 400_000).output(128_000, &[1.25, 10.0, 0.125]),
    model("google/gemini-2.5-pro", 1_048_576).output(65_536, &[1.25, 10.0]),
    model("google/gemini-2.5-flash", 1_048_576).output(65_536, &[0.3, 2.5]),
    model("x-ai/grok-code-fast-1", 256_000).prices(&[0.2, 1.5, 0.02]),
    model("deepseek/deepseek-r1-0528", 163_840),
    model("qwen/qwen3-coder", 262_144),
    model("moonshotai/kimi-k2", 131_072),
];

pub(super) const TOGETHER: &[ModelSpec] = &[
    model("meta-llama/Llama-3.3-70B-Instruct-Turbo", 131_072).prices(&[0.88, 0.88]),
    model("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", 262_144).prices(&[2.0, 2.0]),
    model("deepseek-ai/DeepSeek-V3", 131_072).prices(&[1.25, 1.25]),
    model("moonshotai/Kimi-K2-Instruct", 131_072).prices(&[1.0, 3.0]),
];

pub(super) const FIREWORKS: &[ModelSpec] = &[
    model("accounts/fireworks/models/kimi-k2-instruct", 131_072).prices(&[0.6, 2.5]),
    model("accounts/fireworks/models/deepseek-v3p1", 163_840).prices(&[0.56, 1.68]),
    model("accounts/fireworks/models/gpt-oss-120b", 131_072).prices(&[0.15, 0.6]),
    model("accounts/fireworks/models/llama-v3p3-70b-instruct", 131_072).prices(&[0.9, 0.9]),
];

pub(super) const CEREBRAS: &[ModelSpec] = &[
    model("gpt-oss-120b", 131_072).output(32_768, &[0.25, 0.69]),
    model("llama-3.3-70b", 131_072).prices(&[0.85, 1.2]),
    model("llama3.1-8b", 32_768).prices(&[0.1, 0.1]),
    model("qwen-3-32b", 131_072).prices(&[0.4, 0.8]),
];

pub(super) const DATABRICKS: &[ModelSpec] = &[
    model("databricks-claude-sonnet-4-5", 200_000).output(64_000, &[3.0, 15.0]),
    model("databricks-claude-sonnet-4", 200_000).output(64_000, &[3.0, 15.0]),
    model("databricks-claude-3-7-sonnet", 200_000).output(64_000, &[3.0, 15.0]),
    model("databricks-meta-llama-3-3-70b-instruct", 128_000),
    model("databricks-gpt-oss-120b", 131_072),
];
