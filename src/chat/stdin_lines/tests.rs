use super::*;
use std::thread;

impl StdinLines {
    /// Answers every question with these lines.
    pub(crate) fn typed(text: &'static str) -> Self {
        let (send, lines) = bounded(MAX_READ_AHEAD);
        let late = Instant::now() + std::time::Duration::from_secs(3600);
        for line in text.lines() {
            let _ = send.send((late, InputLine::Text(line.to_owned())));
        }
        StdinLines {
            terminal: true,
            lines: Some(lines),
            early: VecDeque::new(),
            steer: Arc::default(),
        }
    }
}

#[test]
fn lines_end_as_they_do_everywhere() {
    let mut from = &b"one\ntwo\r\n\nlast \xff"[..];
    for text in ["one", "two", "", "last \u{fffd}"] {
        assert_eq!(line(&mut from, false), InputLine::Text(text.to_owned()));
    }
    assert_eq!(line(&mut from, false), InputLine::End);
    let long = vec![b'x'; MAX_LINE as usize + 1];
    assert!(matches!(
        line(&mut &long[..], false),
        InputLine::Unreadable(_)
    ));
}

#[test]
fn a_line_that_the_terminal_may_have_cut_is_not_used() {
    let typed = |count| ["x".repeat(count), "\n".to_owned()].concat();
    let whole = "x".repeat(TERMINAL_LINE - 1);
    let read = |count, terminal| line(&mut typed(count).as_bytes(), terminal);
    assert_eq!(read(TERMINAL_LINE - 1, true), InputLine::Text(whole));
    assert_eq!(read(TERMINAL_LINE, true), InputLine::Cut);
    assert_eq!(
        read(TERMINAL_LINE, false),
        InputLine::Text("x".repeat(TERMINAL_LINE))
    );
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let (send, lines) = bounded(4);
    let mut input = StdinLines {
        terminal: false,
        lines: Some(lines),
        early: VecDeque::new(),
        steer: Arc::default(),
    };
    let say = |text: &str| (Instant::now(), InputLine::Text(text.to_owned()));
    send.send(say("early")).unwrap();
    thread::sleep(std::time::Duration::from_millis(5));
    let asker = thread::spawn(move || {
        let answer = input.answer(&Cancel::new());
        (answer, input)
    });
    thread::sleep(std::time::Duration::from_millis(50));
    send.send(say("answer")).unwrap();
    let (answer, mut input) = asker.join().unwrap();
    assert_eq!(answer.as_deref(), Some("answer"));
    assert_eq!(input.next(), InputLine::Text("early".to_owned()));
}

#[test]
fn a_cancelled_question_has_no_answer() {
    let (_send, lines) = bounded(1);
    let mut input = StdinLines {
        terminal: true,
        lines: Some(lines),
        early: VecDeque::new(),
        steer: Arc::default(),
    };
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(input.answer(&cancel), None);
}
