//! What is said to one request: kept while it comes, so that a client whose connection broke can hear
//! the rest. MCP 2025-11-25, basic/transports, resumability and redelivery.

use crate::http::EventStream;
use crate::mcp::jsonrpc;
use crate::mcp::server::ReplySink;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many bytes are kept of what was said. Beyond, the oldest messages are let go: notifications,
/// since the answer comes last and the last message is always kept.
const KEPT: usize = 1 << 20;

/// The messages that answer one request, in their order.
#[derive(Default)]
pub(super) struct ResponseStream {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Arc<Vec<u8>>>,
    bytes: usize,
    /// How many messages were let go. Messages are counted from 1.
    gone: u64,
    /// Nothing more comes.
    ended: bool,
    /// How many turns to listen were drawn.
    turns: u64,
    /// Whose turn it is.
    turn: u64,
}

/// What came of a request at first.
pub(super) enum First {
    /// The answer, and nothing before it.
    Answer(Vec<u8>),
    /// Nothing, and nothing will: there was no request, or it was cancelled.
    Nothing,
    /// There is more to come.
    More,
}

/// The name of one event: its stream, and how many of the stream's messages were said with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) message: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.message)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (stream, message) = text.trim().split_once('-').ok_or(())?;
        Ok(EventId {
            stream: stream.parse().map_err(drop)?,
            message: message.parse().map_err(drop)?,
        })
    }
}

impl ResponseStream {
    /// The way in. The stream ends when the last clone of it is dropped.
    pub(super) fn sink(self: &Arc<Self>) -> ReplySink {
        let end = End(self.clone());
        Arc::new(move |message| end.take(message))
    }

    /// Waits until the request is answered or there is something before the answer, but not longer
    /// than `patience`.
    pub(super) fn first(&self, patience: Duration) -> First {
        let waits = |state: &mut State| !state.ended && state.kept.is_empty();
        let (mut state, _) = self
            .changed
            .wait_timeout_while(lock(&self.state), patience, waits)
            .unwrap_or_else(PoisonError::into_inner);
        match state.kept.back() {
            None if state.ended => First::Nothing,
            Some(only) if state.ended && state.kept.len() == 1 => {
                if jsonrpc::is_notification(only) {
                    First::More
                } else {
                    state.kept.pop_back().map_or(First::Nothing, owned)
                }
            }
            _ => First::More,
        }
    }

    /// Draws a turn to listen. Of all who begin, the one who drew last goes on: a client that has come
    /// back is not to lose its turn to the connection that it left, however late that begins.
    pub(super) fn draw(&self) -> u64 {
        let mut state = lock(&self.state);
        state.turns += 1;
        state.turns
    }

    /// Takes the turn from whoever has it. False if somebody has it who drew later.
    fn take(&self, turn: u64) -> bool {
        let mut state = lock(&self.state);
        let is_next = turn > state.turn;
        if is_next {
            state.turn = turn;
            self.changed.notify_all();
        }
        is_next
    }

    /// Says on `out` what follows the event `last`, until the stream ends, `over` is cancelled, the
    /// client leaves, or another one listens instead.
    pub(super) fn tell(
        self: &Arc<Self>,
        out: &mut EventStream,
        turn: u64,
        last: EventId,
        over: &Cancel,
    ) {
        // A client that gave this connection up may have drawn on its next one before.
        if !out.is_connected() || !self.take(turn) {
            return;
        }
        let EventId {
            stream: number,
            message: mut said,
        } = last;
        let gone = out.gone().clone();
        let wake = |token: &Cancel| {
            let stream = self.clone();
            token.on_cancel(move || stream.wake())
        };
        let _hooks = (wake(&gone), wake(over));
        loop {
            let nobody = || gone.is_cancelled() || over.is_cancelled();
            let waits = |state: &mut State| {
                !state.ended && state.turn == turn && state.said() <= said && !nobody()
            };
            let state = self
                .changed
                .wait_while(lock(&self.state), waits)
                .unwrap_or_else(PoisonError::into_inner);
            if state.turn != turn || nobody() {
                return;
            }
            let (next, ended) = (state.after(said), state.ended);
            drop(state);
            for (message, json) in next {
                let id = EventId {
                    stream: number,
                    message,
                };
                out.queue_with_id(id, &json);
                said = message;
            }
            out.flush();
            if ended {
                return;
            }
        }
    }

