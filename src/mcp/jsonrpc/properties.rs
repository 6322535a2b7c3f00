//! Property tests of the parser.

use super::*;
use gosling_testing::property_testing::{any_json, check};

const WORDS: [&str; 12] = [
    "jsonrpc",
    "2.0",
    "id",
    "method",
    "params",
    "result",
    "error",
    "code",
    "message",
    "data",
    "tools/list",
    "null",
];

/// A message, or something similar.
fn nearly(
    u: &mut gosling_testing::arbitrary::Unstructured<'_>,
) -> gosling_testing::arbitrary::Result<Vec<u8>> {
    let mut message = any_json(u, &WORDS, 3)?;
    if let Some(members) = message.as_object_mut()
        && u.ratio(3, 4)?
    {
        members.insert("jsonrpc".into(), "2.0".into());
    }
    let mut bytes = message.to_string().into_bytes();
    if !bytes.is_empty() && u.ratio(1, 4)? {
        let at = u.choose_index(bytes.len())?;
        bytes[at] = u.arbitrary()?;
    }
    Ok(bytes)
}

#[test]
fn any_bytes_are_messages_or_refused() {
    check(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        let _ = parse(&bytes, u.arbitrary()?).map_err(|malformed| malformed.to_string());
        Ok(())
    });
}

#[test]
fn what_is_accepted_means_the_same_when_it_is_written_again() {
    check(|u| {
        let bytes = nearly(u)?;
        let parts = match parse(&bytes, true) {
            Ok(Payload::One(message)) => vec![Ok(message)],
            Ok(Payload::Batch(parts)) => parts,
            Err(malformed) => vec![Err(malformed)],
        };
        for part in parts {
            let message = match part {
                Ok(message) => message,
                Err(malformed) => {
                    assert!(!malformed.to_string().is_empty());
                    continue;
                }
            };
            if let Message::Response { id: None, outcome } = &message {
                assert!(outcome.is_err(), "an answer to nothing");
            }
            let again = match &message {
                Message::Request { id, method, params } => request(id, method, params.as_ref()),
                Message::Notification { method, params } => notification(method, params.as_ref()),
                Message::Response { id, outcome } => response(id.as_ref(), outcome.as_ref()),
            };
            let again = parse(&again.unwrap(), false).expect("what we write can be read");
            let Payload::One(again) = again else {
                panic!("one message is not a batch")
            };
            assert_eq!(format!("{again:?}"), format!("{message:?}"));
        }
        Ok(())
    });
}
