//! The provider `scripted`: its responses come from a file instead of a model, for demonstrations, for tests
//! and to try a setup without a network.
//!
//! The file is a JSON object of at most 4 MiB, read again when it changes:
//!
//! ```json
//! {
//!   "turns": [
//!     {"steps": [
//!       {"text": "Let me see. ", "chunks": 3, "delay_ms": 20},
//!       {"call": {"name": "demo__add", "arguments": {"a": 1, "b": 2}}},
//!       {"text": "It is {{last_result}}."}
//!     ], "usage": {"input": 10, "output": 5}},
//!     {"when": {"user": "trouble"}, "steps": [
//!       {"error": {"class": "rate_limit", "message": "slow down", "after_ms": 500}}
//!     ]}
//!   ],
//!   "name": "A sum", "summary": "They added.", "repeat": true
//! }
//! ```
//!
//! **Steps**: `text`, in `chunks` pieces (1) with `delay_ms` before each (0); `reasoning`; `call` with
//! `name`, `arguments` and an optional `id`; `calls`, a list of parallel calls; `raw_call` with
//! `arguments_text` as a model would write them, JSON or not; `image` with `data` and `mime_type`;
//! `error` with `class` (`config`, `authentication`, `rate_limit`, `context_exceeded`, `credits`,
//! `refused`, `server`, `timeout`, `transport`, `protocol`, `cancelled`), `message`, `after_ms`, and
//! `times`, how often the step fails before it succeeds; `wait_ms`; `say_results: true`, which outputs the
//! results of the tools; `expect`, which fails with the class `refused` unless the tools' last results
//! contain this text.
//!
//! **Which response comes next**: a step with calls ends a response, and the steps after it respond to the
//! tools' results; so one turn, or several, may contain a loop of calls. Turns without `when` come one after
//! the other, by the number of responses in the conversation; after the last one the script says that it is
//! over, or begins again with `repeat`. A turn with `when` responds to any user message that contains this
//! text, and does not count. Nothing else matters, so a script continues after a restart and serves any
//! number of sessions. It starts over when the conversation is compacted.
//!
//! **Placeholders** in texts and in strings of arguments: `{{last_user}}`, `{{last_result}}`, `{{tools}}`
//! (their names), `{{system}}`, `{{news}}` (what the program tells after the messages, for example the checklist) and
//! `{{model}}`.
//!
//! `stop` of a turn may be `length` or `filtered`. `name` is the name for the session, `summary` the response
//! to a request for a summary.

mod script;

use super::model_output::{reject_truncated_call, tool_request};
use super::{
    Completion, CompletionRequest, DeltaSink, Error, ErrorClass, InProcessProvider, Provider,
    Purpose,
};
use crate::conversation::{Content, Image, ToolRequest};
use crate::part::Part;
use crate::store::settings;
use crate::sys::cancel::Cancel;
use crate::sys::fs::{Stamp, read_start};
use crate::sys::lock;
use script::{Call, Script, ScriptedReply, Step};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The largest script, in bytes.
const MAX_SCRIPT: u64 = 4 << 20;
/// How many characters of the last user message the default summary quotes.
const SUMMARY_QUOTE: usize = 200;
/// How many characters of unexpected results an error quotes.
const MAX_QUOTE: usize = 1_000;

/// The script without a file.
const BUILTIN_SCRIPT: &str = r#"{"repeat": true, "turns": [{"steps": [
    {"text": "This is the built-in script, not a model. I heard: {{last_user}}"}]}]}"#;

/// What this adds to gosling.
pub const PART: Part = Part {
    providers: &[scripted],
    ..Part::new("scripted")
};

/// The provider for the catalog. It keeps one [`Scripted`] while the setting names the same file, because that
/// counts how often a step has failed.
pub fn scripted() -> InProcessProvider {
    let kept: Mutex<Option<Arc<Scripted>>> = Mutex::default();
    InProcessProvider {
        name: "scripted".into(),
        display_name: "Scripted".into(),
        description: "Answers from a file instead of a model, to try and to show a set-up".into(),
        model: "script".into(),
        make: Box::new(move |config| {
            let path = settings::SCRIPT.text(config)?.map(PathBuf::from);
            let mut kept = lock(&kept);
            match &*kept {
                Some(made) if made.path == path => Ok(made.clone()),
                _ => Ok(kept.insert(Arc::new(Scripted::new(path))).clone()),
            }
        }),
    }
}

