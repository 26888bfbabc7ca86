//! Grows the trace of one run: what was found and what is to be compared in, labelled steps with their
//! results and confidences out. What cannot be shown from the evidence is refused and leaves no step.

mod answer;
mod operand;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::check;
use super::compare::{self, Operator};
use super::confidence::{self, Config};
use super::read;
use super::refusal::{Reason, Refusal};
use super::schema::{item_digest, seal};
use super::trace::{
    Answer, Combine, FOLLOW_UPS, Fact, Found, Item, Label, Operand, Operation, Partial, Source,
    Step, StepKind, Summary, Trace, VERSION,
};
use super::value::Value;

/// The name of the fact of the question that tells the date asked about.
pub(super) const AS_OF: &str = "as_of";
/// Longest text of an inference, in characters.
const STATEMENT: usize = 2000;

/// How a trace begins.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The run.
    pub run: String,
    /// What is asked.
    pub question: String,
    /// When.
    pub asked_at: Timestamp,
    /// The instant that the question is about.
    pub as_of: Timestamp,
    /// The zone in which its days begin, of the IANA database.
    pub time_zone: String,
    /// Summaries of the turns before it, latest first.
    pub earlier: Vec<Summary>,
}

/// One side of a comparison as somebody asks for it: evidence, and the value in it or the name of one
/// of its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// The evidence.
    pub evidence: Label,
    /// The value as the evidence spells it, or the name of a fact.
    pub value: String,
    /// The name that a rule gives it; a model gives none.
    #[serde(skip)]
    pub name: String,
    /// The unit that a rule gives to a number without one; a model gives none.
    #[serde(skip)]
    pub unit: String,
    /// The kind that a rule declares.
    #[serde(skip)]
    pub kind: Option<read::Type>,
}

impl Pick {
    /// A value or fact of this evidence.
    pub fn new(evidence: &Label, value: impl Into<String>) -> Self {
        let (name, unit) = (String::new(), String::new());
        Self { evidence: evidence.clone(), value: value.into(), name, unit, kind: None }
    }
}

/// A comparison as a model asks for it: the arguments of the built-in `compare`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The left side.
    pub left: Pick,
    /// How.
    pub operator: Operator,
    /// The right side.
    pub right: Pick,
}

/// What was added to a trace: enough to add it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grown {
    /// The evidence, where the step brought some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// The step.
    pub step: Step,
}

impl Grown {
    /// The label that a model cites: that of the evidence, or else of the step.
    pub fn label(&self) -> &Label {
        self.item.as_ref().map_or(&self.step.id, |item| &item.id)
    }
}

/// Grows a trace.
#[derive(Debug, Clone)]
pub struct Builder {
    trace: Trace,
    zone: TimeZone,
}

impl Builder {
    /// A trace that knows the question only. A time zone that does not exist is taken as UTC, and the
    /// trace says so.
    pub fn new(opening: Opening, constants: Config) -> Self {
        let zone = TimeZone::get(&opening.time_zone).ok();
        let time_zone = if zone.is_some() { opening.time_zone } else { "UTC".to_owned() };
        let mut follow_ups = opening.earlier;
        follow_ups.truncate(FOLLOW_UPS);
        let trace = Trace {
            version: VERSION,
            run: opening.run,
            question: opening.question,
            asked_at: opening.asked_at,
            as_of: opening.as_of,
            time_zone,
            constants,
            evidence: Vec::new(),
            steps: Vec::new(),
            answer: None,
            partial: None,
            follow_ups,
            seal: String::new(),
        };
        let mut builder = Self { trace, zone: zone.unwrap_or(TimeZone::UTC) };
        let mut found = Found::new(Source::Question {}, builder.trace.question.clone());
        found.valid_from = Some(builder.trace.as_of);
        found.facts = vec![Fact {
            name: AS_OF.to_owned(),
            value: read::spell(builder.trace.as_of),
            unit: String::new(),
            pointer: String::new(),
        }];
        let asked_at = builder.trace.asked_at;
        builder.bring(found, Label::question(), asked_at);
        builder
    }

