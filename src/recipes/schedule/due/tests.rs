use super::*;
use crate::sys::clock;
use std::path::Path;

fn job(cron: &str, handled: &str) -> Job {
    let handled = clock::Utc::parse(handled).unwrap().unix_seconds();
    Job::new("j", Path::new("/r.yaml"), cron, handled)
}

fn at(time: &str) -> i64 {
    let text = format!("2026-05-01T{time}Z");
    clock::Utc::parse(&text).unwrap().unix_seconds()
}

/// What is due after `seen` and until `now`, and the next moment.
fn due(job: &Job, seen: &str, now: &str) -> (Option<String>, String) {
    let zone = Zone::named("UTC0").unwrap();
    let mut waiting = BTreeMap::new();
    let jobs = std::slice::from_ref(job);
    let next = due_since(jobs, &zone, at(seen), at(now), &mut waiting);
    let time = |moment: i64| clock::Utc::from_unix(moment).to_string()[11..19].to_owned();
    (waiting.get("j").copied().map(time), time(next.unwrap()))
}

#[test]
fn a_schedule_is_due_at_its_moment() {
    let job = job("*/5 * * * *", "2026-05-01T10:00:00Z");
    assert_eq!(due(&job, "10:01:00", "10:04:59"), (None, "10:05:00".into()));
    let now = (Some("10:05:00".into()), "10:10:00".into());
    assert_eq!(due(&job, "10:04:59", "10:05:00"), now);
    assert_eq!(due(&job, "10:04:00", "10:05:30"), now);
    assert_eq!(due(&job, "10:05:00", "10:05:01"), (None, "10:10:00".into()));
}

#[test]
fn what_was_missed_is_not_made_up_for() {
    let job = job("*/5 * * * *", "2026-05-01T09:00:00Z");
    let none = (None, "11:10:00".into());
    assert_eq!(due(&job, "10:00:00", "11:06:01"), none);
    let late = (Some("11:05:00".into()), "11:10:00".into());
    assert_eq!(due(&job, "10:00:00", "11:06:00"), late);
}

#[test]
fn what_was_missed_is_told_unless_another_process_ran_it_or_it_is_paused() {
    let zone = Zone::named("UTC0").unwrap();
    let is_missed = |job: &Job, seen: &str, from: &str| {
        missed(std::slice::from_ref(job), &zone, at(seen), at(from)).count() == 1
    };
    let mut job = job("*/5 * * * *", "2026-05-01T10:05:00Z");
    assert!(is_missed(&job, "10:05:00", "10:10:00"));
    assert!(!is_missed(&job, "10:05:00", "10:09:59"));
    assert!(is_missed(&job, "10:00:00", "10:10:00"));
    assert!(!is_missed(&job, "10:00:00", "10:05:00"));
    assert!(!is_missed(&job, "10:10:00", "10:05:00"));
    job.set_paused(true);
    assert!(!is_missed(&job, "10:05:00", "10:10:00"));
}

#[test]
fn several_moments_become_one_run() {
    let job = job("*/10 * * * * *", "2026-05-01T09:00:00Z");
    let last = (Some("10:00:30".into()), "10:00:40".into());
    assert_eq!(due(&job, "10:00:00", "10:00:35"), last);
}

#[test]
fn what_another_process_has_claimed_is_not_due() {
    let job = job("*/5 * * * *", "2026-05-01T10:05:00Z");
    assert_eq!(due(&job, "10:04:00", "10:05:00"), (None, "10:10:00".into()));
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_a_schedule() {
    let job = job("*/5 * * * *", "2026-05-01T15:00:00Z");
    assert_eq!(due(&job, "15:01:00", "10:04:00"), (None, "10:05:00".into()));
    let now = (Some("10:05:00".into()), "10:10:00".into());
    assert_eq!(due(&job, "10:04:00", "10:05:00"), now);
}

#[test]
fn a_paused_schedule_and_one_with_an_invalid_line_are_never_due() {
    let zone = Zone::named("UTC0").unwrap();
    let mut paused = job("* * * * *", "2026-05-01T10:00:00Z");
    paused.set_paused(true);
    let invalid = job("bad", "2026-05-01T10:00:00Z");
    for (job, stays) in [(paused, false), (invalid, true)] {
        let mut waiting = BTreeMap::from([("j".to_owned(), 5), ("gone".to_owned(), 5)]);
        let (seen, now) = (at("10:01:00"), at("10:02:00"));
        let next = due_since(&[job], &zone, seen, now, &mut waiting);
        assert_eq!(next, None);
        let expected: &[&str] = if stays { &["j"] } else { &[] };
        assert!(waiting.keys().eq(expected), "{waiting:?}");
    }
}
