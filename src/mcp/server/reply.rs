//! The targets of answers: single messages, or one batch.

use crate::jsonrpc::{self, ErrorObject, INTERNAL_ERROR, Id};
use gosling_sys::lock;
use serde::Serialize;
use std::sync::{Arc, Mutex};

/// Receives one message, without framing, for the client. A connection calls it from any thread when there is
/// an answer or a notification. After the last clone for a received message is dropped, no more messages come
/// for it.
pub type ReplySink = Arc<dyn Fn(Vec<u8>) + Send + Sync>;

/// The target of the answers to one received message.
#[derive(Clone)]
pub(super) struct ReplyTarget {
    sink: ReplySink,
    batch: Option<Arc<Batch>>,
}

impl ReplyTarget {
    /// Sends each answer on its own.
    pub(super) fn alone(sink: &ReplySink) -> Self {
        ReplyTarget {
            sink: sink.clone(),
            batch: None,
        }
    }

    /// Sends the answers as one array when the last clone of this target is dropped.
    pub(super) fn batch(sink: &ReplySink) -> Self {
        ReplyTarget {
            sink: sink.clone(),
            batch: Some(Arc::new(Batch {
                sink: sink.clone(),
                array: Mutex::default(),
            })),
        }
    }

    /// For notifications, which never wait for a batch.
    pub(super) fn sink(&self) -> &ReplySink {
        &self.sink
    }

    pub(super) fn answer(&self, id: Option<&Id>, outcome: Result<impl Serialize, ErrorObject>) {
        let answer = encode(id, outcome);
        match &self.batch {
            None => (self.sink)(answer),
            Some(batch) => {
                let mut array = lock(&batch.array);
                let before = if array.is_empty() { b'[' } else { b',' };
                array.push(before);
                array.extend_from_slice(&answer);
            }
        }
    }
}

/// MCP 2025-03-26, basic, batching.
struct Batch {
    sink: ReplySink,
    array: Mutex<Vec<u8>>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut array = std::mem::take(&mut *lock(&self.array));
        if !array.is_empty() {
            array.push(b']');
            (self.sink)(array);
        }
    }
}

/// A request that waits for its answer. If dropped, it gets none.
#[derive(Clone)]
pub(super) struct PendingReply {
    pub(super) id: Id,
    pub(super) target: ReplyTarget,
}

impl PendingReply {
    pub(super) fn answer(self, outcome: Result<impl Serialize, ErrorObject>) {
        self.target.answer(Some(&self.id), outcome);
    }

    pub(super) fn refuse(self, error: ErrorObject) {
        self.answer(Err::<(), _>(error));
    }
}

fn encode(id: Option<&Id>, outcome: Result<impl Serialize, ErrorObject>) -> Vec<u8> {
    jsonrpc::response(id, outcome.as_ref()).unwrap_or_else(|e| {
        let text = format!("The result could not be written as JSON: {e}");
        let error = ErrorObject::new(INTERNAL_ERROR, text);
        jsonrpc::response(id, Err::<&(), _>(&error)).unwrap_or_default()
    })
}
