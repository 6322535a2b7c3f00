use super::*;
use jiff::civil::DateTime;

fn zone(name: &str) -> Zone {
    // The same zones where the system has no zone files.
    let rules = match name {
        "Europe/Berlin" => "CET-1CEST,M3.5.0,M10.5.0/3",
        "America/New_York" => "EST5EDT,M3.2.0,M11.1.0",
        "Australia/Lord_Howe" => "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "America/Santiago" => "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
        "Asia/Kolkata" => "IST-5:30",
        name => panic!("{name}"),
    };
    let named = Zone::named(name);
    named.or_else(|| Zone::named(rules)).expect(rules)
}

const ZONES: [&str; 5] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kolkata",
];

fn moment(text: &str) -> i64 {
    text.parse::<Timestamp>().expect(text).as_second()
}

/// The moments after `after` as local times with their offsets.
fn runs(line: &str, zone: &Zone, after: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(line).unwrap();
    let mut last = moment(after);
    let found = (0..count).map(|_| {
        last = next_run(&cron, zone, last).unwrap();
        zone.format(last)
    });
    found.collect()
}

#[test]
fn a_skipped_time_runs_once_right_after_the_change() {
    let berlin = zone("Europe/Berlin");
    for (line, expected) in [
        (
            "30 2 * * *",
            [
                "2026-03-28T02:30:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T02:30:00+02:00",
            ],
        ),
        (
            "0,30 2 * * *",
            [
                "2026-03-28T02:30:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T02:00:00+02:00",
            ],
        ),
        (
            "0 2,3 * * *",
            [
                "2026-03-28T03:00:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T02:00:00+02:00",
            ],
        ),
        (
            "0 3 * * *",
            [
                "2026-03-28T03:00:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T03:00:00+02:00",
            ],
        ),
    ] {
        assert_eq!(
            runs(line, &berlin, "2026-03-28T01:15:00Z", 3),
            expected,
            "{line}"
        );
    }
}

#[test]
fn a_time_that_occurs_twice_runs_once() {
    let berlin = zone("Europe/Berlin");
    for (line, expected) in [
        (
            "30 2 * * *",
            ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        ),
        (
            "0 3 * * *",
            ["2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"],
        ),
        (
            "59 59 2 * * *",
            ["2026-10-25T02:59:59+02:00", "2026-10-26T02:59:59+01:00"],
        ),
        (
            "0 2-3 * * *",
            ["2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"],
        ),
    ] {
        assert_eq!(
            runs(line, &berlin, "2026-10-24T21:00:00Z", 2),
            expected,
            "{line}"
        );
    }
    // Between the two: the second does not count.
    assert_eq!(
        runs("30 2 * * *", &berlin, "2026-10-25T00:45:00Z", 1),
        ["2026-10-26T02:30:00+01:00"]
    );
}

#[test]
fn an_hourly_line_runs_in_every_hour_that_passes() {
    let berlin = zone("Europe/Berlin");
    assert_eq!(
        runs("30 * * * *", &berlin, "2026-03-29T00:00:00Z", 2),
        ["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"]
    );
    assert_eq!(
        runs("30 * * * *", &berlin, "2026-10-25T00:00:00Z", 3),
        [
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T03:30:00+01:00"
        ]
    );
    let lord_howe = zone("Australia/Lord_Howe");
    assert_eq!(
        runs("0 * * * *", &lord_howe, "2026-10-03T14:00:00Z", 3),
        [
            "2026-10-04T01:00:00+10:30",
            "2026-10-04T02:30:00+11:00",
            "2026-10-04T03:00:00+11:00"
        ]
    );
    assert_eq!(
        runs("15 2 * * *", &lord_howe, "2026-10-03T14:00:00Z", 2),
        ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]
    );
    assert_eq!(
        runs("45 * * * *", &lord_howe, "2026-04-04T14:00:00Z", 3),
        [
            "2026-04-05T01:45:00+11:00",
            "2026-04-05T01:45:00+10:30",
            "2026-04-05T02:45:00+10:30"
        ]
    );
}

