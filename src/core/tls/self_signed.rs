//! A self-signed X.509 certificate for this machine (RFC 5280), with a new P-256 key.

use super::der::{self, element, explicit, implicit, sequence, unsigned};
use crate::sys::clock::Utc;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::alg_id::{ECDSA_P256, ECDSA_SHA256};
use rustls::sign::public_key_to_spki;

/// The name of the subject and issuer, which is that of Goose's own certificates.
const COMMON_NAME: &str = "goosed localhost";
/// The identifiers `2.5.4.3`, commonName, and `1.3.6.1.5.5.7.3.1`, serverAuth, as they are encoded.
const COMMON_NAME_ID: &[u8] = &[0x55, 4, 3];
const SERVER_AUTH_ID: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
/// The seconds of a day.
const DAY: i64 = 86_400;
/// How long before its making a certificate becomes valid, for clients whose clock is slow.
const VALID_BEFORE: i64 = DAY;
/// How long after its making a certificate ends. Apple's systems accept at most 398 days in all.
const VALID_AFTER: i64 = 396 * DAY;

/// The certificate and its private key.
pub(super) struct SelfSigned {
    /// The certificate in DER.
    pub(super) certificate: Vec<u8>,
    /// The key as PKCS#8 in DER.
    pub(super) key: Vec<u8>,
}

/// A certificate for `localhost`, `127.0.0.1` and `::1`, made at `now`, in seconds since 1970.
///
/// # Errors
/// When the system has no random bytes.
pub(super) fn generate(now: i64) -> Result<SelfSigned, ring::error::Unspecified> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random)?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random)
        .map_err(|_| ring::error::Unspecified)?;
    let mut serial = [0; 16];
    random.fill(&mut serial)?;
    let to_sign = certificate_to_sign(&serial, now, pair.public_key().as_ref());
    let signature = pair.sign(&random, &to_sign)?;
    Ok(SelfSigned {
        certificate: sequence(&[
            &to_sign,
            &sequence(&[&ECDSA_SHA256]),
            // No bit of the last byte is unused.
            &element(der::BIT_STRING, &[&[0], signature.as_ref()]),
        ]),
        key: key.as_ref().to_vec(),
    })
}

/// The `TBSCertificate` (RFC 5280 §4.1).
fn certificate_to_sign(serial: &[u8], now: i64, public_key: &[u8]) -> Vec<u8> {
    let name = name();
    let validity = sequence(&[&time(now - VALID_BEFORE), &time(now + VALID_AFTER)]);
    let extensions = sequence(&[
        // Of basicConstraints nothing is given, so that this is not an authority's certificate.
        &extension(19, true, &sequence(&[])),
        // keyUsage: the first of the bits, digitalSignature; seven bits are unused.
        &extension(15, true, &element(der::BIT_STRING, &[&[7, 0x80]])),
        // extKeyUsage.
        &extension(37, false, &sequence(&[&identifier(SERVER_AUTH_ID)])),
        &extension(17, false, &alternative_names()),
    ]);
    sequence(&[
        // Version 3.
        &element(explicit(0), &[&unsigned(&[2])]),
        &unsigned(serial),
        &sequence(&[&ECDSA_SHA256]),
        &name,
        &validity,
        &name,
        &public_key_to_spki(&ECDSA_P256, public_key),
        &element(explicit(3), &[&extensions]),
    ])
}

/// A `Name` with a common name only.
fn name() -> Vec<u8> {
    let value = element(der::UTF8_STRING, &[COMMON_NAME.as_bytes()]);
    let attribute = sequence(&[&identifier(COMMON_NAME_ID), &value]);
    sequence(&[&element(der::SET, &[&attribute])])
}

/// A `Time`: UTCTime before 2050, GeneralizedTime from then on (RFC 5280 §4.1.2.5).
fn time(seconds: i64) -> Vec<u8> {
    let text = Utc::from_unix(seconds).to_string();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let text = digits + "Z";
    if text.as_str() < "2050" {
        element(der::UTC_TIME, &[&text.as_bytes()[2..]])
    } else {
        element(der::GENERALIZED_TIME, &[text.as_bytes()])
    }
}

/// An extension with the identifier `2.5.29.number`.
fn extension(number: u8, is_critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if is_critical {
        element(der::BOOLEAN, &[&[0xff]])
    } else {
        // The default is not written.
        Vec::new()
    };
    sequence(&[
        &identifier(&[0x55, 0x1d, number]),
        &critical,
        &element(der::OCTET_STRING, &[value]),
    ])
}

/// The value of subjectAltName (RFC 5280 §4.2.1.6).
fn alternative_names() -> Vec<u8> {
    let [mut ip6, ip4] = [vec![0; 16], vec![127, 0, 0, 1]];
    ip6[15] = 1;
    sequence(&[
        &element(implicit(2), &[b"localhost"]),
        &element(implicit(7), &[&ip4]),
        &element(implicit(7), &[&ip6]),
    ])
}

/// An OBJECT IDENTIFIER that is encoded already.
fn identifier(encoded: &[u8]) -> Vec<u8> {
    element(der::OBJECT_IDENTIFIER, &[encoded])
}

/// The validity of a certificate in DER: its first and last second, since 1970; `None` if it cannot be read.
pub(super) fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let mut input = certificate;
    for _ in 0..2 {
        let (tag, content) = der::take(&mut input)?;
        input = (tag == der::SEQUENCE).then_some(content)?;
    }
    // Certificates of version 1 have no version.
    let (first, _) = der::take(&mut input)?;
    // The serial number, the algorithm, the issuer.
    let skipped = if first == explicit(0) { 3 } else { 2 };
    for _ in 0..skipped {
        der::take(&mut input)?;
    }
    let (_, mut times) = der::take(&mut input)?;
    Some((read_time(&mut times)?, read_time(&mut times)?))
}

fn read_time(input: &mut &[u8]) -> Option<i64> {
    let (tag, content) = der::take(input)?;
    let text = std::str::from_utf8(content).ok()?;
    let text = match tag {
        // Two digits from 50 on mean the previous century.
        der::UTC_TIME if text >= "50" => format!("19{text}"),
        der::UTC_TIME => format!("20{text}"),
        der::GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let digits = text.strip_suffix('Z')?;
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, time) = digits.split_at(8);
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    Utc::parse(&text).map(Utc::unix_seconds)
}

#[cfg(test)]
mod tests;
