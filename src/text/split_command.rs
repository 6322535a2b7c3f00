//! Splits a command line into words as a shell does, without expansions.

/// Splits at white space outside of quotes. `'…'` is literal; in `"…"` and outside of quotes, `\` makes the next
/// character literal.
///
/// # Errors
/// When a quote is not closed, or a backslash ends the text.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let (words, open) = read(text, true)?;
    match open {
        Some(open) => Err(format!("a quote {open} is not closed")),
        None => Ok(words),
    }
}

/// As [`split`], but a backslash is a character like others, and the end of the text closes a quote.
pub fn split_literal(text: &str) -> Vec<String> {
    read(text, false).map(|it| it.0).unwrap_or_default()
}

/// The words, and the quote that is open at the end.
fn read(text: &str, has_escapes: bool) -> Result<(Vec<String>, Option<char>), &'static str> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') if has_escapes => {
                let c = chars.next().ok_or("it ends in a backslash")?;
                word.get_or_insert_default().push(c);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok((words, quote))
}

#[cfg(test)]
mod tests;
