//! A folder with a model: `model.toml`, which tells what the model wants and the digests of the other
//! files, in; files that can be checked out. It runs nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;
use super::calibration::Calibration;

const MANIFEST: &str = "model.toml";
/// The graph and its weights.
pub(super) const MODEL: &str = "model.onnx";
/// The tokenizer.
pub(super) const TOKENIZER: &str = "tokenizer.json";
/// What is taken out of vectors; a folder can do without.
pub(super) const CENTER: &str = "center.json";
/// Characters of the digest that a model's name carries.
const SHORT: usize = 16;

/// What `model.toml` says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The model's name.
    pub(super) name: String,
    /// Numbers in a vector.
    pub(super) dimensions: usize,
    /// Most tokens of a text, special ones included.
    pub(super) max_tokens: usize,
    /// How the vectors of the tokens become one.
    #[serde(default)]
    pub(super) pooling: Pooling,
    /// The output with the vectors of the tokens; default `last_hidden_state`.
    #[serde(default = "output")]
    pub(super) output: String,
    /// Put before questions; default nothing.
    #[serde(default)]
    pub(super) prefix_query: String,
    /// Put before passages; default nothing.
    #[serde(default)]
    pub(super) prefix_passage: String,
    /// Most texts that run at once; default 1. A model whose 8-bit scales span all texts that run
    /// together must stay at 1, or a text's vector depends on its neighbours.
    #[serde(default = "batch")]
    pub(super) batch: usize,
    /// Pairs of a cosine and the score that it stands for.
    #[serde(default)]
    pub(super) calibration: Vec<[f32; 2]>,
    /// Files and the SHA-256 of each in hexadecimal digits.
    pub(super) files: BTreeMap<String, String>,
}

/// How the vectors of tokens become one of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The first one's.
    First,
}

fn output() -> String {
    "last_hidden_state".to_owned()
}

const fn batch() -> usize {
    1
}

/// A folder with all its files. What is in them is looked at by [`Folder::check`], not before.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) calibration: Calibration,
}

impl Folder {
    /// Reads `model.toml`; the other files have to be there.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path.join(MANIFEST)).map_err(|error| {
            wrong(path, &format!(
                "`{MANIFEST}` cannot be read: {error}; `deploy/model.sh FOLDER` obtains the default \
                 model, `memory.embedder.kind = \"none\"` does without"
            ))
        })?;
        let manifest: Manifest = toml::from_str(&text)
            .map_err(|error| wrong(path, &format!("`{MANIFEST}` is wrong: {error}")))?;
        let calibration = Calibration::new(&manifest.calibration)
            .map_err(|why| wrong(path, &format!("`calibration` in `{MANIFEST}`: {why}")))?;
        let sizes = [manifest.dimensions, manifest.max_tokens, manifest.batch];
        if sizes.contains(&0) {
            return Err(wrong(path, &format!("a number in `{MANIFEST}` is 0")));
        }
        let folder = Self { path: path.into(), manifest, calibration };
        for file in [MODEL, TOKENIZER] {
            if !folder.manifest.files.contains_key(file) {
                return Err(folder.wrong(&format!("`{MANIFEST}` has no digest of `{file}`")));
            }
        }
        for file in folder.manifest.files.keys() {
            let about = std::fs::metadata(folder.file(file));
            about.map_err(|error| folder.wrong(&format!("`{file}` cannot be read: {error}")))?;
        }
        Ok(folder)
    }

    /// Holds the files against their digests; takes as long as reading them.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.manifest.files.iter().try_for_each(|(file, digest)| self.check_file(file, digest))
    }

    /// The path of one of its files.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// An error about it.
    pub(super) fn wrong(&self, reason: &str) -> Error {
        wrong(&self.path, reason)
    }

    /// The model's name with a digest of all that its vectors depend on.
    pub(super) fn identity(&self) -> String {
        let Manifest { name, pooling, max_tokens, prefix_query, prefix_passage, .. } =
            &self.manifest;
        let parts = format!(
            "{:?} {:?} {pooling:?} {max_tokens} {prefix_query:?} {prefix_passage:?}",
            self.manifest.files, self.manifest.output
        );
        let digest = hex::encode(Sha256::digest(parts));
        format!("{name}@{}", digest.get(..SHORT).unwrap_or(&digest))
    }

    fn check_file(&self, name: &str, wanted: &str) -> Result<(), Error> {
        let unread = |error: io::Error| self.wrong(&format!("`{name}` cannot be read: {error}"));
        let found = digest(&self.file(name)).map_err(unread)?;
        if !found.eq_ignore_ascii_case(wanted) {
            return Err(self.wrong(&format!(
                "`{name}` has the digest {found} and not {wanted}; obtain the model again"
            )));
        }
        Ok(())
    }
}

fn wrong(path: &Path, reason: &str) -> Error {
    Error::Folder { folder: path.into(), reason: reason.to_owned() }
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex::encode(hash.finalize())),
            length => hash.update(part.get(..length).unwrap_or_default()),
        }
    }
}
