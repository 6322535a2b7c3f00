//! Chance, for what needs little of it.

/// A random byte for the jitter of a wait, 128 if the system has no random bytes.
pub fn random_byte() -> u8 {
    let mut byte = [128];
    let _ = getrandom::getrandom(&mut byte);
    byte[0]
}