    /// Goes on with a trace as it was kept while it grew.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn resume(mut trace: Trace) -> Result<Self, Vec<Refusal>> {
        let wrong = check::steps(&trace);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let zone = TimeZone::get(&trace.time_zone).unwrap_or(TimeZone::UTC);
        trace.seal.clear();
        Ok(Self { trace, zone })
    }

    /// The trace so far, without its seal.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The zone in which its days begin.
    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Adds what an earlier growth gave, as it is: for a run that is read from its events, in whatever
    /// order those were kept. The checker finds what does not fit.
    pub fn again(&mut self, grown: Grown) {
        let Grown { item, step } = grown;
        if let Some(item) = item
            && self.trace.item(&item.id).is_none()
        {
            let all = &mut self.trace.evidence;
            let place = all.partition_point(|one| one.id.number() < item.id.number());
            all.insert(place, item);
        }
        if self.trace.step(&step.id).is_none() {
            let all = &mut self.trace.steps;
            let place = all.partition_point(|one| one.id.number() < step.id.number());
            all.insert(place, step);
        }
    }

    /// Adds evidence whose step was lost, under the label that it had: with the number that its step must
    /// have had. `None` where it is there.
    pub fn put_back(&mut self, item: Item, at: Timestamp) -> Option<Step> {
        if self.trace.item(&item.id).is_some() {
            return None;
        }
        let number = item.id.number();
        let steps = &self.trace.steps;
        let is_before = |step: &&Step| {
            let brought = step.evidence.first().filter(|_| step.operation.is_none());
            brought.is_some_and(|one| one.number() < number)
        };
        let before = steps.iter().filter(is_before).map(|step| step.id.number()).max();
        let from = before.unwrap_or_default() + 1;
        let taken = |one: &usize| steps.iter().any(|step| step.id.number() == *one);
        let step = (from..).find(|one| !taken(one)).unwrap_or(from);
        let next = steps.iter().find(|one| one.id.number() > step);
        let last = steps.iter().rfind(|one| one.id.number() < step);
        let at = next.map_or(at, |next| at.min(next.at));
        let at = last.map_or(at, |last| at.max(last.at));
        let step = bringing(&item, (Label::numbered('S', step), at), &self.trace);
        self.again(Grown { item: Some(item), step: step.clone() });
        Some(step)
    }

    /// Ends the trace with what its run came to; what is refused in it is named, and left in it.
    pub fn ended(
        mut self,
        answer: Option<Answer>,
        partial: Option<Partial>,
    ) -> (Trace, Vec<Refusal>) {
        (self.trace.answer, self.trace.partial) = (answer, partial);
        let wrong = check::steps(&self.trace);
        (self.finish(), wrong)
    }

    /// Adds evidence: of the memory, a rule or another agent, or the reply of a tool. Equal evidence of
    /// one source keeps the label that it has.
    pub fn found(&mut self, found: Found, at: Timestamp) -> Grown {
        let known = self.trace.evidence.iter().find(|item| {
            item.source == found.source && item.text == found.text && item.facts == found.facts
        });
        let step = known.and_then(|item| {
            let brings =
                |step: &&Step| step.operation.is_none() && step.evidence.first() == Some(&item.id);
            self.trace.steps.iter().find(brings)
        });
        if let (Some(item), Some(step)) = (known, step) {
            return Grown { item: Some(item.clone()), step: step.clone() };
        }
        let last = self.trace.evidence.iter().map(|item| item.id.number()).max();
        self.bring(found, Label::numbered('E', last.unwrap_or_default() + 1), at)
    }

    fn bring(&mut self, found: Found, id: Label, at: Timestamp) -> Grown {
        // How well a reply fits is not for a tool to say.
        let score = match found.source {
            Source::Tool { .. } => 1.0,
            _ if found.score.is_finite() => found.score.clamp(0.0, 1.0),
            _ => 0.0,
        };
        let mut item = Item {
            id,
            source: found.source,
            text: found.text,
            facts: found.facts,
            valid_from: found.valid_from,
            valid_to: found.valid_to,
            trust: found.trust.min(100),
            score,
            untrusted: found.untrusted,
            digest: String::new(),
        };
        item.digest = item_digest(&item);
        let step = bringing(&item, (self.next_step(), self.not_before(at)), &self.trace);
        self.trace.evidence.push(item.clone());
        self.trace.steps.push(step.clone());
        Grown { item: Some(item), step }
    }

    /// Compares two values that stand in evidence. By code: what a model thinks of them plays no part.
    ///
    /// # Errors
    /// Where a value is not in its evidence, cannot be read in one way, or the two cannot be compared.
    pub fn compare(
        &mut self,
        left: &Pick,
        operator: Operator,
        right: &Pick,
        at: Timestamp,
    ) -> Result<Grown, Refusal> {
        let left = self.operand(left, "/left")?;
        let right = self.operand(right, "/right")?;
        self.compare_operands(left, operator, right, at)
    }

    /// The same of operands that are there already.
    pub(super) fn compare_operands(
        &mut self,
        left: Operand,
        operator: Operator,
        right: Operand,
        at: Timestamp,
    ) -> Result<Grown, Refusal> {
        let compared = compare::compare(&left.value, operator, &right.value, &self.zone)
            .map_err(|wrong| Refusal::new(Reason::Incomparable, "/operator", wrong.to_string()))?;
        let operands = vec![left, right];
        let evidence = check::evidence_of(&operands);
        let inputs = check::confidences(&self.trace, &evidence, &[]);
        let step = Step {
            id: self.next_step(),
            kind: StepKind::NumericalComparison,
            evidence,
            premises: Vec::new(),
            operation: Some(Operation::Compare(operator)),
            operands,
            result: Some(Value::of(compared.holds)),
            confidence: confidence::comparison(inputs, &self.trace.constants),
            at: self.not_before(at),
            text: compared.why,
        };
        Ok(Grown { item: None, step: self.concluded(step) })
    }

    /// Adds what a model concludes from evidence and steps that are there. The code vouches for the
    /// premises, not for the conclusion.
    ///
    /// # Errors
    /// Where a premise is not there, or none is named.
    pub fn infer(
        &mut self,
        premises: &[Label],
        statement: &str,
        at: Timestamp,
    ) -> Result<Grown, Refusal> {
        if premises.is_empty() {
            let message = "a conclusion needs at least one premise: name evidence or steps";
            return Err(Refusal::new(Reason::Unsupported, "/premises", message));
        }
        for (place, label) in premises.iter().enumerate() {
            if self.trace.item(label).is_none() && self.trace.step(label).is_none() {
                let place = format!("/premises/{place}");
                return Err(self.unknown(label, &place));
            }
        }
        let (evidence, steps): (Vec<Label>, Vec<Label>) =
            premises.iter().cloned().partition(|label| self.trace.item(label).is_some());
        let text: String = statement.trim().chars().take(STATEMENT).collect();
        Ok(self.conclude(Combine::State, (evidence, steps), (None, text), at))
    }

    /// Combines comparisons into one result.
    pub(super) fn combine(
        &mut self,
        combine: Combine,
        evidence: Vec<Label>,
        premises: Vec<Label>,
        (text, at): (String, Timestamp),
    ) -> Grown {
        let holds = check::combined(&self.trace, combine, &premises);
        self.conclude(combine, (evidence, premises), (holds.map(Value::of), text), at)
    }

    fn conclude(
        &mut self,
        combine: Combine,
        (evidence, premises): (Vec<Label>, Vec<Label>),
        (result, text): (Option<Value>, String),
        at: Timestamp,
    ) -> Grown {
        let inputs = check::confidences(&self.trace, &evidence, &premises);
        let confidence = match combine {
            Combine::State => confidence::statement(inputs, &self.trace.constants),
            Combine::All | Combine::Any => confidence::combination(inputs, &self.trace.constants),
        };
        let step = Step {
            id: self.next_step(),
            kind: StepKind::LogicalInference,
            evidence,
            premises,
            operation: Some(Operation::Combine(combine)),
            operands: Vec::new(),
            result,
            confidence,
            at: self.not_before(at),
            text,
        };
        Grown { item: None, step: self.concluded(step) }
    }

    /// A step that compares or concludes; one that is there already keeps its label, as after a restart.
    fn concluded(&mut self, step: Step) -> Step {
        let Step { id: _, at: _, operation, evidence, premises, operands, .. } = &step;
        let known = self.trace.steps.iter().find(|one| {
            (&one.operation, &one.evidence) == (operation, evidence)
                && (&one.premises, &one.operands) == (premises, operands)
                && one.text == step.text
        });
        if let Some(known) = known {
            return known.clone();
        }
        self.trace.steps.push(step.clone());
        step
    }

    /// Ends the trace: it has its seal from then on.
    pub fn finish(mut self) -> Trace {
        self.trace.seal = seal(&self.trace);
        self.trace
    }

    fn next_step(&self) -> Label {
        let last = self.trace.steps.iter().map(|step| step.id.number()).max();
        Label::numbered('S', last.unwrap_or_default() + 1)
    }

    /// Clocks can be set back; steps stay in order.
    fn not_before(&self, at: Timestamp) -> Timestamp {
        self.trace.steps.last().map_or(at, |step| step.at.max(at))
    }
}

/// The step that brings evidence.
fn bringing(item: &Item, (id, at): (Label, Timestamp), trace: &Trace) -> Step {
    Step {
        id,
        kind: check::kind_of(&item.source),
        evidence: vec![item.id.clone()],
        premises: Vec::new(),
        operation: None,
        operands: Vec::new(),
        result: None,
        confidence: confidence::of_item(item, trace.as_of, &trace.constants),
        at,
        text: brings(item),
    }
}

/// What a step that brings evidence says.
pub(super) fn brings(item: &Item) -> String {
    match &item.source {
        Source::Question {} => "the question, and the time it is asked for".to_owned(),
        Source::Memory { evidence, collection } => format!("{evidence} of `{collection}`"),
        Source::Tool { tool, call_id, success: true, .. } => {
            format!("`{tool}` answered ({call_id})")
        }
        Source::Tool { tool, call_id, success: false, .. } => {
            format!("`{tool}` failed ({call_id})")
        }
        Source::Rule { id, .. } => format!("rule `{id}`"),
        Source::Earlier { run } => format!("the question of the earlier run {run}"),
        Source::Message { from, id } => format!("message {id} of `{from}`"),
        Source::Recall { evidence, .. } => format!("a recall brought {} units", evidence.len()),
    }
}
