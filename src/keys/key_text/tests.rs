use super::{PREFIX, draw, from_hex, hash, is_same};
use crate::sys::to_hex;

#[test]
fn keys_differ_and_have_the_form_that_redaction_knows() {
    let (one, other) = (draw().unwrap(), draw().unwrap());
    assert_ne!(one, other);
    for key in [one, other] {
        assert_eq!(key.len(), PREFIX.len() + 43);
        assert_eq!(*gosling_shared::redact_credentials(&key), *"[secret]");
    }
}

#[test]
fn a_hash_is_sha_256_in_hexadecimal_digits() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(to_hex(&hash("abc")), abc);
    assert_eq!(from_hex(abc), Some(hash("abc")));
    for wrong in [
        "",
        &abc[1..],
        &abc.replace('b', "g"),
        &format!("{abc}0"),
        &"é".repeat(32),
    ] {
        assert_eq!(from_hex(wrong), None, "{wrong}");
    }
}

#[test]
fn only_the_same_bytes_are_the_same() {
    assert!(is_same(b"abc", b"abc") && is_same(b"", b""));
    for other in ["", "ab", "abcd", "abd", "Abc", "bac"] {
        assert!(!is_same(b"abc", other.as_bytes()), "{other}");
    }
}
