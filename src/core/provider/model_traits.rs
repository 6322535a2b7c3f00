//! What a model's name says of the requests that it accepts, for models that no list contains: vendors name new
//! models like the ones before. No I/O.

/// How requests to a model differ from those to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelTraits {
    /// It is a reasoning model of OpenAI: it accepts no temperature, and its limit on output has another name.
    pub(super) reasons: bool,
    /// OpenAI's own server accepts tools for it only behind `/v1/responses`.
    pub(super) needs_responses: bool,
}

impl ModelTraits {
    /// The traits of a model of this name, which may begin with the vendor's.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let o = (name.strip_prefix('o')).is_some_and(|rest| rest.starts_with(char::is_numeric));
        let gpt = name.strip_prefix("gpt-").map(version);
        let reasons = o || gpt.is_some_and(|version| version >= (5, 0));
        let has = |part: &str| name.split('-').any(|word| word == part);
        let is_variant = has("codex") || has("computer") || name.contains("deep-research");
        ModelTraits {
            reasons,
            needs_responses: is_variant
                || (reasons && has("pro"))
                || gpt.is_some_and(|version| version >= (5, 5)),
        }
    }
}

/// The version at the beginning of a text, `(5, 1)` for `5.1-mini`; `(0, 0)` without one.
fn version(text: &str) -> (u32, u32) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let mut numbers = text[..end.unwrap_or(text.len())].split('.');
    let mut next = || numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_models_are_known_by_their_family() {
        for (model, reasons, needs_responses) in [
            ("gpt-4o", false, false),
            ("gpt-4.1-mini", false, false),
            ("o3", true, false),
            ("o3-pro", true, true),
            ("gpt-5", true, false),
            ("openai/gpt-5.1", true, false),
            ("gpt-5-codex", true, true),
            ("gpt-5.5", true, true),
            ("gpt-5.6-luna", true, true),
            ("gpt-6-astra", true, true),
            ("gpt-10", true, true),
            ("o4-mini-deep-research", true, true),
            ("computer-use-preview", false, true),
            ("openai/gpt-oss-120b", false, false),
            ("olmo-3", false, false),
            ("claude-opus-5", false, false),
        ] {
            let traits = ModelTraits::of(model);
            assert_eq!(traits.reasons, reasons, "{model}");
            assert_eq!(traits.needs_responses, needs_responses, "{model}");
        }
    }
}
