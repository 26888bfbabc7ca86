//! What a rule needs to know before it decides: the facts that the question gives in, the reads that
//! are left out, step by step, since a read may need what another one brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::fact::{self, Untaken};
use super::{Fact, Loaded, Origin, Take};
use crate::evidence::builder::{AS_OF, Builder, Grown};
use crate::evidence::follow::Given;
use crate::evidence::read::Unread;
use crate::evidence::refusal::Refusal;
use crate::evidence::trace::{self, Found, Item, Label, Operand, Source};
use crate::evidence::value::Value;

/// Name of the fact that tells how many hits a recall brought.
pub(in crate::evidence) const COUNT: &str = "count";

/// The values that are known, by name.
type Values<'k> = &'k dyn Fn(&str) -> Option<Value>;
/// The same in words.
type Words<'k> = &'k dyn Fn(&str) -> Option<String>;

/// One thing to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The facts that it is for.
    pub facts: Vec<String>,
    /// What to read.
    pub want: Want,
}

/// What to read, and where.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// From the memory: hand the hits to [`Plan::recalled`].
    Memory(MemoryRead),
    /// From a tool: hand the reply to [`Plan::replied`].
    Tool {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Json>,
    },
}

/// A question to the memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRead {
    /// In words; empty for the filters alone.
    pub question: String,
    /// The collection.
    pub collection: String,
    /// Metadata that must be equal.
    pub filter: Map<String, Json>,
    /// Whether every hit matters, not only the best.
    pub is_count: bool,
}

/// Why a rule cannot decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// A fact is not there.
    #[error("rule `{rule}` needs `{fact}`: {why}")]
    Missing {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// Where it was looked for, and how to give it.
        why: String,
    },
    /// A fact has several values.
    #[error("rule `{rule}` finds several values for `{fact}`: {values}; say which one is meant")]
    Several {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// The values.
        values: String,
    },
    /// A fact cannot be read.
    #[error("rule `{rule}` cannot read `{fact}`: {source}")]
    Unread {
        /// The rule.
        rule: String,
        /// The fact.
        fact: String,
        /// Why.
        source: Unread,
    },
    /// What was found cannot be shown to be so.
    #[error("rule `{rule}`: {source}")]
    Refused {
        /// The rule.
        rule: String,
        /// Why.
        source: Refusal,
    },
}

/// A rule at work. What it finds and concludes goes into the builder, also where it gets stuck.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) rule: Arc<Loaded>,
    pub(super) known: BTreeMap<String, Operand>,
    pub(super) label: Label,
}

impl Plan {
    /// Begins with what the question gives. `given` takes the place of the question for the facts that it
    /// has: those of a follow-up.
    ///
    /// # Errors
    /// [`Stuck`], where the question lacks a fact, or has it in several ways.
    pub fn begin(
        rule: Arc<Loaded>,
        builder: &mut Builder,
        given: &BTreeMap<String, Given>,
        at: Timestamp,
    ) -> Result<Self, Stuck> {
        let as_of = builder.trace().as_of;
        if !rule.holds_at(as_of) {
            let why = format!("it is not in force at {as_of}: ask for a date on which it is");
            let (rule, fact) = (rule.rule.id.clone(), AS_OF.to_owned());
            return Err(Stuck::Missing { rule, fact, why });
        }
        let label = builder.found(rule.evidence(), at).label().clone();
        let mut plan = Self { rule, known: BTreeMap::new(), label };
        let loaded = Arc::clone(&plan.rule);
        for (name, fact) in &loaded.rule.facts {
            let (evidence, value) = match fact.from {
                Origin::Question => match given.get(name) {
                    Some(given) => (earlier(builder, given, at), given.spelled.clone()),
                    None => {
                        let question = builder.trace().question.clone();
                        let found = (plan.id(), name.as_str(), fact);
                        let spelled = fact::in_question(found, &question, builder.zone())?;
                        (Label::question(), spelled)
                    }
                },
                Origin::AsOf => (Label::question(), AS_OF.to_owned()),
                Origin::Rule => (plan.label.clone(), format!("value.{name}")),
                Origin::Memory | Origin::Tool | Origin::Derived => continue,
            };
            let unit = given.get(name).map_or("", |given| given.unit.as_str());
            plan.keep(builder, (name, fact), (&evidence, value), unit)?;
        }
        plan.derive(builder)?;
        Ok(plan)
    }

