use super::*;
use crate::conversation::Role;
use crate::store::disk::Files;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gosling-journal-{}-{next}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn journal(&self) -> Result<Journal> {
        open_journal("20261121_1", &self.0, "m", &self.0.join(".lock"))
    }

    fn file(&self) -> PathBuf {
        self.0.join("m")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open_journal(id: &str, dir: &Path, messages: &str, lock: &Path) -> Result<Journal> {
    Journal::open(&disk(), id, dir, messages, lock)
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(Files)
}

fn read(path: &Path) -> Result<Vec<Message>> {
    super::read(&Files, path)
}

fn read_entries(path: &Path) -> Result<Vec<JournalEntry>> {
    super::read_entries(&Files, path)
}

fn count(path: &Path, known: Option<Count>) -> Result<Option<Count>> {
    super::count(&Files, path, known)
}

fn text_message(text: &str) -> Message {
    Message::text(Role::User, text).with_id(text)
}

/// The texts of the messages; in brackets if hidden from the model.
fn texts<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<String> {
    let text = |message: &Message| {
        if message.metadata.agent_visible {
            message.concat_text()
        } else {
            format!("[{}]", message.concat_text())
        }
    };
    messages.into_iter().map(text).collect()
}

fn of(journal: &Journal) -> Vec<String> {
    texts(journal.messages().iter().map(|message| &**message))
}

fn counted(path: &Path, known: Option<Count>) -> usize {
    count(path, known)
        .unwrap()
        .map_or(0, |count| count.messages)
}

#[test]
fn what_is_said_comes_back() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    assert!(journal.messages().is_empty() && !folder.file().exists());
    journal.append(Vec::<Message>::new()).unwrap();
    assert!(!folder.file().exists());
    journal
        .append(vec![text_message("é\n😀"), text_message("b")])
        .unwrap();
    journal.hide_all_then(vec![text_message("c")]).unwrap();
    journal.append(vec![text_message("d")]).unwrap();
    journal.sync().unwrap();
    assert_eq!(of(&journal), ["[é\n😀]", "[b]", "c", "d"]);
    assert_eq!(of(&folder.journal().unwrap()), of(&journal));
    assert_eq!(texts(&read(&folder.file()).unwrap()), of(&journal));
    assert_eq!(counted(&folder.file(), None), 4);

    journal.replace(vec![text_message("e")]).unwrap();
    journal.append(vec![text_message("f")]).unwrap();
    assert_eq!(of(&folder.journal().unwrap()), ["e", "f"]);
    assert_eq!(counted(&folder.file(), None), 2);
    journal.replace(Vec::<Message>::new()).unwrap();
    assert!(folder.journal().unwrap().messages().is_empty());
    assert_eq!(counted(&folder.file(), None), 0);
    assert!(!journal.refresh().unwrap());
}

/// Cuts the file at every byte: earlier messages are there, and appending continues.
#[test]
fn a_crash_at_any_byte_loses_only_what_was_being_written() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    let mut states = vec![(0, vec![])];
    let mut keep = |journal: &Journal| {
        states.push((fs::metadata(folder.file()).unwrap().len(), of(journal)));
    };
    journal.append(vec![text_message("é\n")]).unwrap();
    keep(&journal);
    journal.append(vec![text_message("😀")]).unwrap();
    keep(&journal);
    journal
        .hide_all_then(vec![text_message("c"), text_message("d")])
        .unwrap();
    keep(&journal);
    journal.append(vec![text_message("e")]).unwrap();
    keep(&journal);
    journal
        .replace(vec![text_message("f"), text_message("g")])
        .unwrap();
    keep(&journal);
    journal.append(vec![text_message("h")]).unwrap();
    keep(&journal);
    journal.hide_all_then(vec![]).unwrap();
    keep(&journal);
    journal.replace(Vec::<Message>::new()).unwrap();
    keep(&journal);
    let written = fs::read(folder.file()).unwrap();
    for cut in 0..=written.len() {
        // A line that lacks only its newline is complete.
        let whole = |&&(end, _): &&(u64, Vec<String>)| end <= cut as u64 + u64::from(end > 0);
        let (_, expected) = states.iter().rfind(whole).unwrap();
        fs::write(folder.file(), &written[..cut]).unwrap();
        assert_eq!(&texts(&read(&folder.file()).unwrap()), expected, "{cut}");
        assert_eq!(counted(&folder.file(), None), expected.len(), "{cut}");
        let known = count(&folder.file(), None).unwrap();
        let mut journal = folder.journal().unwrap();
        assert_eq!(&of(&journal), expected, "{cut}");
        journal.append(vec![text_message("more")]).unwrap();
        let mut expected = expected.clone();
        expected.push("more".to_owned());
        assert_eq!(of(&journal), expected, "{cut}");
        assert_eq!(texts(&read(&folder.file()).unwrap()), expected, "{cut}");
        assert_eq!(counted(&folder.file(), known), expected.len(), "{cut}");
        assert_eq!(counted(&folder.file(), None), expected.len(), "{cut}");
    }
}

