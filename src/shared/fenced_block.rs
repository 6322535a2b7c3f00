//! Code blocks in Markdown.

/// A fenced code block in Markdown; the fence is longer than any run of backquotes in the text.
pub fn fenced_block(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{gap}{fence}\n")
}

#[cfg(test)]
mod tests;
