//! Keeps a value within a number of tokens: a part and a budget in, a JSON value with markers for
//! what is left out. Never cuts inside a value; the rule stands in the proto file.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::part::{Part, push_index, push_name};
use crate::tokens;

/// Name of the member that tells what is left out.
const MORE: &str = "$more";
/// Tokens of a marker beside its pointer.
const MARKER: usize = 18;
/// Bytes that a token stands for at most, but for long runs of one character.
const BYTES: usize = 24;
/// Characters within which a text is cut at a word's end.
const WORD: usize = 40;
/// Rounds in which the goal is lowered by a tenth.
const ROUNDS: usize = 60;

/// The value that `part`, which lies at `pointer`, shows within `budget`; and the number of markers.
pub(super) fn fit(part: &Part<'_>, pointer: &str, budget: Option<usize>) -> (Value, u32) {
    let Some(budget) = budget else { return (part.to_value(), 0) };
    if weigh(part, budget.saturating_mul(2)) <= budget.saturating_mul(2) {
        let whole = part.to_value();
        if tokens::count(&whole.to_string()) <= budget {
            return (whole, 0);
        }
    }
    let mut goal = budget;
    for _ in 0..ROUNDS {
        let found = attempt(part, pointer, goal);
        let took = tokens::count(&found.0.to_string());
        if took > budget {
            goal = goal * 9 / 10;
            continue;
        }
        // The weights are cautious: what they leave unused is worth a few more tries.
        let higher = goal.saturating_mul(budget) / took.max(1);
        let tries = [20, 18, 16, 14].map(|part| higher.saturating_mul(part) / 20);
        let fuller = |(value, _): &(Value, u32)| {
            let takes = tokens::count(&value.to_string());
            takes > took && takes <= budget
        };
        let better = tries.into_iter().filter(|more| *more > goal);
        return better.map(|goal| attempt(part, pointer, goal)).find(fuller).unwrap_or(found);
    }
    (json!({MORE: {"pointer": pointer}}), 1)
}

fn attempt(part: &Part<'_>, pointer: &str, goal: usize) -> (Value, u32) {
    let mut cut = Cut { at: pointer.to_owned(), markers: 0 };
    let value = cut.shorten(part, goal);
    (value, cut.markers)
}

/// Roughly the tokens of a part; what is more than `cap` is not counted further.
pub(super) fn weigh(part: &Part<'_>, cap: usize) -> usize {
    match part {
        Part::Whole(value) => weigh_value(value, cap),
        Part::Handle(value) => weigh_value(value, cap),
        Part::Object(members) => sum(cap, members, |(_, name, member), left| {
            weigh_text(name, left) + weigh(member, left)
        }),
        Part::Array(items) => sum(cap, items, |(_, item), left| weigh(item, left)),
    }
}

/// As deep as the value, which is bounded.
fn weigh_value(value: &Value, cap: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::Number(number) => tokens::count(&number.to_string()) + 1,
        Value::String(text) => weigh_text(text, cap),
        Value::Array(items) => sum(cap, items, weigh_value),
        Value::Object(members) => sum(cap, members, |(name, member), left| {
            weigh_text(name, left) + weigh_value(member, left)
        }),
    }
}

fn sum<T>(
    cap: usize,
    rows: impl IntoIterator<Item = T>,
    weigh: impl Fn(T, usize) -> usize,
) -> usize {
    let mut all: usize = 1;
    for row in rows {
        if all > cap {
            break;
        }
        all = all.saturating_add(weigh(row, cap - all)).saturating_add(1);
    }
    all
}

fn weigh_text(text: &str, cap: usize) -> usize {
    let longest = cap.saturating_add(1).saturating_mul(BYTES);
    let start = text.get(..text.floor_char_boundary(longest)).unwrap_or(text);
    let over = if start.len() < text.len() { cap } else { 0 };
    quoted(start).max(over) + 1
}

/// Tokens of text as JSON.
fn quoted(text: &str) -> usize {
    tokens::count(&Value::String(text.to_owned()).to_string())
}

/// Bytes of the longest beginning of `text` that takes at most `room` tokens as JSON. It ends where a
/// word does if one ends near, and splits no character from its accents.
pub(super) fn beginning(text: &str, room: usize) -> usize {
    let (mut low, mut high) = (0, text.floor_char_boundary(room.saturating_mul(BYTES)));
    while low < high {
        let middle = text.ceil_char_boundary(low + (high - low).div_ceil(2)).min(high);
        let fits = text.get(..middle).is_some_and(|start| quoted(start) <= room);
        match (fits, middle == high) {
            (true, _) => low = middle,
            (false, true) => high = text.floor_char_boundary(high.saturating_sub(1)).max(low),
            (false, false) => high = middle,
        }
    }
    let Some((start, rest)) = text.split_at_checked(low) else { return 0 };
    let next = rest.chars().next();
    let inside = next.is_some_and(char::is_alphanumeric)
        && start.chars().next_back().is_some_and(char::is_alphanumeric);
    let near = start.char_indices().rev().take(WORD).find(|(_, c)| c.is_whitespace());
    match near {
        Some((at, _)) if inside && at > 0 => at,
        _ if next.is_some_and(clings) => {
            let base = start.char_indices().rev().find(|(_, c)| !clings(*c));
            base.map_or(low, |(at, _)| at)
        }
        _ => low,
    }
}

