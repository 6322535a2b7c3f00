//! The format of a script, and which part of it responds to a conversation. No I/O.

use super::super::{ErrorClass, StopReason, Usage, result_text};
use crate::conversation::{Message, Outcome, Role};
use crate::sys::TimeLimit;
use serde::Deserialize;
use serde_json::Value;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A complete script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    pub(super) turns: Vec<Turn>,
    pub(super) name: Option<String>,
    pub(super) summary: Option<String>,
    #[serde(default)]
    repeat: bool,
}

/// The responses to one message of the user: one, and one more after each step with calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    when: Option<When>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    stop: StopReason,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    user: String,
}

/// One step of a response.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Fields")]
pub(super) enum Step {
    Text {
        text: String,
        chunks: usize,
        delay: Duration,
    },
    Reasoning(String),
    Calls(Vec<Call>),
    Image(Image),
    Fail(Failure),
    Wait(Duration),
    SayResults,
    Expect(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Option<Value>,
    pub(super) arguments_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    pub(super) data: String,
    pub(super) mime_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    class: ClassName,
    pub(super) message: String,
    after_ms: Option<u64>,
    /// How often the step fails before it succeeds; it always fails if absent.
    times: Option<u32>,
    #[serde(skip)]
    failures: AtomicU32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClassName {
    Config,
    Authentication,
    RateLimit,
    ContextExceeded,
    Credits,
    Refused,
    Server,
    Timeout,
    Transport,
    Protocol,
    Cancelled,
}

/// A step in the file: the fields of exactly one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    text: Option<String>,
    chunks: Option<usize>,
    delay_ms: Option<u64>,
    reasoning: Option<String>,
    call: Option<Call>,
    calls: Option<Vec<Call>>,
    raw_call: Option<Call>,
    image: Option<Image>,
    error: Option<Failure>,
    wait_ms: Option<u64>,
    say_results: Option<bool>,
    expect: Option<String>,
}

impl TryFrom<Fields> for Step {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        if fields.text.is_none() && (fields.chunks.is_some() || fields.delay_ms.is_some()) {
            return Err("`chunks` and `delay_ms` go with `text`".to_owned());
        }
        let (chunks, delay) = (fields.chunks.unwrap_or(1), fields.delay_ms.unwrap_or(0));
        let text = fields.text.map(|text| Step::Text {
            text,
            chunks: chunks.max(1),
            delay: TimeLimit::new(Duration::from_millis(delay)).get(),
        });
        let one = |call| Step::Calls(vec![call]);
        let kinds = [
            text,
            fields.reasoning.map(Step::Reasoning),
            fields.call.map(one),
            fields.calls.map(Step::Calls),
            fields.raw_call.map(one),
            fields.image.map(Step::Image),
            fields.error.map(Step::Fail),
            (fields.wait_ms)
                .map(|wait| Step::Wait(TimeLimit::new(Duration::from_millis(wait)).get())),
            (fields.say_results == Some(true)).then_some(Step::SayResults),
            fields.expect.map(Step::Expect),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(step), None) => Ok(step),
            (None, _) => Err("a step without text, call or any other kind".to_owned()),
            (Some(_), Some(_)) => Err("a step of two kinds; make it two steps".to_owned()),
        }
    }
}

impl Failure {
    /// The class of the error.
    pub(super) fn class(&self) -> ErrorClass {
        match self.class {
            ClassName::Config => ErrorClass::Config,
            ClassName::Authentication => ErrorClass::Authentication,
            ClassName::RateLimit => ErrorClass::RateLimit {
                after: self
                    .after_ms
                    .map(|after| TimeLimit::new(Duration::from_millis(after)).get()),
            },
            ClassName::ContextExceeded => ErrorClass::ContextExceeded,
            ClassName::Credits => ErrorClass::Credits,
            ClassName::Refused => ErrorClass::Refused,
            ClassName::Server => ErrorClass::Server,
            ClassName::Timeout => ErrorClass::Timeout,
            ClassName::Transport => ErrorClass::Transport,
            ClassName::Protocol => ErrorClass::Protocol,
            ClassName::Cancelled => ErrorClass::Cancelled,
        }
    }

    /// Whether the step fails now. Counts the failure.
    pub(super) fn fails_now(&self) -> bool {
        let Some(times) = self.times else { return true };
        let once_more = |count: u32| (count < times).then(|| count + 1);
        let relaxed = Ordering::Relaxed;
        (self.failures.fetch_update(relaxed, relaxed, once_more)).is_ok()
    }
}

