//! Where a running turn and what it has called meet: questions to the user, words of MCP servers, and
//! the model that answers for now.

use super::pending_questions::PendingQuestions;
use super::permission_mode::{Confirmation, Mode};
use crate::conversation::{Message, Outcome};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::CallToolResult;
use crate::provider::{ModelConfig, Provider, Usage};
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many notes may wait for the turn; more are dropped, and counted.
const NOTES: usize = 1_024;

/// How many answers of the model servers get in one turn, and after it: they cost, and a server may ask
/// without end.
pub(super) const SAMPLES: usize = 100;

/// A word to the running turn, from another thread.
pub(super) enum Notice {
    /// What an MCP server says about a call, as `{method, params}`.
    McpNotification {
        /// The id of the tool request.
        request: String,
        message: RawJson,
    },
    /// Something to show, or to ask, the user; it is not stored.
    Message(Message),
    /// A server's question to the model has cost this.
    Usage(Usage),
}

/// A model, and who has it.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) config: ModelConfig,
}

/// See the module.
#[derive(Default)]
pub(super) struct TurnChannel {
    /// May this tool be called?
    pub(super) confirmations: PendingQuestions<Confirmation>,
    /// What did the client's tool say?
    pub(super) results: PendingQuestions<Outcome<CallToolResult>>,
    /// What does the user say to an MCP server? `None` is no.
    pub(super) answers: PendingQuestions<Option<Value>>,
    state: Mutex<State>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    /// To the turn, while it runs tools.
    notes: Option<Sender<Notice>>,
    model: Option<Model>,
    mode: Mode,
    /// SessionRequestHandler of the model for servers since the last turn began.
    sampled: usize,
}

/// Listens for as long as it is there.
pub(super) struct TurnReceiver<'f> {
    channel: &'f TurnChannel,
    pub(super) notes: Receiver<Notice>,
}

impl TurnChannel {
    /// The turn that begins uses this model in this mode.
    pub(super) fn begin(&self, model: &Model, mode: Mode) {
        let mut state = lock(&self.state);
        state.model = Some(model.clone());
        state.mode = mode;
        state.sampled = 0;
    }

    /// Counts one more answer of the model for a server; false if there were too many since the last turn
    /// began.
    pub(super) fn sample(&self) -> bool {
        let mut state = lock(&self.state);
        state.sampled += 1;
        state.sampled <= SAMPLES
    }

    /// The model of the last turn, and its mode.
    pub(super) fn model(&self) -> (Option<Model>, Mode) {
        let state = lock(&self.state);
        (state.model.clone(), state.mode)
    }

    /// From now on notes are heard.
    pub(super) fn listen(&self) -> TurnReceiver<'_> {
        let (tell, notes) = bounded(NOTES);
        lock(&self.state).notes = Some(tell);
        TurnReceiver {
            channel: self,
            notes,
        }
    }

    /// Tells the turn something; false if nobody listens. Never waits.
    pub(super) fn tell(&self, note: Notice) -> bool {
        let Some(notes) = lock(&self.state).notes.clone() else {
            return false;
        };
        match notes.try_send(note) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(_)) => {
                if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!("tools say more than the client takes; notifications are dropped");
                }
                false
            }
        }
    }
}

impl Drop for TurnReceiver<'_> {
    fn drop(&mut self) {
        lock(&self.channel.state).notes = None;
    }
}
