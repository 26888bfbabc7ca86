//! Sets and ranges: values that are made of several.

use jiff::tz::TimeZone;

use super::{Expect, Unread, any, lead, read, shown, with_unit};
use crate::evidence::value::Value;

/// Most members of a set.
const MEMBERS: usize = 256;

/// `["a", "b"]`, or `a, b`.
pub(super) fn set(text: &str, expect: &Expect<'_>, zone: &TimeZone) -> Result<Value, Unread> {
    let member = Expect { kind: None, ..*expect };
    let listed = serde_json::from_str::<Vec<serde_json::Value>>(text).ok();
    let machine = Expect { machine: true, ..member };
    let members: Vec<Result<Value, Unread>> = match listed {
        Some(all) => all.iter().map(|one| of_json(one, &machine, zone)).collect(),
        None => {
            let inner = text.trim_start_matches(['[', '{']).trim_end_matches([']', '}']);
            inner
                .split(['、', ';', '\n'])
                .flat_map(|part| part.split(", "))
                .map(|part| any(part.trim(), &member, zone))
                .collect()
        }
    };
    if members.len() > MEMBERS {
        return Err(Unread::Long { text: shown(text) });
    }
    let members = members.into_iter().map(|one| one.map(|one| with_unit(one, expect.unit)));
    Ok(Value::Set { members: members.collect::<Result<_, _>>()? })
}

/// A value that stands in JSON.
fn of_json(
    value: &serde_json::Value,
    expect: &Expect<'_>,
    zone: &TimeZone,
) -> Result<Value, Unread> {
    match value {
        serde_json::Value::String(text) => read(text, expect, zone),
        other => read(&other.to_string(), expect, zone),
    }
}

/// `10..20 kg`, `10 to 20 kg`, `10至20公斤`; `None` where nothing parts it.
pub(super) fn range(
    text: &str,
    expect: &Expect<'_>,
    zone: &TimeZone,
) -> Option<Result<Value, Unread>> {
    const PARTS: [&str; 7] = ["..", " to ", "~", "至", "到", "–", " - "];
    let single = Expect { kind: None, ..*expect };
    let (one, two) = PARTS.iter().find_map(|part| text.split_once(part))?;
    let whole = |text: &str| -> Option<Result<Value, Unread>> {
        let (found, length) = lead(text, &single, zone)?;
        (length == text.len()).then_some(found)
    };
    let (one, two) = (whole(one.trim())?, whole(two.trim())?);
    Some(one.and_then(|from| {
        let to = two?;
        // In `10 to 20 kg` the unit stands once.
        let from = match &to {
            Value::Quantity { unit, .. } => with_unit(from, unit),
            Value::Money { currency, .. } => with_unit(from, currency),
            Value::Percent { .. } => with_unit(from, "%"),
            _ => from,
        };
        let to = with_unit(to, expect.unit);
        Ok(Value::Range { from: Box::new(with_unit(from, expect.unit)), to: Box::new(to) })
    }))
}
