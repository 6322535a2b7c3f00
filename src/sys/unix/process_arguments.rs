//! What macOS keeps of the start of a program (`KERN_PROCARGS2`).

/// The environment, entries that end in NUL: after the number of arguments, the path of the program with zeros behind it,
/// and the arguments.
pub(super) fn environment_in(text: &[u8]) -> Option<Vec<u8>> {
    let (count, text) = text.split_first_chunk()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let end_of_path = text.iter().position(|byte| *byte == 0)?;
    let text = &text[end_of_path..];
    let begin = text.iter().position(|byte| *byte != 0)?;
    let entries = text[begin..].split(|byte| *byte == 0).skip(count);
    Some(entries.collect::<Vec<_>>().join(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_after_the_arguments() {
        let start = |count: i32, rest: &[u8]| {
            let text = [&count.to_ne_bytes(), rest].concat();
            environment_in(&text).map(|found| String::from_utf8(found).unwrap())
        };
        let found = start(3, b"/bin/x\0\0\0\0x\0\0MARK=a\0MARK=1\0B=\0\0");
        assert_eq!(found.as_deref(), Some("MARK=1\0B=\0\0"));
        assert_eq!(start(9, b"/bin/x\0x\0A=1\0").as_deref(), Some(""));
        for broken in [
            (1, &b""[..]),
            (1, b"/bin/x"),
            (1, b"/bin/x\0\0"),
            (-1, b"/x\0x\0A=1\0"),
        ] {
            assert_eq!(start(broken.0, broken.1), None, "{broken:?}");
        }
        assert_eq!(environment_in(b"\0\0"), None);
    }
}
