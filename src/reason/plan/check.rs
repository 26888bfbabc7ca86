//! A [`Plan`] as it was read and what there is for it in, all that keeps it from being run out.

use std::collections::{BTreeMap, BTreeSet};

use super::{GOAL, INPUTS, MOST, NAME, Plan, Reason, Refusal, Staff, Task};
use crate::batch::{can_have, circles};
use crate::pointer::escape;
use crate::reason::agent::hint;
use crate::reason::refusal::brief;
use crate::reason::rules;
use crate::schema::Shape;

/// Most bytes of the schema of one output.
const SCHEMA: usize = 16 << 10;

pub(super) fn check(plan: &Plan, staff: Staff<'_>) -> Vec<Refusal> {
    let most = staff.lead.most_tasks();
    if plan.tasks.is_empty() {
        let words = "there is no task; write at least the one whose result is the answer";
        return vec![Refusal::new(Reason::NoTasks, "/tasks", words)];
    }
    if plan.tasks.len() > most {
        let count = plan.tasks.len();
        let words = format!("has {count} tasks; at most {most} are allowed: put some together");
        // The rest of so large a plan is made again anyway.
        return vec![Refusal::new(Reason::TooManyTasks, "/tasks", words)];
    }
    let mut checker = Checker { plan, staff, places: BTreeMap::new(), wrong: Vec::new() };
    checker.ids();
    for (at, task) in plan.tasks.iter().enumerate() {
        if checker.is_full() {
            return checker.wrong;
        }
        checker.goal(at, task);
        checker.agent(at, task);
        checker.tools(at, task);
        checker.needs(at, task);
        checker.inputs(at, task);
        checker.output(at, task);
    }
    checker.graph();
    checker.wrong
}

struct Checker<'c> {
    plan: &'c Plan,
    staff: Staff<'c>,
    /// The number of the first task of each id.
    places: BTreeMap<&'c str, usize>,
    wrong: Vec<Refusal>,
}

impl<'c> Checker<'c> {
    fn say(&mut self, code: Reason, place: String, words: impl Into<String>) {
        if !self.is_full() {
            self.wrong.push(Refusal::new(code, place, words));
        }
    }

    /// Whether no more is told. What comes behind is not looked at: to look for the name that is meant
    /// costs time for each name.
    const fn is_full(&self) -> bool {
        self.wrong.len() >= MOST
    }

