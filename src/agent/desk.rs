//! What the user or the client has been asked and not yet answered.

use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the client is still there.
const LOOK: Duration = Duration::from_millis(250);

/// Questions by their id, and who waits for the answer. `A` is what an answer is.
pub(super) struct Desk<A> {
    open: Mutex<HashMap<String, Sender<A>>>,
}

/// A question that has been asked. Dropping it takes it back.
pub(super) struct Question<'d, A> {
    desk: &'d Desk<A>,
    id: String,
    answer: Receiver<A>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nobody answered in time.
    TimedOut,
    /// Nobody waits any more.
    Cancelled,
}

impl<A> Default for Desk<A> {
    fn default() -> Self {
        Desk {
            open: Mutex::default(),
        }
    }
}

impl<A> Desk<A> {
    /// Opens a question, so that an answer finds it; to be called before the question is told. `None`
    /// if one of this id is open already.
    pub(super) fn ask(&self, id: &str) -> Option<Question<'_, A>> {
        let (tell, answer) = bounded(1);
        let mut open = lock(&self.open);
        if open.contains_key(id) {
            return None;
        }
        open.insert(id.to_owned(), tell);
        Some(Question {
            desk: self,
            id: id.to_owned(),
            answer,
        })
    }

    /// Answers the question of this id; false if none is open. The first answer counts.
    pub(super) fn answer(&self, id: &str, answer: A) -> bool {
        let asked = lock(&self.open).remove(id);
        asked.is_some_and(|asked| asked.send(answer).is_ok())
    }
}

impl<A> Question<'_, A> {
    /// Waits for the answer.
    pub(super) fn wait(&self, patience: Duration, cancel: &Cancel) -> Result<A, Silence> {
        let deadline = Instant::now() + patience;
        let (wake, woken) = bounded::<()>(0);
        // The hook owns the sender: when it has run, the channel is closed.
        let _hook = cancel.on_cancel(move || drop(wake));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            crossbeam_channel::select! {
                recv(self.answer) -> answer => return answer.map_err(|_| Silence::Cancelled),
                recv(woken) -> _ => return Err(Silence::Cancelled),
                default(left.min(LOOK)) => {
                    if cancel.probe() {
                        return Err(Silence::Cancelled);
                    }
                    if left.is_zero() {
                        return Err(Silence::TimedOut);
                    }
                }
            }
        }
    }
}

impl<A> Drop for Question<'_, A> {
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
        let desk = Desk::default();
        let question = desk.ask("a").unwrap();
        assert!(desk.answer("a", 1));
        assert!(!desk.answer("a", 2) && !desk.answer("b", 3));
        assert_eq!(question.wait(LONG, &Cancel::new()), Ok(1));
    }

    #[test]
    fn a_question_that_nobody_answers_ends() {
        let desk = Desk::<()>::default();
        let question = desk.ask("a").unwrap();
        assert!(desk.ask("a").is_none());
        let now = question.wait(Duration::ZERO, &Cancel::new());
        assert_eq!(now, Err(Silence::TimedOut));
        let cancel = Cancel::new();
        thread::scope(|scope| {
            scope.spawn(|| cancel.cancel());
            assert_eq!(question.wait(LONG, &cancel), Err(Silence::Cancelled));
        });
        drop(question);
        assert!(!desk.answer("a", ()));
    }
}
