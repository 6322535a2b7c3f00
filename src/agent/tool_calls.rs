//! The calls of one answer of the model: judged, asked about where that is wanted, run side by side, and
//! answered in their order.

use super::permission_mode::Decision;
use super::session_agent::Agent;
use super::turn::Turn;
use super::turn_channel::Notice;
use super::turn_output::random_id;
use super::{Confirmation, Error, Event, Mode, pending_questions};
use crate::conversation::{
    Action, ActionRequired, Content, FrontendToolRequest, Message, Metadata, Outcome, Role,
    ToolCall, ToolRequest, ToolResponse,
};
use crate::extension::{ListedTool, resource_tools, tool_names};
use crate::mcp::jsonrpc::{self, RawJson};
use crate::mcp::pending_requests::CallOptions;
use crate::mcp::schema;
use crate::mcp::types::{CallToolResult, Content as Part};
use crate::provider::{is_part_for_model, result_text};
use crate::store::{PermissionLevel, Permissions, Sessions};
use crate::sys::cancel::Cancel;
use crate::text::printable;
use crossbeam_channel::{Sender, bounded, select};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How many calls run at the same time; the others wait for their turn.
const MAX_PARALLEL: usize = 64;
/// How long the user may think about a call.
const APPROVAL: Duration = Duration::from_secs(3600);
/// How long the client may take to run a tool of its own.
const FRONTEND: Duration = Duration::from_secs(3600);
/// Longer answers go to a file, in characters of text.
const LARGE: usize = 200_000;
/// How much of it the model sees, in characters.
const HEAD: usize = 4_000;

const DECLINED: &str = "The user does not want this tool to be called, so it was not run. Do not call it \
                        again for this; go another way, or say what cannot be done without it and stop.";
const FORBIDDEN: &str = "The user has forbidden this tool for good. Do not call it; go another way, or say \
                         what cannot be done without it and stop.";
const UNDECIDED: &str = "The user was asked whether this tool may be called and did not answer in time, so \
                         it was not called.";
const UNKNOWN_LEAVE: &str =
    "What the user has allowed could not be read, so nothing was called. Tell the user:";
const CHATTING: &str = "Tools are switched off in this session (chat mode), so nothing was called. Tell \
                        the user what you would have done and what they can do themselves.";
const NOT_RUN: &str = "The call was cancelled before it began, so the tool was not run.";
const CANCELLED: &str = "The call was cancelled before it gave an answer; whether it had an effect is not \
                         known.";
const UNANSWERED: &str = "The client did not say in time what its tool gave.";

/// What is to be done about one call.
enum Plan<'d> {
    /// Nothing: this is the answer.
    Said(Outcome<CallToolResult>),
    /// A tool of a server.
    Run(Box<Run<'d>>),
    /// A tool of the client.
    Frontend(Option<pending_questions::PendingQuestion<'d, Outcome<CallToolResult>>>),
}

struct Run<'d> {
    call: ToolCall,
    /// What is known of the tool; nothing if it is one of our own.
    tool: Option<ListedTool>,
    question: Option<pending_questions::PendingQuestion<'d, Confirmation>>,
}

