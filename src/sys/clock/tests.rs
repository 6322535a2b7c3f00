use super::*;

#[test]
fn known_moments() {
    for (seconds, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z"),
        (1_795_299_387, "2026-11-21T22:16:27Z"),
        (2_147_483_647, "2038-01-19T03:14:07Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"),
    ] {
        assert_eq!(Utc::from_unix(seconds).to_string(), expected);
        assert_eq!(Utc::from_unix(seconds).unix_seconds(), seconds);
    }
}

#[test]
fn every_day_of_four_centuries_follows_the_one_before() {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    let mut month = 1;
    let mut day = 1;
    for days in 0..146_097 {
        assert_eq!(civil_date(days), (year, month, day));
        let last = match month {
            2 if leap(year) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (year, month, day) = match (month, day) {
            (12, 31) => (year + 1, 1, 1),
            (_, day) if day == last => (year, month + 1, 1),
            _ => (year, month, day + 1),
        };
    }
}

#[test]
fn dates_are_read_as_they_are_written() {
    for (text, expected) in [
        ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("2026-11-21T22:16:27Z", "2026-11-21T22:16:27Z"),
        ("2026-11-21t22:16:27.123456z", "2026-11-21T22:16:27Z"),
        ("2026-11-21 22:16:27+00:00", "2026-11-21T22:16:27Z"),
        ("2026-11-21T22:16:27.5+02:30", "2026-11-21T19:46:27Z"),
        ("2026-12-31T22:16:27-02:00", "2027-01-01T00:16:27Z"),
        ("2026-11-21T22:16:27 01:00", "2026-11-21T21:16:27Z"),
        ("2000-02-29", "2000-02-29T00:00:00Z"),
        ("0000-01-01", "0000-01-01T00:00:00Z"),
    ] {
        let read = Utc::parse(text).unwrap_or_else(|| panic!("{text:?}"));
        assert_eq!(read.to_string(), expected, "{text:?}");
    }
    for text in [
        "",
        "x",
        "2026",
        "2026-11",
        "2026-11-2",
        "2026-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "2026-11-21T",
        "2026-11-21T22:16",
        "2026-11-21T22:16:27",
        "2026-11-21T24:16:27Z",
        "2026-11-21T22:60:27Z",
        "2026-11-21T22:16:27.Z",
        "2026-11-21T22:16:27+2:00",
        "2026-11-21T22:16:27+0200",
        "2026-11-21T22:16:27+02:60",
        "2026-11-21T22:16:27Zx",
        "2026-11-21T22:16:27+éé:00",
        "é026-11-21",
        "+026-11-21",
        "2026-11-21T22:16:27++1:00",
        "2026/11/21",
        "２０２６-11-21",
    ] {
        assert_eq!(Utc::parse(text), None, "{text:?}");
    }
}

#[test]
fn every_day_is_found_again() {
    for days in (-800_000..800_000).step_by(7) {
        let (year, month, day) = civil_date(days);
        assert_eq!(days_from_civil(year, month.into(), day.into()), days);
    }
}

#[test]
fn now_has_the_recorded_shape() {
    let now = now_rfc3339();
    let today = today();
    assert_eq!(now.len(), "2026-11-21T22:16:27Z".len());
    assert_eq!(today.len(), 8);
    assert!(unix_seconds() > 1_700_000_000);
}
