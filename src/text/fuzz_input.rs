//! Fuzz targets, and their input in parts and in pieces.

use std::fs;
use std::path::Path;

/// One parser, or several that read the same bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of the folder with its seeds.
    pub name: &'static str,
    /// Panics when a property does not hold for these bytes.
    pub check: fn(&[u8]),
    /// The memory in bytes that the target may use for each byte of input.
    pub memory: usize,
    /// The memory in bytes that the target may use in addition, for any input.
    pub base_memory: usize,
}

impl Target {
    /// A target that may use half a MiB, and `memory` bytes for each byte of input.
    pub const fn new(name: &'static str, check: fn(&[u8]), memory: usize) -> Target {
        Target {
            name,
            check,
            memory,
            base_memory: 512 << 10,
        }
    }
}

/// Runs the targets on their seeds, for a test.
///
/// # Panics
/// When a property does not hold, or a target has no seeds. The packaged crate does not contain them.
pub fn check_seeds(targets: &[Target]) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds");
    if !seeds.exists() {
        return;
    }
    for target in targets {
        let folder = seeds.join(target.name);
        let files = fs::read_dir(&folder);
        let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for file in files {
            let path = file.expect("a seed").path();
            println!("{}", path.display());
            (target.check)(&fs::read(&path).expect("a seed can be read"));
            count += 1;
        }
        assert!(count > 0, "{} has no seeds", target.name);
    }
}

/// Separates the parts of an input for targets that take several: the ASCII record separator.
const SEPARATOR: u8 = 0x1e;

/// The parts of an input; missing ones are empty.
pub fn parts<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut parts = input.splitn(N, |byte| *byte == SEPARATOR);
    [(); N].map(|()| parts.next().unwrap_or_default())
}

/// As [`parts`], as text; bytes that are not UTF-8 become U+FFFD.
pub fn texts<const N: usize>(input: &[u8]) -> [String; N] {
    parts(input).map(|part| String::from_utf8_lossy(part).into_owned())
}

/// The input split in three ways: not at all, once, and into pieces of 1 to 8 bytes. The splits depend on the
/// bytes only, so that an input is reproducible.
pub fn cuts(input: &[u8]) -> [Vec<&[u8]>; 3] {
    let mut state = (input.iter()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let (first, second) = input.split_at(state as usize % (input.len() + 1));
    let mut small = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let (piece, behind) = rest.split_at((1 + (state >> 61) as usize).min(rest.len()));
        small.push(piece);
        rest = behind;
    }
    [vec![input], vec![first, second], small]
}

/// The nesting depth of a value.
pub fn depth_of(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        serde_json::Value::Object(map) => 1 + map.values().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
