//! The fuzz target of the file of keys.

use crate::key_file::{read_end, read_entries};
use crate::store::yaml_from_json;
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;
use gosling_shared::parse_yaml_object;
use yaml_serde::{Mapping, Value};

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("client_keys", client_keys, 1000)];

/// The file. A key that was read is written so that it is read again, and has a plain name.
fn client_keys(content: &[u8]) {
    let _ = read_end(&String::from_utf8_lossy(content), 1_800_000_000);
    let Ok(entries) = parse_yaml_object(&String::from_utf8_lossy(content)) else {
        return;
    };
    let entries = yaml_from_json(&entries.into());
    let mapping = entries.as_mapping().cloned().unwrap_or_default();
    for key in read_entries(&mapping).into_iter().flatten() {
        assert!(key.name.bytes().all(|byte| byte.is_ascii_graphic()));
        let again = Mapping::from_iter([(Value::from(key.name.as_str()), key.to_yaml())]);
        assert_eq!(read_entries(&again), [Ok(key)]);
    }
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
