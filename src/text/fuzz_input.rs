//! The input of a fuzz target, in parts and in pieces.

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
