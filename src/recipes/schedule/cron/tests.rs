use super::*;
use crate::sys::clock::Utc;

/// The first matches from 2026-01-01 on, by the clock of a place that never changes it.
fn matches(line: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    const START: i64 = 1_767_225_600;
    let mut found = Vec::new();
    let mut from = START;
    while found.len() < count {
        let Some(time) = cron.first_match(from, START + 50 * 366 * SECONDS_PER_DAY) else {
            break;
        };
        found.push(Utc::from_unix(time).to_string().replace(":00Z", ""));
        from = time + 1;
    }
    found
}

/// The expected times are those that croner 2.2.0 gives, unless a comment says otherwise.
#[test]
fn lines_match_as_in_the_library_of_goose() {
    for (line, expected) in [
        ("* * * * *", ["2026-01-01T00:00", "2026-01-01T00:01"]),
        ("? ? ? ? ? ?", ["2026-01-01T00:00", "2026-01-01T00:00:01Z"]),
        ("30 9 * * *", ["2026-01-01T09:30", "2026-01-02T09:30"]),
        (
            "15 30 9 * * *",
            ["2026-01-01T09:30:15Z", "2026-01-02T09:30:15Z"],
        ),
        ("0 9 L * *", ["2026-01-31T09:00", "2026-02-28T09:00"]),
        ("0 9 1,l * *", ["2026-01-01T09:00", "2026-01-31T09:00"]),
        ("0 9 15W * *", ["2026-01-15T09:00", "2026-02-16T09:00"]),
        ("0 9 * * FRIL", ["2026-01-30T09:00", "2026-02-27T09:00"]),
        ("0 9 * * 5L", ["2026-01-30T09:00", "2026-02-27T09:00"]),
        ("0 9 * * MON#2", ["2026-01-12T09:00", "2026-02-09T09:00"]),
        ("0 9 * * 1#5", ["2026-03-30T09:00", "2026-06-29T09:00"]),
        ("0 9 * JAN-MAR *", ["2026-01-01T09:00", "2026-01-02T09:00"]),
        ("0 9 * * 7", ["2026-01-04T09:00", "2026-01-11T09:00"]),
        ("0 9 * * 0", ["2026-01-04T09:00", "2026-01-11T09:00"]),
        ("0 9 * * 5-7", ["2026-01-02T09:00", "2026-01-03T09:00"]),
        ("0 9 * * sat-Sun", ["2026-01-03T09:00", "2026-01-04T09:00"]),
        ("0 9 * * SUN-SAT", ["2026-01-01T09:00", "2026-01-02T09:00"]),
        ("5/15 * * * *", ["2026-01-01T00:05", "2026-01-01T00:20"]),
        ("1-10/3 * * * *", ["2026-01-01T00:01", "2026-01-01T00:04"]),
        ("*/7 * * * *", ["2026-01-01T00:00", "2026-01-01T00:07"]),
        ("*/61 * * * *", ["2026-01-01T00:00", "2026-01-01T01:00"]),
        ("01 * * * *", ["2026-01-01T00:01", "2026-01-01T01:01"]),
        ("0 9 13 * FRI", ["2026-02-13T09:00", "2026-03-13T09:00"]),
        ("0 9 29 2 *", ["2028-02-29T09:00", "2032-02-29T09:00"]),
        ("0 9 * * 1-5/2", ["2026-01-02T09:00", "2026-01-05T09:00"]),
        ("0 9 29 FEB SUN", ["2032-02-29T09:00", "2060-02-29T09:00"]),
        // 31 May 2026 is a Sunday; croner leaves the month.
        ("0 9 31W 5-7 *", ["2026-05-29T09:00", "2026-07-31T09:00"]),
        // 1 August 2026 is a Saturday.
        ("0 9 1W AUG *", ["2026-08-03T09:00", "2027-08-02T09:00"]),
    ] {
        assert_eq!(matches(line, 2), expected, "{line}");
    }
}

#[test]
fn an_invalid_line_names_the_field_and_the_reason() {
    for (line, field, reason) in [
        ("60 * * * *", "minute", "60 is not between 0 and 59"),
        ("x * * * * *", "second", "\"x\" is not a number"),
        ("* 24 * * *", "hour", "24 is not between 0 and 23"),
        ("* * 0 * *", "day of the month", "0 is not between 1 and 31"),
        ("* * LW * *", "day of the month", "before `W`, \"L\""),
        (
            "* * W * *",
            "day of the month",
            "before `W`, a value is missing",
        ),
        ("* * L-2 * *", "day of the month", "\"L\" is not a number"),
        ("* * * 13 *", "month", "13 is not between 1 and 12"),
        ("* * * january *", "month", "a name from JAN to DEC"),
        ("* * * * 8", "day of the week", "8 is not between 0 and 7"),
        (
            "* * * * FRI-MON",
            "day of the week",
            "ends before it begins",
        ),
        ("* * * * MON#6", "day of the week", "a number from 1 to 5"),
        ("* * * * L", "day of the week", "a value is missing"),
        ("50-10 * * * *", "minute", "ends before it begins"),
        ("*/0 * * * *", "minute", "a step of 0"),
        ("*/x * * * *", "minute", "the step \"x\""),
        ("*/ * * * *", "minute", "the step \"\""),
        ("/5 * * * *", "minute", "a value is missing"),
        ("1, * * * *", "minute", "a value is missing"),
        ("1-2-3 * * * *", "minute", "\"2-3\" is not a number"),
        ("*-5 * * * *", "minute", "\"*\" is not a number"),
        ("+5 * * * *", "minute", "\"+5\" is not a number"),
        ("-5 * * * *", "minute", "a value is missing"),
        ("99999999999 * * * *", "minute", "is not a number"),
        ("٣ * * * *", "minute", "is not a number"),
    ] {
        let error = Cron::parse(line).unwrap_err();
        assert!(
            matches!(&error, Error::Field { name, .. } if *name == field),
            "{line}: {error}"
        );
        assert!(error.to_string().contains(reason), "{line}: {error}");
    }
    for line in ["", "@daily", "* * * *", "* * * * * * *"] {
        let error = Cron::parse(line).unwrap_err();
        assert!(matches!(error, Error::Fields { .. }), "{line}: {error}");
    }
    let long = format!("{}0 * * * *", "0,".repeat(1_000));
    assert_eq!(Cron::parse(&long), Err(Error::Length));
}

#[test]
fn a_new_line_must_match_some_day() {
    for never in ["0 9 30 2 *", "0 9 31 4,6,9,11 *", "0 9 1 * MON#2"] {
        assert_eq!(Cron::parse_new(never), Err(Error::Never), "{never}");
        assert_eq!(matches(never, 1), [""; 0]);
    }
    for rare in ["0 9 29 2 *", "0 9 29 2 MON#5", "0 9 L 2 SUN"] {
        Cron::parse_new(rare).unwrap();
    }
}
