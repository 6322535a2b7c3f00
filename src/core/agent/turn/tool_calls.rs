//! The tool calls of one model answer: each is authorized, approved by the user where the mode requires it,
//! and run; the calls run in parallel, and their results go out in the order of the calls.

use crate::activity::{Caller, Entry, Ruling};
use crate::agent::questions::pending_questions::PendingQuestion;
use crate::agent::questions::permission_mode::Decision;
use crate::agent::session::extension_setup::time_limit;
use crate::agent::session::session_agent::Agent;
use crate::agent::turn::turn_channel::{Notice, TurnReceiver};
use crate::agent::turn::turn_output::{TurnOutput, random_id};
use crate::agent::turn::{Turn, TurnContext};
use crate::agent::{Confirmation, Error, Event, Mode};
use crate::conversation::{
    Action, ActionRequired, Content, FrontendToolRequest, Message, Metadata, Outcome, Role,
    ToolCall, ToolRequest, ToolResponse,
};
use crate::extension::{ListedTool, resource_tools, tool_names};
use crate::mcp::client::CallOptions;
use crate::mcp::jsonrpc::{self, RawJson};
use crate::mcp::schema;
use crate::mcp::types::{CallToolResult, Content as Part, ToolAnnotations};
use crate::provider::{has_content_for_model, is_part_for_model, result_text};
use crate::store::{PermissionLevel, ToolOrigin, settings};
use crate::sys::cancel::NoMessage;
use crate::sys::threads::{origin, with_origin};
use crate::text::printable;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many calls run at the same time; the others wait.
const MAX_PARALLEL: usize = 64;
/// A longer result is written to a file; in characters of text.
const LARGE_RESULT: usize = 200_000;
/// How much of a large result the model sees, in characters.
const LARGE_RESULT_HEAD: usize = 4_000;

const DECLINED: &str = "The user does not want this tool to be called, so it was not run. Do not call it \
                        again for this; go another way, or say what cannot be done without it and stop.";
const FORBIDDEN: &str = "The user has forbidden this tool for good. Do not call it; go another way, or say \
                         what cannot be done without it and stop.";
const UNDECIDED: &str = "The user was asked whether this tool may be called and did not answer in time, so \
                         it was not called.";
const UNATTENDED: &str = "This tool may be called only if the user allows it, and there is no user in this \
                          run, so it was not called. Do not call it again; go another way, or say what \
                          cannot be done without it. The user can allow it beforehand: `always_allow` for \
                          this tool, or GOOSE_MODE=auto.";
const NO_CLIENT: &str =
    "This tool runs in the client, and there is none in this run, so it was not called.";
const PERMISSIONS_UNREADABLE: &str =
    "What the user has allowed could not be read, so nothing was called. Tell the user:";
const CHAT_MODE: &str = "Tools are switched off in this session (chat mode), so nothing was called. Tell \
                        the user what you would have done and what they can do themselves.";
const NOT_RUN: &str = "The call was cancelled before it began, so the tool was not run.";
const CANCELLED: &str = "The call was cancelled before it gave an answer; whether it had an effect is not \
                         known.";
const UNANSWERED: &str = "The client did not say in time what its tool gave.";

/// How one call is answered.
enum Plan<'c> {
    /// Without running a tool: this is the result.
    Answered(Outcome<CallToolResult>),
    /// An MCP server, or gosling itself, runs the tool.
    Run(Box<PermittedCall<'c>>),
    /// The client runs the tool. `None` if another call with the same id is pending.
    Frontend(Option<PendingQuestion<'c, Outcome<CallToolResult>>>),
}

impl<'c> Plan<'c> {
    fn refuse(why: &str) -> Self {
        let value = CallToolResult::text(why).failed();
        Plan::Answered(Outcome::Success { value })
    }

    fn run(
        call: &ToolCall,
        tool: Option<ListedTool>,
        origin: Option<ToolOrigin>,
        approval: Option<PendingQuestion<'c, Confirmation>>,
        allowed_by: &'static str,
    ) -> Self {
        Plan::Run(Box::new(PermittedCall {
            call: call.clone(),
            tool,
            origin,
            approval,
            prompt: None,
            allowed_by,
        }))
    }
}

/// A call that runs as soon as the user approves it, where approval is required.
struct PermittedCall<'c> {
    call: ToolCall,
    /// The listed tool; `None` for a tool of gosling itself.
    tool: Option<ListedTool>,
    /// What an approval is for; `None` where there is none to ask for, and for a tool of gosling itself.
    origin: Option<ToolOrigin>,
    approval: Option<PendingQuestion<'c, Confirmation>>,
    /// Why the policy requires an approval.
    prompt: Option<String>,
    /// Who or what has allowed it, or will have.
    allowed_by: &'static str,
}

