//! Durations and sizes as people write them: `3s`, `5m`, `512MiB`. Text in, exact numbers out.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A duration written as text with a unit: `ms`, `s`, `m`, `h` or `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

/// A number of bytes written as text with a unit: `B`, `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// Processor time in thousandths of a core, written as a number of cores such as `0.5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cores(pub(super) u32);

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit.trim_start()))
}

pub(super) fn parse_span(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(millis)?))
}

pub(super) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Reads `1`, `0.5` or `1.25` exactly, without going through a float.
fn parse_cores(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(1_000)?.checked_add(part)
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_span(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a duration; write a whole number and `ms`, `s`, `m`, `h` or `d`"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_size(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a size; write a whole number and `B`, `KiB`, `MiB` or `GiB`"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        match parse_cores(&number.to_string()) {
            Some(millis) if millis > 0 => Ok(Self(millis)),
            Some(_) | None => Err(D::Error::custom(format!(
                "`{number}` is not a number of cores; write for example `1` or `0.5`"
            ))),
        }
    }
}
