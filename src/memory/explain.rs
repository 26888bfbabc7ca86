//! Why a recall answers as it does: a question in, what each layer found out, and for one unit why each
//! of its versions did or did not come back. What the caller may not be told of is not there for it.

mod why;

use serde::Serialize;

use super::recall::{Error, Recall};
use super::{Collections, Owned, Question, Recalled, Recollection, Rights, Score, UnitId, Version};

/// The answer and, where a unit was asked about, what became of it.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The answer, with what was weighed and not given, and the time of each layer.
    pub recalled: Recalled,
    /// The unit's versions, newest recorded first; empty where none was asked about, or the caller may
    /// not be told that there is such a unit.
    pub versions: Vec<Verdict>,
}

/// What became of one version.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// Its evidence id.
    pub evidence: String,
    /// Its place in the answer, from 1; `None` where it did not come back.
    pub place: Option<usize>,
    /// Why it did not come back, each reason as one line, those that decide before any ranking first;
    /// empty where it did.
    pub why: Vec<String>,
    /// Its scores by layer; empty where no layer was asked about it.
    pub scores: Vec<Score>,
}

/// A version of the unit that is asked about.
#[derive(Debug, Clone, Copy)]
struct Seen<'s> {
    version: &'s Version,
    metres: Option<f64>,
    /// Whether the caller knows what it says also while it is kept out of use.
    knows: bool,
}

impl Recall {
    /// Answers a question as [`Recall::recall`] does, and tells how it came to that. `rights` decide of
    /// which versions of `unit` the caller may be told, and of which no more than that they wait;
    /// reviewers are also told of what they could not recall.
    pub async fn explain(
        &self,
        (rights, collections): (&Rights, &Collections),
        owned: &[Owned],
        question: &Question,
        unit: Option<&UnitId>,
    ) -> Result<Explained, Error> {
        let question = Question { explain: true, ..question.clone() };
        super::recall::check(&question)?;
        let scope = super::recall::scope(&rights.caller, owned, &question);
        let trace = Box::pin(self.trace(&scope, &question)).await?;
        let mut versions = Vec::new();
        if let Some(unit) = unit {
            let all = self.store().history(&scope.tenant, unit).await?;
            let shown = |one: &Version| rights.sees(one, collections) && rights.shows(one);
            let told: Vec<Version> = all.into_iter().filter(shown).collect();
            let metres = self.metres(&told, &question).await;
            for (version, metres) in told.iter().zip(metres) {
                let seen = Seen { version, metres, knows: rights.knows(version) };
                versions.push(why::verdict(seen, (&scope, &question), &trace));
            }
        }
        Ok(Explained { recalled: trace.answer(&question), versions })
    }
}

/// Where a version stands among those that were weighed.
fn find(weighed: &[Recollection], seq: i64) -> Option<(usize, &Recollection)> {
    let given = weighed.iter().filter(|one| one.withheld.is_empty());
    let place = given.take_while(|one| one.version.seq != seq).count() + 1;
    weighed.iter().find(|one| one.version.seq == seq).map(|one| (place, one))
}

#[cfg(test)]
mod tests;
