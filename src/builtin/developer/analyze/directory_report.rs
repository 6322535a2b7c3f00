//! The report on a directory.

use super::Analysis;
use super::outline::Outline;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The most too deep folders that are named.
const MAX_DEEPER: usize = 20;

#[derive(Clone, Copy, Default)]
struct Totals {
    files: usize,
    lines: usize,
    functions: usize,
    types: usize,
}

impl Totals {
    fn add(&mut self, outline: &Outline) {
        let (functions, types) = outline.counts();
        self.files += 1;
        self.lines += outline.lines;
        self.functions += functions;
        self.types += types;
    }

    /// The totals in words. `share` is the share of all lines.
    fn describe(&self, file: &str, share: &str) -> String {
        let files = counted(self.files, file);
        let lines = counted(self.lines, "line");
        let definitions = counted_definitions(self.functions, self.types);
        format!("{files}, {lines}{share}, {definitions}")
    }
}

/// `1 line`, `2 lines`
pub(super) fn counted(n: usize, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

pub(super) fn counted_definitions(functions: usize, types: usize) -> String {
    format!(
        "{}, {}",
        counted(functions, "function"),
        counted(types, "class")
    )
}

/// Renders the report. With `by_folder`, it has one line for each folder instead of each file.
pub(super) fn render(analysis: &Analysis<'_>, max_depth: usize, by_folder: bool) -> String {
    let (root, too_deep) = (analysis.root, &analysis.walk.too_deep);
    let (mut all, mut languages) = (Totals::default(), BTreeMap::<_, Totals>::new());
    for (_, _, outline) in analysis.outlined() {
        all.add(outline);
        languages.entry(outline.language).or_default().add(outline);
    }
    let mut text = format!("{}: {}\n", root.display(), all.describe("source file", ""));
    for (language, totals) in languages {
        let share = 100.0 * totals.lines as f64 / all.lines.max(1) as f64;
        let line = totals.describe("file", &format!(" ({share:.0} %)"));
        let _ = writeln!(text, "  {}: {line}", language.name());
    }
    text.push('\n');
    if by_folder {
        folders(analysis, &mut text)
    } else {
        tree(analysis, &mut text)
    }
    if !too_deep.is_empty() {
        let names = too_deep.iter().map(|path| relative(root, path));
        let names: Vec<String> = names.take(MAX_DEEPER).collect();
        let more = match too_deep.len().saturating_sub(MAX_DEEPER) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let _ = writeln!(
            text,
            "\nDeeper than max_depth {max_depth}, and not analyzed: {}{more}",
            names.join(", ")
        );
    }
    text
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    super::printable_path(path)
}

fn tree(analysis: &Analysis<'_>, text: &mut String) {
    let mut above: Vec<String> = Vec::new();
    for (_, path, outline) in analysis.outlined() {
        let path = path.strip_prefix(analysis.root).unwrap_or(path);
        let parts = path
            .iter()
            .map(|part| super::printable_path(Path::new(part)));
        let mut parts: Vec<String> = parts.collect();
        let name = parts.pop().unwrap_or_default();
        let same = above.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        for (depth, part) in parts.iter().enumerate().skip(same) {
            let _ = writeln!(text, "{}{part}/", "  ".repeat(depth));
        }
        let (functions, types) = outline.counts();
        let (indent, lines) = ("  ".repeat(parts.len()), outline.lines);
        let _ = writeln!(text, "{indent}{name} [{lines}L {functions}F {types}C]");
        above = parts;
    }
}

fn folders(analysis: &Analysis<'_>, text: &mut String) {
    let mut folders: BTreeMap<String, Totals> = BTreeMap::new();
    for (_, path, outline) in analysis.outlined() {
        if let Some(folder) = path.parent() {
            let folder = relative(analysis.root, folder);
            folders.entry(folder).or_default().add(outline);
        }
    }
    for (folder, totals) in folders {
        let files = counted(totals.files, "file");
        let Totals {
            lines,
            functions,
            types,
            ..
        } = totals;
        let _ = writeln!(text, "{folder}/ [{files} {lines}L {functions}F {types}C]");
    }
    text.push_str(
        "\n(by folder, because the files are too many to list; name a folder to see its files)\n",
    );
}