#[test]
fn zeros_that_a_power_cut_left_are_cut_off() {
    let folder = Folder::new();
    folder
        .journal()
        .unwrap()
        .append(vec![text_message("a")])
        .unwrap();
    let written = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), [&written[..], &[0; 512]].concat()).unwrap();
    let mut journal = folder.journal().unwrap();
    journal.append(vec![text_message("b")]).unwrap();
    assert_eq!(texts(&read(&folder.file()).unwrap()), ["a", "b"]);
}

#[test]
fn what_is_not_understood_is_kept_and_passed_over() {
    let folder = Folder::new();
    let message = |text: &str| serde_json::to_value(text_message(text)).unwrap();
    let lines = [
        message("a"),
        json!({"n": 1}),
        json!([5]),
        json!({"op": "dance", "messages": [message("x")]}),
        json!({"role": "user", "created": 1, "content": [{"type": "text"}]}),
        json!({"role": "user", "created": 1, "content": [{"type": "text", "text": "b"}]}),
        json!({"op": "hide", "messages": [{"role": "nobody"}, message("c")], "later": true}),
        json!({"op": 5}),
    ];
    let mut content: String = lines.iter().map(|line| format!("{line}\n")).collect();
    content.push_str("\n  \n");
    fs::write(folder.file(), &content).unwrap();
    let mut journal = folder.journal().unwrap();
    assert_eq!(of(&journal), ["[a]", "[b]", "c"]);
    assert_eq!(counted(&folder.file(), None), 3);
    journal.append(vec![text_message("d")]).unwrap();
    let now = fs::read_to_string(folder.file()).unwrap();
    assert!(now.starts_with(&content));
    assert_eq!(
        texts(&read(&folder.file()).unwrap()),
        ["[a]", "[b]", "c", "d"]
    );

    let entries = read_entries(&folder.file()).unwrap();
    let unreadable = |entry: &JournalEntry| match entry {
        JournalEntry::Unreadable(json) => Some(json.get().to_owned()),
        JournalEntry::Message(_) => None,
    };
    let kept: Vec<_> = entries.iter().map(unreadable).collect();
    let json = |n: usize| Some(lines[n].to_string());
    let nobody = Some(json!({"role": "nobody"}).to_string());
    assert_eq!(
        kept,
        [
            None,
            json(1),
            json(2),
            json(3),
            json(4),
            None,
            nobody,
            None,
            json(7),
            None
        ]
    );
    let mut copy = open_journal("x", &folder.0, "copy", &folder.0.join("lock")).unwrap();
    copy.append(entries.clone()).unwrap();
    let again = read_entries(&folder.0.join("copy")).unwrap();
    assert_eq!(json_of(&again), json_of(&entries));
    copy.replace(again).unwrap();
    assert_eq!(of(&copy), of(&journal));
    let again = read_entries(&folder.0.join("copy")).unwrap();
    assert_eq!(json_of(&again), json_of(&entries));

    fs::write(folder.file(), format!("{}\ngarbage\n{{}}\n", message("a"))).unwrap();
    for broken in [
        read(&folder.file()).map(drop),
        folder.journal().map(drop),
        journal.append(vec![text_message("e")]),
        journal.refresh().map(drop),
    ] {
        assert!(
            matches!(broken, Err(Error::Broken { line: 2, .. })),
            "{broken:?}"
        );
    }
}

fn json_of(entries: &[JournalEntry]) -> Value {
    serde_json::to_value(entries).unwrap()
}

#[test]
fn json_laid_out_in_lines_stays_on_one() {
    let folder = Folder::new();
    let text = "{\"role\":\"assistant\",\"created\":1,\"content\":[{\"type\":\"later\",\n\"x\":\r\n[ \"a\\nb\" ]}]}";
    let message: Message = serde_json::from_str(text).unwrap();
    let mut journal = folder.journal().unwrap();
    journal
        .append(vec![message.clone(), text_message("b")])
        .unwrap();
    journal.replace(vec![message]).unwrap();
    let back = read(&folder.file()).unwrap();
    let back: Value = serde_json::to_value(&back).unwrap();
    assert_eq!(
        back[0]["content"][0],
        json!({"type": "later", "x": ["a\nb"]})
    );
    assert_eq!(
        fs::read(folder.file())
            .unwrap()
            .split(|&b| b == b'\n')
            .count(),
        4
    );
}

