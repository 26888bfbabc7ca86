//! From the cosine of one model to a score that means the same for all: points in, a line through
//! them out.

/// Points of a line that never falls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calibration(Vec<[f32; 2]>);

impl Calibration {
    /// Takes pairs of a cosine and its score, both rising; none stand for the cosine itself.
    pub(super) fn new(points: &[[f32; 2]]) -> Result<Self, String> {
        if points.is_empty() {
            return Ok(Self(vec![[0.0, 0.0], [1.0, 1.0]]));
        }
        let rising = points.is_sorted_by(|[a, x], [b, y]| a < b && x <= y);
        let inside = points
            .iter()
            .all(|[cosine, score]| (-1.0..=1.0).contains(cosine) && (0.0..=1.0).contains(score));
        if points.len() < 2 || !rising || !inside {
            return Err(
                "the points are not two or more of a cosine from -1 to 1 and a score from 0 \
                        to 1, both rising; write them as `[[0.7, 0.0], [0.9, 1.0]]`"
                    .to_owned(),
            );
        }
        Ok(Self(points.to_vec()))
    }

    /// The score of a cosine; before the first point and after the last it stays as it is there.
    pub(super) fn score(&self, cosine: f32) -> f32 {
        let mut below: Option<[f32; 2]> = None;
        for [at, score] in &self.0 {
            if cosine < *at {
                return below.map_or(*score, |[from, low]| {
                    low + (score - low) * (cosine - from) / (at - from)
                });
            }
            below = Some([*at, *score]);
        }
        // A cosine that is no number is no match.
        below.filter(|_| !cosine.is_nan()).map_or(0.0, |[_, score]| score)
    }
}
