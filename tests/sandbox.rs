//! Walls around extensions, on real processes: what was tried against them, as an ordinary user and as root, and what
//! the kernel answered.
#![cfg(all(
    feature = "sandbox",
    feature = "chat",
    feature = "developer",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod support;

use gosling::extension::sandbox::Level;
use gosling::store::{Paths, Sessions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::acp_client::{Acp, turn};
use support::server::{Extension, GOSLING, Server, Session, gosling};
use support::{TempDir, temp_dir, until};

/// An ordinary user.
const USER: u32 = 65_534;
/// The test below that tries to get out, in a process of its own.
const ATTEMPTS: &str = "attempts_to_get_out";
/// The folder of the trial, for that process.
const TRIAL: &str = "GOSLING_TEST_TRIAL";

/// Whether the kernel has what the levels need: version 6 of Landlock. Else that is what is tested.
fn has_walls() -> bool {
    // SAFETY: asks for the version only.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1) };
    version >= 6
}

/// Whether this user may have a view of the mounts, which strict walls need, too: by making one.
fn has_strict_walls(user: Option<u32>) -> bool {
    let may = |flags| {
        let mut command = Command::new("true");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        // SAFETY: system calls alone.
        unsafe {
            command.pre_exec(move || {
                checked(libc::unshare(flags).into())?;
                let private = libc::MS_REC | libc::MS_PRIVATE;
                let none = std::ptr::null::<libc::c_char>();
                checked(libc::mount(none, c"/".as_ptr(), none, private, none.cast()).into())
            });
        }
        command.status().is_ok_and(|status| status.success())
    };
    has_walls() && (may(libc::CLONE_NEWNS) || may(libc::CLONE_NEWNS | libc::CLONE_NEWUSER))
}

fn is_root() -> bool {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() == 0 }
}

/// Another user who can run gosling, if the tests run as root.
fn other_user() -> Option<u32> {
    let mut version = Command::new(GOSLING);
    version.arg("--version").uid(USER).gid(USER);
    let mut may = || version.output().is_ok_and(|output| output.status.success());
    (is_root() && may()).then_some(USER)
}

/// Gives a folder away, with all that is in it.
fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// A home with keys, a project in it, and gosling's folders.
struct Trial {
    folder: TempDir,
    user: Option<u32>,
}

