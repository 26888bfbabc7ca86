//! The reasons of one version: what keeps it out of the scope, each on its own, then what kept it out
//! of the answer.

use super::{Seen, Verdict, find};
use crate::memory::recall::{Trace, wanted};
use crate::memory::{Compare, End, Question, Scope, Spot, State, Version};

/// What became of a version that the caller may be told of.
pub(super) fn verdict(
    seen: Seen<'_>,
    (scope, question): (&Scope, &Question),
    trace: &Trace,
) -> Verdict {
    let version = seen.version;
    let evidence = version.evidence();
    let mut why = outside(&seen, scope);
    let mut verdict = Verdict { evidence, place: None, why: Vec::new(), scores: Vec::new() };
    let most = wanted(question);
    if let Some((place, one)) = find(&trace.weighed, version.seq) {
        verdict.scores.clone_from(&one.scores);
        match (one.withheld.is_empty(), place <= most) {
            (true, true) => verdict.place = Some(place),
            (true, false) => why.push(format!("outranked: place {place}, {most} wanted")),
            (false, _) => why.push(one.withheld.clone()),
        }
    } else if let Some(at) = trace.behind.iter().position(|one| one.seq == version.seq) {
        let one = trace.behind.get(at);
        verdict.scores = one.map(|one| one.scores.clone()).unwrap_or_default();
        let withheld = one.map(|one| one.withheld.clone()).unwrap_or_default();
        why.push(match withheld.is_empty() {
            true => format!("outranked: place {}, {most} wanted", trace.weighed.len() + at + 1),
            false => withheld,
        });
    } else if why.is_empty() {
        why.push(
            "no layer found it: none of its words, triggers, entities or vectors is near".into(),
        );
    }
    if verdict.place.is_none() {
        verdict.why = why;
    }
    verdict
}

/// Everything that keeps a version out before anything is ranked.
fn outside(&Seen { version, metres, knows }: &Seen<'_>, scope: &Scope) -> Vec<String> {
    let mut why = Vec::new();
    why.extend(access(version, scope));
    let state = state(version, scope);
    if let (Some(state), false) = (&state, knows) {
        // Policy was not asked about what is kept out of use: what it holds is not told.
        why.push((*state).to_owned());
        return why;
    }
    why.extend(known(version, scope));
    why.extend(valid(version, scope));
    why.extend(state.map(|state| with_remarks(state, version)));
    if !scope.kinds.is_empty() && !scope.kinds.contains(&version.draft.kind) {
        why.push(format!("filtered by `kinds`: it is `{}`", name(version.draft.kind)));
    }
    for filter in scope.filters.iter().filter(|filter| !filter.meets(version)) {
        let values: Vec<String> = filter.values.iter().map(ToString::to_string).collect();
        let has = version.draft.metadata.get(&filter.field);
        why.push(format!(
            "filtered by `{} {} {}`: {}",
            filter.field,
            sign(filter.compare),
            values.join(", "),
            has.map_or_else(|| "it does not meet that".to_owned(), |has| format!("it has {has}")),
        ));
    }
    why.extend(scope.spot.as_ref().and_then(|spot| place(version, metres, spot)));
    why
}

fn access(version: &Version, scope: &Scope) -> Option<String> {
    let name = &version.draft.collection;
    let mut asked = scope.collections.iter().filter(|one| one.collection == *name).peekable();
    if asked.peek().is_none() {
        return Some(format!(
            "not readable: the collection `{name}` was not asked for, or the caller may not read it"
        ));
    }
    let own = asked.any(|one| one.owner.as_ref().is_none_or(|owner| *owner == version.owner));
    (!own).then(|| format!("not readable: in `{name}` a caller sees its own units only"))
}

fn known(version: &Version, scope: &Scope) -> Option<String> {
    match (scope.known_at, version.ended.as_ref()) {
        (Some(at), _) if version.recorded > at => Some(format!(
            "recorded later: at {}, asked for what was known at {at}",
            version.recorded
        )),
        (at, Some(end)) if at.is_none_or(|at| end.at <= at) => {
            let by = end.by.as_ref().map(|by| format!(" by `{by}`")).unwrap_or_default();
            Some(format!("{}{by} at {}", ended_as(end.why), end.at))
        }
        _ => None,
    }
}

const fn ended_as(why: End) -> &'static str {
    match why {
        End::Replaced => "replaced by a later version",
        End::Superseded => "superseded",
        End::Forgotten => "forgotten",
        End::Merged => "merged",
        End::Expired => "expired: its retention is over",
    }
}

fn valid(version: &Version, scope: &Scope) -> Option<String> {
    let at = scope.as_of;
    match (version.valid_from, version.valid_to) {
        (Some(from), _) if at < from => Some(format!("not valid at {at}: it holds from {from}")),
        (_, Some(to)) if to <= at => Some(format!("not valid at {at}: it held until {to}")),
        _ => None,
    }
}

fn state(version: &Version, scope: &Scope) -> Option<&'static str> {
    match version.state {
        State::Held if !scope.held => Some("held for review"),
        State::Quarantined if !scope.quarantined => Some("quarantined"),
        State::Archived if !scope.archived => Some("archived, and the archive was not asked for"),
        State::Rejected => Some("refused by a reviewer"),
        State::Active | State::Held | State::Quarantined | State::Archived => None,
    }
}

fn with_remarks(state: &str, version: &Version) -> String {
    match (version.state, version.remarks.is_empty()) {
        (State::Archived, _) | (_, true) => state.to_owned(),
        (_, false) => format!("{state}: {}", version.remarks.join("; ")),
    }
}

fn place(version: &Version, metres: Option<f64>, spot: &Spot) -> Option<String> {
    let Some(own) = &version.draft.place else {
        return Some("filtered by place: it has none".to_owned());
    };
    let (Spot::Within { kinds, .. } | Spot::Inside { kinds, .. }) = spot;
    if !kinds.is_empty() && !kinds.contains(&own.kind) {
        return Some(format!("filtered by place: it is a `{}`", own.kind));
    }
    match (spot, metres) {
        (Spot::Within { metres: most, .. }, Some(metres)) if metres > *most => {
            Some(format!("filtered by place: {metres:.0} m away, at most {most:.0} m"))
        }
        _ => None,
    }
}

const fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Any => "=",
        Compare::None => "!=",
        Compare::Less => "<",
        Compare::Most => "<=",
        Compare::More => ">",
        Compare::Least => ">=",
    }
}

fn name(kind: crate::memory::Kind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|one| Some(one.as_str()?.to_owned()))
        .unwrap_or_default()
}
