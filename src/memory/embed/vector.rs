//! Checks of vectors: numbers of any length in, a vector of length one out.

/// Gives a vector the length one.
pub(super) fn level(mut vector: Vec<f32>) -> Result<Vec<f32>, &'static str> {
    if !vector.iter().all(|value| value.is_finite()) {
        return Err("a vector holds what is no number");
    }
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length < 1e-12 {
        return Err("a vector is all zeros");
    }
    for value in &mut vector {
        *value = narrow(f64::from(*value) / length);
    }
    Ok(vector)
}

#[expect(clippy::cast_possible_truncation, reason = "a number of at most one loses digits only")]
const fn narrow(value: f64) -> f32 {
    value as f32
}