#[test]
fn journals_on_the_same_file_take_in_what_the_other_wrote() {
    let folder = Folder::new();
    let mut one = folder.journal().unwrap();
    let mut two = folder.journal().unwrap();
    one.append(vec![text_message("a")]).unwrap();
    two.append(vec![text_message("b")]).unwrap();
    assert_eq!(of(&two), ["a", "b"]);
    one.append(vec![text_message("c")]).unwrap();
    assert_eq!(of(&one), ["a", "b", "c"]);
    assert!(two.refresh().unwrap() && !two.refresh().unwrap());
    assert_eq!(of(&two), of(&one));
    one.hide_all_then(vec![text_message("d")]).unwrap();
    two.append(vec![text_message("e")]).unwrap();
    assert_eq!(of(&two), ["[a]", "[b]", "[c]", "d", "e"]);
    two.replace(vec![text_message("f")]).unwrap();
    assert!(one.refresh().unwrap());
    assert_eq!(of(&one), ["f"]);
}

#[test]
#[cfg_attr(windows, ignore = "Wine 8 replaces no file that is open")]
fn journals_take_in_a_file_that_took_the_place_of_theirs() {
    let folder = Folder::new();
    let mut one = folder.journal().unwrap();
    let mut two = folder.journal().unwrap();
    one.append(vec![text_message("a")]).unwrap();
    assert!(two.refresh().unwrap());
    let other = folder.0.join("other");
    fs::write(&other, serde_json::to_vec(&text_message("new")).unwrap()).unwrap();
    fs::rename(&other, folder.file()).unwrap();
    one.append(vec![text_message("g")]).unwrap();
    assert!(two.refresh().unwrap());
    assert_eq!(
        (of(&one), of(&two)),
        (of(&two), vec!["new".into(), "g".into()])
    );
}

#[test]
fn a_count_goes_on_from_the_last_one() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    let mut known = None;
    let mut expect = |expected| {
        known = count(&folder.file(), known).unwrap();
        assert_eq!(known.unwrap().messages, expected);
    };
    journal
        .append(vec![text_message("a"), text_message("b")])
        .unwrap();
    expect(2);
    journal.hide_all_then(vec![text_message("c")]).unwrap();
    expect(3);
    journal.replace(vec![text_message("d")]).unwrap();
    journal.append(vec![text_message("e")]).unwrap();
    expect(2);
    expect(2);
    let whole = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &whole[..whole.len() - 1]).unwrap();
    expect(2);
    fs::write(
        folder.file(),
        serde_json::to_vec(&text_message("f")).unwrap(),
    )
    .unwrap();
    expect(1);
}

#[test]
fn a_deleted_session_does_not_come_back() {
    for said_before in [false, true] {
        let folder = Folder::new();
        let dir = folder.0.join("s");
        fs::create_dir(&dir).unwrap();
        let open = || open_journal("20261121_1", &dir, "m", &dir.join(".lock"));
        let mut journal = open().unwrap();
        if said_before {
            journal.append(vec![text_message("a")]).unwrap();
        }
        fs::rename(&dir, folder.0.join("doomed")).unwrap();
        for attempt in [
            journal.append(vec![text_message("b")]),
            journal.refresh().map(drop),
        ] {
            assert!(
                matches!(attempt, Err(Error::SessionNotFound { .. })),
                "{attempt:?}"
            );
        }
        assert!(!dir.exists());
        assert!(matches!(open(), Err(Error::SessionNotFound { .. })));

        fs::create_dir(&dir).unwrap();
        open()
            .unwrap()
            .append(vec![text_message("another")])
            .unwrap();
        let attempt = journal.append(vec![text_message("b")]);
        assert!(
            matches!(attempt, Err(Error::SessionNotFound { .. })),
            "{attempt:?}"
        );
        assert_eq!(texts(&read(&dir.join("m")).unwrap()), ["another"]);
    }
}

