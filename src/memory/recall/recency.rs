//! What a version is worth beside what it says: how new it is, how far it is believed, whether it is
//! used. Small factors, so that none of them outweighs what a question asks for.

use std::time::Duration;

use jiff::Timestamp;

use crate::memory::Version;

/// What the newest gains over the oldest.
const BONUS: f64 = 0.05;
/// What a unit of trust 100 keeps more of its score than one of trust 0.
const BELIEF: f64 = 0.3;
/// What a unit that nobody used for long loses of its score at most, where its collection says so.
const DISUSE: f64 = 0.25;

/// How new it is at the date that is asked about, 0..1: halves with each half life of its source time;
/// 0 for what the source said later than that date.
pub(super) fn newness(version: &Version, as_of: Timestamp, half_life: Duration) -> f64 {
    halved(as_of.duration_since(version.source_time).as_secs_f64(), half_life)
}

/// What that does to a score: up to 5 % more.
pub(super) fn bonus(newness: f64) -> f64 {
    BONUS * newness
}

/// The factor of trust and use, 0.5..1: `0.7 + 0.3 * trust / 100`, times `0.75 + 0.25 / 2^(idle /
/// half life)` in a collection that has a half life, where idle is the time since its last recall, or
/// since it was recorded.
pub(super) fn weight(version: &Version, now: Timestamp, half_life: Option<Duration>) -> f64 {
    let trust = 1.0 - BELIEF + BELIEF * f64::from(version.trust.0.min(100)) / 100.0;
    let used = version.used.unwrap_or(version.recorded).max(version.recorded);
    let idle = now.duration_since(used).as_secs_f64().max(0.0);
    let kept = half_life.map_or(1.0, |half| 1.0 - DISUSE + DISUSE * halved(idle, half));
    trust * kept
}

fn halved(seconds: f64, half_life: Duration) -> f64 {
    if seconds < 0.0 || half_life.is_zero() {
        return 0.0;
    }
    (-seconds / half_life.as_secs_f64()).exp2()
}
