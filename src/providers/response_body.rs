//! The body of a response in pieces: an event stream, or one JSON text from a server that does not stream.

use super::Error;
use super::json_splitter::JsonSplitter;
use crate::outbound::sse;

/// Splits a body into its events, or into its only text.
pub(super) struct ResponseBody {
    form: Form,
    /// The bytes that a text instead of events begins with; events have any other.
    text_begins: &'static [u8],
    max_event: usize,
}

/// The form of the body, known from its first byte.
enum Form {
    /// Only white space has come.
    Unknown,
    Events(sse::Decoder),
    Text(JsonSplitter),
    /// The text was complete; what follows it does not count.
    Ended,
}

/// A part of a body, as JSON.
pub(super) enum Part<'a> {
    Event(&'a [u8]),
    /// The complete body.
    Text(&'a [u8]),
}

impl ResponseBody {
    pub(super) fn new(text_begins: &'static [u8], max_event: usize) -> Self {
        ResponseBody {
            form: Form::Unknown,
            text_begins,
            max_event,
        }
    }

    /// Takes the next piece and passes each part that it completes to `take`, until that fails.
    ///
    /// # Errors
    /// Those of `take`, and [`Protocol`](super::ErrorClass::Protocol) if an event is too long.
    pub(super) fn push(
        &mut self,
        mut piece: &[u8],
        take: &mut dyn FnMut(Part<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Form::Unknown = self.form {
            piece = piece.trim_ascii_start();
            self.form = match piece.first() {
                None => return Ok(()),
                Some(first) if self.text_begins.contains(first) => {
                    Form::Text(JsonSplitter::default())
                }
                Some(_) => Form::Events(sse::Decoder::new(self.max_event).of_any_type()),
            };
        }
        match &mut self.form {
            Form::Unknown | Form::Ended => Ok(()),
            Form::Text(whole) => match whole.push(piece) {
                Some((text, _)) => {
                    self.form = Form::Ended;
                    take(Part::Text(&text))
                }
                None => Ok(()),
            },
            Form::Events(events) => {
                let mut outcome = Ok(());
                let pushed = events.push(piece, |data| {
                    if outcome.is_ok() {
                        outcome = take(Part::Event(data));
                    }
                });
                outcome?;
                pushed.map_err(|_| {
                    let what = format!("an event is longer than {} MiB", self.max_event >> 20);
                    Error::protocol(what)
                })
            }
        }
    }
}
