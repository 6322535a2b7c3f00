//! Fuzz target for source code, which may be hostile.

use super::language::ALL;
use super::outline::Outline;

/// Everything that is found in a text has valid lines, whatever the text is.
pub fn source(input: &[u8]) {
    for language in ALL {
        let outline = Outline::of(input, language, true);
        let lines = 1..=outline.lines as u32 + 1;
        for definition in &outline.definitions {
            assert!(!definition.name.is_empty());
            assert!(lines.contains(&definition.line) && lines.contains(&definition.end_line));
            assert!(
                definition.line <= definition.end_line,
                "{language:?} {definition:?}"
            );
        }
        for call in &outline.calls {
            let within = call.within.map_or(0, |within| within as usize);
            assert!(call.within.is_none() || within < outline.definitions.len());
            assert!(lines.contains(&call.line));
        }
        assert!(outline.imports.iter().all(|(line, _)| lines.contains(line)));
        let only = Outline::of(input, language, false);
        assert_eq!(only.definitions.len(), outline.definitions.len());
    }
}