impl Trial {
    fn new(user: Option<u32>) -> Self {
        let folder = temp_dir();
        let trial = Trial { folder, user };
        for (file, text) in [
            ("home/.ssh/id", "key"),
            ("home/notes", "notes"),
            ("home/work/a", "a"),
            ("goose/config/secrets.yaml", "A: b"),
        ] {
            let path = trial.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(trial.at("tmp")).unwrap();
        // The program that tries, where also strict walls let it run.
        fs::copy(env::current_exe().unwrap(), trial.at("home/work/try")).unwrap();
        fs::set_permissions(trial.folder.path(), Permissions::from_mode(0o755)).unwrap();
        if let Some(user) = user {
            give(trial.folder.path(), user);
        }
        trial
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Runs a command in a shell behind walls of this level.
    fn run(&self, level: &str, command: &str) -> Output {
        let mut call = gosling();
        call.args(["call", "--server", &format!("'{GOSLING}' mcp developer")]);
        call.args(["shell", &json!({"command": command}).to_string()]);
        call.current_dir(self.at("home/work"))
            .env("HOME", self.at("home"))
            .env("TMPDIR", self.at("tmp"))
            .env("GOOSE_PATH_ROOT", self.at("goose"))
            .env("GOOSE_EXTENSION_SANDBOX", level);
        if let Some(user) = self.user {
            // As root, the standard library gives up the groups, too.
            call.uid(user).gid(user);
        }
        call.output().unwrap()
    }

    /// What was tried, and the error of each; an empty one if it succeeded.
    fn tries(&self, level: &str) -> BTreeMap<String, String> {
        // Strict walls keep variables out, too.
        let trial = self.at("");
        let tries = format!("{TRIAL}={trial:?} ./try --exact {ATTEMPTS} --nocapture");
        let output = self.run(level, &tries);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("tried "));
        let tried = lines.filter_map(|line| line.split_once(": "));
        let tried: BTreeMap<_, _> = tried.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        assert!(tried.contains_key("end"), "{text}\n{:?}", output.stderr);
        tried
    }
}

fn checked(result: i64) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Prints what it tries and what comes of it. Does nothing unless it is run behind walls.
#[test]
fn attempts_to_get_out() {
    let Some(trial) = env::var_os(TRIAL).map(PathBuf::from) else {
        return;
    };
    let tried = |what: &str, result: io::Result<()>| {
        let answer = match result.map_err(|error| error.raw_os_error()) {
            Ok(()) => "done".to_owned(),
            Err(Some(libc::EACCES)) => "EACCES".to_owned(),
            Err(Some(libc::EPERM)) => "EPERM".to_owned(),
            Err(Some(libc::ENOSYS)) => "ENOSYS".to_owned(),
            Err(Some(libc::EROFS)) => "EROFS".to_owned(),
            Err(Some(libc::ENOENT)) => "absent".to_owned(),
            Err(Some(libc::EXDEV)) => "EXDEV".to_owned(),
            Err(Some(libc::EAFNOSUPPORT)) => "EAFNOSUPPORT".to_owned(),
            Err(other) => format!("{other:?}"),
        };
        println!("tried {what}: {answer}");
    };
    let call = |number: libc::c_long, arguments: [libc::c_long; 5]| {
        let [a, b, c, d, e] = arguments;
        // SAFETY: calls that must be refused, with arguments that would do no harm.
        checked(unsafe { libc::syscall(number, a, b, c, d, e) })
    };
    let home = trial.join("home");
    let work = home.join("work");
    let key = home.join(".ssh/id");
    let open = |path: &Path, write: bool| {
        let mut options = OpenOptions::new();
        options.read(!write).write(write).open(path).map(drop)
    };
    let read = |path: &Path| open(path, false);
    let path = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // What a program needs.
    tried(
        "write in the working directory",
        fs::write(work.join("b"), "b"),
    );
    tried("rename in it", fs::rename(work.join("b"), work.join("c")));
    tried(
        "write in its temporary folder",
        fs::write(env::temp_dir().join("t"), "t"),
    );
    tried("run a program", Command::new("true").status().map(drop));
    tried("read the system", read(Path::new("/etc/passwd")));
    tried("write to /dev/null", fs::write("/dev/null", "x"));
    tried("read a note at home", read(&home.join("notes")));
    let listener = trial.join("port");
    let port: u16 = fs::read_to_string(&listener).map_or(1, |port| port.parse().unwrap_or(1));
    tried(
        "connect over TCP",
        TcpStream::connect(("127.0.0.1", port)).map(drop),
    );
    tried(
        "listen over TCP",
        TcpListener::bind("127.0.0.1:0").map(drop),
    );
    tried("use UDP", UdpSocket::bind("127.0.0.1:0").map(drop));
    // Files.
    tried("read a key", read(&key));
    let link = work.join("link");
    let _ = symlink(&key, &link);
    tried("read a key by a symbolic link", read(&link));
    let by_root = Path::new("/proc/self/root").join(key.strip_prefix("/").unwrap());
    tried("read a key by /proc/self/root", read(&by_root));
    tried(
        "link a key into the working directory",
        fs::hard_link(&key, work.join("hard")),
    );
    tried(
        "move a key into the working directory",
        fs::rename(&key, work.join("moved")),
    );
    tried(
        "read gosling's secrets",
        read(&trial.join("goose/config/secrets.yaml")),
    );
    tried("list the home", fs::read_dir(&home).map(drop));
    tried("write outside", fs::write(home.join("new"), ""));
    tried("change a file outside", open(&home.join("notes"), true));
    let notes = path(&home.join("notes"));
    // SAFETY: the path ends in NUL.
    tried(
        "empty a file outside",
        checked(unsafe { libc::truncate(notes.as_ptr(), 0) }.into()),
    );
    tried(
        "move a file out",
        fs::rename(work.join("a"), home.join("a")),
    );
    tried("remove a file outside", fs::remove_file(home.join("notes")));
    tried("make a folder outside", fs::create_dir(home.join("folder")));
    tried(
        "write to /tmp",
        fs::write(format!("/tmp/gosling-{}", std::process::id()), ""),
    );
    tried(
        "write to /dev/shm",
        fs::write(format!("/dev/shm/gosling-{}", std::process::id()), ""),
    );
    tried(
        "write a setting of the kernel",
        open(Path::new("/proc/sys/kernel/core_pattern"), true),
    );
    tried(
        "make a group of processes",
        fs::create_dir("/sys/fs/cgroup/gosling-test"),
    );
    tried(
        "read the memory of the machine",
        read(Path::new("/dev/mem")),
    );
    tried(
        "read the memory of the kernel",
        read(Path::new("/proc/kcore")),
    );
    let disk = path(&work.join("disk"));
    // SAFETY: the path ends in NUL.
    let made = unsafe { libc::mknod(disk.as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(254, 0)) };
    tried("make a disk's file", checked(made.into()));
    tried("read shadowed passwords", read(Path::new("/etc/shadow")));
    // Other processes: gosling itself.
    let gosling = outermost_gosling();
    let its = |file: &str| PathBuf::from(format!("/proc/{gosling}/{file}"));
    tried(
        "read gosling's environment",
        fs::read(its("environ")).map(drop),
    );
    tried("read gosling's memory", read(&its("mem")));
    tried("go to gosling's root", read(&its("root/etc/passwd")));
    let pid = libc::c_long::from(gosling);
    let attach = libc::PTRACE_SEIZE as libc::c_long;
    tried(
        "trace gosling",
        call(libc::SYS_ptrace, [attach, pid, 0, 0, 0]),
    );
    tried(
        "signal gosling",
        call(libc::SYS_kill, [pid, libc::SIGCONT.into(), 0, 0, 0]),
    );
    // SAFETY: a system call with plain integers.
    let its_fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    tried(
        "take a descriptor of gosling",
        call(libc::SYS_pidfd_getfd, [its_fd, 0, 0, 0, 0]),
    );
    let inherited = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let inherited = inherited.filter(|fd| {
        let target = fs::read_link(fd.path()).unwrap_or_default();
        target.starts_with(&trial) && !target.starts_with(&work)
    });
    let leaks = inherited.count();
    println!("tried inherited descriptors: {leaks}");
    // Sockets.
    let socket = |family: i32, kind: i32, protocol: i32| {
        call(
            libc::SYS_socket,
            [family.into(), kind.into(), protocol.into(), 0, 0],
        )
    };
    tried(
        "reach D-Bus or Docker",
        socket(libc::AF_UNIX, libc::SOCK_STREAM, 0),
    );
    tried(
        "use an abstract socket",
        socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0),
    );
    tried("use a raw socket", socket(libc::AF_INET, libc::SOCK_RAW, 1));
    tried("use packets", socket(libc::AF_PACKET, libc::SOCK_RAW, 0));
    tried(
        "use multipath TCP",
        socket(libc::AF_INET, libc::SOCK_STREAM, 262),
    );
    tried(
        "reach the host of a machine",
        socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    );
    // The kernel.
    let new_user = libc::CLONE_NEWUSER.into();
    tried(
        "make a user namespace",
        call(libc::SYS_unshare, [new_user, 0, 0, 0, 0]),
    );
    tried(
        "make one by clone3",
        call(libc::SYS_clone3, [0, 0, 0, 0, 0]),
    );
    tried("enter a namespace", call(libc::SYS_setns, [0, 0, 0, 0, 0]));
    tried("mount", call(libc::SYS_mount, [0, 0, 0, 0, 0]));
    tried(
        "use io_uring",
        call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
    );
    tried(
        "load a program into the kernel",
        call(libc::SYS_bpf, [0, 0, 0, 0, 0]),
    );
    tried(
        "load a module",
        call(libc::SYS_finit_module, [-1, 0, 0, 0, 0]),
    );
    tried(
        "read the kernel's keys",
        call(libc::SYS_keyctl, [0, -3, 0, 0, 0]),
    );
    tried(
        "handle page faults",
        call(libc::SYS_userfaultfd, [0, 0, 0, 0, 0]),
    );
    tried(
        "measure others",
        call(libc::SYS_perf_event_open, [0, 0, -1, -1, 0]),
    );
    tried(
        "open by handle",
        call(libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0]),
    );
    tried(
        "type into a terminal",
        call(libc::SYS_ioctl, [0, 0x5412, 0, 0, 0]),
    );
    tried(
        "set the clock",
        call(libc::SYS_clock_settime, [0, 0, 0, 0, 0]),
    );
    tried(
        "change the root",
        fs::create_dir_all(work.join("root")).and_then(|()| {
            let root = path(&work.join("root"));
            // SAFETY: the path ends in NUL.
            checked(unsafe { libc::chroot(root.as_ptr()) }.into())
        }),
    );
    // Mode, owner and times are not covered by Landlock.
    let mode = Permissions::from_mode(0o640);
    tried(
        "change the mode of a file outside",
        fs::set_permissions(home.join("notes"), mode),
    );
    tried("end", Ok(()));
}

