//! What is beside a unit: the unit's own place becomes the condition on those of others. A unit that the
//! permit does not cover is as one that is not there.

use super::Memory;
use crate::memory::recall::{Error as RecallError, MOST};
use crate::memory::{Adjacent, Error, Question, Recalled, Spot, TOP_K, UnitId};
use crate::policy::Permit;

/// A question whose condition has a place by now.
pub(super) struct Placed {
    pub(super) question: Question,
    unit: UnitId,
    wanted: usize,
}

impl Placed {
    /// The answer without the unit itself, which is no neighbour of its own.
    pub(super) fn others(&self, mut found: Recalled) -> Recalled {
        found.hits.retain(|hit| hit.version.unit != self.unit);
        found.hits.truncate(self.wanted);
        found
    }
}

impl Memory {
    /// The question with the place of the unit beside which it asks; `None` where it names none.
    pub(super) async fn place(
        &self,
        permit: &Permit,
        question: &Question,
    ) -> Result<Option<Placed>, RecallError> {
        let Some(adjacent) = &question.adjacent else { return Ok(None) };
        let spot = self.spot(permit, adjacent).await.map_err(|error| match error {
            Error::Store(error) => error.into(),
            other => RecallError::Question { field: "spot.adjacent", reason: other.to_string() },
        })?;
        let mut question = Question { adjacent: None, ..question.clone() };
        if let Spot::Within { latitude, longitude, kinds, .. } = &spot
            && question.text.trim().is_empty()
            && question.nearest.is_none()
        {
            question.nearest = Some((*latitude, *longitude, kinds.clone()));
        }
        question.spot = Some(spot);
        let wanted = if question.top_k == 0 { TOP_K } else { question.top_k };
        // One more where there may be, since the unit itself is found too.
        question.top_k = if wanted < MOST { wanted + 1 } else { wanted };
        Ok(Some(Placed { question, unit: adjacent.unit.clone(), wanted }))
    }

    /// Where the unit is, and how far its neighbourhood goes.
    pub(super) async fn spot(&self, permit: &Permit, adjacent: &Adjacent) -> Result<Spot, Error> {
        let (version, _) = self.get(permit, adjacent.unit.as_str(), false).await?;
        let place = version.draft.place.ok_or_else(|| Error::Argument {
            name: "spot.adjacent".into(),
            reason: format!("names unit `{}`, which has no place", adjacent.unit),
        })?;
        Ok(Spot::Within {
            latitude: place.latitude,
            longitude: place.longitude,
            metres: adjacent.metres,
            kinds: adjacent.kinds.clone(),
        })
    }
}