/// One response of the model: the steps of a turn up to and including a step with calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptedReply<'a> {
    pub(super) steps: &'a [Step],
    pub(super) usage: Usage,
    pub(super) stop: StopReason,
}

/// The position of a conversation in the script.
#[derive(Clone, Copy, Debug, Default)]
struct Position<'a> {
    last_user: &'a str,
    /// Responses since the last user message.
    since_user: usize,
    /// Responses from turns without `when`.
    plain: usize,
    responses: usize,
}

impl Script {
    /// Reads the JSON text of a script.
    ///
    /// # Errors
    /// The error contains line and column.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        crate::json::from_str(text)
    }

    /// The next response in this conversation, if there is one, and the number of responses before it.
    ///
    /// It depends only on the conversation: the script is replayed for the responses in it.
    pub(super) fn next(&self, messages: &[&Message]) -> (Option<ScriptedReply<'_>>, usize) {
        let texts: Vec<_> = messages.iter().map(|m| user_text(m)).collect();
        let mut at = Position::default();
        let mut before: Option<&Message> = None;
        for (message, text) in messages.iter().zip(&texts) {
            if message.role == Role::Assistant && !continues(before, message) {
                let (_, plain) = self.reply(&at);
                at.plain += usize::from(plain);
                at.since_user += 1;
                at.responses += 1;
            }
            if let Some(text) = text {
                at.last_user = text;
                at.since_user = 0;
            }
            before = match message.role {
                Role::Assistant => Some(message),
                // A tool's result may stand between two messages of one response.
                Role::User => before.filter(|before| before.id.is_some()),
            };
        }
        (self.reply(&at).0, at.responses)
    }

    /// The response at this position, and whether it comes from a turn without `when`.
    fn reply(&self, at: &Position<'_>) -> (Option<ScriptedReply<'_>>, bool) {
        let fits = |turn: &&Turn| {
            let when = turn.when.as_ref();
            when.is_some_and(|when| at.last_user.contains(&when.user))
        };
        let special = self.turns.iter().filter(fits).flat_map(Turn::replies);
        if let Some(reply) = special.into_iter().nth(at.since_user) {
            return (Some(reply), false);
        }
        let plain = || {
            let turns = self.turns.iter().filter(|turn| turn.when.is_none());
            turns.flat_map(Turn::replies)
        };
        let count = plain().count();
        let number = if self.repeat && count > 0 {
            at.plain % count
        } else {
            at.plain
        };
        (plain().nth(number), true)
    }
}

impl Turn {
    fn replies(&self) -> impl Iterator<Item = ScriptedReply<'_>> {
        let parts = self
            .steps
            .split_inclusive(|step| matches!(step, Step::Calls(_)));
        // A turn without steps is an empty response.
        let empty = self.steps.is_empty().then_some(&self.steps[..]);
        let mut parts = parts.chain(empty).peekable();
        std::iter::from_fn(move || {
            let steps = parts.next()?;
            let last = parts.peek().is_none();
            Some(ScriptedReply {
                steps,
                usage: self.usage,
                stop: if last {
                    self.stop
                } else {
                    StopReason::Complete
                },
            })
        })
    }
}

/// Whether `message` belongs to the same response as `before`.
fn continues(before: Option<&Message>, message: &Message) -> bool {
    before.is_some_and(|before| before.id.is_none() || before.id == message.id)
}

/// The user's text in a message; none in a message with tool results, and in news.
pub(super) fn user_text(message: &Message) -> Option<String> {
    let by_tool = message.tool_responses().next().is_some();
    let has_text = message.content.iter().any(|part| part.as_text().is_some());
    (message.role == Role::User && !by_tool && has_text && message.as_news().is_none())
        .then(|| message.concat_text())
}

/// The texts of the last tool results, of all calls of one response.
pub(super) fn last_results(messages: &[&Message]) -> Vec<String> {
    let answers = |message: &&&Message| message.tool_responses().next().is_some();
    let end = messages.iter().rposition(|message| answers(&message));
    let until = &messages[..end.map_or(0, |last| last + 1)];
    let mut last: Vec<_> = until.iter().rev().take_while(answers).collect();
    last.reverse();
    let responses = last.into_iter().flat_map(|m| m.tool_responses());
    responses
        .map(|response| match &response.tool_result {
            Outcome::Error { error } => error.clone(),
            Outcome::Success { value } => result_text(value),
        })
        .collect()
}
