//! The channel between a running turn and the threads that work for it: pending questions to the user,
//! notices from MCP servers, and the model that answers their requests.

use crate::agent::questions::pending_questions::PendingQuestions;
use crate::agent::questions::permission_mode::{Confirmation, Mode};
use crate::agent::turn::steering::Steering;
use crate::conversation::{Message, Outcome};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::CallToolResult;
use crate::provider::FastModel;
use crate::provider::{self, ErrorClass, ModelConfig, Provider, Usage};
use crate::sys::lock;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many notices wait for the turn at most; more are dropped, and counted.
const MAX_NOTICES: usize = 1_024;

/// How many sampling requests of servers the model answers from the begin of one turn to that of the next.
/// They cost tokens, and a server may send them without end.
pub(in crate::agent) const MAX_SAMPLING_REQUESTS: usize = 100;

/// What another thread tells the running turn.
pub(in crate::agent) enum Notice {
    /// A notification of an MCP server about a call, as `{method, params}`.
    McpNotification {
        /// The id of the tool request.
        request: String,
        message: RawJson,
    },
    /// A message or a question for the user; it is not stored.
    Message(Message),
    /// The tokens that a sampling request has cost.
    Usage(Usage),
}

/// A model and the provider that serves it.
#[derive(Clone)]
pub struct Model {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// The model's name and settings.
    pub config: ModelConfig,
}

impl Model {
    /// Asks the fast model, and this one if there is none or it fails.
    ///
    /// # Errors
    /// Those of `ask` for this model, and a cancellation.
    pub(in crate::agent) fn ask_fast_first<T>(
        &self,
        fast: Option<&FastModel>,
        mut ask: impl FnMut(&Model) -> Result<T, provider::Error>,
    ) -> Result<T, provider::Error> {
        if let Some(fast) = fast {
            let model = Model {
                provider: self.provider.clone(),
                config: fast.config.clone(),
            };
            match ask(&model) {
                Err(error) if error.class != ErrorClass::Cancelled => {
                    let name = &fast.config.model_name;
                    log::info!("fast model not used model={name:?} reason={error}");
                    fast.failed(error.class);
                }
                answer => return answer,
            }
        }
        ask(self)
    }
}

/// See the [module](self).
#[derive(Default)]
pub(in crate::agent) struct TurnChannel {
    /// Approvals of tool calls.
    pub(in crate::agent) confirmations: PendingQuestions<Confirmation>,
    /// Results of tools that the client runs.
    pub(in crate::agent) frontend_results: PendingQuestions<Outcome<CallToolResult>>,
    /// Elicitations: the data that the user enters for an MCP server; `None` if the user declines.
    pub(in crate::agent) elicitations: PendingQuestions<Option<Value>>,
    /// Messages for the turn.
    pub(in crate::agent) steering: Steering,
    state: Mutex<State>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Where notices go while the turn runs tools.
    notices: Option<Sender<Notice>>,
    model: Option<Model>,
    mode: Mode,
    /// Whether no user can answer questions.
    unattended: bool,
    /// Sampling requests since the last turn began.
    sampling_requests: usize,
}

/// The turn's end of the channel. Dropping it closes the channel.
pub(in crate::agent) struct TurnReceiver<'c> {
    channel: &'c TurnChannel,
    pub(in crate::agent) notices: Receiver<Notice>,
}

impl TurnChannel {
    /// Sets the model and the mode of the turn that begins, and whether a user can answer questions in it.
    pub(in crate::agent) fn begin_turn(&self, model: &Model, mode: Mode, attended: bool) {
        let mut state = lock(&self.state);
        state.model = Some(model.clone());
        state.mode = mode;
        state.unattended = !attended;
        state.sampling_requests = 0;
    }

    /// Changes the model of the turn that is running.
    pub(in crate::agent) fn set_model(&self, model: &Model) {
        lock(&self.state).model = Some(model.clone());
    }

    /// Counts a sampling request; false if there were too many since the last turn began.
    pub(in crate::agent) fn count_sampling_request(&self) -> bool {
        let mut state = lock(&self.state);
        state.sampling_requests += 1;
        state.sampling_requests <= MAX_SAMPLING_REQUESTS
    }

    /// The model of the last turn, and its mode.
    pub(in crate::agent) fn model(&self) -> (Option<Model>, Mode) {
        let state = lock(&self.state);
        (state.model.clone(), state.mode)
    }

    /// The mode of the last turn.
    pub(in crate::agent) fn mode(&self) -> Mode {
        lock(&self.state).mode
    }

    /// Changes the mode of the turn that is running.
    pub(in crate::agent) fn set_mode(&self, mode: Mode) {
        lock(&self.state).mode = mode;
    }

    /// Whether a user can answer questions in the last turn.
    pub(in crate::agent) fn is_attended(&self) -> bool {
        !lock(&self.state).unattended
    }

    /// Opens the channel until the receiver is dropped.
    pub(in crate::agent) fn open(&self) -> TurnReceiver<'_> {
        let (sender, notices) = bounded(MAX_NOTICES);
        lock(&self.state).notices = Some(sender);
        TurnReceiver {
            channel: self,
            notices,
        }
    }

    /// Sends a notice to the turn; false if the channel is closed or full. Never blocks.
    pub(in crate::agent) fn send(&self, notice: Notice) -> bool {
        let Some(notices) = lock(&self.state).notices.clone() else {
            return false;
        };
        match notices.try_send(notice) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(_)) => {
                if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                    log::warn!("notifications of tools dropped, as the client reads too slowly");
                }
                false
            }
        }
    }
}

impl Drop for TurnReceiver<'_> {
    fn drop(&mut self) {
        lock(&self.channel.state).notices = None;
    }
}
