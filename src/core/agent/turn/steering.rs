//! Steering: messages that the user sends to a turn that is running. Each is in the journal from the moment at which it
//! is taken. It reaches the model with the next request of the turn, which goes on for it if there were none. What a
//! cancelled turn leaves waits for the next one.

use crate::agent::Error;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::sync::Mutex;

/// The messages for the running turn; `None` if no turn asks a model.
#[derive(Default)]
pub(in crate::agent) struct Steering(Mutex<Option<State>>);

struct State {
    /// That of the turn.
    cancel: Cancel,
    /// Whether there is a message in the journal that it has not taken.
    waits: bool,
}

/// A turn that takes messages until this is dropped.
pub(in crate::agent) struct OpenSteering<'s>(&'s Steering);

impl Steering {
    /// Lets messages come to the turn that `cancel` ends.
    pub(in crate::agent) fn open(&self, cancel: &Cancel) -> OpenSteering<'_> {
        let cancel = cancel.clone();
        let waits = false;
        *lock(&self.0) = Some(State { cancel, waits });
        OpenSteering(self)
    }

    /// Passes a message that `store` stores to the running turn; `None` if there is none.
    ///
    /// # Errors
    /// Those of `store`.
    pub(in crate::agent) fn add<T>(
        &self,
        store: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        // Held while it is stored: the turn must not end in between.
        let mut state = lock(&self.0);
        let Some(state) = state.as_mut().filter(|it| !it.cancel.is_cancelled()) else {
            return Ok(None);
        };
        let stored = store()?;
        state.waits = true;
        Ok(Some(stored))
    }

    /// Whether a message waits in the journal; it counts as taken from then on.
    pub(in crate::agent) fn take(&self) -> bool {
        let mut state = lock(&self.0);
        (state.as_mut()).is_some_and(|state| std::mem::take(&mut state.waits))
    }
}

impl OpenSteering<'_> {
    /// Ends the turn, unless a message waits; whether it has ended.
    pub(in crate::agent) fn close_if_idle(&self) -> bool {
        lock(&self.0.0).take_if(|state| !state.waits).is_some()
    }
}

impl Drop for OpenSteering<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}
