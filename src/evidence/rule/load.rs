//! Reads `rules/*.toml` of a policies folder: files in, [`Rules`] and what is wrong with them out.

use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::pick::Compiled;
use super::{Loaded, Rule, Rules, check};
use crate::catalog::{Fault, Problem, parse_toml, read_text};
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
        let (mut loaded, mut problems) = (Self::default(), Vec::new());
        let files = list(policies).unwrap_or_else(|message| {
            problems.push(problem(FOLDER, "", message));
            // Without a list nothing is known to be gone.
            let all = previous.map(|old| old.all.iter().map(|one| one.file.clone()).collect());
            all.unwrap_or_default()
        });
        for file in files {
            match read(policies, &file) {
                Ok(one) => loaded.take(Arc::new(one), &mut problems),
                Err(faults) => {
                    let kept = previous.and_then(|old| old.all.iter().find(|one| one.file == file));
                    for (place, message) in faults {
                        let more = if kept.is_some() { "; its last good state holds" } else { "" };
                        problems.push(problem(&file, &place, format!("{message}{more}")));
                    }
                    if let Some(kept) = kept {
                        loaded.take(Arc::clone(kept), &mut problems);
                    }
                }
            }
        }
        let digests: Vec<&str> = loaded.all.iter().map(|one| one.digest.as_str()).collect();
        loaded.digest = digest(&digests.join("\n"));
        (loaded, problems)
    }

    fn take(&mut self, one: Arc<Loaded>, problems: &mut Vec<Problem>) {
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
            problems.push(problem(&one.file, "id", message));
            return;
        }
        self.all.push(one);
    }
}

fn problem(file: &str, place: &str, message: String) -> Problem {
    Problem { file: file.to_owned(), place: place.to_owned(), message, fatal: true }
}

/// The files, relative to the policies folder, sorted.
fn list(policies: &Path) -> Result<Vec<String>, String> {
    let entries = match std::fs::read_dir(policies.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut files: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let wanted = name.ends_with(".toml") && !name.starts_with('.');
            wanted.then(|| format!("{FOLDER}/{name}"))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// One file; all that is wrong with it, by place.
fn read(policies: &Path, file: &str) -> Result<Loaded, Vec<(String, String)>> {
    let one = |fault: Fault| vec![(fault.place, fault.message)];
    let text = read_text(&policies.join(file)).map_err(one)?;
    parse(&text, file)
}

/// A rule by the text of its file.
pub(in crate::evidence) fn parse(text: &str, file: &str) -> Result<Loaded, Vec<(String, String)>> {
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