/// A provider whose responses come from a script.
pub struct Scripted {
    path: Option<PathBuf>,
    read: Mutex<Option<(Stamp, Arc<Script>)>>,
}

impl Scripted {
    /// A provider for the script in this file; without a file it repeats the user's message. The file is read
    /// with the first request.
    pub fn new(path: Option<PathBuf>) -> Scripted {
        Scripted {
            path,
            read: Mutex::default(),
        }
    }

    fn script(&self) -> Result<Arc<Script>, Error> {
        let Some(path) = &self.path else {
            let echo =
                Script::parse(BUILTIN_SCRIPT).map_err(|e| broken(Path::new("built-in"), &e))?;
            return Ok(Arc::new(echo));
        };
        let stamp = std::fs::metadata(path).and_then(|metadata| Stamp::of(&metadata));
        let stamp = stamp.map_err(|e| unreadable(path, &e))?;
        if let Some((known, script)) = &*lock(&self.read)
            && *known == stamp
        {
            return Ok(script.clone());
        }
        let text = read_start(path, MAX_SCRIPT + 1).map_err(|e| unreadable(path, &e))?;
        if text.len() as u64 > MAX_SCRIPT {
            let reason = io::Error::other("it is larger than 4 MiB");
            return Err(unreadable(path, &reason));
        }
        let text = String::from_utf8(text)
            .map_err(|_| unreadable(path, &io::Error::other("it is not in UTF-8")))?;
        let script = Arc::new(Script::parse(&text).map_err(|e| broken(path, &e))?);
        *lock(&self.read) = Some((stamp, script.clone()));
        Ok(script)
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn uses_input_size(&self) -> bool {
        false
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error> {
        let script = self.script()?;
        let mut playback = Playback {
            request,
            cancel,
            sink,
            number: 0,
            completion: Completion::default(),
        };
        let line = match request.purpose {
            Purpose::Turn | Purpose::Sampling => {
                let (reply, number) = script.next(request.messages);
                playback.number = number;
                if let Some(reply) = reply {
                    return playback.play(reply);
                }
                "The script has nothing more to say.".to_owned()
            }
            Purpose::Name => match &script.name {
                Some(name) => playback.fill(name),
                None => {
                    let reason = "the script has no name for the session";
                    return Err(Error::new(ErrorClass::Refused, reason));
                }
            },
            Purpose::Summary => match &script.summary {
                Some(summary) => playback.fill(summary),
                None => playback.default_summary(),
            },
        };
        playback.sink.begin(None);
        playback.say(&line, 1, Duration::ZERO)?;
        Ok(playback.completion)
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, Error> {
        Ok(vec!["script".to_owned()])
    }
}

fn unreadable(path: &Path, reason: &io::Error) -> Error {
    let message = format!(
        "scripted: cannot read the script {}: {reason}; GOOSE_SCRIPT names it",
        path.display()
    );
    Error::new(ErrorClass::Config, message)
}

fn broken(path: &Path, reason: &serde_json::Error) -> Error {
    // The reason ends with line and column.
    let message = format!("scripted: {} is not a script: {reason}", path.display());
    Error::new(ErrorClass::Config, message)
}

/// Executes the steps of one response.
struct Playback<'a> {
    request: &'a CompletionRequest<'a>,
    cancel: &'a Cancel,
    sink: &'a mut dyn DeltaSink,
    /// The number of responses before this one.
    number: usize,
    completion: Completion,
}

impl Playback<'_> {
    fn play(mut self, reply: ScriptedReply<'_>) -> Result<Completion, Error> {
        self.sink.begin(None);
        for step in reply.steps {
            if self.cancel.is_cancelled() {
                return Err(cancelled());
            }
            match step {
                Step::Text {
                    text,
                    chunks,
                    delay,
                } => {
                    let text = self.fill(text);
                    self.say(&text, *chunks, *delay)?;
                }
                Step::SayResults => {
                    let results = script::last_results(self.request.messages).join("\n");
                    self.say(&results, 1, Duration::ZERO)?;
                }
                Step::Reasoning(text) => {
                    let text = self.fill(text);
                    self.completion.add_reasoning(&text, self.sink);
                }
                Step::Calls(calls) => {
                    for (n, call) in calls.iter().enumerate() {
                        let request = self.request(n, call);
                        self.completion.content.push(Content::ToolRequest(request));
                    }
                }
                Step::Image(image) => self.completion.content.push(Content::Image(Image {
                    data: image.data.clone(),
                    mime_type: image.mime_type.clone(),
                    ..Image::default()
                })),
                Step::Fail(failure) if failure.fails_now() => {
                    return Err(Error::new(failure.class(), failure.message.clone()));
                }
                Step::Fail(_) => {}
                Step::Wait(time) => self.wait(*time)?,
                Step::Expect(text) => self.expect(text)?,
            }
        }
        self.completion.usage = reply.usage;
        self.completion.stop = reply.stop;
        reject_truncated_call(&mut self.completion);
        Ok(self.completion)
    }

    /// Fails unless the tools' last results contain `text`.
    fn expect(&self, text: &str) -> Result<(), Error> {
        let results = script::last_results(self.request.messages).join("\n");
        if results.contains(text) {
            return Ok(());
        }
        let quoted: String = results.chars().take(MAX_QUOTE).collect();
        let reason =
            format!("the script expects {text:?} from the tools, which returned {quoted:?}");
        Err(Error::new(ErrorClass::Refused, reason))
    }

    fn say(&mut self, text: &str, chunks: usize, delay: Duration) -> Result<(), Error> {
        for piece in pieces(text, chunks) {
            self.wait(delay)?;
            self.completion.add_text(piece, self.sink);
        }
        Ok(())
    }

    fn request(&self, n: usize, call: &Call) -> ToolRequest {
        let id = match &call.id {
            Some(id) => id.clone(),
            None => format!("call_{}_{n}", self.number),
        };
        let arguments = match (&call.arguments_text, &call.arguments) {
            (Some(text), _) => text.clone(),
            (None, Some(arguments)) => self.fill_all(arguments).to_string(),
            (None, None) => "{}".to_owned(),
        };
        tool_request(Some(id), call.name.clone(), arguments)
    }

    /// Waits for `time`.
    ///
    /// # Errors
    /// When the request is cancelled.
    fn wait(&mut self, time: Duration) -> Result<(), Error> {
        let is_cancelled = if time.is_zero() {
            self.cancel.is_cancelled()
        } else {
            self.sink.idle();
            self.cancel.wait_timeout(time)
        };
        if is_cancelled {
            return Err(cancelled());
        }
        Ok(())
    }

    /// The text with its placeholders replaced. Values are not searched for placeholders.
    fn fill(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            out.push_str(before);
            let known = after
                .split_once("}}")
                .and_then(|(name, after)| Some((self.placeholder(name.trim())?, after)));
            rest = match known {
                Some((value, after)) => {
                    out.push_str(&value);
                    after
                }
                None => {
                    out.push_str("{{");
                    after
                }
            };
        }
        out + rest
    }