/// The process that has built the walls.
fn outermost_gosling() -> i32 {
    let mut pid = std::process::id();
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let parent = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap();
        pid = parent.parse().unwrap();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        if line.split(|byte| *byte == 0).any(|word| word == b"call") {
            return i32::try_from(pid).unwrap();
        }
        assert!(pid > 1, "no gosling above");
    }
}

/// What must succeed at a level, and what is left as it is; everything else must be refused.
fn check(level: &str, is_root: bool, tried: &BTreeMap<String, String>) {
    let needed = [
        "write in the working directory",
        "rename in it",
        "write in its temporary folder",
        "run a program",
        "read the system",
        "write to /dev/null",
        "end",
    ];
    let open_network = ["connect over TCP", "listen over TCP", "use UDP"];
    let readable = ["read a note at home", "list the home"];
    for (what, answer) in tried {
        let what = what.as_str();
        let in_workspace = open_network.contains(&what) || readable.contains(&what);
        let succeeds = needed.contains(&what) || (level == "workspace" && in_workspace);
        let wanted = match what {
            _ if succeeds => answer == "done",
            "inherited descriptors" => answer == "0",
            // Landlock does not cover it; a view of the mounts does, where the kernel lets the user have one.
            "change the mode of a file outside" if level == "workspace" => {
                ["done", "EROFS"].contains(&answer.as_str())
            }
            "read the memory of the kernel" | "read the memory of the machine"
                if answer == "absent" =>
            {
                true
            }
            _ => [
                "EACCES",
                "EPERM",
                "EROFS",
                "ENOSYS",
                "EXDEV",
                "EAFNOSUPPORT",
            ]
            .contains(&answer.as_str()),
        };
        assert!(wanted, "{level}, root {is_root}: {what}: {answer}");
    }
    assert!(tried.len() > 50, "{tried:?}");
}