#[test]
fn a_line_without_end_is_not_read_and_stays() {
    let folder = Folder::new();
    let size = 8 << 30;
    fs::File::create(folder.file())
        .and_then(|file| file.set_len(size))
        .unwrap();
    let error = folder.journal().unwrap_err();
    assert!(error.to_string().contains("longer than 256 MiB"), "{error}");
    assert_eq!(fs::metadata(folder.file()).unwrap().len(), size);
}

#[test]
fn a_line_that_is_not_json_is_named_by_its_number() {
    let folder = Folder::new();
    let message = serde_json::to_string(&text_message("a")).unwrap();
    for before in 0..4 {
        let mut text = format!("{message}\n").repeat(before);
        text.push_str("not JSON\n");
        fs::write(folder.file(), format!("{text}{message}\n")).unwrap();
        let number = before + 1;
        for error in [
            folder.journal().unwrap_err(),
            read(&folder.file()).unwrap_err(),
        ] {
            assert!(
                matches!(error, Error::Broken { line, .. } if line == number),
                "{error}"
            );
        }
    }
}

#[test]
fn entries_take_the_place_of_what_was_there() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    journal.append(vec![text_message("old")]).unwrap();
    let entries = vec![JournalEntry::Message(Box::new(text_message("new")))];
    journal.replace(entries).unwrap();
    assert_eq!(of(&journal), ["new"]);
    assert_eq!(texts(&read(&folder.file()).unwrap()), ["new"]);
    assert_eq!(counted(&folder.file(), None), 1);
    let printed = format!("{journal:?}");
    assert!(
        printed.contains("messages: 1") && !printed.contains("new"),
        "{printed}"
    );
}

#[test]
fn what_only_looks_like_a_line_of_this_program_is_not_counted_as_a_message() {
    let folder = Folder::new();
    for (line, expected) in [
        (r#"{"id":5}"#, 0),
        (r#"{"n":{"agentVisible":true}}"#, 0),
        (r#"{"n":{"agentVisible":false}}"#, 0),
    ] {
        fs::write(folder.file(), format!("{line}\n")).unwrap();
        assert_eq!(counted(&folder.file(), None), expected, "{line}");
    }
}

#[test]
fn a_scan_ends_where_its_reader_says() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    for text in ["a", "b"] {
        journal.append(vec![text_message(text)]).unwrap();
    }
    let mut seen = Vec::new();
    let mut file = fs::File::open(folder.file()).unwrap();
    let stop = |line: &[u8], at| {
        seen.push((read_line(line).unwrap().entries.len(), at));
        false
    };
    scan(&mut file, 0, stop).unwrap();
    assert_eq!(seen, [(1, 0)]);
}

#[test]
fn only_what_is_missing_means_that_the_session_does_not_exist() {
    let io = |kind: io::ErrorKind| gone("s", Error::io("read", Path::new("m"))(kind.into()));
    assert!(matches!(
        io(io::ErrorKind::NotFound),
        Error::SessionNotFound { .. }
    ));
    assert!(matches!(
        io(io::ErrorKind::PermissionDenied),
        Error::Io { .. }
    ));
}

#[test]
fn an_unchanged_file_is_not_waited_for() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    assert!(!journal.is_current().unwrap());
    journal.append(vec![text_message("a")]).unwrap();
    let _held = file_lock::FileLock::acquire(&folder.0.join(".lock"), Duration::ZERO).unwrap();
    assert!(journal.is_current().unwrap() && !journal.refresh().unwrap());
}

/// Writes `text` over the first bytes of `file` and makes its time another one.
fn overwrite_start(file: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let time = std::time::SystemTime::now() + Duration::from_secs(5);
    file.set_modified(time).unwrap();
}

#[test]
fn what_was_read_is_not_read_again() {
    let folder = Folder::new();
    let mut one = folder.journal().unwrap();
    one.append(vec![text_message("a"), text_message("b")])
        .unwrap();
    let mut two = folder.journal().unwrap();
    let known = count(&folder.file(), None).unwrap();
    two.append(vec![text_message("c")]).unwrap();
    // Only who reads the whole file sees this.
    overwrite_start(&folder.file(), "[");
    assert!(one.refresh().unwrap());
    assert_eq!(of(&one), ["a", "b", "c"]);
    assert_eq!(counted(&folder.file(), known), 3);
    assert_eq!(counted(&folder.file(), None), 2);
}

#[test]
fn another_time_of_the_file_is_no_change() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    journal.append(vec![text_message("a")]).unwrap();
    overwrite_start(&folder.file(), "");
    assert!(!journal.refresh().unwrap());
}

