use super::*;
use std::thread;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_first_answer_counts_even_before_anybody_waits() {
    let questions = PendingQuestions::default();
    let question = questions.open("a").unwrap();
    assert!(questions.answer("a", 1));
    assert!(!questions.answer("a", 2) && !questions.answer("b", 3));
    assert_eq!(question.wait(LONG, &Cancel::new()), Ok(1));
}

#[test]
fn a_question_that_nobody_answers_ends() {
    let questions = PendingQuestions::<()>::default();
    let question = questions.open("a").unwrap();
    assert!(questions.open("a").is_none());
    let now = question.wait(Duration::ZERO, &Cancel::new());
    assert_eq!(now, Err(NoMessage::TimedOut));
    let cancel = Cancel::new();
    thread::scope(|scope| {
        scope.spawn(|| cancel.cancel());
        assert_eq!(question.wait(LONG, &cancel), Err(NoMessage::Cancelled));
    });
    drop(question);
    assert!(!questions.answer("a", ()));
}