#[test]
fn what_is_tried_against_the_walls_fails() {
    if !has_walls() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Root also tries as an ordinary user.
    for user in [None].into_iter().chain(other_user().map(Some)) {
        for level in ["workspace", "strict"] {
            if level == "strict" && !has_strict_walls(user) {
                continue;
            }
            let trial = Trial::new(user);
            fs::write(trial.at("port"), &port).unwrap();
            let tried = trial.tries(level);
            check(level, user.is_none() && is_root(), &tried);
            assert_eq!(fs::read_to_string(trial.at("home/.ssh/id")).unwrap(), "key");
            assert_eq!(fs::read_to_string(trial.at("home/notes")).unwrap(), "notes");
            // Its temporary folder has gone with it.
            assert_eq!(fs::read_dir(trial.at("tmp")).unwrap().count(), 0);
            for (what, answer) in tried {
                table.entry(what).or_default().push(answer);
            }
        }
    }
    for (what, answers) in table {
        println!("{what}: {}", answers.join(" "));
    }
}

#[test]
fn without_walls_it_gets_everywhere() {
    let trial = Trial::new(None);
    let command = "cat ~/.ssh/id && mv a ~/moved && tr '\\0' ' ' < /proc/$PPID/environ";
    let output = trial.run("off", command);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("key") && text.contains("GOOSE_PATH_ROOT"),
        "{text}"
    );
    assert!(trial.at("home/moved").exists());
}

