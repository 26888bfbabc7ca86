//! Cases of a plan: which are open, who settles them, and what becomes of the messages in them.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;

use super::{Course, Hearing, Held, Move, ancestors};
use crate::evidence::Source;
use crate::reason::judge::{self, Bench, Case, Ruling, contradictions};
use crate::reason::message::{Message, Review, agree, same_scope};

impl Course {
    /// Takes what the judge said of a case, or why there is nothing.
    pub(in crate::reason) fn judged(&mut self, case: &Case, said: Result<&str, String>) {
        let Some(mut refused) = self.hearings.remove(&key(case)) else { return };
        let Some(judge) = self.judge() else { return };
        let text = match said {
            Ok(text) => text,
            Err(why) => {
                let words = format!("The judge `{}` gave no ruling: {why}.", judge.name);
                return self.rule(judge::nobody(case, words, refused));
            }
        };
        match judge::read(case, &judge.name, text) {
            Ok(ruling) => self.rule(Ruling { refused, ..ruling }),
            // It is asked again once, for what did not hold the first time.
            Err(wrong) if refused.is_empty() => {
                let before = Some((text.to_owned(), judge::mend(&wrong)));
                refused.extend(wrong);
                self.hearings.insert(key(case), refused);
                let hearing = Hearing { case: case.clone(), judge, before };
                self.queue.push_back(Move::Hear(Box::new(hearing)));
            }
            Err(wrong) => {
                refused.extend(wrong);
                let words = format!("No ruling of the judge `{}` held.", judge.name);
                self.rule(judge::nobody(case, words, refused));
            }
        }
    }

    /// Keeps a ruling, and goes by it.
    fn rule(&mut self, ruling: Ruling) {
        self.board.rule(ruling.clone());
        let case = ruling.case.clone();
        self.queue.push_back(Move::Rule(Box::new(ruling)));
        if case.is_review {
            let task = case.packs.first().and_then(|pack| pack.message.rsplit_once('#'));
            if let Some((task, _)) = task
                && let Some(held) = self.held.remove(task)
            {
                self.held(task, held);
            }
        }
    }

    /// Whether nothing stands against nothing any more among what a task builds on, or among all
    /// messages; opens hearings for what does.
    pub(super) fn settled(&mut self, task: Option<&str>) -> bool {
        loop {
            let open = self.open_cases(task);
            if open.is_empty() {
                return true;
            }
            let mut waits = false;
            for case in open {
                waits |= !self.hear(case);
            }
            if waits {
                return false;
            }
        }
    }

    /// Has a case settled; false while the judge is asked.
    fn hear(&mut self, case: Case) -> bool {
        let Some(judge) = self.judge() else {
            self.rule(judge::settle(&case, &self.crew.lead.team.settle));
            return true;
        };
        if let Entry::Vacant(free) = self.hearings.entry(key(&case)) {
            free.insert(Vec::new());
            let hearing = Hearing { case, judge, before: None };
            self.queue.push_back(Move::Hear(Box::new(hearing)));
        }
        false
    }

    fn judge(&self) -> Option<std::sync::Arc<crate::reason::agent::Agent>> {
        let judge = self.crew.agents.judge(&self.crew.lead)?;
        self.crew.hears.then(|| std::sync::Arc::clone(judge))
    }

    /// The contradictions that nothing was ruled about: among what a task builds on, or among all.
    pub(super) fn open_cases(&self, task: Option<&str>) -> Vec<Case> {
        let plan = self.board.plan();
        let before = task.map(|task| ancestors(plan, task));
        let messages: Vec<&Message> = self
            .board
            .messages()
            .filter(|one| before.as_ref().is_none_or(|before| before.contains(&one.task)))
            .filter(|one| !self.is_after_ruling(one))
            .collect();
        let rulings = self.board.rulings();
        contradictions(&messages, self.bench())
            .into_iter()
            .filter(|case| !rulings.iter().any(|ruling| ruling.case.is_same(case)))
            .collect()
    }

