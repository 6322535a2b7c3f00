//! The fuzz target of backups.

use crate::contents::copy_hashed;
use crate::restore;
use crate::tar::Header;
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use std::collections::HashSet;
use std::io::Read;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("backup", backup, 1000)];

/// The input is an archive. Whatever it is, no file of it has a place outside its folder or twice the same.
fn backup(input: &[u8]) {
    let mut places = HashSet::new();
    let mut place = |number: usize, path: &str, header: &Header, content: &mut dyn Read| {
        assert!(number < 3 && !path.starts_with('/') && !path.contains('\0'));
        assert!(path.is_empty() || path.split('/').all(|part| !matches!(part, "" | "." | "..")));
        if header.is_folder {
            return Ok(String::new());
        }
        assert!(
            places.insert((number, path.to_owned())),
            "{path:?} is there twice"
        );
        let mut content = content;
        Ok(copy_hashed(&mut content, header.size, |_| Ok(()))?)
    };
    if let Ok((_, last)) = restore::read(&mut &*input, &mut place) {
        let files = last.files.iter().filter(|it| !it.sha256.is_empty());
        assert_eq!(files.count(), places.len());
    }
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