/// Whether a program says that the kernel refused it something.
fn is_refused(text: &str) -> bool {
    text.contains("Permission denied") || text.contains("Read-only file system")
}

/// What `GET /agent/extensions` says of an extension.
fn status(session: &Session<'_>, key: &str) -> Value {
    let path = format!("/agent/extensions?session_id={}", session.id);
    let answer = session.server.get(&path).is(200);
    let all = answer.body["extensions"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).unwrap().clone()
}

/// A shell command of the builtin server `developer`: whether it succeeded, and what it printed.
fn shell(session: &Session<'_>, command: &str) -> (bool, String) {
    let called = session.call("developer__shell", json!({"command": command}));
    (called.body["isError"] != true, called.text)
}

#[test]
fn the_builtin_server_for_commands_runs_behind_walls_too() {
    if !has_walls() {
        return;
    }
    let server = Server::new()
        .env("GOOSE_EXTENSION_SANDBOX", "workspace")
        .start();
    let outside = temp_dir();
    let session = server.session([Extension::builtin("developer"), Extension::builtin("todo")]);
    let shown = status(&session, "developer");
    assert_eq!(shown["sandbox"], "workspace");
    assert!(shown["pid"].is_number(), "{shown}");
    let shown = status(&session, "todo");
    assert_eq!(
        (&shown["sandbox"], &shown["pid"]),
        (&Value::Null, &Value::Null)
    );
    let target = outside.path().join("new");
    let edited = session.call(
        "developer__text_editor",
        json!({"command": "write", "path": target, "file_text": "x"}),
    );
    assert_eq!(edited.body["isError"], true, "{}", edited.text);
    let (is_done, text) = shell(&session, &format!("echo x > {}", target.display()));
    assert!(is_refused(&text), "{is_done} {text}");
    assert!(!target.exists());
    let (_, text) = shell(&session, "echo x > inside && cat inside && echo $TMPDIR");
    assert!(text.contains('x'), "{text}");
    // The setting counts from the next start of the extension.
    session.remove("developer").is(200);
    let own = Extension::builtin("developer").with("sandbox", "off");
    session.add(own).is(200);
    assert_eq!(status(&session, "developer")["sandbox"], Value::Null);
}

#[test]
fn a_session_has_walls_of_its_own_that_nothing_lowers() {
    if !has_strict_walls(None) {
        return;
    }
    let server = Server::new().env("AWS_SECRET_ACCESS_KEY", "cloudy").start();
    let level = |session: &Session| status(session, "developer")["sandbox"].clone();
    let open = || Extension::builtin("developer").with("sandbox", "off");
    let start = |sandbox: Value| {
        let extensions = json!([open().0]);
        json!({"working_dir": server.work(), "extension_overrides": extensions, "sandbox": sandbox})
    };
    for (wrong, status) in [(json!("Strict"), 422), (json!(""), 422), (json!(1), 400)] {
        let refused = server.post("/agent/start", start(wrong));
        assert_eq!(refused.status, status, "{}", refused.message());
    }
    let plain = server.start(start(Value::Null));
    plain.resume();
    assert_eq!(level(&plain), Value::Null);
    assert!(
        shell(&plain, "echo $AWS_SECRET_ACCESS_KEY")
            .1
            .contains("cloudy")
    );
    let session = server.start(start(json!("strict")));
    session.resume();
    assert_eq!(level(&session), "strict");
    // Neither do keys of clouds reach it.
    let (_, text) = shell(
        &session,
        "echo key=$AWS_SECRET_ACCESS_KEY= home=${HOME:+set}",
    );
    assert!(text.contains("key== home=set"), "{text}");
    session.remove("developer").is(200);
    session.add(open()).is(200);
    assert_eq!(level(&session), "strict");

    let copied = server.post(
        &format!("/sessions/{}/fork", session.id),
        json!({"copy": true, "truncate": false}),
    );
    let exported = server.get(&format!("/sessions/{}/export", session.id));
    let exported = exported.is(200).body;
    let imported = server.post("/sessions/import", json!({"json": exported}));
    let ids = [
        session.id.clone(),
        copied.is(200).body["sessionId"]
            .as_str()
            .unwrap()
            .to_owned(),
        imported.is(200).body["id"].as_str().unwrap().to_owned(),
    ];
    let server = server.restart();
    for id in ids {
        let session = server.known(&id);
        session.resume();
        let _ = session.add(open());
        assert_eq!(status(&session, "developer")["sandbox"], "strict", "{id}");
    }
}

