//! What an endpoint answers: its JSON in, vectors of length one in the order of the texts out, or what
//! is wrong with it.

use serde::Deserialize;

use super::vector;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of an answer to `count` texts.
pub(super) fn read(bytes: &[u8], count: usize, dimensions: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        format!("its answer is not `{{\"data\": [{{\"embedding\": [numbers]}}]}}`: {error}")
    })?;
    let found = answer.data.len();
    if found != count {
        return Err(format!("{found} vectors came for {count} texts"));
    }
    let mut vectors = vec![Vec::new(); count];
    for (at, item) in answer.data.into_iter().enumerate() {
        let place = item.index.unwrap_or(at);
        let slot = vectors.get_mut(place).filter(|slot| slot.is_empty());
        let slot = slot.ok_or_else(|| format!("the index {place} is there twice or too large"))?;
        let length = item.embedding.len();
        if length != dimensions {
            return Err(format!(
                "a vector has {length} numbers and not {dimensions}; set \
                 `memory.embedder.endpoint.dimensions` to what the model gives"
            ));
        }
        *slot = vector::level(item.embedding)?;
    }
    Ok(vectors)
}

/// What an error answer says, on one line and short.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Told {
        error: Reason,
    }
    #[derive(Deserialize)]
    struct Reason {
        message: String,
    }
    let text = match serde_json::from_slice::<Told>(bytes) {
        Ok(told) => told.error.message,
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
