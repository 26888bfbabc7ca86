//! Reads `rules/*.toml` of a policies folder: files in, [`Rules`] and what is wrong with them out.

use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::pick::Compiled;
use super::{Loaded, Rule, Rules, check};
use crate::catalog::{Fault, Flaw, Problem, declared, parse_toml};
use crate::schema::{canonical, digest};

/// The subfolder with the rules.
const FOLDER: &str = "rules";

/// Interval, from inclusive and to exclusive.
type Ends = (Option<Timestamp>, Option<Timestamp>);

impl Rules {
    /// Reads the folder `rules` of a policies folder. A folder that is not there holds no rules. Blocks for
    /// as long as reading some small files takes.
    pub fn load(policies: &Path) -> (Self, Vec<Problem>) {
        Self::load_with(policies, None)
    }

    /// As [`Rules::load`]; a file that is broken now keeps the rule that it declared in `previous`, and the
    /// problem says so. One that is gone takes its rule with it.
    pub fn load_with(policies: &Path, previous: Option<&Self>) -> (Self, Vec<Problem>) {
        let mut loaded = Self::default();
        let before: Vec<(&str, &Arc<Loaded>)> = previous
            .into_iter()
            .flat_map(|old| old.all.iter().map(|one| (one.file.as_str(), one)))
            .collect();
        let take = |one, _file: &str| loaded.take(one);
        let problems = declared((policies, FOLDER), &before, parse, take);
        let digests: Vec<&str> = loaded.all.iter().map(|one| one.digest.as_str()).collect();
        loaded.digest = digest(&digests.join("\n"));
        (loaded, problems)
    }

    fn take(&mut self, one: Arc<Loaded>) -> Result<(), Flaw> {
        let overlaps = |held: &&Arc<Loaded>| {
            let before = |from: Option<Timestamp>, to: Option<Timestamp>| {
                from.zip(to).is_none_or(|(from, to)| from < to)
            };
            held.rule.id == one.rule.id && before(held.from, one.to) && before(one.from, held.to)
        };
        if let Some(held) = self.all.iter().find(overlaps) {
            let message = format!(
                "rule `{}` is in force in `{}` at the same time, which holds: end the older version with `valid_to`, or give one of them another id",
                one.rule.id, held.file
            );
            return Err(("id".to_owned(), message));
        }
        self.all.push(one);
        Ok(())
    }
}

/// A rule by the text of its file.
pub(in crate::evidence) fn parse(text: &str, file: &str) -> Result<Loaded, Vec<Flaw>> {
    let one = |fault: Fault| vec![(fault.place, fault.message)];
    let rule: Rule = parse_toml(text).map_err(one)?;
    let mut wrong = check::check(&rule);
    let ends = ends(&rule).map_err(|(key, message)| wrong.push((key, message)));
    let when = Compiled::new(&rule.when)
        .map_err(|message| wrong.push(("when.patterns".to_owned(), message)));
    if let (Ok((from, to)), Ok(when), true) = (ends, when, wrong.is_empty()) {
        let json = serde_json::to_value(&rule).unwrap_or_default();
        let digest = digest(&canonical(&json));
        return Ok(Loaded { rule, digest, from, to, file: file.to_owned(), when });
    }
    let placed = wrong.into_iter().map(|(key, message)| (check::place(text, &key), message));
    Err(placed.collect())
}

/// From when and until when a rule is in force.
fn ends(rule: &Rule) -> Result<Ends, (String, String)> {
    let zone = TimeZone::get(&rule.time_zone).map_err(|_none| {
        let message =
            format!("there is no time zone `{}`: name one such as Asia/Shanghai", rule.time_zone);
        ("time_zone".to_owned(), message)
    })?;
    let start = |key: &str, text: &Option<String>, days: i64| {
        let Some(text) = text else { return Ok(None) };
        let date = text.parse::<Date>().ok().filter(|_| text.len() == 10);
        let date = date.and_then(|date| date.checked_add(days.days()).ok());
        let start = date
            .and_then(|date| zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0)).compatible().ok());
        let message = || format!("`{text}` is no day: write it as 2026-07-01");
        start.map(Some).ok_or_else(|| (key.to_owned(), message()))
    };
    let from = start("valid_from", &rule.valid_from, 0)?;
    let to = start("valid_to", &rule.valid_to, 1)?;
    if from.zip(to).is_some_and(|(from, to)| to <= from) {
        let message = "the rule ends before it begins: `valid_to` is its last day".to_owned();
        return Err(("valid_to".to_owned(), message));
    }
    Ok((from, to))
}
