//! Takes out of vectors what all of them share: a vector of length one in, another out, of which the
//! cosine tells more.

use serde::Deserialize;

use super::{Role, vector};

/// What is taken out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Center {
    /// The mean of questions.
    query: Vec<f32>,
    /// The mean of passages.
    passage: Vec<f32>,
    /// Directions of length one, each at right angles to the others.
    directions: Vec<Vec<f32>>,
}

impl Center {
    /// Reads the file's bytes.
    pub(super) fn read(bytes: &[u8], dimensions: usize) -> Result<Self, String> {
        let center: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let fits = |vector: &Vec<f32>| vector.len() == dimensions;
        let means = fits(&center.query) && fits(&center.passage);
        if !means || !center.directions.iter().all(fits) {
            return Err(format!("a vector in it has not {dimensions} numbers"));
        }
        Ok(center)
    }

    /// The vector without what it shares with the others of its role.
    pub(super) fn apply(&self, role: Role, mut vector: Vec<f32>) -> Result<Vec<f32>, &'static str> {
        let mean = match role {
            Role::Query => &self.query,
            Role::Passage => &self.passage,
        };
        vector.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
        for direction in &self.directions {
            let part: f32 = vector.iter().zip(direction).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(direction).for_each(|(value, along)| *value -= part * along);
        }
        vector::level(vector)
    }
}
