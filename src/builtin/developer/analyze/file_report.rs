//! The report on one file.

use super::directory_report::{counted, counted_definitions};
use super::outline::{Definition, DefinitionKind, Name, Outline};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// A function that is called more often in its file is marked.
const OFTEN_CALLED: usize = 3;

/// `fn Type.name`
pub(super) fn title(definition: &Definition) -> String {
    let Definition {
        label, name, owner, ..
    } = definition;
    match owner {
        Some(owner) => format!("{label} {owner}.{name}"),
        None => format!("{label} {name}"),
    }
}

/// `12 lines`
pub(super) fn length(definition: &Definition) -> String {
    let lines = definition.end_line.saturating_sub(definition.line) + 1;
    counted(lines as usize, "line")
}

fn place(definition: &Definition) -> String {
    if definition.end_line > definition.line {
        format!("{}-{}", definition.line, definition.end_line)
    } else {
        definition.line.to_string()
    }
}

pub(super) fn render(path: &Path, outline: &Outline) -> String {
    let (functions, types) = outline.counts();
    let mut text = format!(
        "{}: {}, {}, {}\n",
        path.display(),
        outline.language.name(),
        counted(outline.lines, "line"),
        counted_definitions(functions, types)
    );
    if !outline.imports.is_empty() {
        text.push_str("\nImports:\n");
    }
    for (line, import) in &outline.imports {
        let _ = writeln!(text, "  {line}: {import}");
    }
    let mut called: HashMap<Name, usize> = HashMap::new();
    for call in &outline.calls {
        *called.entry(call.name).or_default() += 1;
    }
    let (functions, others): (Vec<_>, Vec<_>) = outline
        .definitions
        .iter()
        .partition(|definition| definition.kind == DefinitionKind::Function);
    for (heading, list) in [("Classes", others), ("Functions", functions)] {
        if !list.is_empty() {
            let _ = writeln!(text, "\n{heading}:");
        }
        for definition in list {
            let calls = called.get(&Name::of(definition.name.as_bytes()));
            let mark = match calls.filter(|_| definition.kind == DefinitionKind::Function) {
                Some(n) if *n > OFTEN_CALLED => format!(" •{n}"),
                _ => String::new(),
            };
            let (place, title) = (place(definition), title(definition));
            let _ = writeln!(text, "  {place}: {title} ({}){mark}", length(definition));
        }
    }
    text
}
