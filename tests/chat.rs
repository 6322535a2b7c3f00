//! `gosling chat` at a terminal and in a shell script, with a scripted model.
#![cfg(feature = "chat")]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::process::{descendants, signal};
use support::scripted::{Action, Script};
use support::server::{Extension, demo_command, gosling};
use support::{TempDir, temp_dir, until};

/// The files of a user, and the script of the model.
struct UserHome {
    root: TempDir,
}

impl UserHome {
    fn new(script: Value) -> UserHome {
        let root = temp_dir();
        for folder in ["config", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("script.json"), script.to_string()).unwrap();
        UserHome { root }
    }

    /// Writes the configuration file.
    fn configured(self, config: Value) -> UserHome {
        let path = self.root.path().join("config/config.yaml");
        fs::write(path, config.to_string()).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_named("chat", arguments)
    }

    fn command_named(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = gosling();
        command
            .args([name, "--provider", "scripted"])
            .args(arguments)
            .current_dir(self.root.path().join("work"))
            .env("GOOSE_PATH_ROOT", self.root.path())
            .env("HOME", self.root.path())
            .env("GOOSE_SCRIPT", self.root.path().join("script.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the chat with these lines on stdin until it ends.
    fn chat(&self, arguments: &[&str], lines: &str) -> ChatOutput {
        finish(self.command(arguments), lines)
    }

    /// Starts the chat and keeps stdin open.
    fn begin(&self, arguments: &[&str]) -> RunningChat {
        let mut process = self.command(arguments).spawn().expect("gosling runs");
        RunningChat {
            stdin: process.stdin.take(),
            stdout: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    fn sessions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("data/sessions"));
        let entries = entries.into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with('.')).collect()
    }
}

fn finish(mut command: Command, lines: &str) -> ChatOutput {
    let mut process = command.spawn().expect("gosling runs");
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    ChatOutput(process.wait_with_output().unwrap())
}

/// The output of a chat.
struct ChatOutput(Output);

impl ChatOutput {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        let out = self.stdout();
        let err = self.stderr();
        assert_eq!(self.0.status.code(), Some(code), "{out}\n{err}");
        self
    }

    #[track_caller]
    fn prints_exactly(self, text: &str) -> Self {
        assert_eq!(self.stdout(), text, "{}", self.stderr());
        self
    }

    #[track_caller]
    fn says(self, text: &str) -> Self {
        assert!(self.stderr().contains(text), "{}", self.stderr());
        self
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

/// A running chat, which is killed when dropped.
struct RunningChat {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl RunningChat {
    fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads stdout until it ends with this text.
    #[track_caller]
    fn prints(&mut self, text: &str) {
        let mut heard = Vec::new();
        while !heard.ends_with(text.as_bytes()) {
            let mut byte = [0];
            let read = self.stdout.read(&mut byte).unwrap();
            let so_far = String::from_utf8_lossy(&heard).into_owned();
            assert!(read == 1, "no {text:?} in {so_far:?}");
            heard.extend(byte);
        }
    }

    fn interrupt(&self) {
        signal(self.process.id(), "INT");
    }

    /// Waits for the end. Returns the exit code and the stderr.
    fn ends(&mut self) -> (Option<i32>, String) {
        let status = until("the chat ends", || self.process.try_wait().unwrap());
        let mut text = String::new();
        let mut stderr = BufReader::new(self.process.stderr.take().unwrap());
        while stderr.read_line(&mut text).is_ok_and(|read| read > 0) {}
        (status.code(), text)
    }
}

impl Drop for RunningChat {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn says(text: &str) -> Value {
    json!({"steps": [{"text": text}]})
}

fn adds() -> Value {
    json!({"steps": [
        {"text": "Let me see."},
        {"call": {"name": "demo__add", "arguments": {"a": 2, "b": 3}}},
        {"text": "It is {{last_result}}."},
    ]})
}

#[test]
fn one_message_is_one_turn() {
    let home = UserHome::new(json!({"turns": [says("I heard {{last_user}}.")]}));
    home.chat(&["-m", "hi there"], "")
        .exits(0)
        .prints_exactly("I heard hi there.\n")
        .says("--session");
    assert_eq!(home.sessions().len(), 1);
}

#[test]
fn every_line_of_a_pipe_is_a_turn() {
    let home = UserHome::new(json!({"turns": [says("one"), says("two\n"), says("three")]}));
    home.chat(&[], "a\n\n  \r\nb\nc")
        .exits(0)
        .prints_exactly("one\ntwo\nthree\n");
    let home = UserHome::new(json!({"turns": [says("one"), says("two")]}));
    home.chat(&[], "a\n/quit\nb\n")
        .exits(0)
        .prints_exactly("one\n");
}

#[test]
fn a_tool_call_and_its_result_have_a_line_each() {
    let expected = "Let me see.\n→ demo__add {\"a\":2,\"b\":3}\n← ok 9 chars\nIt is {\"sum\":5}.\n";
    let home = UserHome::new(json!({"turns": [adds()]}));
    home.chat(&["--with-builtin", "demo", "-m", "add"], "")
        .exits(0)
        .prints_exactly(expected);
    let home = UserHome::new(json!({"turns": [{"steps": [
        {"call": {"name": "gosling__add", "arguments": {"a": 2, "b": 3}}},
        {"text": "{{last_result}}"},
    ]}]}));
    let command = format!("X='a b' '{}'", demo_command().join("' '"));
    let done = home.chat(&["--with-extension", &command, "-m", "add"], "");
    assert!(
        done.stdout().contains("\n{\"sum\":5}\n"),
        "{}",
        done.stderr()
    );
}

#[test]
fn an_extension_that_does_not_come_up_is_an_error() {
    let home = UserHome::new(json!({}));
    home.chat(
        &["--with-extension", "definitely-not-a-command", "-m", "x"],
        "",
    )
    .exits(1)
    .says("definitely-not-a-command");
}

#[test]
fn a_model_that_fails_is_exit_code_1_and_the_next_line_has_its_turn() {
    let error = json!({"error": {"class": "refused", "message": "not today"}});
    let home = UserHome::new(json!({"turns": [
        {"when": {"user": "bad"}, "steps": [error]},
        says("ok"),
    ]}));
    home.chat(&[], "bad\nb\n")
        .exits(1)
        .prints_exactly("ok\n")
        .says("not today");
}

#[test]
fn without_a_model_the_user_learns_what_to_type() {
    let home = UserHome::new(json!({}));
    let mut command = gosling();
    command
        .args(["chat", "-m", "hello"])
        .current_dir(home.root.path().join("work"))
        .env("GOOSE_PATH_ROOT", home.root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let done = finish(command, "").exits(1).prints_exactly("");
    for text in [
        "--provider scripted",
        "config/config.yaml",
        "gosling help models",
    ] {
        let text = &support::system::shown(text);
        assert!(done.stderr().contains(text), "{}", done.stderr());
    }
    assert!(!done.stderr().contains("POST"), "{}", done.stderr());
    assert!(home.sessions().is_empty());
}

#[test]
fn what_needs_approval_is_denied_without_a_terminal() {
    let home = UserHome::new(json!({"turns": [adds()]}));
    let mut command = home.command(&["--with-builtin", "demo", "-m", "add"]);
    command.env("GOOSE_MODE", "approve");
    let done = finish(command, "y\n").exits(1);
    let out = done.stdout();
    assert!(!out.contains("sum"), "{out}");
    assert!(!out.contains("[y]es"), "{out}");
    done.says("denied demo__add")
        .says("GOOSE_MODE=auto")
        .says("gosling: a tool call was refused");
}

#[test]
fn a_mistyped_command_does_not_go_to_the_model() {
    let home = UserHome::new(json!({"turns": [says("I heard {{last_user}}")], "repeat": true}));
    home.chat(&[], "/halp\n /halp me\n/etc/hosts is one\n")
        .exits(1)
        .prints_exactly("I heard /halp me\nI heard /etc/hosts is one\n")
        .says("there is no command /halp; did you mean /help?");
    let home = UserHome::new(json!({}));
    home.chat(&["-m", "/mode auto"], "")
        .exits(1)
        .prints_exactly("")
        .says("there is no command /mode");
    home.chat(&["-m", "/help"], "").exits(0).says("/compact");
    assert!(home.sessions().is_empty());
}

#[test]
fn a_chat_without_a_message_leaves_no_session() {
    let home = UserHome::new(json!({"turns": [says("one")], "repeat": true}));
    for lines in ["", "/help\n", "/exit\n"] {
        let done = home.chat(&["--with-builtin", "demo"], lines).exits(0);
        assert!(!done.stderr().contains("--session"), "{}", done.stderr());
    }
    let command = format!("'{}'", demo_command().join("' '"));
    let mut talk = home.begin(&["--with-extension", &command]);
    until("the session has begun", || {
        (!descendants(talk.process.id()).is_empty()).then_some(())
    });
    assert_eq!(home.sessions().len(), 1);
    signal(talk.process.id(), "TERM");
    let (code, said) = talk.ends();
    assert_eq!(code, Some(143), "{said}");
    assert!(home.sessions().is_empty());
    home.chat(&["-m", "a"], "").exits(0);
    let sessions = home.sessions();
    home.chat(&["--session", &sessions[0]], "")
        .exits(0)
        .says("--session");
    assert_eq!(home.sessions(), sessions, "it is not new");
}

/// A terminal that does not echo: what the user types, and what a program reads.
#[cfg(target_os = "linux")]
fn terminal() -> (fs::File, fs::File) {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    let open = |path: &str| {
        let mut options = fs::File::options();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        options.open(path).unwrap()
    };
    let user = open("/dev/ptmx");
    let mut number: libc::c_uint = 0;
    // SAFETY: the descriptor is open, and the pointer is that of a number.
    unsafe {
        assert_eq!(libc::unlockpt(user.as_raw_fd()), 0);
        assert_eq!(
            libc::ioctl(user.as_raw_fd(), libc::TIOCGPTN, &mut number),
            0
        );
    }
    let program = open(&format!("/dev/pts/{number}"));
    // SAFETY: the descriptor is open, and zeros are valid settings.
    unsafe {
        let mut settings = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(program.as_raw_fd(), &mut settings), 0);
        settings.c_lflag &= !libc::ECHO;
        assert_eq!(
            libc::tcsetattr(program.as_raw_fd(), libc::TCSANOW, &settings),
            0
        );
    }
    (user, program)
}

#[test]
#[cfg(target_os = "linux")]
fn a_line_that_the_terminal_cut_off_is_not_sent() {
    let home = UserHome::new(json!({"turns": [says("I heard {{last_user}}")], "repeat": true}));
    let (mut user, program) = terminal();
    let mut command = home.command(&[]);
    let process = command.stdin(program).spawn().expect("gosling runs");
    drop(command);
    let whole = "y".repeat(4_000);
    for line in ["x".repeat(6_000), whole.clone(), "/quit".to_owned()] {
        user.write_all(line.as_bytes()).unwrap();
        user.write_all(b"\n").unwrap();
    }
    ChatOutput(process.wait_with_output().unwrap())
        .exits(0)
        .prints_exactly(&format!("I heard {whole}\n"))
        .says("4,095 bytes");
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_at_the_terminal_says_what_is_for_good() {
    let home = UserHome::new(json!({"turns": [adds()], "repeat": true}));
    let (mut user, program) = terminal();
    let mut command = home.command(&["--with-builtin", "demo", "-m", "add"]);
    let process = command
        .stdin(program)
        .env("GOOSE_MODE", "approve")
        .spawn()
        .unwrap();
    drop(command);
    // What is typed before the question is not its answer.
    let typing = std::thread::spawn(move || {
        for _ in 0..200 {
            let _ = user.write_all(b"v\n");
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let done = ChatOutput(process.wait_with_output().unwrap()).exits(0);
    drop(typing);
    done.says("for good, in every session: [a]lways, ne[v]er");
    let kept = fs::read_to_string(home.root.path().join("config/permission.yaml")).unwrap();
    assert!(
        kept.contains("never_allow") && kept.contains("demo__add"),
        "{kept}"
    );
}

#[test]
fn ctrl_c_ends_the_turn_and_the_session_goes_on() {
    let home = UserHome::new(json!({"turns": [
        {"when": {"user": "slow"}, "steps": [{"text": "wait "}, {"wait_ms": 60_000}]},
        says("still here"),
    ], "repeat": true}));
    let mut talk = home.begin(&[]);
    talk.say("slow");
    talk.prints("wait ");
    let begin = Instant::now();
    talk.interrupt();
    talk.say("and now");
    talk.prints("still here\n");
    assert!(begin.elapsed() < Duration::from_secs(20));
    drop(talk.stdin.take());
    let (code, said) = talk.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("(cancelled)"), "{said}");
}

#[test]
fn a_second_ctrl_c_leaves_and_takes_the_extensions_along() {
    let home = UserHome::new(json!({"turns": [
        {"steps": [{"text": "wait "}, {"wait_ms": 60_000}]},
    ]}));
    let mut talk = home.begin(&["--with-builtin", "demo"]);
    talk.say("slow");
    talk.prints("wait ");
    let children = descendants(talk.process.id());
    talk.interrupt();
    talk.prints("\n");
    talk.interrupt();
    let (code, said) = talk.ends();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("--session"), "{said}");
    until("its children are gone", || {
        (!children.iter().any(|child| child.is_alive())).then_some(())
    });
}

#[test]
fn a_session_is_gone_on_with() {
    let home = UserHome::new(json!({"turns": [says("one"), says("two")], "repeat": true}));
    home.chat(&["--with-builtin", "demo", "-m", "a"], "")
        .exits(0)
        .prints_exactly("one\n");
    let sessions = home.sessions();
    home.chat(&["--session", &sessions[0], "-m", "b"], "")
        .exits(0)
        .prints_exactly("two\n")
        .says("messages so far");
    assert_eq!(home.sessions(), sessions);
    home.chat(&["--session", "20200101_1", "-m", "b"], "")
        .exits(1)
        .prints_exactly("")
        .says("no session \"20200101_1\"");
}

fn one(script: &Script) -> Value {
    let mut extension = Extension::scripted("one", script).0;
    extension["enabled"] = true.into();
    json!({ "one": extension })
}

#[test]
fn commands_do_what_they_do_for_every_client() {
    let prompts = json!({"prompts": [{"name": "greet", "description": "Greets", "arguments":
        [{"name": "who", "required": true}]}]});
    let message = json!({"role": "user", "content": {"type": "text", "text": "Good day, Ada"}});
    let script = Script::new().offers("prompts", prompts).on(
        "prompts/get",
        [Action::Result(json!({"messages": [message]}))],
    );
    let home = UserHome::new(json!({"turns": [says("I heard {{last_user}}")], "repeat": true}));
    let recipe = home.root.path().join("recipe.yaml");
    let text = "title: T\ndescription: D\nprompt: Sing {{ what }}\nparameters:\n\
        - {key: what, input_type: string, requirement: required, description: W}\n";
    fs::write(&recipe, text).unwrap();
    let home = home.configured(json!({
        "extensions": one(&script),
        "slash_commands": [{"command": "sing", "recipe_path": recipe}],
    }));
    let lines =
        "/prompts\n/prompt greet who=Ada\n/sing a song\n/sing\n/compact\n/clear\n/path/x is one\n";
    let done = home.chat(&[], lines).exits(0).says("> Good day, Ada\n");
    let out = done.stdout();
    let wanted = [
        "- `greet` (one) Greets",
        "\nI heard Good day, Ada\n",
        "I heard Sing a song",
        "`/sing`",
        "I heard /path/x is one",
    ];
    let at = wanted.map(|text| out.find(text));
    assert!(
        at.is_sorted() && at.iter().all(Option::is_some),
        "{at:?} {out}"
    );
}

#[test]
fn a_server_that_asks_the_user_hears_no_where_there_is_no_terminal() {
    let form = json!({"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}});
    let asks = [
        Action::AskWith("elicitation/create".to_owned(), form),
        Action::LastClientAnswer,
    ];
    let script = Script::new().tool("ask", asks);
    let home = UserHome::new(json!({"turns": [
        {"steps": [{"call": {"name": "one__ask"}}, {"text": "{{last_result}}"}]},
    ]}));
    let home = home.configured(json!({ "extensions": one(&script) }));
    let out = home.chat(&["-m", "go"], "").exits(0).stdout();
    assert!(out.contains("\"action\":\"decline\""), "{out}");
}

#[test]
fn what_a_model_says_cannot_steer_a_terminal() {
    let home = UserHome::new(json!({"turns": [says("a\u{1b}[2J\u{7}b\tc")]}));
    home.chat(&["-m", "x"], "")
        .exits(0)
        .prints_exactly("a[2Jb\tc\n");
}

#[test]
fn a_reader_that_leaves_ends_the_chat_in_peace() {
    let home = UserHome::new(json!({"turns": [
        {"steps": [{"text": "word ", "chunks": 5}, {"wait_ms": 100}, {"text": "more"}]},
    ], "repeat": true}));
    let mut talk = home.begin(&[]);
    drop(std::mem::replace(&mut talk.stdout, empty()));
    talk.say("x");
    let (code, said) = talk.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("internal error"), "{said}");
}

#[test]
#[cfg(target_os = "linux")] // A device that is full.
fn an_answer_that_cannot_be_printed_is_an_error() {
    let why = "gosling: stdout cannot be written: No space left on device";
    let home = UserHome::new(json!({"turns": [says("one")], "repeat": true}));
    let full = || {
        let full = fs::File::options().write(true).open("/dev/full");
        Stdio::from(full.unwrap())
    };
    for (arguments, lines) in [(&["-m", "x"][..], ""), (&[], "x\ny\n")] {
        let mut command = home.command(arguments);
        command.stdout(full());
        finish(command, lines).exits(1).says(why);
    }
    if cfg!(feature = "recipes") {
        let recipe = home.root.path().join("r.yaml");
        fs::write(&recipe, "title: t\ndescription: d\nprompt: p\n").unwrap();
        for more in [&[][..], &["--json"]] {
            let mut command =
                home.command_named("run", &[&[recipe.to_str().unwrap()], more].concat());
            command.stdout(full());
            finish(command, "").exits(1).says(why);
        }
    }
}

/// The stdout of a process that prints nothing.
fn empty() -> BufReader<ChildStdout> {
    let mut command = gosling();
    let command = command.arg("--nonsense").stdout(Stdio::piped());
    let mut process = command.stderr(Stdio::null()).spawn().unwrap();
    let stdout = process.stdout.take().unwrap();
    let _ = process.wait();
    BufReader::new(stdout)
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for (arguments, reason) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["stray"], "stray"),
        (&["-m", " "], "--message: it is empty"),
        (&["--with-extension", "'open"], "quote"),
        (&["--with-extension", "A=1"], "no command"),
        (&["--with-builtin", "nonsense"], "\"nonsense\""),
        (&["--with-streamable-http", "localhost"], "\"localhost\""),
    ] {
        let home = UserHome::new(json!({}));
        let done = home.chat(arguments, "").exits(2).prints_exactly("");
        done.says(reason).says("try `gosling chat --help`");
        assert!(home.sessions().is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_effort_of_the_session_is_shown_and_set() {
    let home = UserHome::new(json!({"turns": [says("done")], "repeat": true}));
    home.chat(
        &[],
        "/effort\n/effort high\nhello\n/effort\n/effort default\n/effort\n",
    )
    .exits(0)
    .says("as the model does by default")
    .says("effort: high, from the next message on")
    .says("high; /effort takes off, low, medium, high, max or default");
    home.chat(&[], "/effort lots\n")
        .exits(1)
        .says("there is no effort \"lots\"");
}

#[test]
fn a_text_for_the_running_turn_is_read_while_it_runs() {
    let slow = json!({"when": {"user": "go"}, "steps": [
        {"text": "I work. "}, {"text": "abcdef", "chunks": 6, "delay_ms": 200},
    ]});
    let home =
        UserHome::new(json!({"turns": [slow, says("I heard {{last_user}}")], "repeat": true}));
    let mut chat = home.begin(&[]);
    chat.say("go");
    chat.prints("I work. ");
    chat.say("/steer and blue");
    chat.prints("I heard and blue\n");
    // There is no turn now, so it begins one.
    chat.say("/steer and round");
    chat.prints("I heard and round\n");
    drop(chat.stdin.take());
    let (code, said) = chat.ends();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        said.matches("the model is told with its next request")
            .count(),
        1,
        "{said}"
    );
    assert!(said.contains("> and blue"), "{said}");
}