/// A walk from moment to moment, which knows no spans: it asks for the local time of each.
struct Walk<'a> {
    zone: &'a Zone,
    step: i64,
    now: i64,
    end: i64,
    /// The local time one step earlier, and the latest so far.
    before: i64,
    latest: i64,
}

/// A moment of the walk: it, its local time, the local times that were skipped just before it, and whether its
/// local time has occurred earlier.
struct Step {
    moment: i64,
    local: i64,
    skipped: std::ops::Range<i64>,
    again: bool,
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.now += self.step;
        if self.now > self.end {
            return None;
        }
        let local = self.now + self.zone.offset(self.now);
        let step = Step {
            moment: self.now,
            local,
            skipped: self.before + self.step..local,
            again: local <= self.latest,
        };
        self.before = local;
        self.latest = self.latest.max(local);
        Some(step)
    }
}

impl<'a> Walk<'a> {
    fn new(zone: &'a Zone, step: i64, from: i64, end: i64) -> Self {
        let local = from + zone.offset(from);
        Walk {
            zone,
            step,
            now: from,
            end,
            before: local,
            latest: local,
        }
    }
}

/// A cron line as a person reads it: what each field allows.
struct Reading {
    line: &'static str,
    hourly: bool,
    allows: fn(DateTime) -> bool,
}

const READINGS: [Reading; 9] = [
    Reading {
        line: "* * * * *",
        hourly: true,
        allows: |it| it.second() == 0,
    },
    Reading {
        line: "30 * * * *",
        hourly: true,
        allows: |it| it.second() == 0 && it.minute() == 30,
    },
    Reading {
        line: "0 */2 * * *",
        hourly: false,
        allows: |it| it.second() == 0 && it.minute() == 0 && it.hour() % 2 == 0,
    },
    Reading {
        line: "*/20 1-3 * * *",
        hourly: false,
        allows: |it| it.second() == 0 && it.minute() % 20 == 0 && (1..=3).contains(&it.hour()),
    },
    Reading {
        line: "15 2 * * *",
        hourly: false,
        allows: |it| it.second() == 0 && (it.hour(), it.minute()) == (2, 15),
    },
    Reading {
        line: "0 0 1 * *",
        hourly: false,
        allows: |it| it.second() == 0 && (it.day(), it.hour(), it.minute()) == (1, 0, 0),
    },
    Reading {
        line: "45 1,23 * * SUN",
        hourly: false,
        allows: |it| {
            it.second() == 0
                && it.minute() == 45
                && [1, 23].contains(&it.hour())
                && it.date().weekday().to_sunday_zero_offset() == 0
        },
    },
    Reading {
        line: "5 0 L * *",
        hourly: false,
        allows: |it| {
            it.second() == 0
                && (it.hour(), it.minute()) == (0, 5)
                && it.date() == it.date().last_of_month()
        },
    },
    Reading {
        line: "0 12 * 3-4 MON-FRI",
        hourly: false,
        allows: |it| {
            it.second() == 0
                && (it.hour(), it.minute()) == (12, 0)
                && [3, 4].contains(&it.month())
                && (1..=5).contains(&it.date().weekday().to_sunday_zero_offset())
        },
    },
];

const SECOND_READINGS: [Reading; 4] = [
    Reading {
        line: "*/10 * * * * *",
        hourly: true,
        allows: |it| it.second() % 10 == 0,
    },
    Reading {
        line: "7 30 * * * *",
        hourly: true,
        allows: |it| it.second() == 7 && it.minute() == 30,
    },
    Reading {
        line: "*/25 59 0-3 * * *",
        hourly: false,
        allows: |it| it.second() % 25 == 0 && it.minute() == 59 && it.hour() < 4,
    },
    Reading {
        line: "1 0 2,3 * * *",
        hourly: false,
        allows: |it| it.second() == 1 && it.minute() == 0 && [2, 3].contains(&it.hour()),
    },
];