    fn placeholder(&self, name: &str) -> Option<String> {
        let messages = self.request.messages;
        Some(match name {
            "last_user" => messages
                .iter()
                .rev()
                .find_map(|message| script::user_text(message))
                .unwrap_or_default(),
            "last_result" => script::last_results(messages).pop().unwrap_or_default(),
            "tools" => {
                let names: Vec<_> = self.request.tools.iter().map(|t| t.name.as_str()).collect();
                names.join(", ")
            }
            "system" => self.request.system.to_owned(),
            "news" => {
                let news = messages.iter().rev().map_while(|message| message.as_news());
                news.collect::<Vec<_>>().join("\n")
            }
            "model" => self.request.model.model_name.clone(),
            _ => return None,
        })
    }

    fn fill_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(fields) => {
                let filled = |(key, value): (&String, _)| (key.clone(), self.fill_all(value));
                Value::Object(fields.iter().map(filled).collect())
            }
            other => other.clone(),
        }
    }

    fn default_summary(&self) -> String {
        let text = self.placeholder("last_user").unwrap_or_default();
        let text: String = text.chars().take(SUMMARY_QUOTE).collect();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let count = self.request.messages.len();
        format!("A conversation of {count} messages; last the user said: {text}")
    }
}

fn cancelled() -> Error {
    Error::new(ErrorClass::Cancelled, "the request was cancelled")
}

/// Splits a text into `count` pieces of about the same size, but at most one for each character.
fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let length = text.chars().count();
    let count = count.clamp(1, length.max(1));
    let (mut rest, mut taken, mut n) = (text, 0, 0);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        n += 1;
        let end = usize::try_from(length as u128 * n as u128 / count as u128).unwrap_or(length);
        let bytes = rest
            .char_indices()
            .nth(end - taken)
            .map_or(rest.len(), |(at, _)| at);
        taken = end;
        let (piece, after) = rest.split_at(bytes);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests;