    /// Whether nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.state).ended
    }

    /// Whether everything was said to who has heard so many messages.
    pub(super) fn is_told(&self, said: u64) -> bool {
        let state = lock(&self.state);
        state.ended && state.said() <= said
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }

    /// Whoever listens looks again. Under the lock, so that nobody misses it.
    fn wake(&self) {
        let state = lock(&self.state);
        self.changed.notify_all();
        drop(state);
    }
}

impl State {
    /// How many messages there were.
    fn said(&self) -> u64 {
        self.gone + self.kept.len() as u64
    }

    fn push(&mut self, message: Vec<u8>) {
        self.bytes += message.len();
        self.kept.push_back(Arc::new(message));
        while self.bytes > KEPT && self.kept.len() > 1 {
            if let Some(oldest) = self.kept.pop_front() {
                self.bytes -= oldest.len();
                self.gone += 1;
            }
        }
    }

    /// What is kept of the messages after the first `said`, with their numbers.
    fn after(&self, said: u64) -> Vec<(u64, Arc<Vec<u8>>)> {
        let numbered = (self.gone + 1..).zip(&self.kept);
        let next = numbered.filter(|(number, _)| *number > said);
        next.map(|(number, message)| (number, message.clone()))
            .collect()
    }
}

/// The message itself: nobody else listens yet.
fn owned(message: Arc<Vec<u8>>) -> First {
    First::Answer(Arc::unwrap_or_clone(message))
}

/// Ends the stream when it is dropped.
struct End(Arc<ResponseStream>);

impl End {
    fn take(&self, message: Vec<u8>) {
        lock(&self.0.state).push(message);
        self.0.changed.notify_all();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.0.state).ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

    fn after(messages: &[&[u8]], ended: bool) -> First {
        let stream = Arc::new(ResponseStream::default());
        let sink = stream.sink();
        messages.iter().for_each(|message| sink(message.to_vec()));
        let sink = Some(sink).filter(|_| !ended);
        let first = stream.first(Duration::ZERO);
        drop(sink);
        first
    }

    #[test]
    fn only_a_lone_answer_needs_no_stream() {
        assert!(matches!(after(&[ANSWER], true), First::Answer(it) if it == ANSWER));
        assert!(matches!(after(&[], true), First::Nothing));
        for (messages, ended) in [
            (&[][..], false),
            (&[ANSWER], false),
            (&[NOTE], false),
            (&[NOTE], true),
            (&[NOTE, ANSWER], true),
        ] {
            assert!(matches!(after(messages, ended), First::More));
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_never_the_answer_is_lost() {
        let mut state = State::default();
        for _ in 0..KEPT / 100 {
            state.push(vec![b' '; 1000]);
        }
        assert!(state.bytes <= KEPT && state.kept.len() == KEPT / 1000);
        state.push(vec![b' '; 2 * KEPT]);
        assert_eq!(state.kept.len(), 1);
        let last = (KEPT / 100) as u64 + 1;
        assert_eq!(state.said(), last);
        assert_eq!(state.after(3)[0].0, last);
        assert!(state.after(last).is_empty());
    }

    #[test]
    fn who_came_back_last_listens_in_whatever_order_they_begin() {
        let stream = ResponseStream::default();
        let [left, back, head] = [(); 3].map(|()| stream.draw());
        assert!(stream.take(back));
        assert!(!stream.take(left), "it only begins now");
        // One that never begins takes nothing away.
        assert_eq!(lock(&stream.state).turn, back);
        assert!(stream.take(head) && !stream.take(back));
    }

    #[test]
    fn event_ids_come_back_as_they_went() {
        let id = EventId {
            stream: 7,
            message: 12,
        };
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in [
            "",
            "7",
            "7-",
            "-7",
            "a-b",
            "7-12-1",
            "99999999999999999999-1",
        ] {
            assert_eq!(wrong.parse::<EventId>(), Err(()), "{wrong}");
        }
    }
}
