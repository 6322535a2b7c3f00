//! Questions that the user or the client has not answered yet: tool approvals, elicitations, and calls of
//! tools that the client runs.
//!
//! How long each of them waits is a setting: `APPROVAL_TIMEOUT`, `ELICITATION_TIMEOUT` and `FRONTEND_TIMEOUT` of
//! [`settings`](crate::store::settings), where the defaults are.

use crate::sys::cancel::{Cancel, NoMessage};
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

/// Pending questions by their ids. `A` is the type of the answers.
pub(in crate::agent) struct PendingQuestions<A> {
    open: Mutex<HashMap<String, Sender<A>>>,
}

/// A question that can be answered until this is dropped.
pub(in crate::agent) struct PendingQuestion<'q, A> {
    questions: &'q PendingQuestions<A>,
    id: String,
    answer: Receiver<A>,
}

impl<A> Default for PendingQuestions<A> {
    fn default() -> Self {
        PendingQuestions {
            open: Mutex::default(),
        }
    }
}

impl<A> PendingQuestions<A> {
    /// Opens a question, so that an answer finds it; called before the question is sent. `None` if a
    /// question with this id is open.
    pub(in crate::agent) fn open(&self, id: &str) -> Option<PendingQuestion<'_, A>> {
        let (sender, answer) = bounded(1);
        let mut open = lock(&self.open);
        if open.contains_key(id) {
            return None;
        }
        open.insert(id.to_owned(), sender);
        Some(PendingQuestion {
            questions: self,
            id: id.to_owned(),
            answer,
        })
    }

    /// Whether the question with this id is open.
    pub(in crate::agent) fn is_open(&self, id: &str) -> bool {
        lock(&self.open).contains_key(id)
    }

    /// Answers the question with this id and closes it; false if it is not open.
    pub(in crate::agent) fn answer(&self, id: &str, answer: A) -> bool {
        let sender = lock(&self.open).remove(id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

impl<A> PendingQuestion<'_, A> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// The limit passed, or the request that waits was cancelled.
    pub(in crate::agent) fn wait(&self, limit: Duration, cancel: &Cancel) -> Result<A, NoMessage> {
        cancel.receive(&self.answer, limit)
    }
}

impl<A> Drop for PendingQuestion<'_, A> {
    fn drop(&mut self) {
        lock(&self.questions.open).remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
