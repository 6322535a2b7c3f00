//! What a model's name says of the requests that it accepts, for models that no list contains: vendors name new
//! models like the ones before. No I/O.

/// How requests to a model differ from those to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelTraits {
    /// It is a reasoning model of OpenAI: it accepts no temperature, and its limit on output has another name.
    pub(super) reasons: bool,
    /// OpenAI's own server accepts tools for it only behind `/v1/responses`.
    pub(super) needs_responses: bool,
    /// The version of a GPT, `(5, 1)` for `gpt-5.1-mini`.
    pub(super) gpt: Option<(u32, u32)>,
    /// It is a Claude that accepts no temperature.
    pub(super) refuses_temperature: bool,
    /// It is a Claude, whose reasoning is valid only behind what it followed.
    pub(super) binds_thinking: bool,
    /// It is a Claude whose server can be told to drop such reasoning instead of refusing it.
    pub(super) can_drop_thinking: bool,
}

impl ModelTraits {
    /// The traits of a model of this name, which may begin with the vendor's.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let o = (name.strip_prefix('o')).is_some_and(|rest| rest.starts_with(char::is_numeric));
        let gpt = name.strip_prefix("gpt-").map(version);
        let reasons = o || gpt.is_some_and(|version| version >= (5, 0));
        let has = |part: &str| name.split('-').any(|word| word == part);
        let claude = name.find("claude-").map(|at| claude_version(&name[at..]));
        let is_variant = has("codex") || has("computer") || name.contains("deep-research");
        ModelTraits {
            reasons,
            needs_responses: is_variant
                || (reasons && has("pro"))
                || gpt.is_some_and(|version| version >= (5, 5)),
            gpt: gpt.filter(|version| *version > (0, 0)),
            refuses_temperature: claude.is_some_and(|version| version >= (4, 7)),
            binds_thinking: claude.is_some(),
            can_drop_thinking: claude.is_some_and(|version| version >= (5, 1)),
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

/// The version in the name of a Claude: `(4, 7)` for `claude-opus-4-7-20260401`.
pub(super) fn claude_version(name: &str) -> (u32, u32) {
    // A date is not a version.
    let number = |word: &str| word.parse().ok().filter(|number| *number < 1_000);
    let mut numbers = name
        .split(['-', '.', '@', ':'])
        .map(number)
        .skip_while(Option::is_none)
        .map_while(|number| number);
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests;
