//! An embedder that keeps the vectors of questions: the rounds of an evaluation ask the same ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::memory::embed::{Embedder, Error, Model, Role};

#[derive(Debug)]
pub(super) struct Cached {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Cached {
    pub(super) fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, known: Mutex::default() }
    }
}

#[async_trait]
impl Embedder for Cached {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    async fn embed(&self, role: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let [text] = texts else { return self.inner.embed(role, texts).await };
        if role != Role::Query {
            return self.inner.embed(role, texts).await;
        }
        let known = |cached: &Self| {
            cached.known.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
        };
        if let Some(vector) = known(self) {
            return Ok(vec![vector]);
        }
        let made = self.inner.embed(role, texts).await?;
        if let Some(vector) = made.first() {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(text.clone(), vector.clone());
        }
        Ok(made)
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        self.inner.calibrate(cosine)
    }
}
