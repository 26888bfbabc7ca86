//! What serde cannot tell of an agent's declaration: an [`Agent`] in, all that is wrong with it out, each
//! with the path of its key and how to mend it.

use super::{Agent, Claim, DEFAULT, Form, Role};

/// Longest name, in bytes.
const NAME: usize = 64;
/// Longest instructions, in bytes: they go into every prompt.
const INSTRUCTIONS: usize = 16 << 10;
/// Most tasks of a plan, and most at the same time.
const TASKS: std::ops::RangeInclusive<u32> = 1..=32;
const PARALLEL: std::ops::RangeInclusive<u32> = 1..=16;
/// Most steps of one task.
const STEPS: std::ops::RangeInclusive<u32> = 1..=50;

/// A path of keys, and what is wrong there.
pub(super) type Wrong = (Vec<String>, String);

/// What is wrong with a declaration.
pub(super) fn check(one: &Agent) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut say = |path: &[&str], message: String| {
        wrong.push((path.iter().map(|key| (*key).to_owned()).collect(), message));
    };
    if !is_name(&one.name) {
        let name = one.name.escape_debug();
        let message = format!(
            "`{name}` is no name; at most {NAME} of `a-z 0-9 . _ -`, a letter or digit first"
        );
        say(&["name"], message);
    }
    if one.name == DEFAULT {
        let message = format!(
            "`{DEFAULT}` is the agent that answers where none is named, with all that its caller may \
             use; take another name"
        );
        say(&["name"], message);
    }
    if one.description.trim().is_empty() {
        say(&["description"], "is empty; say what the agent is good for".to_owned());
    }
    if one.instructions.trim().is_empty() {
        say(&["instructions"], "is empty; say how the agent works".to_owned());
    }
    if one.instructions.len() > INSTRUCTIONS {
        let length = one.instructions.len();
        say(&["instructions"], format!("has {length} bytes; at most {INSTRUCTIONS}"));
    }
    check_patterns(one, &mut say);
    check_bounds(one, &mut say);
    check_role(one, &mut say);
    for (name, claim) in &one.claims {
        check_claim(name, claim, &mut say);
    }
    wrong
}

fn check_patterns(one: &Agent, say: &mut impl FnMut(&[&str], String)) {
    let lists: [(&[&str], &[String], &str); 3] = [
        (&["tools"], &one.tools, "a tool, such as `orders.*`"),
        (&["memory", "collections"], &one.memory.collections, "a collection, such as `cases`"),
        (&["team", "workers"], &one.team.workers, "a worker, such as `forecast-*`"),
    ];
    for (path, list, what) in lists {
        for (at, pattern) in list.iter().enumerate() {
            let bare = pattern.trim().is_empty() || pattern.chars().any(char::is_control);
            if bare || pattern.matches('*').count() > 8 {
                let mut path = path.to_vec();
                let at = at.to_string();
                path.push(&at);
                let shown = pattern.escape_debug();
                say(
                    &path,
                    format!("`{shown}` is no pattern of {what}; at most 8 `*` and some text"),
                );
            }
        }
    }
}

fn check_bounds(one: &Agent, say: &mut impl FnMut(&[&str], String)) {
    let bounds = [
        ("tasks", one.limits.tasks, TASKS),
        ("parallel", one.limits.parallel, PARALLEL),
        ("steps", one.limits.steps, STEPS),
    ];
    for (name, value, range) in bounds {
        if let Some(value) = value.filter(|value| !range.contains(value)) {
            let (least, most) = (range.start(), range.end());
            say(&["limits", name], format!("{value} is not from {least} to {most}"));
        }
    }
    if one.limits.wall.is_some_and(|wall| wall.is_zero()) {
        say(&["limits", "wall"], "is no time at all; leave it out for that of the run".to_owned());
    }
    if let Some(money) = one.budget.money.as_deref().filter(|money| !is_amount(money)) {
        let message = format!("`{money}` is no amount; write a decimal such as \"0.50\"");
        say(&["budget", "money"], message);
    }
    if let Some(below) = one.team.review_below.filter(|below| !(0.0..=1.0).contains(below)) {
        say(&["team", "review_below"], format!("{below} is not from 0 to 1"));
    }
}

fn check_role(one: &Agent, say: &mut impl FnMut(&[&str], String)) {
    let mut only = |path: &[&str], is_set: bool| {
        if is_set && one.role != Role::Orchestrator {
            let key = path.join(".");
            say(path, format!("is for an orchestrator only; remove `{key}`, or change `role`"));
        }
    };
    only(&["team"], one.team != super::Team::default());
    only(&["claims"], !one.claims.is_empty());
    only(&["limits", "tasks"], one.limits.tasks.is_some());
    only(&["limits", "parallel"], one.limits.parallel.is_some());
    if one.role == Role::Judge {
        let why = "a judge decides by evidence packs alone; remove it";
        if !one.tools.is_empty() {
            say(&["tools"], why.to_owned());
        }
        if one.memory != super::Shelves::default() {
            say(&["memory"], why.to_owned());
        }
    }
}

fn check_claim(name: &str, claim: &Claim, say: &mut impl FnMut(&[&str], String)) {
    if !is_name(name) {
        let message = format!("is no name of a claim; at most {NAME} of `a-z 0-9 . _ -`");
        say(&["claims", name], message);
    }
    if claim.description.trim().is_empty() {
        say(&["claims", name, "description"], "is empty; say what is stated".to_owned());
    }
    if claim.form != Form::Number {
        if claim.unit.is_some() {
            let form = claim.form.as_str();
            say(&["claims", name, "unit"], format!("is for numbers, and this is a {form}"));
        }
        if !claim.tolerance.is_empty() {
            let form = claim.form.as_str();
            say(&["claims", name, "tolerance"], format!("is for numbers, and this is a {form}"));
        }
    }
    let tolerance = claim.tolerance.as_str();
    let below_one = tolerance
        .split('.')
        .next()
        .is_some_and(|whole| !whole.is_empty() && whole.bytes().all(|digit| digit == b'0'));
    if !(tolerance.is_empty() || is_amount(tolerance) && below_one) {
        let message = format!("`{tolerance}` is no share from 0 to below 1, such as \"0.02\"");
        say(&["claims", name, "tolerance"], message);
    }
    for (at, scope) in claim.scope.iter().enumerate() {
        if !is_name(scope) {
            let at = at.to_string();
            let message = format!("`{}` is no name of a scope", scope.escape_debug());
            say(&["claims", name, "scope", &at], message);
        }
    }
}

/// Digits with at most one point among them.
fn is_amount(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 24 && digits(whole) && digits(fraction)
}

/// Whether a text can name an agent, a claim or a scope.
pub(super) fn is_name(name: &str) -> bool {
    let legal = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    name.len() <= NAME
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}