#[test]
#[cfg(all(feature = "acp", feature = "scripted"))]
fn a_client_of_the_agent_client_protocol_asks_for_walls_too() {
    if !has_walls() {
        return;
    }
    let mut client = Acp::new(turn(json!([{"text": "fine"}]))).start();
    let open = |sandbox| json!({"cwd": "/tmp", "mcpServers": [], "_meta": {"sandbox": sandbox}});
    let (code, why) = client.refused("session/new", open("Strict"));
    assert!(code == -32602 && why.contains("`_meta.sandbox`"), "{why}");
    let opened = client.call("session/new", open("workspace"));
    let id = opened["sessionId"].as_str().unwrap();
    let paths = Paths::under(client.root());
    let session = Sessions::new(&paths).load(id).unwrap().unwrap();
    assert_eq!(session.extension_data.sandbox(), Level::Workspace);
}

#[test]
fn exceptions_open_folders_and_ports_that_they_name() {
    if !has_strict_walls(None) {
        return;
    }
    let server = Server::new().start();
    let outside = temp_dir();
    let dir = outside.path().canonicalize().unwrap();
    let (open, closed) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let sandbox = json!({"level": "strict", "write": [dir], "network": [port(&open)]});
    let developer = Extension::builtin("developer").with("sandbox", sandbox);
    let session = server.session([developer]);
    assert_eq!(status(&session, "developer")["sandbox"], "strict");
    let (_, text) = shell(
        &session,
        &format!("echo fine > {0}/a && cat {0}/a", dir.display()),
    );
    assert!(text.contains("fine"), "{text}");
    // Bash connects by itself.
    let connect = |port| {
        let command = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo connected");
        shell(&session, &command).1
    };
    assert!(connect(port(&open)).contains("connected"));
    let refused = connect(port(&closed));
    assert!(refused.contains("Permission denied"), "{refused}");
}

#[test]
fn an_entry_that_is_not_understood_or_opens_keys_does_not_start() {
    let server = Server::new().start();
    let session = server.session([]);
    for (sandbox, reason) in [
        (json!("Strict"), "`sandbox` is none of"),
        (
            json!({"level": "strict", "hosts": []}),
            "`sandbox` has \"hosts\"",
        ),
        (
            json!({"level": "workspace", "read": ["/"]}),
            "a sandbox keeps closed",
        ),
        (
            json!({"level": "workspace", "write": [server.root()]}),
            "a sandbox keeps closed",
        ),
    ] {
        if !has_walls() && reason.contains("closed") {
            continue;
        }
        let one = Extension::shell("one", "cat").with("sandbox", sandbox);
        let answer = session.add(one);
        assert!(answer.message().contains(reason), "{}", answer.message());
    }
    let inside = Extension::shell("one", "cat").with("sandbox", "workspace");
    let answer = session.add(inside.with("container", "box"));
    assert!(
        answer.message().contains("choose one of both"),
        "{}",
        answer.message()
    );
}

#[test]
fn what_runs_behind_walls_ends_with_the_server() {
    if !has_walls() {
        return;
    }
    let mut server = Server::new().env("GOOSE_EXTENSION_SANDBOX", "workspace");
    if let Some(user) = other_user() {
        give(server.root(), user);
        server = server.user(user);
    }
    let server = server.start();
    let session = server.session([Extension::builtin("developer")]);
    let command = "setsid sleep 1000 < /dev/null > out 2>&1 & echo pid $!";
    let (_, text) = shell(&session, command);
    let pid = text.split("pid ").nth(1).unwrap();
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    let process = PathBuf::from(format!("/proc/{pid}"));
    assert!(process.exists());
    server.terminate();
    until("it has ended", || (!process.exists()).then_some(()));
}