    pub(super) fn id(&self) -> &str {
        &self.rule.rule.id
    }

    /// That a fact is not there; why it is not, and how to give it.
    pub fn missing(&self, fact: &str, why: impl Into<String>) -> Stuck {
        Stuck::Missing { rule: self.id().to_owned(), fact: fact.to_owned(), why: why.into() }
    }

    pub(super) fn refused(&self, source: Refusal) -> Stuck {
        Stuck::Refused { rule: self.id().to_owned(), source }
    }

    /// What can be read now. Empty when everything is known; more may follow once these are taken.
    pub fn reads(&self) -> Vec<Read> {
        let value = |name: &str| self.known.get(name).map(|operand| operand.value.clone());
        let words = |name: &str| value(name).map(|value| value.to_string());
        let facts = self.rule.rule.facts.iter().filter(|(name, _)| !self.known.contains_key(*name));
        let mut reads: Vec<Read> = Vec::new();
        for (name, fact) in facts {
            let Some(want) = want(fact, (&value, &words)) else { continue };
            match reads.iter_mut().find(|read| read.want == want) {
                Some(read) => read.facts.push(name.clone()),
                None => reads.push(Read { facts: vec![name.clone()], want }),
            }
        }
        reads
    }

    fn declared(&self, name: &str) -> Result<Fact, Stuck> {
        let fact = self.rule.rule.facts.get(name).cloned();
        fact.ok_or_else(|| self.missing(name, "the rule has no such fact"))
    }

    /// Takes the hits of a [`Want::Memory`], best first.
    ///
    /// # Errors
    /// [`Stuck`], where none states a fact, or several state different values.
    pub fn recalled(
        &mut self,
        facts: &[String],
        builder: &mut Builder,
        hits: Vec<Found>,
        at: Timestamp,
    ) -> Result<(), Stuck> {
        let trust = hits.iter().map(|hit| hit.trust).min().unwrap_or(100);
        let mut grown: Vec<Grown> =
            hits.into_iter().map(|found| builder.found(found, at)).collect();
        for name in facts {
            let fact = self.declared(name)?;
            if fact.take == Take::Count {
                let counted = builder.found(count(&fact, &grown, trust), at);
                self.keep(builder, (name, &fact), (counted.label(), COUNT.to_owned()), "")?;
                grown.push(counted);
            } else {
                let operand = self.of_hits(builder, (name, &fact), &grown)?;
                self.known.insert(name.to_owned(), operand);
            }
        }
        self.derive(builder)
    }

    /// The operand that the hits give by the fact's `take`.
    fn of_hits(
        &self,
        builder: &Builder,
        (name, fact): (&str, &Fact),
        grown: &[Grown],
    ) -> Result<Operand, Stuck> {
        let items: Vec<&Item> = grown.iter().filter_map(|one| one.item.as_ref()).collect();
        let at = (builder.trace(), builder.zone());
        fact::taken(at, (name, fact), &items).map_err(|untaken| match untaken {
            Untaken::Nothing => {
                let what = if fact.fact.is_empty() { &fact.pattern } else { &fact.fact };
                let place = &fact.collection;
                self.missing(name, format!("nothing in `{place}` that is in force states `{what}`"))
            }
            Untaken::Several(values) => {
                let (rule, fact) = (self.id().to_owned(), name.to_owned());
                Stuck::Several { rule, fact, values }
            }
            Untaken::Refused(wrong) => self.refused(wrong),
        })
    }