impl Turn<'_> {
    /// Makes the calls that `message` asks for, and stores and says what they give. False if the turn
    /// was cancelled meanwhile; what was given until then is stored.
    pub(super) fn call(&mut self, message: &Message) -> Result<bool, Error> {
        let requests: Vec<&ToolRequest> = message.tool_requests().collect();
        let agent = self.agent;
        let plans: Vec<(&ToolRequest, Plan<'_>)> = (requests.iter())
            .map(|request| (*request, self.plan(agent, request)))
            .collect();
        // Those who answer may do so as soon as they hear the question.
        let ear = agent.channel.listen();
        for (request, plan) in &plans {
            self.announce(request, plan);
        }
        self.output.flush();

        let message_id = random_id("msg_");
        let mut answers: Vec<Option<Option<ToolResponse>>> =
            requests.iter().map(|_| None).collect();
        let mut said = 0;
        let (done, results) = bounded(plans.len());
        let (next, hands) = (AtomicUsize::new(0), plans.len().min(MAX_PARALLEL));
        let cancel = self.cancel.clone();
        let registry = self.registry;
        let runner = ToolCallRunner {
            agent,
            permissions: &registry.stores().permissions,
            sessions: &registry.stores().sessions,
            cancel: &cancel,
        };
        let work = &|done: Sender<(usize, Option<Outcome<CallToolResult>>)>| {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some((request, plan)) = plans.get(n) else {
                    return;
                };
                if done.send((n, runner.carry_out(request, plan))).is_err() {
                    return;
                }
            }
        };
        let mut notes = Vec::new();
        thread::scope(|scope| {
            for n in 0..hands {
                let thread = thread::Builder::new().name(format!("call {n}"));
                let sender = done.clone();
                if thread.spawn_scoped(scope, move || work(sender)).is_err() && n == 0 {
                    // Without a thread nobody hears the questions, but the work is done.
                    work(done.clone());
                }
            }
            drop(done);
            loop {
                select! {
                    recv(ear.notes) -> note => notes.extend(note.ok()),
                    recv(results) -> result => {
                        // What a tool said while it ran comes before its answer.
                        notes.extend(ear.notes.try_iter());
                        self.pass_on(&mut notes);
                        let Ok((n, result)) = result else { return };
                        let id = requests[n].id.clone();
                        answers[n] = Some(result.map(|tool_result| ToolResponse {
                            id,
                            tool_result,
                            metadata: None,
                        }));
                        while let Some(Some(answer)) = answers.get(said) {
                            said += 1;
                            if let Some(answer) = answer {
                                let content = vec![Content::ToolResponse(answer.clone())];
                                let message = Message::new(Role::User, content);
                                self.output.say(&message.with_id(&message_id));
                            }
                        }
                    }
                }
                self.pass_on(&mut notes);
                self.output.flush();
            }
        });
        drop(ear);
        self.calls += requests.len();
        let failed = |answer: &&ToolResponse| match answer.tool_result.value() {
            Some(result) => result.is_error == Some(true),
            None => true,
        };
        self.failures += answers.iter().flatten().flatten().filter(failed).count();
        let content: Vec<Content> = answers
            .into_iter()
            .flatten()
            .flatten()
            .map(Content::ToolResponse)
            .collect();
        if !content.is_empty() {
            self.keep(Message::new(Role::User, content).with_id(message_id))?;
        }
        Ok(!self.cancel.is_cancelled())
    }

    /// Decides about a call. A question is opened here, before it is told.
    fn plan<'d>(&self, agent: &'d Agent, request: &ToolRequest) -> Plan<'d> {
        let refuse = |why: &str| {
            let value = refusal(why);
            Plan::Said(Outcome::Success { value })
        };
        let call = match &request.tool_call {
            Outcome::Success { value } => value,
            Outcome::Error { error } => return refuse(error),
        };
        if self.mode == Mode::Chat {
            return refuse(CHATTING);
        }
        let tool = agent.extensions.find(&call.name);
        let own = tool.is_none() && resource_tools::owns(&call.name);
        if tool.is_none() && !own {
            let error = self.unknown(&call.name);
            return Plan::Said(Outcome::Error { error });
        }
        let level = self.registry.stores().permissions.level(&call.name);
        let level = match level {
            Ok(level) => level,
            Err(error) => {
                log::warn!("permissions not read tool={:?} reason={error}", call.name);
                if !self.mode.asks() {
                    return refuse(&format!("{UNKNOWN_LEAVE} {error}"));
                }
                Some(PermissionLevel::AskBefore)
            }
        };
        let own_tools;
        let annotations = match &tool {
            Some(listed) => listed.tool.annotations.as_ref(),
            None => {
                own_tools = resource_tools::tools();
                own_tools.first().and_then(|tool| tool.annotations.as_ref())
            }
        };
        let frontend = tool.as_ref().is_some_and(|tool| tool.frontend);
        let question = match self.mode.authorize(level, annotations) {
            Decision::Deny => return refuse(FORBIDDEN),
            // The client that runs it can ask by itself.
            Decision::Run | Decision::Ask if frontend => {
                return Plan::Frontend(agent.channel.results.ask(&request.id));
            }
            Decision::Run => None,
            Decision::Ask => match agent.channel.confirmations.ask(&request.id) {
                Some(question) => Some(question),
                None => return refuse("Another call with this id is being asked about."),
            },
        };
        Plan::Run(Box::new(Run {
            call: call.clone(),
            tool,
            question,
        }))
    }

    /// Tells the client what is wanted of it.
    fn announce(&mut self, request: &ToolRequest, plan: &Plan<'_>) {
        let Outcome::Success { value: call } = &request.tool_call else {
            return;
        };
        let part = match plan {
            Plan::Run(run) if run.question.is_some() => Content::ActionRequired(ActionRequired {
                data: Action::ToolConfirmation {
                    id: request.id.clone(),
                    tool_name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    prompt: None,
                },
            }),
            Plan::Frontend(Some(_)) => Content::FrontendToolRequest(FrontendToolRequest {
                id: request.id.clone(),
                tool_call: request.tool_call.clone(),
            }),
            _ => return,
        };
        let message = Message::new(Role::Assistant, vec![part]);
        self.output.say(&message.seen_by(Metadata::USER_ONLY));
    }

    /// Passes on what was noted.
    fn pass_on(&mut self, notes: &mut Vec<Notice>) {
        for note in notes.drain(..) {
            match note {
                Notice::McpNotification { request, message } => {
                    self.output.event(Event::Notification {
                        request_id: &request,
                        message: &message,
                    });
                }
                Notice::Message(message) => self.output.say(&message),
                Notice::Usage(usage) => self.output.spent(usage),
            }
        }
    }

    /// The error for a tool that does not exist, in the words of Goose. If an extension has a tool of this
    /// name, the error says how to call it.
    fn unknown(&self, name: &str) -> String {
        let bare = name
            .rsplit(tool_names::SEPARATOR)
            .next()
            .unwrap_or_default();
        let known = self.agent.extensions.tools(None, &self.cancel);
        let alike: Vec<&str> = (known.iter().map(|tool| tool.name.as_str()))
            .filter(|known| known.rsplit(tool_names::SEPARATOR).next() == Some(bare))
            .take(5)
            .collect();
        let code = jsonrpc::RESOURCE_NOT_FOUND;
        let error = format!("{code}: Tool '{}' not found", printable(name, 200));
        if alike.is_empty() {
            return error;
        }
        format!("{error}. Did you mean {}?", alike.join(" or "))
    }
}

