//! The steps of one session: random actions, and the checks after each.

use super::random::Random;
use super::remote::{Line, Remote};
use super::support::client::Answer;
use super::support::process::{descendants, signal};
use super::support::scripted::{Action, Script};
use super::support::server::{Extension, RunningServer, Session};
use super::support::turns::Turn;
use super::support::until;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Number of turns of a session before it is replaced; otherwise its history would grow without end.
const TURNS: usize = 20;
/// The server is restarted three times a minute. The rest is tolerance for a busy machine.
const WINDOW: Duration = Duration::from_secs(90);
/// Number of recent steps that a failure prints.
const TOLD: usize = 25;

/// The role of each of the session's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Never disturbed, so none of its calls may fail.
    Steady,
    /// The same over HTTP.
    Near,
    /// Sends notifications all the time, thousands during a call.
    Noisy,
    /// Killed at random.
    Mortal,
    /// Reached over a connection that is cut, and forgets its sessions.
    Far,
}

const ROLES: [Role; 5] = [
    Role::Steady,
    Role::Near,
    Role::Noisy,
    Role::Mortal,
    Role::Far,
];

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Steady => "steady",
            Role::Near => "near",
            Role::Noisy => "noisy",
            Role::Mortal => "mortal",
            Role::Far => "far",
        }
    }

    /// Whether its calls never fail.
    fn is_sound(self) -> bool {
        !matches!(self, Role::Mortal | Role::Far)
    }

    fn tool(self, name: &str) -> String {
        format!("{}__{name}", self.name())
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call,
    CallAll,
    Burst,
    Flood,
    HangUp,
    Kill,
    KillDuring,
    Cut,
    CutDuring,
    Refuse,
    Lose,
    Forget,
    Read,
    List,
    Remove,
    Replace,
    Again,
    LeaveAdding,
    Turn,
    LeaveTurn,
    Resume,
    Restart,
    Idle,
    Freeze,
    Renew,
}

const STEPS: [(u64, Step); 25] = [
    (30, Step::Call),
    (6, Step::CallAll),
    (3, Step::Burst),
    (4, Step::Flood),
    (6, Step::HangUp),
    (4, Step::Kill),
    (3, Step::KillDuring),
    (6, Step::Cut),
    (4, Step::CutDuring),
    (2, Step::Refuse),
    (1, Step::Lose),
    (3, Step::Forget),
    (6, Step::Read),
    (8, Step::List),
    (4, Step::Remove),
    (4, Step::Replace),
    (2, Step::Again),
    (3, Step::LeaveAdding),
    (8, Step::Turn),
    (4, Step::LeaveTurn),
    (2, Step::Resume),
    (1, Step::Restart),
    (1, Step::Idle),
    (1, Step::Freeze),
    (1, Step::Renew),
];

/// The model's script: it calls the tools that the user names.
pub fn model() -> Value {
    let call =
        |role: Role| json!({"name": role.tool("echo"), "arguments": {"message": "{{last_user}}"}});
    let mut turns = vec![json!({"when": {"user": "ask all"}, "steps": [
        {"calls": [call(Role::Steady), call(Role::Near), call(Role::Noisy)]},
        {"text": "So: {{last_result}}"},
    ]})];
    for role in ROLES {
        turns.push(
            json!({"when": {"user": format!("ask {}", role.name())}, "steps": [
                {"text": "Let me see. ", "chunks": 4, "delay_ms": 5},
                {"call": call(role)},
                {"text": "So: {{last_result}}", "chunks": 4, "delay_ms": 5},
            ]}),
        );
    }
    turns.push(json!({"steps": [{"text": "I have nothing to say."}]}));
    json!({"turns": turns, "repeat": true, "name": "Soak", "summary": "They talked."})
}

/// Counters of all sessions.
#[derive(Default)]
pub struct Tally {
    pub steps: AtomicU64,
    pub calls: AtomicU64,
    pub turns: AtomicU64,
    pub killed: AtomicU64,
    /// Number of permitted failures of calls, by reason.
    pub lost: AtomicU64,
    pub dying: AtomicU64,
    pub forgetting: AtomicU64,
    pub late: AtomicU64,
    pub refused: AtomicU64,
    pub other: AtomicU64,
}

fn count(of: &AtomicU64) {
    of.fetch_add(1, Ordering::Relaxed);
}

