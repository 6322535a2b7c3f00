//! The trace of a request (W3C Trace Context, level 1). It passes through this server, which adds no span to it.

use crate::sys::Trace;
use std::sync::Arc;

/// The length of `traceparent` in version 00.
const LENGTH: usize = 55;
/// The longest `tracestate`, in bytes; the standard wants at least this passed on.
const MAX_STATE: usize = 512;

/// The trace in the values of `traceparent` and `tracestate`; `None` if there is none, or one that is not valid, which
/// the standard ignores.
pub(crate) fn read<'a>(
    mut parents: impl Iterator<Item = &'a str>,
    states: impl Iterator<Item = &'a str>,
) -> Option<Trace> {
    let parent = parents.next()?;
    if parents.next().is_some() {
        return None;
    }
    let parent = read_parent(parent)?;
    let states: Vec<_> = states.map(str::trim).filter(|it| !it.is_empty()).collect();
    let state = states.join(",");
    let is_plain = state.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t'));
    // Without it the trace is as good.
    let state = Some(state).filter(|it| is_plain && it.len() <= MAX_STATE);
    Some((parent.into(), state.unwrap_or_default().into()))
}

/// The id of the whole trace.
pub(crate) fn id((parent, _): &Trace) -> &str {
    parent.get(3..35).unwrap_or_default()
}

/// `00-TRACE-PARENT-FLAGS`. Of a later version, what this one knows.
fn read_parent(text: &str) -> Option<String> {
    let (known, more) = text.trim().split_at_checked(LENGTH)?;
    let parts: Vec<_> = known.split('-').collect();
    let [version, trace, parent, flags] = parts[..] else {
        return None;
    };
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|b| b != b'0');
    if !is_hex(version, 2)
        || !is_id(trace, 32)
        || !is_id(parent, 16)
        || !is_hex(flags, 2)
        || version == "ff"
    {
        return None;
    }
    if version == "00" {
        return more.is_empty().then(|| known.to_owned());
    }
    // Only whether it is sampled means the same in all versions.
    let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1;
    (more.is_empty() || more.starts_with('-'))
        .then(|| format!("00-{trace}-{parent}-{is_sampled:02x}"))
}

/// The trace of the caller of this thread.
pub(crate) fn of_caller() -> Option<Trace> {
    let caller = crate::activity::Caller::current();
    let (parent, state) = caller.trace.as_ref()?;
    Some((Arc::clone(parent), Arc::clone(state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_not_valid_is_ignored() {
        assert_eq!(read_parent(VALID).as_deref(), Some(VALID));
        assert_eq!(read_parent(&format!(" {VALID} ")).as_deref(), Some(VALID));
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0-04bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read_parent(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_a_later_version_the_known_part_counts() {
        let later = VALID.replace("00-4b", "cc-4b");
        for more in ["", "-", "-what the future brings"] {
            assert_eq!(
                read_parent(&format!("{later}{more}")).as_deref(),
                Some(VALID)
            );
        }
        let unsampled = read_parent(&later.replace("-01", "-fe"));
        assert_eq!(unsampled, Some(VALID.replace("-01", "-00")));
    }

    #[test]
    fn there_is_one_parent_and_a_state_that_is_short_enough() {
        let read = |parents: &[&'static str], states: &[&'static str]| {
            let trace = read(parents.iter().copied(), states.iter().copied())?;
            Some((id(&trace).to_owned(), trace.1.to_string()))
        };
        let with = |state: &str| Some((VALID[3..35].to_owned(), state.to_owned()));
        assert_eq!(read(&[], &["a=b"]), None);
        assert_eq!(read(&[VALID, VALID], &[]), None);
        assert_eq!(read(&[VALID], &[]), with(""));
        assert_eq!(
            read(&[VALID], &["a=b, c=d", " ", "e=f"]),
            with("a=b, c=d,e=f")
        );
        let long: &'static str = "x".repeat(513).leak();
        assert_eq!(read(&[VALID], &[long]), with(""));
    }
}
