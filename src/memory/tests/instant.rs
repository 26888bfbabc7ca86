//! How times are read, and that nothing depends on where the process runs.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::memory::instant::{Interval, Side, Unread, read, show, zone};

fn shanghai() -> TimeZone {
    zone("Asia/Shanghai").unwrap()
}

fn from(text: &str) -> String {
    read(text, Side::From, &shanghai()).map_or_else(|wrong| wrong.to_string(), show)
}

fn to(text: &str) -> String {
    read(text, Side::To, &shanghai()).map_or_else(|wrong| wrong.to_string(), show)
}

/// One table for every process zone; [`no_zone_of_the_process_counts`] runs it again under others.
#[test]
fn times_are_read_in_the_zone_of_the_collection() {
    for (text, expected) in [
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z"),
        ("2026-03-01T17:00:00+08:00", "2026-03-01T09:00:00Z"),
        ("2026-03-01t17:00:00.250+08:00", "2026-03-01T09:00:00.25Z"),
        ("2026-03-01 17:00+08:00", "2026-03-01T09:00:00Z"),
        ("2026-03-01T09:00:00-00:00", "2026-03-01T09:00:00Z"),
        ("2026-03-01T09:00:00", "2026-03-01T01:00:00Z"),
        ("2026-03-01 09:00", "2026-03-01T01:00:00Z"),
        (" 2026-03-01T09:00 ", "2026-03-01T01:00:00Z"),
        ("2026-07-01T09:00:00[America/New_York]", "2026-07-01T13:00:00Z"),
        ("2026-01-01T09:00:00[America/New_York]", "2026-01-01T14:00:00Z"),
        ("2026-07-01T09:00:00-04:00[!America/New_York]", "2026-07-01T13:00:00Z"),
        ("2026-07-01T13:00:00Z[America/New_York]", "2026-07-01T13:00:00Z"),
        ("2026-03-01T24:00:00Z", "2026-03-02T00:00:00Z"),
        ("2026-02-28T24:00+08:00", "2026-02-28T16:00:00Z"),
        ("2026-12-31 24:00", "2026-12-31T16:00:00Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
    ] {
        assert_eq!(from(text), expected, "{text}");
        assert_eq!(to(text), expected, "{text}");
    }
}

#[test]
fn date_is_the_start_of_its_day_or_of_the_next_one() {
    assert_eq!(from("2026-03-01"), "2026-02-28T16:00:00Z");
    assert_eq!(to("2026-03-01"), "2026-03-01T16:00:00Z");
    assert_eq!(to("2024-02-28"), "2024-02-28T16:00:00Z");
    assert_eq!(to("2026-12-31"), "2026-12-31T16:00:00Z");
    assert_eq!(from("2026-07-01[America/New_York]"), "2026-07-01T04:00:00Z");
    // The clocks went forward at midnight: this day began at one o'clock.
    let cairo = zone("Africa/Cairo").unwrap();
    let start = read("2024-04-26", Side::From, &cairo).unwrap();
    assert_eq!(show(start), "2024-04-25T22:00:00Z");
    // A day of 23 hours, and one of 25.
    let york = zone("America/New_York").unwrap();
    for (day, hours) in [("2026-03-08", 23), ("2026-11-01", 25), ("2026-06-01", 24)] {
        let day = Interval::read(Some(day), Some(day), &york).unwrap();
        let length = day.to().unwrap().duration_since(day.from().unwrap());
        assert_eq!(length.as_hours(), hours);
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_with_both() {
    let york = zone("America/New_York").unwrap();
    let read = |text: &str| read(text, Side::From, &york).unwrap_err();
    assert_eq!(
        read("2026-03-08T02:30:00"),
        Unread::Gap {
            text: "2026-03-08T02:30:00".to_owned(),
            zone: "America/New_York".to_owned(),
            before: "2026-03-08T02:30:00-05:00".to_owned(),
            after: "2026-03-08T02:30:00-04:00".to_owned(),
        }
    );
    assert_eq!(
        read("2026-11-01 01:30"),
        Unread::Fold {
            text: "2026-11-01 01:30".to_owned(),
            zone: "America/New_York".to_owned(),
            before: "2026-11-01T01:30:00-04:00".to_owned(),
            after: "2026-11-01T01:30:00-05:00".to_owned(),
        }
    );
    assert!(matches!(
        self::read("2026-03-08T02:30:00[America/New_York]", Side::To, &shanghai()),
        Err(Unread::Gap { .. })
    ));
}

#[test]
fn what_is_no_time_is_refused_and_mended() {
    for (text, mend) in [
        ("1772355600", "2026-03-01T09:00:00Z"),
        ("1772355600000", "2026-03-01T09:00:00Z"),
        ("20260301", "2026-03-01"),
        ("2026", "2026-01-01"),
        ("1.5e3", "2026-03-01T09:00:00Z"),
        ("-5", "2026-03-01T09:00:00Z"),
        ("NaN", "2026-03-01T09:00:00Z"),
    ] {
        assert!(
            matches!(read(text, Side::From, &shanghai()), Err(Unread::Number { mend: own, .. }) if own == mend),
            "{text}: {}",
            from(text)
        );
    }
    for text in [
        "",
        "today",
        "2026-02-30T00:00:00Z",
        "2026-02-29",
        "2026-13-01",
        "2026-3-1",
        "01/03/2026",
        "2026-060",
        "2026-W10-1",
        "2026-03-01T25:00:00Z",
        "2026-03-01T24:00:01Z",
        "2026-03-01T09:00:60Z",
        "2026-03-01T09:00:60",
        "2026-03-01T09:00:00+25:00",
        "2026-03-01T09:00:00-24:00",
        "2026-03-01T24:30Z",
        "2026-03-01T09:61:00Z",
        "2026-03-01T09:00:00+25:99",
        "2026-03-01Z",
        "2026-03-08T02:30:00 America/New_York",
        "2026-03-01T09:00:00Z and more",
        "２０２６-03-01",
        "2026年3月1日",
        "\u{1f600}\u{1f600}\u{1f600}",
    ] {
        assert!(
            matches!(read(text, Side::From, &shanghai()), Err(Unread::Form { .. })),
            "{text}: {}",
            from(text)
        );
    }
    let zoned = |text: &str| read(text, Side::From, &shanghai()).unwrap_err();
    assert_eq!(
        zoned("2026-03-01T09:00:00[Mars/Olympus]"),
        Unread::Zone { zone: "Mars/Olympus".to_owned() }
    );
    assert!(matches!(zoned("2026-07-01T09:00:00-05:00[America/New_York]"), Unread::Offset { .. }));
    for name in ["", "Local", "Asia/Nowhere", "CET-1CEST,M3.5.0"] {
        assert_eq!(zone(name), Err(Unread::Zone { zone: name.to_owned() }));
    }
}

#[test]
fn interval_holds_its_start_and_not_its_end() {
    let at = |text: &str| read(text, Side::From, &shanghai()).unwrap();
    let one = Interval::read(Some("2026-03-01"), Some("2026-03-31"), &shanghai()).unwrap();
    assert!(one.has(at("2026-03-01T00:00")));
    assert!(one.has(at("2026-03-31T23:59:59.999")));
    assert!(!one.has(at("2026-04-01T00:00")));
    assert!(!one.has(at("2026-02-28T23:59:59")));
    let valid = Interval::read(Some("2026-03-01T17:00:00+08:00"), None, &shanghai()).unwrap();
    assert_eq!(valid, Interval::read(Some("2026-03-01T09:00:00Z"), None, &shanghai()).unwrap());
    assert!(valid.has(at("2026-03-01T17:00:00+08:00")));
    assert!(!valid.has(at("2026-03-01T08:59:59Z")));
    let next = Interval::read(Some("2026-04-01"), None, &shanghai()).unwrap();
    assert!(!one.overlaps(&next) && !next.overlaps(&one));
    assert!(one.overlaps(&valid) && valid.overlaps(&one) && next.overlaps(&Interval::default()));
    for (from, to) in [
        ("2026-03-02", "2026-03-01"),
        ("2026-03-02", "2026-03-01T24:00"),
        ("2026-03-01T09:00Z", "2026-03-01T17:00+08:00"),
    ] {
        let wrong = Interval::read(Some(from), Some(to), &shanghai()).unwrap_err();
        assert!(matches!(wrong, Unread::Order { .. }), "{wrong}");
    }
    assert!(Interval::read(Some("2026-03-01"), Some("2026-03-01"), &shanghai()).is_ok());
}

#[test]
fn no_zone_of_the_process_counts() {
    let own = std::env::current_exe().unwrap();
    let test = "memory::tests::instant::times_are_read_in_the_zone_of_the_collection";
    for zone in ["Asia/Shanghai", "UTC", "America/New_York"] {
        let output = std::process::Command::new(&own)
            .args(["--exact", test])
            .env("TZ", zone)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "TZ={zone}: {said}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9TtZz:.+\\[\\] A-Za-z/é-]{0,40}") {
        let _any = read(&text, Side::To, &shanghai());
    }

    #[test]
    fn what_is_shown_is_read_again(second in -62_000_000_000_i64..200_000_000_000) {
        let instant = Timestamp::from_second(second).unwrap();
        proptest::prop_assert_eq!(read(&show(instant), Side::To, &shanghai()), Ok(instant));
    }
}
