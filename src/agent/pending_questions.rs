//! What the user or the client has been asked and not yet answered.

use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the client is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Questions by their id, and who waits for the answer. `A` is what an answer is.
pub(super) struct PendingQuestions<A> {
    open: Mutex<HashMap<String, Sender<A>>>,
}

/// A question that has been asked. Dropping it takes it back.
pub(super) struct PendingQuestion<'d, A> {
    desk: &'d PendingQuestions<A>,
    id: String,
    answer: Receiver<A>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// Nobody answered in time.
    TimedOut,
    /// Nobody waits any more.
    Cancelled,
}

impl<A> Default for PendingQuestions<A> {
    fn default() -> Self {
        PendingQuestions {
            open: Mutex::default(),
        }
    }
}

impl<A> PendingQuestions<A> {
    /// Opens a question, so that an answer finds it; to be called before the question is told. `None`
    /// if one of this id is open already.
    pub(super) fn ask(&self, id: &str) -> Option<PendingQuestion<'_, A>> {
        let (tell, answer) = bounded(1);
        let mut open = lock(&self.open);
        if open.contains_key(id) {
            return None;
        }
        open.insert(id.to_owned(), tell);
        Some(PendingQuestion {
            desk: self,
            id: id.to_owned(),
            answer,
        })
    }

    /// SessionRequestHandler the question of this id; false if none is open. The first answer counts.
    pub(super) fn answer(&self, id: &str, answer: A) -> bool {
        let asked = lock(&self.open).remove(id);
        asked.is_some_and(|asked| asked.send(answer).is_ok())
    }
}

impl<A> PendingQuestion<'_, A> {
    /// Waits for the answer.
    pub(super) fn wait(&self, answer_timeout: Duration, cancel: &Cancel) -> Result<A, NoAnswer> {
        let deadline = Instant::now() + answer_timeout;
        let (wake, woken) = bounded::<()>(0);
        // The hook owns the sender: when it has run, the channel is closed.
        let _hook = cancel.on_cancel(move || drop(wake));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            crossbeam_channel::select! {
                recv(self.answer) -> answer => return answer.map_err(|_| NoAnswer::Cancelled),
                recv(woken) -> _ => return Err(NoAnswer::Cancelled),
                default(left.min(POLL_INTERVAL)) => {
                    if cancel.probe() {
                        return Err(NoAnswer::Cancelled);
                    }
                    if left.is_zero() {
                        return Err(NoAnswer::TimedOut);
                    }
                }
            }
        }
    }
}

impl<A> Drop for PendingQuestion<'_, A> {
    fn drop(&mut self) {
        lock(&self.desk.open).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_first_answer_counts_even_before_anybody_waits() {
        let desk = PendingQuestions::default();
        let question = desk.ask("a").unwrap();
        assert!(desk.answer("a", 1));
        assert!(!desk.answer("a", 2) && !desk.answer("b", 3));
        assert_eq!(question.wait(LONG, &Cancel::new()), Ok(1));
    }

    #[test]
    fn a_question_that_nobody_answers_ends() {
        let desk = PendingQuestions::<()>::default();
        let question = desk.ask("a").unwrap();
        assert!(desk.ask("a").is_none());
        let now = question.wait(Duration::ZERO, &Cancel::new());
        assert_eq!(now, Err(NoAnswer::TimedOut));
        let cancel = Cancel::new();
        thread::scope(|scope| {
            scope.spawn(|| cancel.cancel());
            assert_eq!(question.wait(LONG, &cancel), Err(NoAnswer::Cancelled));
        });
        drop(question);
        assert!(!desk.answer("a", ()));
    }
}
