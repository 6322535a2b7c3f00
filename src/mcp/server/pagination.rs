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
mod tests;