pub struct Life<'a> {
    number: usize,
    server: &'a RunningServer,
    remote: &'a Remote,
    line: Line,
    random: Random,
    session: Session<'a>,
    /// The extensions that the session has.
    active: Vec<Role>,
    /// The recent times at which servers were killed and sessions were forgotten.
    kills: VecDeque<Instant>,
    forgets: VecDeque<Instant>,
    /// The last failure said that the server was lost too often.
    given_up: bool,
    turns: usize,
    added: u64,
    said: u64,
    tally: &'a Tally,
    told: VecDeque<String>,
}

impl<'a> Life<'a> {
    pub fn new(
        number: usize,
        seed: u64,
        server: &'a RunningServer,
        remote: &'a Remote,
        tally: &'a Tally,
    ) -> Life<'a> {
        let line = Line::to(remote.address);
        let mut life = Life {
            number,
            server,
            remote,
            line,
            random: Random::new(seed.wrapping_mul(1_000) + number as u64),
            session: server.session([]),
            active: Vec::new(),
            kills: VecDeque::new(),
            forgets: VecDeque::new(),
            given_up: false,
            turns: 0,
            added: 0,
            said: 0,
            tally,
            told: VecDeque::new(),
        };
        life.fill();
        life
    }

    /// Runs until it is told to stop.
    pub fn live(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::SeqCst) {
            let step = self.random.weighted(&STEPS);
            let begin = Instant::now();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.step(step))) {
                eprintln!("the last steps of session {}:", self.number);
                self.told.iter().for_each(|step| eprintln!("  {step}"));
                eprintln!("  {step:?} failed");
                resume_unwind(panic);
            }
            count(&self.tally.steps);
            self.tell(format!("{step:?} took {:?}", begin.elapsed()));
        }
    }

    /// Ends the session and all its resources.
    pub fn end(&mut self) {
        self.session.stop();
        self.active.clear();
        let path = format!("/sessions/{}", self.session.id);
        self.server.delete(&path).is(200);
    }

    /// Starts another session in place of one that has ended.
    pub fn begin(&mut self) {
        self.session = self.server.session([]);
        (self.turns, self.active) = (0, Vec::new());
        self.fill();
    }

    fn tell(&mut self, what: String) {
        if self.told.len() == TOLD {
            self.told.pop_front();
        }
        self.told.push_back(what);
    }

    fn fill(&mut self) {
        for role in ROLES {
            self.add(role);
        }
    }

    /// The argument by which the processes of a server are found.
    fn mark(&self, role: Role) -> String {
        format!("soak session {} {}", self.number, role.name())
    }

    fn extension(&self, role: Role) -> Extension {
        let (number, description) = (self.number, format!("number {}", self.added));
        let address = match role {
            Role::Near => self.remote.address,
            _ => self.line.address,
        };
        if let Role::Near | Role::Far = role {
            let uri = format!("http://{address}{}", self.path(role));
            let timeout = if role == Role::Far { 20 } else { 60 };
            return Extension(json!({
                "type": "streamable_http", "name": role.name(), "description": description,
                "uri": uri, "timeout": timeout,
            }));
        }
        let list = json!({"resources": [{"uri": "note://one", "name": "one"}]});
        let read =
            json!({"contents": [{"uri": "note://one", "text": format!("a note of {number}")}]});
        let changed = Action::notify("notifications/tools/list_changed", json!({}));
        let said = json!({"level": "info", "data": "y".repeat(200)});
        let said = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": said});
        let said = |times| Action::Out(format!("{said}\n"), times);
        let mut script = Script::new()
            .instructions(&self.mark(role))
            .offers("resources", list)
            .on("resources/read", [Action::Result(read)])
            .tool("slow", [Action::Progress(20, 20), Action::text("done")])
            .tool(
                "flood",
                [said(3_000), changed.clone(), Action::text("done")],
            );
        if role == Role::Noisy {
            let mut chatter = Vec::new();
            for _ in 0..100 {
                chatter.extend([said(20), changed.clone(), Action::Sleep(300)]);
            }
            script = script.on("notifications/initialized", chatter);
        }
        Extension::scripted(role.name(), &script)
            .with("timeout", 60)
            .with("description", description)
    }

    fn path(&self, role: Role) -> String {
        format!("/mcp/{}/{}", self.number, role.name())
    }

    /// Adds the extension, perhaps replacing one that differs; then it works.
    fn add(&mut self, role: Role) {
        self.added += 1;
        self.session.add(self.extension(role)).is(200);
        match role {
            Role::Mortal => self.kills.clear(),
            Role::Far => self.forgets.clear(),
            _ => {}
        }
        if !self.active.contains(&role) {
            self.active.push(role);
        }
        self.must_echo(role);
    }

    fn step(&mut self, step: Step) {
        let role = match step {
            Step::Kill | Step::KillDuring => Role::Mortal,
            Step::Cut | Step::CutDuring | Step::Refuse | Step::Lose | Step::Forget => Role::Far,
            _ => self.random.pick(&ROLES),
        };
        if !self.active.contains(&role) && !matches!(step, Step::Call | Step::Turn | Step::Remove) {
            self.add(role);
        }
        match step {
            Step::Call => drop(self.echo(role)),
            Step::CallAll => self.call_all(&self.active.clone()),
            Step::Burst => self.call_all(&[role; 8]),
            Step::Flood => drop(self.call(role, "flood", json!({}), "done")),
            Step::HangUp => self.hang_up(role),
            Step::Kill => self.kill(),
            Step::KillDuring => self.during(Role::Mortal, Self::kill_now),
            Step::Cut => {
                self.line.cut();
                self.works_again(Role::Far);
            }
            Step::CutDuring => self.during(Role::Far, |life| life.line.cut()),
            Step::Refuse => self.refuse(),
            Step::Lose => self.lose(),
            Step::Forget => self.forget(),
            Step::Read => self.read(role),
            Step::List => self.list(),
            Step::Remove => self.remove(role),
            Step::Replace => self.add(role),
            Step::Again => {
                // Adds an identical extension: the existing one is not affected.
                self.session.add(self.extension(role)).is(200);
                self.echo(role);
            }
            Step::LeaveAdding => self.leave_adding(),
            Step::Turn => self.turn(role),
            Step::LeaveTurn => self.leave_turn(role),
            Step::Resume => {
                self.session.stop();
                let results = self.session.resume();
                self.all_came(&results);
            }
            Step::Restart => {
                let results = self.session.restart();
                self.all_came(&results);
            }
            // Its servers end in the meantime.
            Step::Idle => self.rest(3_000),
            Step::Freeze => {
                signal(self.server.pid(), "STOP");
                self.rest(50);
                signal(self.server.pid(), "CONT");
            }
            Step::Renew => {
                self.end();
                self.begin();
            }
        }
        if self.turns >= TURNS {
            self.end();
            self.begin();
        }
    }

    fn all_came(&mut self, results: &[Value]) {
        for role in &self.active {
            let mut results = results.iter();
            let result = results.find(|result| result["name"] == role.name());
            assert_eq!(result.expect("a result")["success"], true, "{result:?}");
        }
        self.kills.clear();
        self.forgets.clear();
    }

    /// A message that no other call has.
    fn message(&mut self) -> String {
        self.said += 1;
        format!("{} of session {}", self.said, self.number)
    }

    /// Calls a tool; false if the call failed and may fail.
    fn call(&mut self, role: Role, tool: &str, arguments: Value, expected: &str) -> bool {
        let answer = self.session.call(&role.tool(tool), arguments);
        self.judge(role, &answer, expected)
    }

    fn judge(&mut self, role: Role, answer: &Answer, expected: &str) -> bool {
        if answer.status == 200 {
            assert_eq!(answer.content(), expected, "{}", answer.asked);
            count(&self.tally.calls);
            return true;
        }
        self.may_fail(role, answer);
        false
    }

    /// Checks that the error is a permitted one.
    fn may_fail(&mut self, role: Role, answer: &Answer) {
        let (asked, said) = (&answer.asked, answer.message().to_owned());
        assert_eq!(answer.status, 500, "{asked}: {said}");
        assert!(
            said.contains(&format!("{:?}", role.name())),
            "{asked}: {said}"
        );
        self.tell(format!("{}: {said}", role.name()));
        if !self.active.contains(&role) {
            let absent = said.contains("no active extension") || said.contains("not active");
            assert!(absent, "{asked}: {said}");
            return;
        }
        assert!(!role.is_sound(), "nothing happened to it: {asked}: {said}");
        // Attempts that were cut off or cancelled count as well.
        let too_often = |of: &mut VecDeque<Instant>| {
            of.retain(|then| then.elapsed() < WINDOW);
            assert!(of.len() > 1, "{} times is not too often: {said}", of.len());
        };
        if said.contains("keeps dying") {
            too_often(&mut self.kills);
            self.given_up = true;
            count(&self.tally.dying);
        } else if said.contains("keeps forgetting") {
            too_often(&mut self.forgets);
            self.given_up = true;
            count(&self.tally.forgetting);
        } else if said.contains(", timeout") {
            assert_eq!(role, Role::Far, "{asked}: {said}");
            count(&self.tally.late);
        } else if said.contains("refused") {
            // A closed connection is just being reopened.
            count(&self.tally.refused);
        } else if said.contains(", transport") {
            count(&self.tally.lost);
        } else {
            eprintln!("session {}: {said}", self.number);
            count(&self.tally.other);
        }
    }

    fn echo(&mut self, role: Role) -> bool {
        let message = self.message();
        self.call(role, "echo", json!({"message": message}), &message)
    }

    #[track_caller]
    fn must_echo(&mut self, role: Role) {
        assert!(self.echo(role), "{role:?} was just added");
    }

    /// After a disturbance: the server works soon, or was disturbed too often; then it works after it is added
    /// again.
    fn works_again(&mut self, role: Role) {
        self.given_up = false;
        for _ in 0..3 {
            if self.echo(role) {
                return;
            }
        }
        assert!(self.given_up, "{role:?} does not work again");
        if self.random.below(2) == 0 {
            self.session.remove(role.name()).is(200);
        }
        self.add(role);
    }

    /// Calls all servers in parallel.
    fn call_all(&mut self, roles: &[Role]) {
        let calls: Vec<_> = (roles.iter())
            .map(|&role| {
                let message = self.message();
                let arguments = json!({"message": message});
                let stream = self.session.begin_call(&role.tool("echo"), arguments);
                (role, message, stream)
            })
            .collect();
        for (role, message, stream) in calls {
            let answer = Answer::read(role.tool("echo"), stream);
            self.judge(role, &answer, &message);
        }
    }

    /// Runs `work` during a slow call.
    fn during(&mut self, role: Role, happens: impl FnOnce(&mut Self)) {
        let stream = (self.session).begin_call(&role.tool("slow"), json!({"ms": 400}));
        self.rest(300);
        happens(self);
        let answer = Answer::read(role.tool("slow"), stream);
        self.judge(role, &answer, "done");
        self.works_again(role);
    }

    /// Waits for up to this many milliseconds.
    fn rest(&mut self, ms: u64) {
        thread::sleep(Duration::from_millis(self.random.below(ms)));
    }

    fn hang_up(&mut self, role: Role) {
        let tool = self.random.pick(&["slow", "echo", "flood"]);
        let message = self.message();
        let stream =
            (self.session).begin_call(&role.tool(tool), json!({"ms": 400, "message": message}));
        self.rest(100);
        drop(stream);
        if role.is_sound() {
            self.must_echo(role);
        }
    }

    fn kill(&mut self) {
        self.kill_now();
        self.works_again(Role::Mortal);
    }

    /// Sends SIGKILL to all processes of the server. There may be none, if it was killed too often.
    fn kill_now(&mut self) {
        let mark = self.mark(Role::Mortal);
        for process in descendants(self.server.pid()) {
            let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&mark) {
                signal(process.pid, "KILL");
                self.kills.push_back(Instant::now());
                count(&self.tally.killed);
            }
        }
    }

    /// The peer accepts no connections for a while. A call that begins then succeeds afterwards.
    fn refuse(&mut self) {
        self.line.refuse();
        let message = self.message();
        let arguments = json!({"message": message});
        let stream = self.session.begin_call(&Role::Far.tool("echo"), arguments);
        self.rest(1_500);
        self.line.mend();
        let answer = Answer::read(Role::Far.tool("echo"), stream);
        self.judge(Role::Far, &answer, &message);
        self.works_again(Role::Far);
    }

    /// Everything sent is lost for a while.
    fn lose(&mut self) {
        self.line.lose();
        let message = self.message();
        let arguments = json!({"message": message});
        let stream = self.session.begin_call(&Role::Far.tool("echo"), arguments);
        self.rest(1_000);
        for role in self.active.clone() {
            if role.is_sound() {
                self.must_echo(role);
            }
        }
        self.line.mend();
        let answer = Answer::read(Role::Far.tool("echo"), stream);
        self.judge(Role::Far, &answer, &message);
        self.works_again(Role::Far);
    }

    fn forget(&mut self) {
        self.remote.forgets(&self.path(Role::Far));
        self.forgets.push_back(Instant::now());
        self.works_again(Role::Far);
    }

    fn read(&mut self, role: Role) {
        let answer = self.session.read(role.name(), "note://one");
        match answer.status {
            200 => drop(answer.says("a note of")),
            _ => self.may_fail(role, &answer),
        }
    }

    /// Every listing succeeds and contains all undisturbed tools.
    fn list(&mut self) {
        let tools = self.session.tools();
        let query = format!("?session_id={}", self.session.id);
        let resources = self.server.get(&format!("/agent/resources{query}")).is(200);
        self.server.get(&format!("/agent/prompts{query}")).is(200);
        self.server.get("/sessions").is(200);
        let state = self.server.get(&format!("/agent/extensions{query}"));
        let state = state.is(200).text;
        for role in self.active.iter().filter(|role| role.is_sound()) {
            assert!(tools.contains(&role.tool("echo")), "{role:?}: {tools:?}");
            let of = format!("\"extension_name\":\"{}\"", role.name());
            assert!(resources.text.contains(&of), "{role:?}: {}", resources.text);
            let of = format!("\"name\":\"{}\"", role.name());
            assert!(state.contains(&of), "{role:?}: {state}");
        }
    }

    fn remove(&mut self, role: Role) {
        if self.random.below(3) == 0 {
            // With a call under way, which only has to end.
            let stream = (self.session).begin_call(&role.tool("slow"), json!({"ms": 400}));
            self.rest(100);
            self.session.remove(role.name()).is(200);
            Answer::read(role.tool("slow"), stream);
        } else {
            self.session.remove(role.name()).is(200);
        }
        self.active.retain(|active| *active != role);
        assert!(!self.echo(role), "{role:?} was removed");
    }

    /// A client disconnects while it adds an extension that may never start. Whether it was added is not
    /// checked; it ends with the session.
    fn leave_adding(&mut self) {
        let extension = match self.random.below(2) {
            0 => Extension::shell("brief", "sleep 300"),
            _ => Extension::scripted("brief", &Script::new()),
        };
        let body = json!({"session_id": self.session.id, "config": extension.0});
        let stream = self.server.begin("/agent/add_extension", body);
        self.rest(200);
        drop(stream);
        if self.random.below(2) == 0 {
            let answer = (self.session).post("/agent/remove_extension", json!({"name": "brief"}));
            assert!(answer.status == 200 || answer.status == 500, "{answer:?}");
        }
    }

    /// A turn that may fail because the session is still busy.
    fn say(&mut self, text: &str) -> Turn {
        let session = &self.session;
        let turn = until("the session is free", || {
            let turn = session.say(text);
            let busy = turn.events.last()?["type"] == "Error";
            let last = turn.events.last()?.to_string();
            assert!(!busy || last.contains("still busy"), "{last}");
            (!busy).then_some(turn)
        });
        self.turns += 1;
        count(&self.tally.turns);
        turn
    }

    fn turn(&mut self, role: Role) {
        let sound = self.active.iter().filter(|role| role.is_sound()).count();
        if sound == 3 && self.random.below(4) == 0 {
            let said = format!("ask all {}", self.message());
            let results = self.say(&said).finishes().results();
            assert_eq!(results, [&*said; 3]);
            return;
        }
        let said = format!("ask {} {}", role.name(), self.message());
        let turn = self.say(&said).finishes();
        if self.active.contains(&role) && role.is_sound() {
            turn.says(&format!("So: {said}"));
        } else {
            turn.says("So: ");
        }
    }

    fn leave_turn(&mut self, role: Role) {
        let said = format!("ask {} {}", role.name(), self.message());
        let mut stream = self.session.begin_turn(&said);
        for _ in 0..self.random.below(8) {
            if stream.any().is_none() {
                break;
            }
        }
        drop(stream);
        self.turns += 1;
        if role.is_sound() {
            self.must_echo(role);
        }
    }
}
