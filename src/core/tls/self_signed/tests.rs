use super::*;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

/// 2026-11-24T00:00:00Z.
const NOW: i64 = 1_795_478_400;

fn children(mut input: &[u8]) -> Vec<(u8, &[u8])> {
    std::iter::from_fn(|| der::take(&mut input)).collect()
}

#[test]
fn a_certificate_is_signed_with_its_own_key() {
    let made = generate(NOW).unwrap();
    let parts = children(children(&made.certificate)[0].1);
    let [(der::SEQUENCE, content), _, (der::BIT_STRING, signature)] = parts[..] else {
        panic!("{parts:?}");
    };
    let to_sign = element(der::SEQUENCE, &[content]);
    let random = SystemRandom::new();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &made.key, &random).unwrap();
    let public = pair.public_key().as_ref();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, public)
        .verify(&to_sign, &signature[1..])
        .unwrap();
    let fields = children(content);
    assert_eq!(fields.len(), 8);
    // Issuer and subject are the same.
    assert_eq!(fields[3], fields[5]);
    assert!(fields[6].1.ends_with(public));
}

#[test]
fn two_certificates_differ_in_serial_number_and_key() {
    let [one, other] = [generate(NOW).unwrap(), generate(NOW).unwrap()];
    assert_ne!(one.key, other.key);
    let serial = |made: &SelfSigned| {
        let whole = children(&made.certificate);
        let parts = children(whole[0].1);
        let fields = children(parts[0].1);
        assert_eq!(fields[1].0, der::INTEGER);
        fields[1].1.to_vec()
    };
    assert_ne!(serial(&one), serial(&other));
}

#[test]
fn a_certificate_is_valid_for_397_days_from_the_day_before() {
    let made = generate(NOW).unwrap();
    let (from, to) = validity(&made.certificate).unwrap();
    assert_eq!(from, NOW - DAY);
    assert_eq!(to - from, 397 * DAY);
}

#[test]
fn times_from_2050_on_have_four_digits_of_the_year() {
    for (text, tag, length) in [
        ("1999-12-31T23:59:59Z", der::UTC_TIME, 13),
        ("2049-12-31T23:59:59Z", der::UTC_TIME, 13),
        ("2050-01-01T00:00:00Z", der::GENERALIZED_TIME, 15),
    ] {
        let seconds = Utc::parse(text).unwrap().unix_seconds();
        let encoded = time(seconds);
        assert_eq!((encoded[0], encoded.len()), (tag, length + 2), "{text}");
        assert_eq!(read_time(&mut encoded.as_slice()), Some(seconds), "{text}");
    }
}

#[test]
fn the_validity_of_something_else_is_not_read() {
    let made = generate(NOW).unwrap().certificate;
    for length in 0..made.len() {
        assert_eq!(validity(&made[..length]), None);
    }
    for text in [
        "",
        "261124000000",
        "2611240000000Z",
        "26112400000éZ",
        "269924000000Z",
    ] {
        let encoded = element(der::UTC_TIME, &[text.as_bytes()]);
        assert_eq!(read_time(&mut encoded.as_slice()), None, "{text}");
    }
}
