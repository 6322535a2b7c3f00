//! Pages and cursors. A cursor contains its list and position, so the server stores nothing for it and it can
//! be used repeatedly. MCP 2025-11-25, server/utilities/pagination.

use crate::jsonrpc::{ErrorObject, INVALID_PARAMS};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// One page of the list with the name `kind` in JSON.
pub(super) struct Page<'a, T> {
    kind: &'static str,
    items: Vec<&'a T>,
    next: Option<String>,
}

impl<'a, T> Page<'a, T> {
    /// The page at `cursor`; the first one without a cursor.
    ///
    /// # Errors
    /// -32602 for a cursor that this list did not create.
    pub(super) fn cut(
        kind: &'static str,
        all: impl ExactSizeIterator<Item = &'a T>,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<Self, ErrorObject> {
        let length = all.len();
        let start = match cursor {
            None => 0,
            Some(cursor) => decode(kind, cursor)
                .filter(|start| (1..length).contains(start) && start % size == 0)
                .ok_or_else(|| unknown_cursor(kind))?,
        };
        let end = start.saturating_add(size).min(length);
        Ok(Page {
            kind,
            items: all.skip(start).take(size).collect(),
            next: (end < length).then(|| encode(kind, end)),
        })
    }
}

impl<T: Serialize> Serialize for Page<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.kind, &self.items)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        map.end()
    }
}

fn encode(kind: &str, start: usize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{kind}:{start}"))
}

fn decode(kind: &str, cursor: &str) -> Option<usize> {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let start = text.strip_prefix(kind)?.strip_prefix(':')?.parse().ok()?;
    // `+10` and `010` parse, too, but are not cursors.
    (encode(kind, start) == cursor).then_some(start)
}

fn unknown_cursor(kind: &str) -> ErrorObject {
    let text = format!(
        "This `cursor` does not belong to the list of {kind}; send a `nextCursor` of it as it came, \
         or none for the first page"
    );
    ErrorObject::new(INVALID_PARAMS, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(
        length: u32,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<(Vec<u32>, Option<String>), i64> {
        let all: Vec<u32> = (0..length).collect();
        Page::cut("tools", all.iter(), size, cursor)
            .map(|page| (page.items.into_iter().copied().collect(), page.next))
            .map_err(|e| e.code)
    }

    #[test]
    fn pages_cover_the_list_once_and_end_without_a_cursor() {
        for (length, size, pages) in [
            (0, 10, 1),
            (9, 10, 1),
            (10, 10, 1),
            (11, 10, 2),
            (25, 10, 3),
            (3, 1, 3),
            (5, usize::MAX, 1),
        ] {
            let mut seen = Vec::new();
            let mut cursor = None;
            let mut count = 0;
            loop {
                let (items, next) = cut(length, size, cursor.as_deref()).unwrap();
                assert_eq!(
                    cut(length, size, cursor.as_deref()),
                    Ok((items.clone(), next.clone()))
                );
                seen.extend(items);
                count += 1;
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(seen, (0..length).collect::<Vec<_>>());
            assert_eq!(count, pages, "{length} by {size}");
        }
    }

    #[test]
    fn a_cursor_that_was_never_given_is_refused() {
        for forged in [
            String::new(),
            "10".to_owned(),
            "%%%".to_owned(),
            encode("tools", 0),
            encode("tools", 7),
            encode("tools", 30),
            encode("prompts", 10),
            format!("{}=", encode("tools", 10)),
            BASE64_URL_SAFE_NO_PAD.encode("tools:+10"),
            BASE64_URL_SAFE_NO_PAD.encode("tools:010"),
            BASE64_URL_SAFE_NO_PAD.encode("tools:-10"),
            BASE64_URL_SAFE_NO_PAD.encode("tools:99999999999999999999999"),
            BASE64_URL_SAFE_NO_PAD.encode(b"\xff\xff"),
        ] {
            assert_eq!(cut(25, 10, Some(&forged)), Err(INVALID_PARAMS), "{forged}");
        }
    }
}
