use super::*;

fn hex(digest: [u8; 20]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_answer_to_a_key_is_that_of_the_specification() {
    let answer = accept_value("dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

/// The examples of RFC 3174 §7.3, and lengths around the end of a block (by Python).
#[test]
fn sha_1_is_that_of_its_examples() {
    for (text, digest) in [
        ("abc".to_owned(), "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".to_owned(),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
        (
            "a".repeat(1_000_000),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
        ),
        (
            "0123456701234567012345670123456701234567012345670123456701234567".repeat(10),
            "dea356a2cddd90c7a7ecedc5ebb563934f460452",
        ),
        ("x".repeat(55), "cef734ba81a024479e09eb5a75b6ddae62e6abf1"),
        ("x".repeat(63), "0ddc4e0cccd9a12850deb5abb0853a4425559fec"),
        ("x".repeat(64), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163"),
    ] {
        assert_eq!(hex(sha1(text.as_bytes())), digest, "{}", text.len());
    }
}