/// What a thread needs to make a call.
struct ToolCallRunner<'t> {
    agent: &'t Agent,
    permissions: &'t Permissions,
    sessions: &'t Sessions,
    cancel: &'t Cancel,
}

impl ToolCallRunner<'_> {
    /// The answer to one call; `None` if it may still come later, from the client.
    fn carry_out(&self, request: &ToolRequest, plan: &Plan<'_>) -> Option<Outcome<CallToolResult>> {
        let result = match plan {
            Plan::Said(result) => return Some(result.clone()),
            Plan::Run(run) => self.run(&request.id, run),
            Plan::Frontend(None) => {
                refusal("Another call with this id is with the client already.")
            }
            Plan::Frontend(Some(question)) => match question.wait(FRONTEND, self.cancel) {
                Ok(Outcome::Success { value }) => value,
                Ok(Outcome::Error { error }) => refusal(&error),
                Err(pending_questions::NoAnswer::TimedOut) => refusal(UNANSWERED),
                // It may come with the next message.
                Err(pending_questions::NoAnswer::Cancelled) => return None,
            },
        };
        let name = request.tool_call.value().map_or("", |call| &call.name);
        let value = self.shortened(name, result);
        Some(Outcome::Success { value })
    }

    fn run(&self, id: &str, run: &Run<'_>) -> CallToolResult {
        let name = &run.call.name;
        if let Some(question) = &run.question {
            match question.wait(APPROVAL, self.cancel) {
                Ok(answer) => {
                    if let Some(level) = answer.remembered()
                        && let Err(error) = self.permissions.set(name, level)
                    {
                        log::warn!("permission not remembered tool={name:?} reason={error}");
                    }
                    if !answer.allows() {
                        return refusal(DECLINED);
                    }
                }
                Err(pending_questions::NoAnswer::TimedOut) => return refusal(UNDECIDED),
                Err(pending_questions::NoAnswer::Cancelled) => return refusal(NOT_RUN),
            }
        }
        if self.cancel.is_cancelled() {
            return refusal(NOT_RUN);
        }
        let Some(listed) = &run.tool else {
            let arguments = &run.call.arguments;
            return resource_tools::run(&self.agent.extensions, name, arguments, self.cancel);
        };
        let schema: Value =
            crate::json::from_str(listed.tool.input_schema.get()).unwrap_or_default();
        let arguments: Map<String, Value> =
            crate::json::from_str(run.call.arguments.get()).unwrap_or_default();
        let coerced = schema::coerce(&schema, &arguments);
        let raw = coerced
            .as_ref()
            .and_then(|arguments| to_raw_value(arguments).ok());
        let result = self.agent.extensions.call(
            name,
            raw.as_deref().unwrap_or(&run.call.arguments),
            self.followed(id),
            self.cancel,
        );
        let mut result = match result {
            Ok(result) => result,
            Err(_) if self.cancel.is_cancelled() => refusal(CANCELLED),
            Err(error) => refusal(&error.to_string()),
        };
        result.is_error.get_or_insert(false);
        if result.is_error == Some(true) && !self.cancel.is_cancelled() {
            let arguments = coerced.as_ref().unwrap_or(&arguments);
            let wrong = schema::mismatches(&schema, arguments).join("; ");
            if !wrong.is_empty() && !result_text(&result).contains(&wrong) {
                let text = format!("The arguments do not fit the tool's schema: {wrong}.");
                result.content.push(Part::text(&text));
            }
        }
        result
    }

    /// What the server says meanwhile goes to the turn.
    fn followed<'i>(&self, id: &'i str) -> CallOptions<'i> {
        let (channel, request) = (Arc::clone(&self.agent.channel), id.to_owned());
        CallOptions {
            observer: Some(Arc::new(move |method: &str, params: Option<&RawValue>| {
                if let Some(message) = notification(method, params) {
                    let request = request.clone();
                    channel.tell(Notice::McpNotification { request, message });
                }
            })),
            label: Some(id),
        }
    }

    /// The result; one that is too large is put into a file, and the model learns where.
    fn shortened(&self, name: &str, mut result: CallToolResult) -> CallToolResult {
        let size: usize = result.content.iter().map(|part| part.as_json().len()).sum();
        let structured = result
            .structured_content
            .as_ref()
            .map_or(0, |s| s.get().len());
        if size.max(structured) < LARGE {
            return result;
        }
        let text = result_text(&result);
        let count = text.chars().count();
        if count <= LARGE {
            return result;
        }
        let head: String = text.chars().take(HEAD).collect();
        let place = match self
            .sessions
            .store_tool_output(&self.agent.session_id, name, &text)
        {
            Ok(path) => format!("is in the file {}", path.display()),
            Err(error) => {
                log::warn!("large answer not kept tool={name:?} reason={error}");
                "could not be written to a file".to_owned()
            }
        };
        let note = format!(
            "The answer has {count} characters, which is too much to show. All of it {place}. It \
             begins:\n\n{head}\n\n[… {} characters more]",
            count - HEAD
        );
        result.content.retain(|part| {
            !is_part_for_model(part) || matches!(part.kind().as_str(), "image" | "audio")
        });
        result.content.insert(0, Part::text(&note));
        result.structured_content = None;
        result
    }
}

/// A notification as it goes to the client: `{method, params}`.
fn notification(method: &str, params: Option<&RawValue>) -> Option<RawJson> {
    #[derive(Serialize)]
    struct Notification<'a> {
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }
    to_raw_value(&Notification { method, params }).ok()
}

/// A result that says why there is none.
pub(super) fn refusal(why: &str) -> CallToolResult {
    CallToolResult {
        content: vec![Part::text(why)],
        is_error: Some(true),
        ..CallToolResult::default()
    }
}
