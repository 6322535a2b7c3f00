//! DER (ITU-T X.690), as far as a certificate needs it: an encoder, and a reader of one element after another.

/// The tag of a BOOLEAN.
pub(super) const BOOLEAN: u8 = 0x01;
/// The tag of an INTEGER.
pub(super) const INTEGER: u8 = 0x02;
/// The tag of a BIT STRING.
pub(super) const BIT_STRING: u8 = 0x03;
/// The tag of an OCTET STRING.
pub(super) const OCTET_STRING: u8 = 0x04;
/// The tag of an OBJECT IDENTIFIER.
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
/// The tag of a UTF8String.
pub(super) const UTF8_STRING: u8 = 0x0c;
/// The tag of a UTCTime.
pub(super) const UTC_TIME: u8 = 0x17;
/// The tag of a GeneralizedTime.
pub(super) const GENERALIZED_TIME: u8 = 0x18;
/// The tag of a SEQUENCE.
pub(super) const SEQUENCE: u8 = 0x30;
/// The tag of a SET.
pub(super) const SET: u8 = 0x31;

/// The tag of a context-specific element with this number (below 31), whose content is one element.
pub(super) const fn explicit(number: u8) -> u8 {
    0xa0 | number
}

/// The tag of a context-specific element with this number (below 31), whose content is a plain value.
pub(super) const fn implicit(number: u8) -> u8 {
    0x80 | number
}

/// An element whose content is `parts`, one after another.
pub(super) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short @ ..0x80) => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let digits = &bytes[length.leading_zeros() as usize / 8..];
            out.push(0x80 | digits.len() as u8);
            out.extend_from_slice(digits);
        }
    }
    out.extend(parts.iter().flat_map(|part| *part));
    out
}

/// A sequence of the parts.
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, parts)
}

/// An INTEGER from the bytes of a non-negative number, the most significant first.
pub(super) fn unsigned(mut bytes: &[u8]) -> Vec<u8> {
    while let [0, rest @ ..] = bytes {
        bytes = rest;
    }
    // A set first bit would make it negative, and it needs at least one byte.
    let zero: &[u8] = match bytes {
        [0..0x80, ..] => &[],
        _ => &[0],
    };
    element(INTEGER, &[zero, bytes])
}

/// Removes the first element from `input` and returns its tag and content; `None` if there is none, or if its
/// tag or length has a form that certificates do not use.
pub(super) fn take<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        length = digits
            .iter()
            .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    *input = after;
    Some((tag, content))
}

#[cfg(test)]
mod tests;
