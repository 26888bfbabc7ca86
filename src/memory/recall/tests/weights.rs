//! Length, trust, newness and succession.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::super::{length, recency};
use super::version;
use crate::memory::Trust;

const DAY: u64 = 24 * 60 * 60;

#[test]
fn a_text_that_repeats_itself_loses_what_it_repeats() {
    let once = "The gland bolts of the PX-200 are tightened to 22 Nm in three steps. ";
    assert!((length::fairness(once) - 1.0).abs() < 1e-9);
    let padded = once.repeat(10);
    assert!(length::fairness(&padded) < 0.5, "{}", length::fairness(&padded));
    let chinese = "压盖螺栓力矩为二十二牛米，对角分三次拧紧。".repeat(12);
    assert!(length::fairness(&chinese) < 0.5);
}

#[test]
fn ordinary_long_texts_and_lists_lose_nothing() {
    let manual = "Close both valves and drain the casing. Pull the old seal along the shaft and look \
         for grooves on the sleeve; one deeper than 0.2 mm means a new sleeve. Grease the ring with \
         silicone, never with petroleum jelly. Put the cover on, and tighten the bolts crosswise.";
    assert!((length::fairness(manual) - 1.0).abs() < 1e-9);
    let list: String = (1..40).map(|at| format!("Pump {at}: pressure {} bar\n", at * 7)).collect();
    assert!(length::fairness(&list) > 0.9, "{}", length::fairness(&list));
}

#[test]
fn newness_halves_with_each_half_life_and_never_outweighs() {
    let version = version(0, "x");
    let at = |days: i64| version.source_time + SignedDuration::from_hours(24 * days);
    let half = Duration::from_secs(180 * DAY);
    assert!((recency::newness(&version, at(0), half) - 1.0).abs() < 1e-9);
    assert!((recency::newness(&version, at(180), half) - 0.5).abs() < 1e-9);
    assert!((recency::newness(&version, at(-1), half) - 0.0).abs() < 1e-9);
    assert!(recency::bonus(1.0) <= 0.05 + 1e-9);
}

#[test]
fn trust_and_use_weigh_as_documented() {
    let mut one = version(0, "x");
    let now: Timestamp = one.recorded + SignedDuration::from_hours(24 * 90);
    assert!((recency::weight(&one, now, None) - 1.0).abs() < 1e-9);
    one.trust = Trust(0);
    assert!((recency::weight(&one, now, None) - 0.7).abs() < 1e-9);
    one.trust = Trust(100);
    let half = Some(Duration::from_secs(90 * DAY));
    assert!((recency::weight(&one, now, half) - 0.875).abs() < 1e-9);
    one.used = Some(now);
    assert!((recency::weight(&one, now, half) - 1.0).abs() < 1e-9);
}
