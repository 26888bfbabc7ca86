//! Runs a model of a folder: texts in, a vector of length one for each out, on the thread that asks.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};

use super::center::Center;
use super::folder::{CENTER, Folder, MODEL, Pooling, TOKENIZER};
use super::tokenizer::{Tokenizer, Tokens};
use super::{Error, Role, vector};

/// A model with its tokenizer, ready to run on any thread.
#[derive(Debug)]
pub(super) struct Engine {
    folder: Folder,
    tokenizer: Tokenizer,
    center: Option<Center>,
    model: Model,
    inputs: Vec<(Input, NodeId)>,
    output: NodeId,
    name: String,
}

/// What a model wants to know.
#[derive(Debug, Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

const INPUTS: [(&str, Input); 3] =
    [("input_ids", Input::Ids), ("attention_mask", Input::Mask), ("token_type_ids", Input::Types)];

impl Engine {
    /// Checks and loads what is in a folder, and tries it out.
    pub(super) fn load(folder: Folder) -> Result<Self, Error> {
        folder.check()?;
        let broken = |file: &str, why: &dyn std::fmt::Display| {
            folder.wrong(&format!("`{file}` cannot be used: {why}"))
        };
        let read = |file| std::fs::read(folder.file(file)).map_err(|error| broken(file, &error));
        let tokenizer =
            Tokenizer::read(&read(TOKENIZER)?).map_err(|why| broken(TOKENIZER, &why))?;
        let center = match folder.manifest.files.contains_key(CENTER) {
            true => {
                let center = Center::read(&read(CENTER)?, folder.manifest.dimensions);
                Some(center.map_err(|why| broken(CENTER, &why))?)
            }
            false => None,
        };
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = options.load_file(folder.file(MODEL)).map_err(|error| broken(MODEL, &error))?;
        let inputs = inputs(&model).map_err(|why| broken(MODEL, &why))?;
        let output =
            model.node_id(&folder.manifest.output).map_err(|error| broken(MODEL, &error))?;
        let name = folder.identity();
        let engine = Self { folder, tokenizer, center, model, inputs, output, name };
        let tried = engine.run(&pool(), Role::Query, &[engine.tokens(Role::Query, "1")]);
        tried.map_err(|error| engine.folder.wrong(&error.to_string()))?;
        Ok(engine)
    }

    /// The model's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A text as the model takes it.
    pub(super) fn tokens(&self, role: Role, text: &str) -> Tokens {
        let manifest = &self.folder.manifest;
        let prefix = match role {
            Role::Query => &manifest.prefix_query,
            Role::Passage => &manifest.prefix_passage,
        };
        self.tokenizer.encode(prefix, text, manifest.max_tokens)
    }

    /// The vectors of texts that run together; the shorter ones are padded.
    pub(super) fn run(
        &self,
        pool: &Arc<ThreadPool>,
        role: Role,
        texts: &[Tokens],
    ) -> Result<Vec<Vec<f32>>, Error> {
        let failed = |reason: String| Error::Run { model: self.name.clone(), reason };
        let length = texts.iter().map(|text| text.ids.len()).max().unwrap_or_default();
        if length == 0 {
            return Err(failed("a text has no tokens".to_owned()));
        }
        let shape = [texts.len(), length];
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (input, node) in &self.inputs {
            let values = fill(*input, texts, length);
            let value =
                Value::from_shape(shape, values).map_err(|error| failed(error.to_string()))?;
            inputs.push((*node, value.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let outputs = self.model.run(inputs, &[self.output], Some(options));
        let output = outputs.map_err(|error| failed(error.to_string()))?.pop();
        let output = output.ok_or_else(|| failed("it gives nothing".to_owned()))?;
        let (found, states) = output
            .into_shape_vec::<f32, 3>()
            .map_err(|error| failed(format!("its output cannot be used: {error}")))?;
        let width = self.folder.manifest.dimensions;
        if found != [shape[0], length, width] {
            return Err(failed(format!(
                "its output has the shape {found:?} and not {width} numbers"
            )));
        }
        let states = states.chunks_exact(length * width).zip(texts);
        let vectors = states.map(|(states, text)| {
            let vector = vector::level(self.pool(states, text.ids.len()))?;
            match &self.center {
                Some(center) => center.apply(role, vector),
                None => Ok(vector),
            }
        });
        vectors.collect::<Result<_, _>>().map_err(|why| failed(why.to_owned()))
    }

    /// One vector of those of the first `count` tokens.
    fn pool(&self, states: &[f32], count: usize) -> Vec<f32> {
        let width = self.folder.manifest.dimensions;
        let taken = match self.folder.manifest.pooling {
            Pooling::Mean => count,
            Pooling::First => 1,
        };
        let mut sum = vec![0.0; width];
        for state in states.chunks_exact(width).take(taken) {
            sum.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
        }
        // The sum has the direction of the mean, and the length is made one anyway.
        sum
    }
}

/// A pool of one thread: texts run beside each other, not one over many threads.
pub(super) fn pool() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

/// The model's inputs, all of which must be known.
fn inputs(model: &Model) -> Result<Vec<(Input, NodeId)>, String> {
    let mut found = Vec::new();
    for id in model.input_ids() {
        let name = model.node_info(*id).and_then(|info| info.name().map(str::to_owned));
        let name = name.unwrap_or_default();
        let known = INPUTS.iter().find(|(known, _)| *known == name);
        let (_, input) = known.ok_or_else(|| format!("it wants the input `{name}`"))?;
        found.push((*input, *id));
    }
    Ok(found)
}

/// The values of an input, a row a text.
fn fill(input: Input, texts: &[Tokens], length: usize) -> Vec<i32> {
    let mut values = Vec::with_capacity(texts.len() * length);
    for text in texts {
        let end = values.len() + length;
        match input {
            Input::Ids => values.extend(text.ids.iter().map(|id| id.cast_signed())),
            Input::Mask => values.extend(text.ids.iter().map(|_| 1)),
            Input::Types => {}
        }
        // What stands at masked places counts for nothing.
        values.resize(end, 0);
    }
    values
}