/// Who or what denies a call, and why.
type Denial<'w> = (&'static str, Cow<'w, str>);

/// A call that the model requested, and how it is answered.
struct PlannedCall<'c> {
    request: &'c ToolRequest,
    plan: Plan<'c>,
}

/// The index of a call that ended, and its result; `None` if the client may still send the result with its
/// next message.
type EndedCall = (usize, Option<Outcome<CallToolResult>>);

/// The progress of one call, as the turn's thread sees it.
enum CallState {
    Pending,
    Answered(ToolResponse),
    /// The client may still send the result with its next message.
    LeftToClient,
}

/// The results of one message's calls. They are sent and stored in the order of the calls.
struct CallResults {
    /// The id of the message that holds all of them.
    message_id: String,
    states: Vec<CallState>,
    /// How many of `states`, from the first on, have been sent.
    sent: usize,
}

impl CallResults {
    fn new(count: usize) -> Self {
        CallResults {
            message_id: random_id("msg_"),
            states: (0..count).map(|_| CallState::Pending).collect(),
            sent: 0,
        }
    }

    fn set(&mut self, n: usize, id: &str, result: Option<Outcome<CallToolResult>>) {
        self.states[n] = match result {
            Some(tool_result) => CallState::Answered(ToolResponse {
                id: id.to_owned(),
                tool_result,
                metadata: None,
            }),
            None => CallState::LeftToClient,
        };
    }

    /// Sends the results up to the first call that is still pending.
    fn send_ready(&mut self, output: &mut TurnOutput<'_>) {
        while let Some(state) = self.states.get(self.sent) {
            match state {
                CallState::Pending => return,
                CallState::LeftToClient => {}
                CallState::Answered(response) => {
                    let content = vec![Content::ToolResponse(response.clone())];
                    let message = Message::new(Role::User, content);
                    output.message(&message.with_id(&self.message_id));
                }
            }
            self.sent += 1;
        }
    }

    /// How many of the results are errors.
    fn failures(&self) -> usize {
        let is_failure = |state: &&CallState| match state {
            CallState::Answered(response) => {
                (response.tool_result.value()).is_none_or(|result| result.is_error == Some(true))
            }
            CallState::Pending | CallState::LeftToClient => false,
        };
        self.states.iter().filter(is_failure).count()
    }

    /// The message that holds the results; `None` if there are none.
    fn into_message(self) -> Option<Message> {
        let responses = self.states.into_iter().filter_map(|state| match state {
            CallState::Answered(response) => Some(Content::ToolResponse(response)),
            CallState::Pending | CallState::LeftToClient => None,
        });
        let content: Vec<Content> = responses.collect();
        if content.is_empty() {
            return None;
        }
        Some(Message::new(Role::User, content).with_id(self.message_id))
    }
}