    fn known(&self) -> Vec<&'c str> {
        self.places.keys().copied().collect()
    }

    fn ids(&mut self) {
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let place = format!("/tasks/{at}/id");
            if !is_name(&task.id) {
                let words = format!(
                    "`{}` is no id; write 1 to {NAME} characters of A-Z a-z 0-9 _ . -",
                    brief(&task.id)
                );
                self.say(Reason::BadName, place.clone(), words);
            } else if task.id == rules::TASK {
                let words =
                    format!("`{}` is the name of what a rule reads; give another", rules::TASK);
                self.say(Reason::BadName, place.clone(), words);
            }
            match self.places.get(task.id.as_str()) {
                Some(first) => {
                    let words = format!(
                        "`{}` is also the id of /tasks/{first}; give one of them another",
                        brief(&task.id)
                    );
                    self.say(Reason::DuplicateId, place, words);
                }
                None => drop(self.places.insert(&task.id, at)),
            }
        }
    }

    fn goal(&mut self, at: usize, task: &Task) {
        let place = format!("/tasks/{at}/goal");
        if task.goal.trim().is_empty() {
            let words = "is empty; say what the task is to find out, in one or two sentences";
            self.say(Reason::EmptyGoal, place, words);
        } else if task.goal.chars().nth(GOAL).is_some() {
            let words = format!("has more than {GOAL} characters; say it shorter");
            self.say(Reason::LongGoal, place, words);
        }
    }

    fn agent(&mut self, at: usize, task: &Task) {
        let Staff { agents, lead, .. } = self.staff;
        let place = format!("/tasks/{at}/agent");
        let team: Vec<&str> = agents.team(lead).map(|one| one.name.as_str()).collect();
        let name = brief(&task.agent);
        match agents.get(&task.agent) {
            None => {
                let words = format!("no agent is called `{name}`{}", hint(&task.agent, &team));
                self.say(Reason::UnknownAgent, place, words);
            }
            Some(agent) if !lead.may_lead(agent) => {
                let words =
                    format!("`{name}` takes no tasks here; take one of `{}`", team.join("`, `"));
                self.say(Reason::AgentNotAllowed, place, words);
            }
            Some(_) => {}
        }
    }

    fn tools(&mut self, at: usize, task: &Task) {
        let Staff { agents, tools, .. } = self.staff;
        let Some(named) = &task.tools else { return };
        let agent = agents.get(&task.agent);
        let own: Vec<&str> = tools
            .iter()
            .map(String::as_str)
            .filter(|name| agent.is_none_or(|agent| agent.may_use(name)))
            .collect();
        for (index, tool) in named.iter().enumerate() {
            if self.is_full() {
                return;
            }
            let place = format!("/tasks/{at}/tools/{index}");
            if !tools.contains(tool) {
                let words = format!("no tool is called `{}`{}", brief(tool), hint(tool, &own));
                self.say(Reason::UnknownTool, place, words);
            } else if let Some(agent) = agent.filter(|agent| !agent.may_use(tool)) {
                let others: Vec<&str> = agents
                    .team(self.staff.lead)
                    .filter(|other| other.may_use(tool))
                    .map(|other| other.name.as_str())
                    .collect();
                let mend = if others.is_empty() {
                    "leave it out".to_owned()
                } else {
                    format!("leave it out, or give the task to `{}`", others.join("` or `"))
                };
                let words = format!("`{}` does not have `{tool}`; {mend}", agent.name);
                self.say(Reason::ToolNotAllowed, place, words);
            }
        }
    }

    fn needs(&mut self, at: usize, task: &Task) {
        for (index, need) in task.needs.iter().enumerate() {
            if self.is_full() {
                return;
            }
            if !self.places.contains_key(need.as_str()) {
                let known = hint(need, &self.known());
                let words = format!("no task has the id `{}`{known}", brief(need));
                let place = format!("/tasks/{at}/needs/{index}");
                self.say(Reason::MissingDependency, place, words);
            }
        }
    }

    fn inputs(&mut self, at: usize, task: &Task) {
        let whole = format!("/tasks/{at}/inputs");
        if task.inputs.len() > INPUTS {
            let words = format!("has {} inputs; at most {INPUTS}", task.inputs.len());
            return self.say(Reason::BadShape, whole, words);
        }
        for (name, input) in &task.inputs {
            let place = format!("{whole}/{}", escape(name));
            if !is_name(name) {
                let words = "is no name; write 1 to 64 characters of A-Z a-z 0-9 _ . -";
                self.say(Reason::BadName, place.clone(), words);
            }
            if !is_pointer(&input.place) {
                let words = format!(
                    "`{}` is no JSON Pointer; write \"\" for the whole, or \"/name/0\"",
                    brief(&input.place)
                );
                self.say(Reason::BadPlace, format!("{place}/place"), words);
            }
            self.source(task, (name, &place));
        }
        if task.goal.chars().nth(GOAL).is_some() {
            return;
        }
        for name in holes(&task.goal) {
            if !task.inputs.contains_key(name) {
                let words = format!(
                    "names `{{{name}}}`, and `inputs` has no `{name}`; bind it, or say it in words"
                );
                self.say(Reason::UnboundInput, format!("/tasks/{at}/goal"), words);
            }
        }
    }

    /// Whether the task that an input comes from is there, needed, and can give it.
    fn source(&mut self, task: &Task, (name, place): (&str, &str)) {
        let Some(input) = task.inputs.get(name) else { return };
        let from = brief(&input.from);
        let Some(source) = self.plan.task(&input.from) else {
            let known = hint(&input.from, &self.known());
            let words = format!("comes from `{from}`, and no task has that id{known}");
            return self.say(Reason::UnboundInput, format!("{place}/from"), words);
        };
        if !task.needs.contains(&input.from) {
            let words = format!("comes from `{from}`, which `needs` does not name; add it there");
            return self.say(Reason::UnboundInput, format!("{place}/from"), words);
        }
        let schema = source.output.schema.as_ref();
        if is_pointer(&input.place) && schema.is_some_and(|schema| !can_have(schema, &input.place))
        {
            let words = format!(
                "by its output schema the result of `{from}` has no place `{}`",
                brief(&input.place)
            );
            self.say(Reason::BadPlace, format!("{place}/place"), words);
        }
    }

    fn output(&mut self, at: usize, task: &Task) {
        let place = format!("/tasks/{at}/output");
        if let Some(schema) = &task.output.schema {
            let length = schema.to_string().len();
            let why = if length > SCHEMA {
                Some(format!("it has {length} bytes; at most {SCHEMA}"))
            } else {
                Shape::compile(schema).err()
            };
            if let Some(why) = why {
                let words = format!("cannot be used: {why}; write a JSON Schema, or leave it out");
                self.say(Reason::BadSchema, format!("{place}/schema"), words);
            }
        }
        let declared: Vec<&str> = self.staff.lead.claims.keys().map(String::as_str).collect();
        for (index, claim) in task.output.claims.iter().enumerate() {
            if self.is_full() {
                return;
            }
            if !declared.is_empty() && !declared.contains(&claim.as_str()) {
                let words =
                    format!("no claim is called `{}`{}", brief(claim), hint(claim, &declared));
                self.say(Reason::UnknownClaim, format!("{place}/claims/{index}"), words);
            }
        }
    }

    fn graph(&mut self) {
        let needs: Vec<Vec<usize>> = self
            .plan
            .tasks
            .iter()
            .map(|task| {
                let found: BTreeSet<usize> = task
                    .needs
                    .iter()
                    .filter_map(|need| self.places.get(need.as_str()))
                    .copied()
                    .collect();
                found.into_iter().collect()
            })
            .collect();
        for circle in circles(&needs) {
            let id = |at: &usize| self.plan.tasks.get(*at).map_or("", |task| task.id.as_str());
            let path: Vec<&str> = circle.iter().chain(circle.first()).map(id).collect();
            let words =
                format!("these tasks wait for each other: {}; take one need out", path.join(" → "));
            let first = circle.first().copied().unwrap_or_default();
            self.say(Reason::Cycle, format!("/tasks/{first}/needs"), words);
        }
        let Some(answer) = self.places.get(self.plan.answer.as_str()).copied() else {
            let words = format!(
                "no task has the id `{}`{}",
                brief(&self.plan.answer),
                hint(&self.plan.answer, &self.known())
            );
            return self.say(Reason::UnknownAnswer, "/answer".to_owned(), words);
        };
        let reached = reached(answer, &needs);
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let is_first = self.places.get(task.id.as_str()) == Some(&at);
            if is_first && !reached.contains(&at) {
                let words = format!(
                    "the answer `{}` does not depend on `{}`; let a task need it, or leave it out",
                    self.plan.answer, task.id
                );
                self.say(Reason::UnreachableTask, format!("/tasks/{at}"), words);
            }
        }
    }
}

/// The tasks that one depends on, itself among them.
fn reached(from: usize, needs: &[Vec<usize>]) -> BTreeSet<usize> {
    let (mut found, mut todo) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = todo.pop() {
        for need in needs.get(at).into_iter().flatten() {
            if found.insert(*need) {
                todo.push(*need);
            }
        }
    }
    found
}

/// The names in `{name}` of a goal. Braces around anything else are text.
pub(super) fn holes(goal: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for part in goal.split('{').skip(1) {
        if let Some((name, _)) = part.split_once('}')
            && is_name(name)
            && !found.contains(&name)
        {
            found.push(name);
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !name.is_empty() && name.len() <= NAME && name.bytes().all(legal)
}

fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes
}