    /// Whether a message was made with a ruling on the same in view: it agrees with that, or the ruling
    /// left it open.
    fn is_after_ruling(&self, message: &Message) -> bool {
        let before = ancestors(self.board.plan(), &message.task);
        self.board.rulings().iter().filter(|ruling| !ruling.case.is_review).any(|ruling| {
            let case = &ruling.case;
            let tasks = case.packs.iter().filter_map(|pack| pack.message.rsplit_once('#'));
            case.claim == message.claim
                && same_scope(&case.scope, &message.scope)
                && tasks.map(|(task, _)| task).all(|task| before.contains(task))
        })
    }

    fn bench(&self) -> Bench<'_> {
        Bench {
            lead: &self.crew.lead,
            grounds: &self.grounds,
            rules: &self.crew.laws,
            zone: &self.crew.zone,
        }
    }

    /// Lets a report travel on, once each message of low confidence in it is reviewed: by a message that
    /// says the same from other evidence, otherwise by the judge.
    pub(super) fn held(&mut self, task: &str, mut held: Held) {
        let (mut refusals, mut waits) = (Vec::new(), Vec::new());
        for (at, refusal) in &held.checked.low {
            let Some(message) = held.checked.messages.get(*at) else { continue };
            if let Some(review) = self.corroborated(message) {
                if let Some(message) = held.checked.messages.get_mut(*at) {
                    message.review = Some(review);
                }
                continue;
            }
            let case = judge::review(message, self.bench());
            let ruled = self.board.rulings().iter().find(|ruling| ruling.case.is_same(&case));
            match ruled.map(|ruling| (ruling.upheld().is_some(), ruling)) {
                Some((true, ruling)) => {
                    let by = self.judge().map_or_else(String::new, |judge| judge.name.clone());
                    let review = Review { by, words: ruling.words.clone() };
                    if let Some(message) = held.checked.messages.get_mut(*at) {
                        message.review = Some(review);
                    }
                }
                Some((false, _)) => refusals.push(refusal.clone()),
                None if self.judge().is_some() => waits.push(case),
                None => refusals.push(refusal.clone()),
            }
        }
        if !refusals.is_empty() {
            return self.refuse(task, held.attempt, refusals);
        }
        if waits.is_empty() {
            return self.end(task, held);
        }
        self.held.insert(task.to_owned(), held);
        for case in waits {
            self.hear(case);
        }
    }

    /// The review of a message by one of another task that says the same from other evidence.
    fn corroborated(&self, message: &Message) -> Option<Review> {
        let claim = self.crew.lead.claims.get(&message.claim);
        let roots = self.roots(message);
        let other = self.board.messages().find(|other| {
            other.task != message.task
                && other.claim == message.claim
                && same_scope(&other.scope, &message.scope)
                && self.roots(other).iter().all(|source| !roots.contains(source))
                && agree(claim, (other, message), &self.crew.zone) == Ok(true)
        })?;
        let words = format!("{} says the same from other evidence", other.id);
        Some(Review { by: other.id.clone(), words })
    }

    /// Where the data of a message comes from in the end: in place of another message, that one's sources.
    fn roots<'m>(&'m self, message: &'m Message) -> Vec<&'m Source> {
        let (mut found, mut todo, mut seen) = (Vec::new(), vec![message], BTreeSet::new());
        while let Some(one) = todo.pop() {
            if !seen.insert(one.id.as_str()) {
                continue;
            }
            for source in &one.source {
                let repeated = match source {
                    Source::Message { id, .. } => self.board.messages().find(|one| one.id == *id),
                    _ => None,
                };
                match repeated {
                    Some(repeated) => todo.push(repeated),
                    None => found.push(source),
                }
            }
        }
        found
    }
}

/// What a hearing is kept under.
fn key(case: &Case) -> String {
    let messages: Vec<&str> = case.packs.iter().map(|pack| pack.message.as_str()).collect();
    format!("{} {}", case.is_review, messages.join(" "))
}