fn civil(local: i64) -> DateTime {
    jiff::tz::Offset::UTC.to_datetime(Timestamp::from_second(local).unwrap())
}

/// Compares each due moment in the walk with [`next_run`].
fn compare(readings: &[Reading], zone: &Zone, step: i64, from: i64, end: i64) {
    let crons: Vec<Cron> = readings
        .iter()
        .map(|it| Cron::parse(it.line).unwrap())
        .collect();
    let mut last = vec![from; readings.len()];
    let mut checked = 0;
    for it in Walk::new(zone, step, from, end) {
        let local = civil(it.local);
        for (n, reading) in readings.iter().enumerate() {
            let length = it.skipped.end - it.skipped.start;
            let counts_skipped = length > 0 && (!reading.hourly || length < HOUR);
            let due = ((reading.allows)(local) && (reading.hourly || !it.again))
                || (counts_skipped
                    && it
                        .skipped
                        .clone()
                        .step_by(step as usize)
                        .any(|time| (reading.allows)(civil(time))));
            if due {
                let found = next_run(&crons[n], zone, last[n]);
                assert_eq!(
                    found,
                    Some(it.moment),
                    "{} after {}",
                    reading.line,
                    zone.format(last[n])
                );
                last[n] = it.moment;
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
    for (cron, last) in crons.iter().zip(last) {
        assert!(next_run(cron, zone, last).is_none_or(|next| next > end));
    }
}

#[test]
fn due_times_are_those_of_a_walk_through_the_minutes_of_years() {
    for name in ZONES {
        let (from, end) = (
            moment("2026-01-14T23:59:00Z"),
            moment("2028-01-15T00:00:00Z"),
        );
        compare(&READINGS, &zone(name), 60, from, end);
    }
}

#[test]
fn due_times_are_those_of_a_walk_through_the_seconds_of_a_change() {
    for name in ZONES {
        let zone = zone(name);
        let start = timestamp(moment("2027-01-01T00:00:00Z"));
        for change in zone.0.following(start).take(2) {
            let change = change.timestamp().as_second();
            compare(
                &SECOND_READINGS,
                &zone,
                1,
                change - 6 * HOUR,
                change + 6 * HOUR,
            );
        }
        if name == "Asia/Kolkata" {
            compare(
                &SECOND_READINGS,
                &zone,
                1,
                moment("2027-01-01T12:00:00Z"),
                moment("2027-01-02T12:00:00Z"),
            );
        }
    }
}

#[test]
fn a_day_that_a_zone_skips_has_its_run_right_after() {
    // Samoa had no 30 December 2011.
    let Some(apia) = Zone::named("Pacific/Apia") else {
        return;
    };
    assert_eq!(
        runs("0 9 * * *", &apia, "2011-12-29T12:00:00Z", 3),
        [
            "2011-12-29T09:00:00-10:00",
            "2011-12-31T00:00:00+14:00",
            "2011-12-31T09:00:00+14:00"
        ]
    );
}

#[test]
fn moments_far_from_the_present_do_not_fail() {
    let cron = Cron::parse("0 0 29 2 *").unwrap();
    for name in ZONES {
        let zone = zone(name);
        for after in [
            i64::MIN,
            -1,
            i64::MAX - 1,
            i64::MAX,
            253_402_207_200,
            -377_705_116_800,
        ] {
            let _ = next_run(&cron, &zone, after);
        }
    }
    let never = Cron::parse("0 0 30 2 *").unwrap();
    let start = std::time::Instant::now();
    assert_eq!(
        next_run(&never, &zone("Europe/Berlin"), 1_800_000_000),
        None
    );
    assert!(start.elapsed().as_secs() < 5);
}
