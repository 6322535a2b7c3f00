//! Processes and pipes. Each test runs the program of the tests again as a child: the test `child` does what a variable
//! says.

use super::ffi;
use super::transfer::{Progress, Transfer};
use super::wait::{Event, wait_any};
use crate::cancel::Cancel;
use crate::fs::FileCalls;
use crate::pipe::{PipeReader, PipeWriter};
use crate::process::{Command, Grace, Pipes, Process};
use crate::{fs, signal};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
#[cfg(feature = "parts")]
use std::os::windows::fs::FileTimesExt;
use std::os::windows::io::{AsRawHandle, AsRawSocket, BorrowedHandle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ROLE: &str = "GOSLING_SYS_TEST_ROLE";
const LONG: Duration = Duration::from_secs(60);

fn child_command(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["windows::tests::child", "--exact", "--nocapture", "--quiet"]);
    command.env(ROLE, role);
    command
}

fn start(role: &str) -> (Process, Pipes) {
    Process::spawn(child_command(role), Some(LONG), &Cancel::new()).unwrap()
}

/// What the children do; nothing when it runs as a test.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    match role.as_str() {
        "echo" => {
            for line in io::stdin().lock().lines() {
                println!("{}", line.unwrap());
            }
        }
        // Tells how many bytes have come in their order, and takes parts of what was written at once.
        "count" | "count slowly" => {
            let (mut n, mut bytes) = (0, [0; 999]);
            loop {
                let len = io::stdin().lock().read(&mut bytes).unwrap();
                let is_next = |(at, byte): (usize, &u8)| *byte == byte_at(n + at);
                if len == 0 || !bytes[..len].iter().enumerate().all(is_next) {
                    break;
                }
                n += len;
                if role == "count slowly" && n == len {
                    println!("part");
                    thread::sleep(Duration::from_millis(200));
                }
            }
            println!("{n}");
        }
        "sleep" => {
            println!("sleeping");
            thread::sleep(LONG * 10);
        }
        // Starts a process without its job being known, as any program would.
        "parent" => {
            let mut own = std::process::Command::new(std::env::current_exe().unwrap());
            own.args(["windows::tests::child", "--exact", "--nocapture"]);
            own.env(ROLE, "sleep").stdin(std::process::Stdio::null());
            let mut own = own.spawn().unwrap();
            println!("child {}", own.id());
            own.wait().unwrap();
        }
        "orphan" => {
            let (process, _pipes) = start("sleep");
            println!("child {}", process.pid());
            io::stdout().flush().unwrap();
            // Nothing is dropped.
            std::process::abort();
        }
        "code" => std::process::exit(7),
        "folder" => println!("folder {}", std::env::current_dir().unwrap().display()),
        "variables" => println!("[{:?}]", std::env::var_os(crate::process::SERVER_KEY)),
        _ => unreachable!(),
    }
}

/// What is written at this place.
fn byte_at(at: usize) -> u8 {
    (at % 251) as u8
}

/// Reads up to the line that contains `text`.
fn wait_for(text: &str, output: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "no line {text:?}");
        if line.contains(text) {
            return line;
        }
    }
}

fn pid_in(line: &str) -> u32 {
    let digits = line.split("child ").nth(1).unwrap();
    digits.trim().parse().unwrap()
}

/// Whether a process runs, as the list of tasks shows it.
fn lives(pid: u32) -> bool {
    use super::ffi::{Bool, Handle};
    unsafe extern "system" {
        fn OpenProcess(access: u32, inherit: Bool, pid: u32) -> Handle;
        fn WaitForSingleObject(handle: Handle, milliseconds: u32) -> u32;
        fn CloseHandle(handle: Handle) -> Bool;
    }
    // SAFETY: plain integers, and a handle that is ours and is not null.
    unsafe {
        let process = OpenProcess(0x0010_0000, 0, pid);
        if process.is_null() {
            return false;
        }
        let waited = WaitForSingleObject(process, 0);
        CloseHandle(process);
        waited == super::ffi::WAIT_TIMEOUT
    }
}