/// Whether a character belongs to the one before it.
fn clings(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{20d0}'..='\u{20ff}')
}

/// What is left of a row of which the rest is told by a marker.
struct Rest {
    count: usize,
    first: usize,
}

struct Cut {
    at: String,
    markers: u32,
}

impl Cut {
    fn shorten(&mut self, part: &Part<'_>, budget: usize) -> Value {
        if weigh(part, budget) <= budget {
            return part.to_value();
        }
        if let Some((total, members)) = part.members() {
            return self.shorten_object(total, members, budget);
        }
        if let Some((total, items)) = part.items() {
            return self.shorten_array(total, items, budget);
        }
        match part {
            Part::Whole(Value::String(text)) => Value::String(self.shorten_text(text, budget)),
            _ => self.marker(json!({})),
        }
    }

    /// What a marker at this place takes.
    fn marker_cost(&self) -> usize {
        MARKER + tokens::count(&self.at)
    }

    fn marker(&mut self, what: Value) -> Value {
        json!({MORE: self.told(what)})
    }

    /// What a marker at this place tells.
    fn told(&mut self, mut what: Value) -> Value {
        self.markers = self.markers.saturating_add(1);
        if let Some(members) = what.as_object_mut() {
            members.insert("pointer".to_owned(), self.at.clone().into());
        }
        what
    }

    fn shorten_text(&mut self, text: &str, budget: usize) -> String {
        let room = budget.saturating_sub(self.marker_cost() + 2);
        let start = text.get(..beginning(text, room)).unwrap_or_default();
        let from = start.chars().count();
        let left = text.chars().count() - from;
        self.markers = self.markers.saturating_add(1);
        format!("{start}…[{left} more characters: {} from {from}]", self.at)
    }

    fn shorten_array<'p, 'v: 'p>(
        &mut self,
        total: usize,
        items: impl Iterator<Item = (usize, Cow<'p, Part<'v>>)>,
        budget: usize,
    ) -> Value {
        let least = self.marker_cost();
        let mut room = budget.saturating_sub(least + 2);
        let mut kept = Vec::new();
        let mut rest = None;
        let mut shortened = false;
        for (index, item) in items {
            let weight = weigh(&item, room) + 1;
            if !shortened && weight <= room {
                room -= weight;
                kept.push(item.to_value());
            } else if !shortened && room > least && (kept.is_empty() || room * 4 >= budget) {
                let length = self.at.len();
                push_index(&mut self.at, index);
                kept.push(self.shorten(&item, room - 1));
                self.at.truncate(length);
                shortened = true;
            } else {
                rest = Some(Rest { count: total - kept.len(), first: index });
                break;
            }
        }
        let Some(Rest { count, first }) = rest else { return Value::Array(kept) };
        let marker = self.marker(json!({"items": count, "first": first}));
        if kept.is_empty() {
            return marker;
        }
        kept.push(marker);
        Value::Array(kept)
    }

    fn shorten_object<'p, 'v: 'p>(
        &mut self,
        total: usize,
        members: impl Iterator<Item = ((usize, &'v str), Cow<'p, Part<'v>>)>,
        budget: usize,
    ) -> Value {
        let least = self.marker_cost();
        let mut room = budget.saturating_sub(least + 2);
        let mut rows = Vec::new();
        let (mut needed, mut first) = (0, 0);
        for ((at, name), member) in members {
            let (key, weight) = (weigh_text(name, budget) + 1, weigh(&member, budget));
            needed += key + weight.min(least + key);
            if needed > room {
                first = at;
                break;
            }
            rows.push((name, member, key, weight));
        }
        let left = total - rows.len();
        if rows.is_empty() {
            return self.marker(json!({"members": total, "first": first}));
        }
        room = room.saturating_sub(rows.iter().map(|(_, _, key, _)| key).sum());
        let shares = share(rows.iter().map(|(.., weight)| *weight), room);
        let mut shown = Map::new();
        let length = self.at.len();
        for ((name, member, ..), share) in rows.iter().zip(shares) {
            push_name(&mut self.at, name);
            shown.insert((*name).to_owned(), self.shorten(member, share));
            self.at.truncate(length);
        }
        if left > 0 {
            let mut name = MORE.to_owned();
            while shown.contains_key(&name) {
                name.push('\'');
            }
            shown.insert(name, self.told(json!({"members": left, "first": first})));
        }
        Value::Object(shown)
    }
}

/// Shares of `room`: who needs less than an even share gets that, the others share the rest evenly.
fn share(weights: impl Iterator<Item = usize>, mut room: usize) -> Vec<usize> {
    let weights: Vec<usize> = weights.collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| weights.get(*at).copied());
    let mut shares = vec![0; weights.len()];
    for (done, at) in order.into_iter().enumerate() {
        let even = room / (weights.len() - done);
        let given = weights.get(at).copied().unwrap_or_default().min(even);
        room -= given;
        if let Some(share) = shares.get_mut(at) {
            *share = given;
        }
    }
    shares
}