    /// Takes the reply of a [`Want::Tool`] with its data.
    ///
    /// # Errors
    /// [`Stuck`], where the tool failed or its data lacks a fact.
    pub fn replied(
        &mut self,
        facts: &[String],
        builder: &mut Builder,
        (mut found, data): (Found, &Json),
        at: Timestamp,
    ) -> Result<(), Stuck> {
        let is_success = matches!(found.source, Source::Tool { success: true, .. });
        let mut lacks = None;
        for name in facts {
            let Fact { pointer, tool, .. } = self.declared(name)?;
            let value = data.pointer(&pointer).filter(|_| is_success).and_then(fact::plain_text);
            match value {
                Some(value) => {
                    let stated = trace::Fact::new(name, value);
                    found.facts.push(trace::Fact { pointer, ..stated });
                }
                None if is_success => {
                    let why = format!("the reply of tool `{tool}` has no value at `{pointer}`");
                    lacks = Some(self.missing(name, why));
                }
                None => lacks = Some(self.missing(name, format!("tool `{tool}` failed"))),
            }
        }
        let grown = builder.found(found, at);
        if let Some(stuck) = lacks {
            return Err(stuck);
        }
        for name in facts {
            let fact = self.declared(name)?;
            self.keep(builder, (name, &fact), (grown.label(), name.to_owned()), "")?;
        }
        self.derive(builder)
    }

    /// Works out every fact of which all parts are known.
    fn derive(&mut self, builder: &Builder) -> Result<(), Stuck> {
        let loaded = Arc::clone(&self.rule);
        loop {
            let mut is_new = false;
            for (name, fact) in &loaded.rule.facts {
                let Some(how) = fact.how.filter(|_| !self.known.contains_key(name)) else {
                    continue;
                };
                let parts: Option<Vec<Operand>> =
                    fact.of.iter().map(|one| self.known.get(one).cloned()).collect();
                let Some(parts) = parts else { continue };
                let made =
                    builder.derived(name, how, parts).map_err(|wrong| self.refused(wrong))?;
                self.known.insert(name.clone(), made);
                is_new = true;
            }
            if !is_new {
                return Ok(());
            }
        }
    }

    fn keep(
        &mut self,
        builder: &Builder,
        named: (&str, &Fact),
        stated: (&Label, String),
        unit: &str,
    ) -> Result<(), Stuck> {
        let operand = self.operand(builder, named, stated, unit)?;
        self.known.insert(named.0.to_owned(), operand);
        Ok(())
    }

    fn operand(
        &self,
        builder: &Builder,
        (name, fact): (&str, &Fact),
        (evidence, value): (&Label, String),
        unit: &str,
    ) -> Result<Operand, Stuck> {
        let unit = if unit.is_empty() { &fact.unit } else { unit };
        let pick = fact::pick((name, fact), (evidence, value), unit);
        builder.operand(&pick, &format!("/facts/{name}")).map_err(|wrong| self.refused(wrong))
    }
}

/// What a fact has to be read from, where all that its words need is known.
fn want(fact: &Fact, (value, words): (Values<'_>, Words<'_>)) -> Option<Want> {
    match fact.from {
        Origin::Memory => Some(Want::Memory(MemoryRead {
            question: fact::fill(&fact.question, words)?,
            collection: fact.collection.clone(),
            filter: fact::fill_map(&fact.filter, value)?,
            is_count: fact.take == Take::Count,
        })),
        Origin::Tool => Some(Want::Tool {
            tool: fact.tool.clone(),
            arguments: fact::fill_map(&fact.arguments, value)?,
        }),
        Origin::Question | Origin::AsOf | Origin::Rule | Origin::Derived => None,
    }
}

/// The label of the question that spells a given value.
fn earlier(builder: &mut Builder, given: &Given, at: Timestamp) -> Label {
    let Some(run) = &given.run else { return Label::question() };
    let question = builder.trace().earlier_question(run).map(str::to_owned);
    let Some(question) = question else { return Label::question() };
    let found = Found::new(Source::Earlier { run: run.clone() }, question);
    builder.found(found, at).label().clone()
}

/// How many hits there are, as evidence of its own.
fn count(fact: &Fact, grown: &[Grown], trust: u8) -> Found {
    let items: Vec<&Item> = grown.iter().filter_map(|one| one.item.as_ref()).collect();
    let mut ids: Vec<String> = Vec::new();
    for item in items {
        if let Source::Memory { evidence, .. } = &item.source
            && !ids.contains(evidence)
        {
            ids.push(evidence.clone());
        }
    }
    let number = ids.len();
    let source = Source::Recall { evidence: ids, collections: vec![fact.collection.clone()] };
    let text = format!("{number} units of `{}` fit", fact.collection);
    let facts = vec![trace::Fact::new(COUNT, number.to_string())];
    Found { facts, trust, ..Found::new(source, text) }
}