#[test]
#[cfg_attr(windows, ignore = "Wine 8 replaces no file that is open")]
fn a_file_of_the_same_length_in_its_place_is_a_change() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    journal.append(vec![text_message("a")]).unwrap();
    let written = fs::read_to_string(folder.file()).unwrap();
    let other = folder.0.join("other");
    fs::write(&other, written.replace("\"a\"", "\"b\"")).unwrap();
    fs::rename(&other, folder.file()).unwrap();
    assert!(journal.refresh().unwrap());
    assert_eq!(of(&journal), ["b"]);
}

#[test]
fn the_lines_that_are_skipped_are_noted_each_with_its_place() {
    let message = serde_json::to_string(&text_message("a")).unwrap();
    for (line, is_noted) in [
        (message.clone(), false),
        (String::new(), false),
        (r#"{"op":"clear"}"#.to_owned(), false),
        (format!(r#"{{"op":"hide","messages":[{message}]}}"#), false),
        (format!(r#"{{"op":"hide","messages":[{message},1]}}"#), true),
        (r#"{"op":"clear","messages":[{}]}"#.to_owned(), true),
        (r#"{"role":"critic"}"#.to_owned(), true),
    ] {
        let mut lines = Lines::default();
        assert!(lines.take(line.as_bytes(), 7, &mut |_| {}));
        assert_eq!(!lines.unreadable.is_empty(), is_noted, "{line}");
    }
    let mut lines = Lines::default();
    for at in 0..2 * MAX_NAMED as u64 {
        assert!(lines.take(b"1", at, &mut |_| {}));
    }
    assert_eq!(lines.unreadable.len(), MAX_NAMED);
    assert_eq!(lines.unreadable[1], 1);
}

#[test]
fn only_a_missing_file_is_none() {
    let folder = Folder::new();
    assert!(Files.open_log(&folder.file(), false).unwrap().is_none());
    assert!(
        Files
            .open_log(&folder.0.join("no/m"), true)
            .unwrap()
            .is_none()
    );
    assert!(Files.open_log(&folder.file(), true).unwrap().is_some());
    assert!(Files.open_log(&folder.0, false).is_err());
    fs::remove_file(folder.file()).unwrap();
    let mut journal = folder.journal().unwrap();
    fs::create_dir(folder.file()).unwrap();
    assert!(matches!(journal.refresh(), Err(Error::Io { .. })));
}

#[test]
fn a_message_waits_behind_all_others_until_it_is_taken() {
    let folder = Folder::new();
    let (mut turn, mut user) = (folder.journal().unwrap(), folder.journal().unwrap());
    turn.append(vec![text_message("question")]).unwrap();
    user.append_waiting(text_message("more")).unwrap();
    turn.append(vec![text_message("answer")]).unwrap();
    // In the file from the beginning, and behind the answer that had not seen it.
    let all = ["question", "answer", "more"];
    assert_eq!(texts(&read(&folder.file()).unwrap()), all);
    assert_eq!(counted(&folder.file(), None), 3);
    assert_eq!(of(&turn), all[..2]);
    // After a crash it waits still.
    let mut later = folder.journal().unwrap();
    assert_eq!(of(&later), all[..2]);
    let known = count(&folder.file(), None).unwrap();
    assert_eq!(
        texts(turn.take_waiting().unwrap().iter().map(|it| &**it)),
        ["more"]
    );
    assert!(turn.take_waiting().unwrap().is_empty());
    turn.append(vec![text_message("second answer")]).unwrap();
    let all = ["question", "answer", "more", "second answer"];
    assert_eq!(of(&turn), all);
    later.refresh().unwrap();
    assert_eq!(of(&later), all);
    assert_eq!(texts(&read(&folder.file()).unwrap()), all);
    assert_eq!(counted(&folder.file(), known), 4);
}

#[test]
fn a_message_that_waits_outlives_a_compaction_but_not_a_replacement() {
    let folder = Folder::new();
    let mut journal = folder.journal().unwrap();
    journal.append(vec![text_message("a")]).unwrap();
    journal.append_waiting(text_message("b")).unwrap();
    journal
        .hide_all_then(vec![text_message("summary")])
        .unwrap();
    assert_eq!(
        texts(&read(&folder.file()).unwrap()),
        ["[a]", "summary", "b"]
    );
    journal.replace(vec![text_message("c")]).unwrap();
    assert!(journal.take_waiting().unwrap().is_empty());
    assert_eq!(texts(&read(&folder.file()).unwrap()), ["c"]);
    assert_eq!(of(&folder.journal().unwrap()), ["c"]);
}