fn ends(pid: u32) -> bool {
    let begin = Instant::now();
    while lives(pid) {
        if begin.elapsed() > LONG {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_child_echoes_and_ends_with_its_input() {
    let (process, pipes) = start("echo");
    let mut stdin = PipeWriter::new(pipes.stdin).unwrap();
    assert_eq!(stdin.write_some(b"hello\n").unwrap(), 6);
    let stdout = PipeReader::new(pipes.stdout);
    let mut output = BufReader::new(&stdout);
    wait_for("hello", &mut output);
    drop(stdin);
    process.end(Grace {
        stdin: LONG,
        term: Duration::ZERO,
    });
    assert!(process.own_status().unwrap().success());
}

#[test]
fn an_exit_code_is_told() {
    let (process, _pipes) = start("code");
    assert!(process.wait_exit(LONG));
    process.end(Grace::NORMAL);
    assert_eq!(process.own_status().unwrap().code(), Some(7));
}

#[test]
fn a_read_has_a_time_limit_and_can_be_stopped() {
    let (_process, pipes) = start("sleep");
    let stdout = PipeReader::new(pipes.stdout);
    wait_for("sleeping", &mut BufReader::new(&stdout));
    while stdout.wait_readable(Duration::from_millis(100)) {
        let _ = (&stdout).read(&mut [0; 100]).unwrap();
    }
    let begin = Instant::now();
    assert!(!stdout.wait_readable(Duration::from_millis(50)));
    assert!(begin.elapsed() >= Duration::from_millis(49));
    let reading = stdout.clone();
    let thread = thread::spawn(move || (&reading).read(&mut [0; 16]).unwrap());
    thread::sleep(Duration::from_millis(50));
    assert!(stdout.stop());
    assert_eq!(thread.join().unwrap(), 0);
}

#[test]
fn a_read_that_the_end_of_its_thread_has_ended_is_taken_up_again() {
    let (_process, pipes) = start("echo");
    let stdout = PipeReader::new(pipes.stdout);
    let reading = stdout.clone();
    // The system reads on behalf of a thread, and ends that with it.
    let waited = thread::spawn(move || {
        while reading.wait_readable(Duration::from_millis(200)) {
            let _ = (&reading).read(&mut [0; 100]).unwrap();
        }
    });
    waited.join().unwrap();
    let mut stdin = PipeWriter::new(pipes.stdin).unwrap();
    assert_eq!(stdin.write_some(b"later\n").unwrap(), 6);
    wait_for("later", &mut BufReader::new(&stdout));
}

#[test]
fn a_full_pipe_takes_no_more_and_loses_nothing() {
    const ALL: usize = 3 << 20;
    let (process, pipes) = start("count");
    let mut stdin = PipeWriter::new(pipes.stdin).unwrap();
    let bytes: Vec<u8> = (0..ALL).map(byte_at).collect();
    let mut written = 0;
    while written < ALL {
        let (next, all) = (written, &bytes);
        // Each part from a thread of its own, which ends while the system may still be writing.
        written += thread::scope(|scope| {
            let writer = &mut stdin;
            let thread = scope.spawn(move || writer.write_some(&all[next..]).unwrap());
            thread.join().unwrap()
        });
        stdin.room().wait(LONG);
    }
    drop(stdin);
    let stdout = PipeReader::new(pipes.stdout);
    wait_for(&ALL.to_string(), &mut BufReader::new(&stdout));
    assert!(process.wait_exit(LONG));
}

#[test]
fn what_nobody_reads_is_not_accepted_for_ever() {
    let (process, pipes) = start("sleep");
    let mut stdin = PipeWriter::new(pipes.stdin).unwrap();
    let bytes = vec![b'x'; 1 << 20];
    let mut written = 0;
    while written < bytes.len() {
        match stdin.write_some(&bytes[written..]).unwrap() {
            0 => break,
            n => written += n,
        }
    }
    assert!(written < bytes.len(), "{written}");
    assert!(!stdin.room().wait(Duration::from_millis(50)));
    process.end(Grace::SHORT);
    assert!(stdin.room().wait(LONG));
    assert!(stdin.write_some(b"x").is_err());
}

/// With a thread the system ends the operations that it has begun.
#[test]
fn a_write_goes_on_when_the_thread_that_writes_has_ended() {
    let (process, pipes) = start("count slowly");
    let event = Arc::new(Event::new().unwrap());
    let mut transfer = Transfer::new(pipes.stdin.into(), event.clone());
    let mut output = BufReader::new(pipes.stdout);
    let mut written = 0;
    while !transfer.is_under_way() {
        let bytes: Vec<u8> = (written..written + 60_000).map(byte_at).collect();
        written += bytes.len();
        let transfer = &mut transfer;
        thread::scope(|scope| scope.spawn(move || transfer.write(&bytes).unwrap()).join()).unwrap();
    }
    // It has taken a part.
    wait_for("part", &mut output);
    while transfer.progress().unwrap() == Progress::UnderWay {
        assert!(wait_any(&[event.handle()], LONG));
    }
    drop(transfer);
    wait_for(&written.to_string(), &mut output);
    assert!(process.wait_exit(LONG));
}

#[test]
fn a_wait_that_fails_or_has_nothing_to_wait_for_does_not_say_that_it_is_ready() {
    let limit = Duration::from_millis(50);
    let begin = Instant::now();
    assert!(!wait_any(&[], limit));
    assert!(begin.elapsed() >= limit);
    let event = Event::new().unwrap();
    event.set();
    assert!(wait_any(&[event.handle()], LONG));
    // SAFETY: no such handle is open, so the wait fails.
    let none = unsafe { BorrowedHandle::borrow_raw(0x7fff_fff0 as ffi::Handle) };
    let begin = Instant::now();
    assert!(!wait_any(&[none], LONG));
    assert!(begin.elapsed() >= Duration::from_millis(9));
}

#[test]
fn a_service_outlives_the_users_who_log_off() {
    use super::console::number_of;
    assert_eq!(number_of(5, true), None);
    assert_eq!(number_of(5, false), Some(15));
    for is_service in [true, false] {
        let numbers = [0, 1, 2, 6].map(|event| number_of(event, is_service));
        assert_eq!(numbers, [Some(2), Some(21), Some(15), Some(15)]);
    }
}

#[test]
fn a_process_that_was_told_to_ignore_ctrl_c_gets_it_and_its_stdio_stays_its_own() {
    signal::reset_inherited();
    for number in ffi::STANDARD_HANDLES {
        let mut flags = 0;
        // SAFETY: a handle of this process or none, and a place for the flags.
        let is_told = unsafe { GetHandleInformation(ffi::GetStdHandle(number), &raw mut flags) };
        assert!(is_told == 0 || flags & ffi::HANDLE_FLAG_INHERIT == 0);
    }
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetHandleInformation(handle: ffi::Handle, flags: *mut u32) -> ffi::Bool;
}

#[test]
fn no_child_inherits_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    let mut flags = 0;
    let handle = server.as_raw_socket() as ffi::Handle;
    crate::net::keep_from_children(&server);
    // SAFETY: an open handle, and a place for the flags.
    let is_told = unsafe { GetHandleInformation(handle, &raw mut flags) };
    assert!(is_told != 0 && flags & ffi::HANDLE_FLAG_INHERIT == 0);
}

#[test]
fn descendants_end_with_their_child() {
    let (process, pipes) = start("parent");
    let mut output = BufReader::new(pipes.stdout);
    let descendant = pid_in(&wait_for("child ", &mut output));
    assert!(lives(descendant));
    process.end(Grace::SHORT);
    assert!(!lives(process.pid().cast_unsigned()));
    assert!(!lives(descendant));
    assert_eq!(process.own_status(), None);
}

#[test]
fn children_end_with_a_process_that_is_killed() {
    let (_process, pipes) = start("orphan");
    let mut output = BufReader::new(pipes.stdout);
    let child = pid_in(&wait_for("child ", &mut output));
    assert!(ends(child));
}

#[cfg(feature = "parts")]
#[test]
fn a_family_ends_what_its_members_left() {
    let family = crate::Family::new().unwrap();
    let command = child_command("parent");
    let (process, pipes) = Process::spawn_in(&family, command, Some(LONG), &Cancel::new()).unwrap();
    let mut output = BufReader::new(pipes.stdout);
    let descendant = pid_in(&wait_for("child ", &mut output));
    process.kill_alone();
    assert!(process.wait_exit(LONG));
    process.leave(&family);
    drop(process);
    assert!(lives(descendant) && family.may_live());
    family.end();
    assert!(!lives(descendant) && !family.may_live());
}

#[test]
fn the_key_of_the_server_is_not_inherited() {
    let mut command = child_command("variables");
    command.env("GOOSE_SERVER__SECRET_KEY", "given");
    let (_process, pipes) = Process::spawn(command, Some(LONG), &Cancel::new()).unwrap();
    wait_for("[Some(\"given\")]", &mut BufReader::new(pipes.stdout));
    let (_process, pipes) = start("variables");
    wait_for("[None]", &mut BufReader::new(pipes.stdout));
}

#[test]
fn a_start_fails_with_its_reason() {
    let root = folder("start");
    let text = root.join("text.exe");
    std::fs::write(&text, "no program").unwrap();
    let kind = |command: Command| {
        let started = Process::spawn(command, Some(LONG), &Cancel::new());
        started.err().unwrap().kind()
    };
    assert_eq!(
        kind(Command::new("no-such-program")),
        io::ErrorKind::NotFound
    );
    assert_eq!(kind(Command::new("")), io::ErrorKind::NotFound);
    assert_eq!(kind(Command::new(&text)), io::ErrorKind::InvalidInput);
    let mut elsewhere = child_command("echo");
    elsewhere.current_dir(root.join("none"));
    assert_eq!(kind(elsewhere), io::ErrorKind::NotFound);
    let cancel = Cancel::new();
    cancel.cancel();
    // It may have started before that was noticed.
    if let Err(error) = Process::spawn(child_command("sleep"), None, &cancel) {
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
    std::fs::remove_dir_all(&root).unwrap();
}

fn folder(name: &str) -> PathBuf {
    let name = format!("gosling-sys-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn found(program: &str, path: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.env("Path", path).current_dir(path);
    let found = super::programs::find(&command).ok()?;
    Some(found.file_name()?.to_str()?.to_lowercase())
}

#[test]
fn programs_are_found_with_their_extensions() {
    let root = folder("programs");
    for name in [
        "npx",
        "npx.cmd",
        "uvx.exe",
        "tool.1.exe",
        "script.py",
        "both.exe",
        "both.cmd",
    ] {
        std::fs::write(root.join(name), "").unwrap();
    }
    for (program, file) in [
        ("npx", Some("npx.cmd")),
        ("npx.cmd", Some("npx.cmd")),
        ("uvx", Some("uvx.exe")),
        ("tool.1", Some("tool.1.exe")),
        ("both", Some("both.exe")),
        ("script.py", None),
        ("none", None),
        ("..", None),
        (r".\npx", Some("npx.cmd")),
        (r".\script.py", Some("script.py")),
    ] {
        assert_eq!(found(program, &root).as_deref(), file, "{program}");
    }
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_batch_file_gets_its_arguments_or_is_refused() {
    let root = folder("batch");
    std::fs::write(root.join("say.cmd"), "@echo off\r\necho [%~1]\r\n").unwrap();
    let mut command = Command::new(root.join("say"));
    command.arg("a b");
    let (_process, pipes) = Process::spawn(command, Some(LONG), &Cancel::new()).unwrap();
    wait_for("[a b]", &mut BufReader::new(pipes.stdout));
    let mut command = Command::new(root.join("say"));
    command.arg("a\r\nb");
    let started = Process::spawn(command, Some(LONG), &Cancel::new());
    let error = started.err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("batch file"), "{error}");
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_file_is_replaced_while_another_reads_it_and_locks_exclude() {
    let root = folder("files");
    let (file, new) = (root.join("file"), root.join("new"));
    std::fs::write(&file, "old").unwrap();
    std::fs::write(&new, "new").unwrap();
    let mut reader = fs::open_regular(&file).unwrap();
    let reading = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    fs::rename(&new, &file).unwrap();
    assert_eq!(reading.join().unwrap(), "old");
    let folder = root.join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside"), "text").unwrap();
    let reader = fs::open_regular(&folder.join("inside")).unwrap();
    let reading = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(reader);
    });
    fs::remove_dir_all(&folder).unwrap();
    assert!(!folder.exists());
    reading.join().unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside"), "text").unwrap();
    let reader = fs::open_regular(&folder.join("inside")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    drop(reader);
    assert!(!folder.join("inside").exists());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    let lock = |file: &Path| OpenOptions::new().write(true).open(file).unwrap();
    let (one, two) = (lock(&file), lock(&file));
    FileCalls::try_lock(&one).unwrap();
    assert!(matches!(
        FileCalls::try_lock(&two),
        Err(TryLockError::WouldBlock)
    ));
    drop(one);
    FileCalls::try_lock(&two).unwrap();
    let [one, other, alone] = [0, 1, 2].map(|_| fs::lockable_folder(&root).unwrap());
    FileCalls::try_lock_shared(&one).unwrap();
    FileCalls::lock_shared(&other).unwrap();
    assert!(FileCalls::try_lock(&alone).is_err());
    drop((one, other));
    FileCalls::try_lock(&alone).unwrap();
    fs::sync_dir(&root).unwrap();
    assert!(fs::open_regular(&root).is_err());
    assert!(fs::open_folder(&file).is_err());
    drop((two, alone));
    std::fs::remove_dir_all(&root).unwrap();
}

/// Wine renames a folder with open files.
#[test]
fn the_files_of_a_folder_move_while_they_are_open() {
    let root = folder("moved");
    let (from, to) = (root.join("from"), root.join("to"));
    std::fs::create_dir_all(from.join("sub")).unwrap();
    for name in ["file", "sub/file"] {
        std::fs::write(from.join(name), "text").unwrap();
    }
    let mut options = OpenOptions::new();
    let open = options.read(true).append(true);
    let open = ["file", "sub/file"].map(|name| open.open(from.join(name)).unwrap());
    super::files::move_entries(&from, &to).unwrap();
    assert!(!from.exists());
    assert_eq!(
        std::fs::read_to_string(to.join("sub/file")).unwrap(),
        "text"
    );
    drop(open);
    assert!(super::files::move_entries(&to, &root).is_err());
    assert!(to.exists());
    std::fs::remove_dir_all(&root).unwrap();
}

/// A file that takes a name within seconds gets the creation time of the one that had it.
#[cfg(feature = "parts")]
#[test]
fn a_file_is_told_from_one_that_had_its_name() {
    use crate::file_owner::identity;
    let root = folder("identity");
    let (path, aside) = (root.join("file"), root.join("aside"));
    std::fs::write(&path, "").unwrap();
    let first = identity(&path).unwrap();
    fs::rename(&path, &aside).unwrap();
    std::fs::write(&path, "").unwrap();
    let times = std::fs::FileTimes::new();
    let made = std::fs::metadata(&aside).unwrap().created().unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_times(FileTimesExt::set_created(times, made))
        .unwrap();
    assert_ne!(identity(&path).unwrap(), first);
    assert_eq!(identity(&aside).unwrap(), first);
    assert_ne!(identity(&root).unwrap(), first);
    assert!(identity(&root.join("none")).is_err());
    drop(file);
    std::fs::remove_dir_all(&root).unwrap();
}

/// Wine lets every process read what is locked. The system refuses it, as it refuses a second lock.
#[test]
fn what_is_locked_is_not_what_others_read() {
    let root = folder("ranges");
    let open = || fs::lockable_folder(&root).unwrap();
    let (holder, other) = (open(), open());
    FileCalls::try_lock(&holder).unwrap();
    // All that a file can have, as the largest has 2^60 bytes at most.
    assert!(lock_beginning(&other, 1 << 60));
    assert!(!lock_beginning(&open(), 1));
    // As std does.
    assert!(open().try_lock().is_err());
    drop((holder, other));
    std::fs::remove_dir_all(&root).unwrap();
}

/// Whether the first bytes of a file can be locked.
fn lock_beginning(file: &File, len: u64) -> bool {
    let mut place = ffi::Overlapped {
        internal: 0,
        internal_high: 0,
        offset: 0,
        offset_high: 0,
        event: std::ptr::null_mut(),
    };
    let flags = ffi::LOCK_AT_ONCE | ffi::LOCK_EXCLUSIVE;
    let (low, high) = (len as u32, (len >> 32) as u32);
    // SAFETY: an open handle, and a structure that the system does not use after the call.
    unsafe { ffi::LockFileEx(file.as_raw_handle(), flags, 0, low, high, &raw mut place) != 0 }
}

/// std releases one lock, or two.
#[test]
fn a_lock_that_was_taken_often_is_released_at_once() {
    let root = folder("stacked");
    let [holder, other] = [0, 1].map(|_| fs::lockable_folder(&root).unwrap());
    for _ in 0..5 {
        FileCalls::try_lock_shared(&holder).unwrap();
    }
    assert!(FileCalls::try_lock(&other).is_err());
    FileCalls::unlock(&holder).unwrap();
    FileCalls::try_lock(&other).unwrap();
    assert!(FileCalls::unlock(&holder).is_err());
    drop((holder, other));
    std::fs::remove_dir_all(&root).unwrap();
}

/// Wine changes the size of every file that can be written in some way. The system asks for the right to write
/// anywhere, which std does not ask for when it opens a file to append to it.
#[test]
fn the_handle_that_changes_the_size_of_a_log_has_the_right_to_it() {
    let root = folder("append");
    let path = root.join("log");
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let log = fs::open_regular_with(&mut options, &path).unwrap();
    const WRITE_DATA: u32 = 2;
    assert_eq!(access(&log) & WRITE_DATA, 0);
    let writable = super::file_calls::FileCalls::writable(&log).unwrap();
    assert_ne!(access(&writable) & WRITE_DATA, 0);
    drop((log, writable));
    std::fs::remove_dir_all(&root).unwrap();
}

/// What a handle may do.
fn access(file: &File) -> u32 {
    #[link(name = "ntdll")]
    unsafe extern "system" {
        fn NtQueryInformationFile(
            file: ffi::Handle,
            status: *mut [usize; 2],
            information: *mut u32,
            len: u32,
            class: i32,
        ) -> i32;
    }
    const FILE_ACCESS_INFORMATION: i32 = 8;
    let (mut status, mut access) = ([0; 2], 0);
    let (raw, place) = (file.as_raw_handle(), &raw mut access);
    // SAFETY: an open handle, and places of the sizes of this class.
    let result =
        unsafe { NtQueryInformationFile(raw, &raw mut status, place, 4, FILE_ACCESS_INFORMATION) };
    assert_eq!(result, 0);
    access
}

#[test]
fn a_wait_for_an_event_has_an_end() {
    signal::block();
    assert_eq!(signal::wait_timeout(Duration::from_millis(20)), None);
    super::console::tell(15);
    assert_eq!(signal::wait_timeout(LONG), Some(15));
}

#[test]
fn a_closed_connection_is_noticed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    assert!(!crate::net::hung_up(&server));
    (&client).write_all(b"x").unwrap();
    while server.peek(&mut [0]).unwrap() == 0 {}
    assert!(!crate::net::hung_up(&server));
    assert_eq!((&server).read(&mut [0; 2]).unwrap(), 1);
    drop(client);
    let begin = Instant::now();
    while !crate::net::hung_up(&server) {
        assert!(begin.elapsed() < LONG);
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_memory_of_the_system_is_known_and_a_device_is_no_file() {
    assert!(crate::system_memory().unwrap() > 1 << 20);
    assert!(crate::memory_limit() < u64::MAX);
    assert!(fs::open_regular(Path::new("NUL")).is_err());
}

#[test]
fn a_child_works_in_a_folder_whose_path_has_marks() {
    let dir = std::fs::canonicalize(std::env::temp_dir()).unwrap();
    assert!(dir.to_str().unwrap().starts_with(r"\\?\"));
    let mut command = child_command("folder");
    command.current_dir(&dir);
    let (_process, pipes) = Process::spawn(command, Some(LONG), &Cancel::new()).unwrap();
    let folder = wait_for("folder ", &mut BufReader::new(pipes.stdout));
    assert!(!folder.contains(r"\\?\"), "{folder}");
    let mut cmd = Command::new("cmd");
    cmd.args(["/d", "/s", "/c", "cd"]).current_dir(&dir);
    let (_process, pipes) = Process::spawn(cmd, Some(LONG), &Cancel::new()).unwrap();
    let folder = wait_for(r":\", &mut BufReader::new(pipes.stdout));
    let meant = std::fs::canonicalize(folder.trim()).unwrap();
    assert_eq!(meant, dir);
}

#[test]
fn cmd_is_not_started_in_a_folder_that_is_on_no_drive() {
    // The marks of a device, behind which a drive is a folder that cmd does not take.
    let dir = format!(r"\\.\{}", std::env::temp_dir().display());
    assert!(Path::new(&dir).is_dir(), "{dir}");
    let mut cmd = Command::new("cmd");
    cmd.args(["/d", "/s", "/c", "cd"]).current_dir(&dir);
    let error = Process::spawn(cmd, Some(LONG), &Cancel::new())
        .err()
        .unwrap();
    assert!(error.to_string().contains("not on a drive"), "{error}");
}
