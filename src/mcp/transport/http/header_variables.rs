//! Variables in the values of headers.

/// Replaces `$VAR` and `${VAR}` by their values, which `value_of` gives. A `$` that no variable name follows is kept.
///
/// # Errors
/// `${VAR}` names an unknown variable. An unknown `$VAR` is kept, because a `$` may be part of a password.
pub fn expand<'v>(
    text: &str,
    value_of: impl Fn(&str) -> Option<&'v str>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some((name, end)) = after
            .strip_prefix('{')
            .and_then(|braced| braced.split_once('}'))
        {
            let value = value_of(name)
                .ok_or_else(|| format!("`${{{name}}}` is neither in `envs` nor in `env_keys`"))?;
            out.push_str(value);
            rest = end;
            continue;
        }
        let length = after
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(after.len());
        match value_of(&after[..length]) {
            Some(value) => out.push_str(value),
            None => out.push_str(&rest[at..at + 1 + length]),
        }
        rest = &after[length..];
    }
    out.push_str(rest);
    Ok(out)
}
