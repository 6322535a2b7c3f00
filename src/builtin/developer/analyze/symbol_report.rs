//! Reports where a symbol is defined and who calls it. Symbols are compared by name only, so functions of the
//! same name are not told apart.

use super::Analysis;
use super::file_report::{length, title};
use super::outline::{Call, Definition, Name, Outline};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// The most calls of each level that are listed.
const MAX_SHOWN: usize = 500;
/// The most callees that are listed.
const MAX_CALLEES: usize = 100;
/// The most names that are followed.
const MAX_NAMES: usize = 5_000;

/// Where a line is.
fn place(analysis: &Analysis<'_>, file: usize, line: u32) -> String {
    let root = analysis.root;
    let path = &analysis.walk.files[file];
    let path = match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => root,
        Ok(rest) => rest,
        Err(_) => path,
    };
    format!("{}:{line}", super::printable_path(path))
}

/// Splits `Type::name` or `Type.name` into owner and name.
fn parts(focus: &str) -> (Option<&str>, &str) {
    const SIGNS: [char; 3] = ['.', ':', '#'];
    let cut = focus.rfind(SIGNS).filter(|at| at + 1 < focus.len());
    let Some(at) = cut else {
        return (None, focus);
    };
    let owner = focus[..at].trim_end_matches(SIGNS).rsplit(SIGNS).next();
    (owner.filter(|owner| !owner.is_empty()), &focus[at + 1..])
}

pub(super) fn render(analysis: &Analysis<'_>, focus: &str, follow_depth: usize) -> String {
    let (owner, name) = parts(focus);
    let defined = definitions(analysis, owner, name);
    let mut text = format!("`{focus}` in {}\n", analysis.root.display());
    let _ = writeln!(text, "\nDefinitions ({}):", defined.len());
    for (file, _, definition) in &defined {
        let place = place(analysis, *file, definition.line);
        let (title, length) = (title(definition), length(definition));
        let _ = writeln!(text, "  {place} {title} ({length})");
    }
    if defined.is_empty() {
        text.push_str("  none here; letter case counts\n");
    }
    if follow_depth == 0 {
        return text;
    }
    let mut wanted = BTreeMap::from([(Name::of(name.as_bytes()), name.to_owned())]);
    let mut seen: HashSet<Name> = wanted.keys().copied().collect();
    for level in 1..=follow_depth {
        let callers = callers(analysis, &wanted);
        if callers.is_empty() && level > 1 {
            break;
        }
        list_callers(analysis, &callers, level, &wanted, &mut text);
        wanted = callers
            .iter()
            .filter_map(|(_, call, outline)| within(call, outline))
            .map(|function| (Name::of(function.name.as_bytes()), function.name.clone()))
            .filter(|(name, _)| seen.len() < MAX_NAMES && seen.insert(*name))
            .collect();
        if wanted.is_empty() {
            break;
        }
    }
    callees(analysis, &defined, &mut text);
    text
}

/// The innermost function around a call.
fn within<'a>(call: &Call, outline: &'a Outline) -> Option<&'a Definition> {
    outline.definitions.get(call.within? as usize)
}

/// Lists the calls of one level; `wanted` has the names that they call.
fn list_callers(
    analysis: &Analysis<'_>,
    callers: &[(usize, &Call, &Outline)],
    level: usize,
    wanted: &BTreeMap<Name, String>,
    text: &mut String,
) {
    let heading = match level {
        1 => "Calls of it".to_owned(),
        2 => "Calls of these callers".to_owned(),
        n => format!("Calls of these callers, level {n}"),
    };
    let _ = writeln!(text, "\n{heading} ({}):", callers.len());
    for (file, call, outline) in callers.iter().take(MAX_SHOWN) {
        let place = place(analysis, *file, call.line);
        let function = within(call, outline);
        let function = function.map_or("outside of functions".to_owned(), |function| {
            format!("in {}", title(function))
        });
        let called = match wanted.get(&call.name) {
            Some(name) if level > 1 => format!(", calls {name}"),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {place} {function}{called}");
    }
    if callers.len() > MAX_SHOWN {
        let _ = writeln!(text, "  … and {} more", callers.len() - MAX_SHOWN);
    }
    if callers.is_empty() {
        text.push_str("  none here\n");
    }
}

type Defined<'a> = (usize, usize, &'a Definition);

/// The definitions of a name; only those of `owner`, if there are any.
fn definitions<'a>(
    analysis: &'a Analysis<'_>,
    owner: Option<&str>,
    name: &str,
) -> Vec<Defined<'a>> {
    let all = analysis.outlined().flat_map(|(file, _, outline)| {
        let definitions = outline.definitions.iter().enumerate();
        definitions.map(move |(n, definition)| (file, n, definition))
    });
    let mut found: Vec<Defined<'_>> = all.filter(|(_, _, d)| d.name == name).collect();
    let owned = |(_, _, d): &Defined<'_>| owner.is_some() && d.owner.as_deref() == owner;
    if found.iter().any(owned) {
        found.retain(owned);
    }
    found
}

/// All calls of these names.
fn callers<'a>(
    analysis: &'a Analysis<'_>,
    wanted: &BTreeMap<Name, String>,
) -> Vec<(usize, &'a Call, &'a Outline)> {
    let all = analysis.outlined().flat_map(|(file, _, outline)| {
        let calls = outline.calls.iter();
        calls.map(move |call| (file, call, outline))
    });
    all.filter(|(_, call, _)| wanted.contains_key(&call.name))
        .collect()
}

/// Lists the functions in these files that the definitions call.
fn callees(analysis: &Analysis<'_>, defined: &[Defined<'_>], text: &mut String) {
    let mut called = BTreeSet::new();
    for (file, n, _) in defined {
        if let Ok(outline) = &analysis.outlines.files[*file] {
            let of = |call: &&Call| call.within == Some(*n as u32);
            called.extend(outline.calls.iter().filter(of).map(|call| call.name));
        }
    }
    if called.is_empty() {
        return;
    }
    let mut places: HashMap<Name, (String, Vec<String>)> = HashMap::new();
    for (file, _, outline) in analysis.outlined() {
        for definition in &outline.definitions {
            let name = Name::of(definition.name.as_bytes());
            if called.contains(&name) {
                let (_, places) = places
                    .entry(name)
                    .or_insert_with(|| (definition.name.clone(), Vec::new()));
                places.push(place(analysis, file, definition.line));
            }
        }
    }
    let mut places: Vec<(String, Vec<String>)> = places.into_values().collect();
    gosling_core::sorting::sort_by(&mut places, Ord::cmp);
    let n = places.len();
    let _ = writeln!(text, "\nCalls of functions that are defined here ({n}):");
    for (name, at) in places.iter().take(MAX_CALLEES) {
        let more = match at.len().saturating_sub(3) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let first: Vec<&str> = at.iter().take(3).map(String::as_str).collect();
        let _ = writeln!(text, "  {name} {}{more}", first.join(", "));
    }
    if places.len() > MAX_CALLEES {
        let _ = writeln!(text, "  … and {} more", places.len() - MAX_CALLEES);
    }
}
