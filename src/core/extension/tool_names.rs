//! Tool names in a session: `key__tool`. Pure.

/// Separates the key of an extension from the name of its tool.
pub(crate) const SEPARATOR: &str = "__";

/// The full name of an extension's tool.
pub(crate) fn full_name(key: &str, tool: &str) -> String {
    format!("{key}{SEPARATOR}{tool}")
}

/// The key that owns a full name, and the tool's own name. Keys and tools may contain `__` themselves, so the
/// longest matching key owns the name: a server cannot take the names of another server with a longer key.
pub(super) fn owner<'n, 'k>(
    name: &'n str,
    keys: impl IntoIterator<Item = &'k str>,
) -> Option<(&'k str, &'n str)> {
    let fits = |key: &'k str| Some((key, name.strip_prefix(key)?.strip_prefix(SEPARATOR)?));
    let fitting = keys.into_iter().filter_map(fits);
    fitting.max_by_key(|(key, _)| key.len())
}

#[cfg(test)]
mod tests;
