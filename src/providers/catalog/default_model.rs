//! Which model of a provider is offered first: the newest of the family that the provider names. No I/O, no clock.

use super::model_table::Model;

/// The model to begin with: of the first family that has one, the one with the highest version; else the first one
/// of the list. One that is retired before `date` does not count.
pub(super) fn default_model<'m>(
    models: &'m [Model],
    families: &[&str],
    date: &str,
) -> Option<&'m Model> {
    let usable = || (models.iter()).filter(|model| model.tools && !model.is_retired(date));
    let newest = |family: &&str| {
        let versions = usable().filter_map(|model| Some((version(&model.name, family)?, model)));
        versions.max_by_key(|(version, _)| *version)
    };
    let of_family = families.iter().find_map(newest).map(|(_, model)| model);
    of_family
        .or_else(|| usable().next())
        .or_else(|| models.first())
}

/// The version of a model of this family, such as (5, 5) for `claude-sonnet-5-5` of `claude-sonnet-*`. A family
/// without `*` has one model.
fn version(name: &str, family: &str) -> Option<(u16, u16)> {
    let Some((before, after)) = family.split_once('*') else {
        return (name == family).then_some((0, 0));
    };
    let version = name.strip_prefix(before)?.strip_suffix(after)?;
    let mut numbers = version.split(['.', '-']);
    // A longer number is a date.
    let number = |text: &str| {
        let is_short = (1..=3).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        is_short.then(|| text.parse().ok()).flatten()
    };
    let major = number(numbers.next()?)?;
    let minor = match numbers.next() {
        Some(minor) => number(minor)?,
        None => 0,
    };
    numbers.next().is_none().then_some((major, minor))
}

#[cfg(test)]
mod tests;
