//! The limits of models that no list contains, by their family: vendors name new models like the ones before. No I/O.

/// The limits of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FamilyLimits {
    /// The context size: input and output tokens together.
    pub(super) window: u64,
    /// The limit on output tokens.
    pub(super) output: u64,
}

/// The beginnings of names, with the limits of the smallest model that is still served under such a name. The first
/// row that fits counts.
const FAMILIES: &[(&str, u64, u64)] = &[
    ("claude-3-opus", 200_000, 4_096),
    ("claude-3-sonnet", 200_000, 4_096),
    ("claude-3-haiku", 200_000, 4_096),
    ("claude-3-5", 200_000, 8_192),
    ("claude-opus-4-1", 200_000, 32_000),
    ("claude-opus-4-20250514", 200_000, 32_000),
    ("claude-4-opus", 200_000, 32_000),
    ("claude", 200_000, 64_000),
    ("gpt-oss", 131_072, 32_768),
    ("gpt-3", 16_385, 4_096),
    ("gpt-4-1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 4_096),
    ("gpt-4", 128_000, 4_096),
    ("gpt-5", 400_000, 128_000),
    ("gpt-6", 400_000, 128_000),
    ("gpt-7", 400_000, 128_000),
    ("o1", 200_000, 100_000),
    ("o3", 200_000, 100_000),
    ("o4", 200_000, 100_000),
    ("gemini", 1_048_576, 65_536),
    ("gemma", 131_072, 8_192),
    ("grok-3", 131_072, 32_768),
    ("grok", 256_000, 64_000),
    ("deepseek-v4", 1_000_000, 65_536),
    ("deepseek", 131_072, 8_192),
    ("kimi", 262_144, 65_536),
    ("glm-4-5", 131_072, 32_768),
    ("glm", 200_000, 65_536),
    ("minimax", 200_000, 65_536),
    ("qwen3-coder", 262_144, 65_536),
    ("qwen3-5", 262_144, 65_536),
    ("qwen3-6", 262_144, 65_536),
    ("qwen3-7", 262_144, 65_536),
    ("qwen3-8", 262_144, 65_536),
    ("qwen3", 131_072, 32_768),
    ("qwen", 32_768, 8_192),
    ("devstral", 131_072, 32_768),
    ("codestral", 128_000, 32_768),
    ("magistral", 131_072, 32_768),
    ("mistral-nemo", 128_000, 8_192),
    ("mistral", 131_072, 32_768),
    ("ministral", 131_072, 32_768),
    ("llama-4", 131_072, 16_384),
    ("llama4", 131_072, 16_384),
    ("llama", 128_000, 8_192),
];

/// The limits of the family of a model, which may be a part of its name: `us.anthropic.claude-opus-5`.
pub(super) fn limits_of(model: &str) -> Option<FamilyLimits> {
    // The vendor's name may be that of another family.
    let name = model.rsplit('/').next().unwrap_or_default();
    limits_in(name).or_else(|| limits_in(model))
}

fn limits_in(name: &str) -> Option<FamilyLimits> {
    let name = name.to_lowercase().replace(['.', '/', ':', '_'], "-");
    let starts = name.match_indices('-').map(|(at, _)| at + 1);
    // What stands first in the name counts: a `deepseek-r1-distill-llama` has DeepSeek's limits.
    std::iter::once(0).chain(starts).find_map(|at| {
        let rest = &name[at..];
        let mut rows = FAMILIES.iter();
        let row = rows.find(|(family, ..)| begins_with(rest, family))?;
        let (_, window, output) = *row;
        Some(FamilyLimits { window, output })
    })
}

/// Whether the text begins with the words of this family: `gpt-4` is not the beginning of `gpt-45`, and `o1` not that
/// of `o1x`, but `llama` that of `llama3`.
fn begins_with(text: &str, family: &str) -> bool {
    let Some(rest) = text.strip_prefix(family) else {
        return false;
    };
    let ends_in_digit = family.ends_with(|c: char| c.is_ascii_digit());
    let next = rest.chars().next();
    match next {
        None | Some('-') => true,
        Some(c) => !ends_in_digit && (c.is_ascii_digit() || c == 'v'),
    }
}

#[cfg(test)]
mod tests;
