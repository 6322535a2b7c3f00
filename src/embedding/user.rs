//! A user who is asked by calls: approvals of tools, and elicitations of MCP servers, in turns and outside of them.

use crate::agent::{Confirmation, Event, EventSink, Registry, SessionObserver};
use crate::conversation::{Action, Content, Message};
use crate::sys;
use crate::sys::cancel::Cancel;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// How many questions of one registry may be with its user at the same time. Others are declined.
const MAX_QUESTIONS: usize = 256;

/// Answers the questions of sessions. Each call has a thread of its own, so that it may block and may use the registry,
/// also for the session that asks. What it answers counts until the turn ends or the time is over that the settings give
/// for an answer. If it panics, it has declined.
pub trait User: Send + Sync + 'static {
    /// Whether a tool may be called. Without an implementation, none may that needs an approval.
    fn approve(&self, _approval: &Approval) -> Confirmation {
        Confirmation::DenyOnce
    }

    /// The data that an MCP server asks for, an object that fits the schema; `None` declines.
    fn elicit(&self, _elicitation: &Elicitation) -> Option<Value> {
        None
    }
}

/// The question whether a tool may be called.
#[derive(Debug)]
#[non_exhaustive]
pub struct Approval {
    /// The id of the session.
    pub session: String,
    /// `extension__tool`.
    pub tool: String,
    /// The JSON text of an object.
    pub arguments: String,
    /// An explanation for the user.
    pub prompt: Option<String>,
    /// Fires when the answer does not matter any more.
    pub cancel: Cancel,
}

/// The question of an MCP server for data.
#[derive(Debug)]
#[non_exhaustive]
pub struct Elicitation {
    /// The id of the session.
    pub session: String,
    /// The text, which begins with the name of the extension.
    pub message: String,
    /// A flat JSON Schema.
    pub schema: Value,
    /// Fires when the answer does not matter any more.
    pub cancel: Cancel,
}

/// While it exists, the user is asked.
#[must_use = "dropping it ends the asking"]
pub struct UserHandle {
    _asker: Arc<Asker>,
}

/// Asks `user` what the sessions of the registry ask, from now on. Other fronts may answer, too; the first answer counts.
pub fn ask(registry: &Arc<Registry>, user: impl User) -> UserHandle {
    let asker = Arc::new_cyclic(|this| Asker {
        this: this.clone(),
        questions: Questions {
            registry: Arc::downgrade(registry),
            user: Arc::new(user),
            open: Arc::default(),
        },
    });
    registry.observe(&asker);
    UserHandle { _asker: asker }
}

struct Asker {
    /// For turns, which may last longer than the handle.
    this: Weak<Asker>,
    questions: Questions,
}

impl SessionObserver for Asker {
    fn turn_begins(&self, id: &str, _: &Message, cancel: &Cancel) -> Option<Box<dyn EventSink>> {
        Some(Box::new(TurnQuestions {
            asker: self.this.clone(),
            session: id.to_owned(),
            cancel: cancel.child(),
        }))
    }

    fn asked(&self, id: &str, question: &Message) -> bool {
        let Some(registry) = self.questions.registry.upgrade() else {
            return false;
        };
        self.questions.ask(id, question, registry.cancel());
        true
    }
}

/// Sees the questions of a turn.
struct TurnQuestions {
    asker: Weak<Asker>,
    session: String,
    cancel: Cancel,
}

impl EventSink for TurnQuestions {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = event
            && let Some(asker) = self.asker.upgrade()
        {
            (asker.questions).ask(&self.session, message, &self.cancel);
        }
    }

    fn flush(&mut self) {}
}

impl Drop for TurnQuestions {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[derive(Clone)]
struct Questions {
    registry: Weak<Registry>,
    user: Arc<dyn User>,
    /// How many are with the user.
    open: Arc<AtomicUsize>,
}

impl Questions {
    /// Asks the user each question in the message, in a thread of its own.
    fn ask(&self, session: &str, message: &Message, cancel: &Cancel) {
        for part in &message.content {
            let Content::ActionRequired(action) = part else {
                continue;
            };
            let Some(question) = Question::of(session, &action.data, cancel) else {
                continue;
            };
            let question = Arc::new(question);
            let is_free = self.open.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS;
            let (asked, questions) = (question.clone(), self.clone());
            let work = move || questions.put(&asked);
            let name = format!("question {session}");
            if !is_free || sys::spawn(name, None, work).is_err() {
                log::warn!("question declined, as the user has too many session={session}");
                self.declined(&question);
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn put(&self, question: &Question) {
        let asked = sys::caught("user of the program, who declines", || {
            match &question.kind {
                Kind::Approval(approval) => {
                    let answer = self.user.approve(approval);
                    self.confirm(question, answer);
                }
                Kind::Elicitation(elicitation) => {
                    let answer = self.user.elicit(elicitation);
                    self.answer(question, answer);
                }
            }
        });
        if asked.is_err() {
            self.declined(question);
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn declined(&self, question: &Question) {
        match &question.kind {
            Kind::Approval(_) => self.confirm(question, Confirmation::DenyOnce),
            Kind::Elicitation(_) => self.answer(question, None),
        }
    }

    fn confirm(&self, question: &Question, answer: Confirmation) {
        if let (Some(registry), Kind::Approval(it)) = (self.registry.upgrade(), &question.kind) {
            registry
                .questions(&it.session)
                .confirm(&question.id, answer);
        }
    }

    fn answer(&self, question: &Question, answer: Option<Value>) {
        if let (Some(registry), Kind::Elicitation(it)) = (self.registry.upgrade(), &question.kind) {
            registry.questions(&it.session).answer(&question.id, answer);
        }
    }
}

struct Question {
    id: String,
    kind: Kind,
}

enum Kind {
    Approval(Approval),
    Elicitation(Elicitation),
}

impl Question {
    fn of(session: &str, action: &Action, cancel: &Cancel) -> Option<Question> {
        let (session, cancel) = (session.to_owned(), cancel.child());
        match action {
            Action::ToolConfirmation {
                id,
                tool_name,
                arguments,
                prompt,
            } => Some(Question {
                id: id.clone(),
                kind: Kind::Approval(Approval {
                    session,
                    tool: tool_name.clone(),
                    arguments: arguments.get().to_owned(),
                    prompt: prompt.clone(),
                    cancel,
                }),
            }),
            Action::Elicitation {
                id,
                message,
                requested_schema,
            } => Some(Question {
                id: id.clone(),
                kind: Kind::Elicitation(Elicitation {
                    session,
                    message: message.clone(),
                    schema: serde_json::from_str(requested_schema.get()).unwrap_or_default(),
                    cancel,
                }),
            }),
            _ => None,
        }
    }
}