impl Turn<'_> {
    /// Runs the calls that `message` requests; sends and stores their results. False if the turn was
    /// cancelled; the results so far are stored then, too.
    pub(in crate::agent) fn call_tools(&mut self, message: &Message) -> Result<bool, Error> {
        let agent = self.context.agent;
        self.mode = (agent.channel.mode()).max(self.context.stores.least_mode());
        let calls: Vec<PlannedCall<'_>> = (message.tool_requests())
            .map(|request| PlannedCall {
                request,
                plan: self.plan_call(agent, request),
            })
            .collect();
        // Opened before the questions go out, because an answer may come at once.
        let receiver = agent.channel.open();
        for call in &calls {
            self.output.announce(call);
        }
        self.output.flush();

        let results = self.run_calls(&calls, &receiver);
        drop(receiver);
        self.tally.report.calls += calls.len();
        self.tally.failures += results.failures();
        if let Some(message) = results.into_message() {
            self.store(message)?;
        }
        Ok(!self.context.cancel.is_cancelled())
    }

    /// Runs the calls in up to [`MAX_PARALLEL`] threads, while this thread sends their results and notices.
    fn run_calls(&mut self, calls: &[PlannedCall<'_>], receiver: &TurnReceiver<'_>) -> CallResults {
        let mut results = CallResults::new(calls.len());
        let (context, output) = (&self.context, &mut self.output);
        let (next, origin) = (AtomicUsize::new(0), origin());
        let work = &|ended: Sender<EndedCall>| {
            let taken = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            let mut taken = taken.map_while(|n| Some((n, calls.get(n)?)));
            with_origin(origin.clone(), || {
                taken.all(|(n, call)| ended.send((n, context.answer(call))).is_ok())
            });
        };
        let (sender, ended) = bounded(calls.len());
        thread::scope(|scope| {
            for n in 0..calls.len().min(MAX_PARALLEL) {
                let thread = thread::Builder::new().name(format!("call {n}"));
                let to_turn = sender.clone();
                if thread.spawn_scoped(scope, move || work(to_turn)).is_err() && n == 0 {
                    // Without any thread, this one runs the calls and sends nothing until they end.
                    work(sender.clone());
                }
            }
            drop(sender);
            output.forward_results(calls, receiver, &ended, &mut results);
        });
        results
    }

    /// Decides how a call is answered. A question is opened here, before it is sent to the client.
    fn plan_call<'c>(&self, agent: &'c Agent, request: &ToolRequest) -> Plan<'c> {
        let call = match &request.tool_call {
            Outcome::Success { value } => value,
            Outcome::Error { error } => return Plan::refuse(error),
        };
        let plan = self.permit(agent, &request.id, call);
        plan.unwrap_or_else(|denial| {
            let value = self.context.denied(&request.id, call, denial);
            Plan::Answered(Outcome::Success { value })
        })
    }

    fn permit<'c>(
        &self,
        agent: &'c Agent,
        id: &str,
        call: &ToolCall,
    ) -> Result<Plan<'c>, Denial<'static>> {
        let recipe = &self.context.recipe;
        if recipe.is_output(&call.name) {
            return Ok(Plan::run(call, None, None, None, "automatic"));
        }
        if self.mode == Mode::Chat {
            return Err(("mode", CHAT_MODE.into()));
        }
        let is_of_recipe = recipe.owns(&call.name);
        let is_usable = |listed: &ListedTool| listed.tool.is_for_models() && !is_of_recipe;
        let tool = agent.extensions.find(&call.name).filter(is_usable);
        if tool.is_none() && !resource_tools::owns(&call.name) && !is_of_recipe {
            let error = self.unknown_tool(&call.name);
            self.context
                .denied(id, call, ("automatic", error.as_str().into()));
            return Ok(Plan::Answered(Outcome::Error { error }));
        }
        let must_ask = match self.context.ruling(id, call, tool.as_ref()) {
            Ruling::Deny(why) => return Err(("policy", why.into())),
            Ruling::Ask(why) => Some(why),
            Ruling::Allow => None,
        };
        // Without questions, "always" makes no difference.
        let asks = self.mode.asks_user() || must_ask.is_some();
        let origin = (asks && tool.is_some())
            .then(|| agent.extensions.origin(&call.name))
            .flatten();
        let level = self.permission(&call.name, origin.as_ref())?;
        let is_frontend = tool.as_ref().is_some_and(|tool| tool.frontend);
        let decision = match self.authorize(level, tool.as_ref(), is_of_recipe) {
            Decision::Run if must_ask.is_some() => Decision::Ask,
            decision => decision,
        };
        let (approval, allowed_by) = match decision {
            Decision::Deny => return Err(("remembered", FORBIDDEN.into())),
            _ if let Some(why) = &must_ask
                && (is_frontend || !self.context.attended) =>
            {
                recipe.call_refused();
                return Err((
                    "policy",
                    format!("{why}, and no user can be asked here").into(),
                ));
            }
            Decision::Run | Decision::Ask if is_frontend && !self.context.attended => {
                return Err(self.unattended(call, NO_CLIENT));
            }
            // The client that runs the tool can ask the user itself.
            Decision::Run | Decision::Ask if is_frontend => {
                return Ok(Plan::Frontend(agent.channel.frontend_results.open(id)));
            }
            Decision::Run if asks && level == Some(PermissionLevel::AlwaysAllow) => {
                (None, "remembered")
            }
            Decision::Run => (None, "mode"),
            Decision::Ask if !self.context.attended => {
                return Err(self.unattended(call, UNATTENDED));
            }
            Decision::Ask => match agent.channel.confirmations.open(id) {
                Some(approval) => (Some(approval), "user"),
                None => {
                    let why = "Another call with this id is being asked about.";
                    return Err(("automatic", why.into()));
                }
            },
        };
        let mut plan = Plan::run(call, tool, origin, approval, allowed_by);
        if let Plan::Run(permitted) = &mut plan {
            permitted.prompt = must_ask;
        }
        Ok(plan)
    }

    /// The stored permission of a tool; why the call is refused, if it cannot be read and nobody is asked.
    fn permission(
        &self,
        tool: &str,
        origin: Option<&ToolOrigin>,
    ) -> Result<Option<PermissionLevel>, Denial<'static>> {
        let permissions = &self.context.stores.permissions;
        let level = match origin {
            Some(origin) => permissions.level_for(tool, origin),
            None => permissions.level(tool),
        };
        level.or_else(|error| {
            log::warn!("permissions not read tool={tool:?} reason={error}");
            if self.mode.asks_user() {
                Ok(Some(PermissionLevel::AskBefore))
            } else {
                let why = format!("{PERMISSIONS_UNREADABLE} {error}");
                Err(("automatic", why.into()))
            }
        })
    }

    /// What the mode says of a call, by the annotations of its tool. Without `tool`, it is one of gosling itself.
    fn authorize(
        &self,
        level: Option<PermissionLevel>,
        tool: Option<&ListedTool>,
        is_of_recipe: bool,
    ) -> Decision {
        let annotations = match tool {
            Some(listed) => listed.tool.annotations.as_ref(),
            None if is_of_recipe => None,
            None => Some(&ToolAnnotations::READS),
        };
        self.mode.authorize(level, annotations)
    }

    /// Denies a call that needs a user or a client, and counts it.
    fn unattended(&self, call: &ToolCall, why: &'static str) -> Denial<'static> {
        let id = &self.context.session.id;
        log::warn!(
            "a call was refused, as no user can be asked session={id} tool={:?}",
            call.name
        );
        self.context.recipe.call_refused();
        ("automatic", why.into())
    }

    /// The error for a tool that does not exist, worded as Goose words it. If extensions have tools of this
    /// name, the error names them.
    fn unknown_tool(&self, name: &str) -> String {
        if let Some(error) = self.extensions().withheld(name) {
            return error.to_string();
        }
        let bare = name
            .rsplit(tool_names::SEPARATOR)
            .next()
            .unwrap_or_default();
        let known = self.extensions().tools(None, &self.context.cancel);
        let visible = known.iter().filter(|listed| listed.tool.is_for_models());
        let alike: Vec<&str> = (visible.map(|listed| listed.name.as_str()))
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

impl TurnOutput<'_> {
    /// Sends notices and results as they arrive, until every call has ended.
    fn forward_results(
        &mut self,
        calls: &[PlannedCall<'_>],
        receiver: &TurnReceiver<'_>,
        ended: &Receiver<EndedCall>,
        results: &mut CallResults,
    ) {
        let mut notices = Vec::new();
        loop {
            select! {
                recv(receiver.notices) -> notice => notices.extend(notice.ok()),
                recv(ended) -> call => {
                    // The notices of a call go out before its result.
                    notices.extend(receiver.notices.try_iter());
                    self.forward_notices(&mut notices);
                    let Ok((n, result)) = call else { return };
                    results.set(n, &calls[n].request.id, result);
                    results.send_ready(self);
                }
            }
            self.forward_notices(&mut notices);
            self.flush();
        }
    }

    /// Sends the client what it has to do for the call: ask the user, or run the tool.
    fn announce(&mut self, planned: &PlannedCall<'_>) {
        let request = planned.request;
        let Outcome::Success { value: call } = &request.tool_call else {
            return;
        };
        let part = match &planned.plan {
            Plan::Run(permitted) if permitted.approval.is_some() => {
                Content::ActionRequired(ActionRequired {
                    data: Action::ToolConfirmation {
                        id: request.id.clone(),
                        tool_name: call.name.clone(),
                        arguments: call.arguments.clone(),
                        prompt: permitted.prompt.clone(),
                    },
                })
            }
            Plan::Frontend(Some(_)) => Content::FrontendToolRequest(FrontendToolRequest {
                id: request.id.clone(),
                tool_call: request.tool_call.clone(),
            }),
            Plan::Run(_) => return self.events.call_begins(&request.id),
            _ => return,
        };
        let message = Message::new(Role::Assistant, vec![part]);
        self.message(&message.seen_by(Metadata::USER_ONLY));
    }

    /// Sends the notices to the client.
    fn forward_notices(&mut self, notices: &mut Vec<Notice>) {
        for notice in notices.drain(..) {
            match notice {
                Notice::McpNotification { request, message } => {
                    self.event(Event::Notification {
                        request_id: &request,
                        message: &message,
                    });
                }
                Notice::Message(message) => self.message(&message),
                Notice::Usage(usage) => self.count_side_request(usage),
            }
        }
    }
}

/// Runs a call, in a thread of its own.
impl TurnContext<'_> {
    /// The result of one call; `None` if the client may still send it with its next message.
    fn answer(&self, planned: &PlannedCall<'_>) -> Option<Outcome<CallToolResult>> {
        let request = planned.request;
        let mut result = match &planned.plan {
            Plan::Answered(result) => return Some(result.clone()),
            Plan::Run(permitted) => self.run_if_approved(&request.id, permitted),
            Plan::Frontend(None) => {
                CallToolResult::text("Another call with this id is with the client already.")
                    .failed()
            }
            Plan::Frontend(Some(question)) => {
                let ask = || {
                    let limit = time_limit(&self.stores.config, &settings::FRONTEND_TIMEOUT);
                    Some(match question.wait(limit, &self.cancel) {
                        Ok(Outcome::Success { value }) => value,
                        Ok(Outcome::Error { error }) => CallToolResult::text(error).failed(),
                        Err(NoMessage::TimedOut) => CallToolResult::text(UNANSWERED).failed(),
                        Err(NoMessage::Cancelled | NoMessage::Closed) => return None,
                    })
                };
                let call = request.tool_call.value()?;
                self.recorded(&request.id, call, "client", ask)?
            }
        };
        let name = request.tool_call.value().map_or("", |call| &call.name);
        let is_for_page = request.has_page() && has_content_for_model(&result);
        let page_data = (result.structured_content).take_if(|_| is_for_page);
        let mut value = self.without_large_text(name, result);
        value.structured_content = page_data.or(value.structured_content);
        Some(Outcome::Success { value })
    }

    /// Waits for the user's approval where it is required, then runs the call. `id` is that of the request.
    fn run_if_approved(&self, id: &str, permitted: &PermittedCall<'_>) -> CallToolResult {
        let (call, name) = (&permitted.call, &permitted.call.name);
        if let Some(approval) = &permitted.approval {
            match approval.wait(
                time_limit(&self.stores.config, &settings::APPROVAL_TIMEOUT),
                &self.cancel,
            ) {
                Ok(answer) => {
                    if let Some(level) = answer.permission_level()
                        && let Err(error) =
                            (self.stores.permissions).set(name, level, permitted.origin.as_ref())
                    {
                        log::warn!("permission not remembered tool={name:?} reason={error}");
                    }
                    if !answer.is_allowed() {
                        return self.denied(id, call, ("user", DECLINED.into()));
                    }
                }
                Err(NoMessage::TimedOut) => {
                    return self.denied(id, call, ("automatic", UNDECIDED.into()));
                }
                Err(NoMessage::Cancelled | NoMessage::Closed) => {
                    return CallToolResult::text(NOT_RUN).failed();
                }
            }
        }
        if self.cancel.is_cancelled() {
            return CallToolResult::text(NOT_RUN).failed();
        }
        if let Some(listed) = &permitted.tool {
            return self.call_server(id, permitted, listed);
        }
        let (extensions, arguments) = (&self.agent.extensions, &call.arguments);
        let run = || match self.recipe.owns(name) {
            true => self.recipe.call(name, arguments, &self.cancel),
            false => resource_tools::run(extensions, name, arguments, &self.cancel),
        };
        let result = self.recorded(id, call, permitted.allowed_by, || Some(run()));
        result.unwrap_or_default()
    }

    /// The entry for a call.
    fn entry<'e>(&'e self, id: &'e str, call: &'e ToolCall, by: &'static str) -> Entry<'e> {
        let named = call.name.split_once(tool_names::SEPARATOR);
        let (extension, subject) = named.unwrap_or(("", &call.name));
        Entry {
            extension,
            subject,
            request: id,
            arguments: call.arguments.get().as_bytes(),
            working_dir: Some(&self.session.working_dir),
            decision: "allowed",
            by,
            ..Entry::new("tool_call", &self.session.id)
        }
    }

    /// What the policy says of a call of a listed tool, or of one of gosling itself.
    fn ruling(&self, id: &str, call: &ToolCall, tool: Option<&ListedTool>) -> Ruling {
        let mut entry = self.entry(id, call, "");
        if let Some(listed) = tool.filter(|listed| !listed.frontend) {
            (entry.extension, entry.subject) = (&listed.extension, &listed.tool.name);
        }
        let policy = self.stores.activity.policy();
        policy.map_or(Ruling::Allow, |it| it.rule(&Caller::current(), &entry))
    }

    /// Runs a call that no MCP server runs, and records it; `None` if it has no result.
    fn recorded(
        &self,
        id: &str,
        call: &ToolCall,
        by: &'static str,
        run: impl FnOnce() -> Option<CallToolResult>,
    ) -> Option<CallToolResult> {
        let begun = match self.stores.activity.begin(self.entry(id, call, by)) {
            Ok(begun) => begun,
            Err(why) => return Some(CallToolResult::text(why).failed()),
        };
        let result = run();
        let outcome = match &result {
            None => "cancelled",
            Some(result) if result.is_error == Some(true) => "is_error",
            Some(_) => "ok",
        };
        begun.end(outcome, "", None);
        result
    }

    /// The result of a call that is not made, which is recorded.
    fn denied(&self, id: &str, call: &ToolCall, (by, why): Denial<'_>) -> CallToolResult {
        let named = call.name.split_once(tool_names::SEPARATOR);
        let (extension, subject) = named.unwrap_or(("", &call.name));
        self.stores.activity.note(Entry {
            extension,
            subject,
            decision: "denied",
            outcome: "denied",
            detail: &why,
            ..self.entry(id, call, by)
        });
        CallToolResult::text(why).failed()
    }

    /// Calls a tool of an MCP server with arguments that are converted to the types of its schema. If the
    /// call fails and the arguments do not fit the schema, the result says where.
    fn call_server(
        &self,
        id: &str,
        permitted: &PermittedCall<'_>,
        listed: &ListedTool,
    ) -> CallToolResult {
        let call = &permitted.call;
        let schema: Value =
            crate::json::from_str(listed.tool.input_schema.get()).unwrap_or_default();
        let arguments: Map<String, Value> =
            crate::json::from_str(call.arguments.get()).unwrap_or_default();
        let coerced = schema::coerce(&schema, &arguments);
        let raw = coerced
            .as_ref()
            .and_then(|arguments| to_raw_value(arguments).ok());
        let result = self.agent.extensions.call(
            &call.name,
            raw.as_deref().unwrap_or(&call.arguments),
            self.call_options(id, permitted.allowed_by),
            &self.cancel,
        );
        let mut result = match result {
            Ok(result) => result,
            Err(_) if self.cancel.is_cancelled() => CallToolResult::text(CANCELLED).failed(),
            Err(error) => CallToolResult::text(error.to_string()).failed(),
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

    /// Options with which the notifications of the call go to the turn.
    fn call_options<'i>(&self, id: &'i str, allowed_by: &'static str) -> CallOptions<'i> {
        let (channel, request) = (Arc::clone(&self.agent.channel), id.to_owned());
        CallOptions {
            observer: Some(Arc::new(move |method: &str, params: Option<&RawValue>| {
                if let Some(message) = notification(method, params) {
                    let request = request.clone();
                    channel.send(Notice::McpNotification { request, message });
                }
            })),
            label: Some(id),
            allowed_by,
        }
    }

    /// The result. If its text is too large, the text is written to a file, and the result has the beginning
    /// and the path instead.
    fn without_large_text(&self, name: &str, mut result: CallToolResult) -> CallToolResult {
        let size: usize = result.content.iter().map(|part| part.as_json().len()).sum();
        let structured = result.structured_content.as_ref();
        let structured = structured.map_or(0, |json| json.get().len());
        if size + structured < LARGE_RESULT {
            return result;
        }
        let text = result_text(&result);
        let count = text.chars().count();
        if count <= LARGE_RESULT {
            return result;
        }
        let head: String = text.chars().take(LARGE_RESULT_HEAD).collect();
        let sessions = &self.stores.sessions;
        let place = match sessions.store_tool_output(&self.agent.session_id, name, &text) {
            Ok(path) => format!("is in the file {}", path.display()),
            Err(error) => {
                log::warn!("large tool result not written to a file tool={name:?} reason={error}");
                "could not be written to a file".to_owned()
            }
        };
        let note = format!(
            "The answer has {count} characters, which is too much to show. All of it {place}. It \
             begins:\n\n{head}\n\n[… {} characters more]",
            count - LARGE_RESULT_HEAD
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
