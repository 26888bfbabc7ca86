//! Text of a model in, a [`Plan`] as it is written out, or every place that has not the form of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{BYTES, Input, MOST, Output, Plan, Reason, Refusal, Task};
use crate::pointer::escape;
use crate::reason::refusal::{brief, unread};
use crate::schema::loosely;

pub(super) fn read(text: &str) -> Result<Plan, Vec<Refusal>> {
    let unreadable = |words: String| vec![Refusal::new(Reason::Unreadable, "", words)];
    if text.len() > BYTES {
        let length = text.len();
        return Err(unreadable(format!("the plan has {length} bytes; at most {BYTES} are read")));
    }
    let (value, _) = loosely(text).map_err(|error| {
        unreadable(format!(
            "the plan cannot be read: {}; answer with one JSON object",
            unread(&error)
        ))
    })?;
    let Value::Object(members) = &value else {
        let words = "the plan is no JSON object; write {\"tasks\": [...], \"answer\": \"ID\"}";
        return Err(unreadable(words.to_owned()));
    };
    let mut reader = Reader { wrong: Vec::new() };
    let plan = reader.plan(members);
    if reader.wrong.is_empty() { Ok(plan) } else { Err(reader.wrong) }
}

struct Reader {
    wrong: Vec<Refusal>,
}

impl Reader {
    fn say(&mut self, place: &str, words: impl Into<String>) {
        if self.wrong.len() < MOST {
            self.wrong.push(Refusal::new(Reason::BadShape, place, words));
        }
    }

    fn plan(&mut self, members: &Map<String, Value>) -> Plan {
        self.only(members, "", &["tasks", "answer"]);
        let mut tasks = Vec::new();
        match members.get("tasks") {
            Some(Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    tasks.extend(self.task(item, &format!("/tasks/{at}")));
                }
            }
            Some(_) => self.say("/tasks", "must be an array of tasks"),
            None => self.say("", "`tasks` is missing; write an array of tasks"),
        }
        let answer = self.text(members, "", "answer");
        if answer.is_none() && !members.contains_key("answer") {
            self.say("", "`answer` is missing; name the task whose result is the answer");
        }
        Plan { tasks, answer: answer.unwrap_or_default() }
    }

    fn task(&mut self, item: &Value, place: &str) -> Option<Task> {
        let Value::Object(members) = item else {
            self.say(place, "must be an object with `id`, `agent` and `goal`");
            return None;
        };
        let known = ["id", "agent", "goal", "needs", "inputs", "tools", "output"];
        self.only(members, place, &known);
        for name in ["id", "agent", "goal"] {
            if !members.contains_key(name) {
                self.say(
                    place,
                    format!("`{name}` is missing; a task has `id`, `agent` and `goal`"),
                );
            }
        }
        Some(Task {
            id: self.text(members, place, "id").unwrap_or_default(),
            agent: self.text(members, place, "agent").unwrap_or_default(),
            goal: self.text(members, place, "goal").unwrap_or_default(),
            needs: self.texts(members, place, "needs").unwrap_or_default(),
            inputs: self.inputs(members, place),
            tools: self.texts(members, place, "tools"),
            output: self.output(members, place),
        })
    }

    fn inputs(&mut self, members: &Map<String, Value>, place: &str) -> BTreeMap<String, Input> {
        let mut inputs = BTreeMap::new();
        let Some(given) = self.object(members, place, "inputs") else { return inputs };
        for (name, input) in given {
            let place = format!("{place}/inputs/{}", escape(name));
            let Value::Object(parts) = input else {
                self.say(&place, "must be {\"from\": \"TASK\", \"place\": \"/json/pointer\"}");
                continue;
            };
            self.only(parts, &place, &["from", "place"]);
            let from = self.text(parts, &place, "from");
            if from.is_none() && !parts.contains_key("from") {
                self.say(&place, "`from` is missing; name the task whose result is taken");
            }
            let inside = self.text(parts, &place, "place").unwrap_or_default();
            let input = Input { from: from.unwrap_or_default(), place: inside };
            inputs.insert(name.clone(), input);
        }
        inputs
    }

    fn output(&mut self, members: &Map<String, Value>, place: &str) -> Output {
        let Some(given) = self.object(members, place, "output") else { return Output::default() };
        let place = format!("{place}/output");
        self.only(given, &place, &["schema", "claims", "scope"]);
        let schema = given.get("schema").filter(|schema| !schema.is_null());
        if schema.is_some_and(|schema| !schema.is_object()) {
            self.say(&format!("{place}/schema"), "must be a JSON Schema, which is an object");
        }
        let mut scope = BTreeMap::new();
        for (name, value) in self.object(given, &place, "scope").into_iter().flatten() {
            match value {
                Value::String(text) => drop(scope.insert(name.clone(), text.clone())),
                Value::Number(number) => drop(scope.insert(name.clone(), number.to_string())),
                _ => self.say(&format!("{place}/scope/{}", escape(name)), "must be text"),
            }
        }
        Output {
            schema: schema.cloned(),
            claims: self.texts(given, &place, "claims").unwrap_or_default(),
            scope,
        }
    }

    /// Members that are none of a plan.
    fn only(&mut self, members: &Map<String, Value>, place: &str, known: &[&str]) {
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let words = format!("is no member; known are `{}`", known.join("`, `"));
            self.say(&format!("{place}/{}", escape(&brief(name))), words);
        }
    }

    fn text(&mut self, members: &Map<String, Value>, place: &str, name: &str) -> Option<String> {
        match members.get(name)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.say(&format!("{place}/{name}"), "must be text");
                None
            }
        }
    }

    fn texts(
        &mut self,
        members: &Map<String, Value>,
        place: &str,
        name: &str,
    ) -> Option<Vec<String>> {
        let items = match members.get(name)? {
            Value::Null => return None,
            Value::Array(items) => items,
            _ => {
                self.say(&format!("{place}/{name}"), "must be an array of texts");
                return None;
            }
        };
        let mut texts = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.say(&format!("{place}/{name}/{at}"), "must be text"),
            }
        }
        Some(texts)
    }

    fn object<'m>(
        &mut self,
        members: &'m Map<String, Value>,
        place: &str,
        name: &str,
    ) -> Option<&'m Map<String, Value>> {
        match members.get(name)? {
            Value::Null => None,
            Value::Object(inner) => Some(inner),
            _ => {
                self.say(&format!("{place}/{name}"), "must be an object");
                None
            }
        }
    }
}
