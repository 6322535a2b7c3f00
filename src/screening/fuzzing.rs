//! Fuzz target of advisories.

use crate::advisory::{Advisory, Malware, read_all};
use crate::packages::{Ecosystem, Version};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use crate::text::fuzz_input::texts;
use crate::versions::{ALL, Affects, affects};
use crate::{index, look_alikes};
use std::io::Cursor;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("advisories", advisories, 600)];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// Whatever advisories name as malware is found in the index of them, under the name that it has there, and a
/// version that is listed is affected.
pub fn advisories(input: &[u8]) {
    let [text, version] = texts(input);
    let Ok(advisories) = read_all(text.as_bytes()) else {
        return;
    };
    let mut all: Vec<Malware> = Vec::new();
    for advisory in advisories {
        if let Advisory::Malware { packages, .. } = advisory {
            all.extend(packages);
        }
    }
    let text = index::write(all.clone());
    for one in &all {
        let ecosystem = Ecosystem::named(one.ecosystem).expect("only known ones are kept");
        let found = index::find(&mut Cursor::new(&text), ecosystem, &one.name);
        let found = found.expect("what is written can be read");
        assert!(
            found.iter().any(|it| it.id == one.id),
            "{one:?} in {text:?}"
        );
        assert!(one.id.starts_with("MAL-") && !one.versions.is_empty());
        let open = affects(ecosystem, &one.versions, &Version::Open);
        assert!(open != Affects::None);
        assert_eq!(
            open == Affects::All,
            one.versions == ALL || one.versions.split(' ').any(|item| item.ends_with(".."))
        );
        for item in one.versions.split(' ').filter(|item| !item.contains("..")) {
            let exact = Version::Exact(item.to_owned());
            assert_eq!(affects(ecosystem, &one.versions, &exact), Affects::All);
        }
        affects(ecosystem, &one.versions, &Version::Exact(version.clone()));
        look_alikes::resembles(ecosystem, &one.name);
    }
    look_alikes::is_homoglyph(&version);
}

#[cfg(test)]
mod tests;
