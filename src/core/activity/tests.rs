use super::*;
use crate::sys::spawn;
use crate::sys::threads::share;
use std::sync::Mutex;

/// Keeps who has asked for what.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<(Caller, String)>>);

impl Recorder for Kept {
    fn record(&self, caller: &Caller, entry: &Entry<'_>) -> Result<Option<u64>, String> {
        let mut kept = self.0.lock().unwrap();
        kept.push((caller.clone(), format!("{} {:?}", entry.kind, entry.of)));
        Ok(Some(kept.len() as u64))
    }
}

/// Keeps no records, so its entries have no numbers.
#[derive(Debug)]
struct Unnumbered;

impl Recorder for Unnumbered {
    fn record(&self, _: &Caller, _: &Entry<'_>) -> Result<Option<u64>, String> {
        Ok(None)
    }
}

fn front() -> &'static str {
    Caller::current().front
}

#[test]
fn threads_work_for_who_has_started_them() {
    assert_eq!(front(), "");
    let caller = Caller {
        front: "http",
        ..Caller::default()
    };
    caller.key.set("a".to_owned()).unwrap();
    caller.asks(|| {
        let by_acp = Caller {
            front: "acp",
            ..Caller::clone(&Caller::current())
        };
        by_acp.asks(|| {
            assert_eq!(
                (front(), Caller::current().key.get().map(|key| key.as_str())),
                ("acp", Some("a"))
            )
        });
        let thread = spawn("test".to_owned(), None, || {
            let more = spawn("test".to_owned(), None, || assert_eq!(front(), "http"));
            more.unwrap().join().unwrap();
        });
        thread.unwrap().join().unwrap();
        share(8, 4, "test", &|_| assert_eq!(front(), "http"));
    });
    assert_eq!(front(), "");
    // Also if the work panics.
    let panicking = || Caller::default().asks(|| panic!("on purpose"));
    assert!(std::panic::catch_unwind(panicking).is_err());
    assert_eq!(front(), "");
}

#[test]
fn what_begins_is_completed_and_a_part_of_its_turn() {
    let kept = Arc::new(Kept::default());
    let activity = Activity::new([kept.clone() as _, Arc::new(Unnumbered) as _], None);
    let entry = |kind| Entry {
        kind,
        ..Entry::default()
    };
    let turn = activity.begin(entry("turn")).unwrap();
    turn.within(|| activity.note(entry("call")));
    turn.end("ok", "", None);
    let kept = kept.0.lock().unwrap();
    let told: Vec<&str> = kept.iter().map(|(_, told)| told.as_str()).collect();
    assert_eq!(told, ["turn None", "call None", "turn Some(1)"]);
    let turns: Vec<_> = kept.iter().map(|(caller, _)| caller.turn).collect();
    assert_eq!(turns, [None, Some(1), None]);
}
