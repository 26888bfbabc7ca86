//! A tokenizer from a `tokenizer.json` with a unigram model: a text in, ids out, cut at what the model
//! takes. Nothing in a text becomes a special token.

use serde::Deserialize;

use super::normal::{Normal, Written};
use super::pieces::Pieces;

/// Bytes of a text that are looked at for each token that the model takes: more than the longest
/// pieces have.
const BYTES: usize = 64;

/// What is read of the file.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Written>,
    pre_tokenizer: Option<Split>,
    post_processor: Option<Frame>,
    model: Vocabulary,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    special: bool,
}

#[derive(Deserialize)]
struct Vocabulary {
    #[serde(rename = "type")]
    kind: Option<String>,
    unk_id: Option<u32>,
    #[serde(default)]
    byte_fallback: bool,
    vocab: Vec<(String, f32)>,
}

#[derive(Deserialize)]
struct Split {
    #[serde(rename = "type")]
    kind: String,
    replacement: Option<char>,
    #[serde(default)]
    pretokenizers: Vec<Self>,
}

/// What stands before and after each text.
#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    single: Vec<Part>,
    #[serde(default)]
    special_tokens: std::collections::HashMap<String, Special>,
    cls: Option<(String, u32)>,
    sep: Option<(String, u32)>,
}

#[derive(Deserialize)]
enum Part {
    Sequence {},
    SpecialToken { id: String },
}

#[derive(Deserialize)]
struct Special {
    ids: Vec<u32>,
}

/// Turns texts into ids.
#[derive(Debug)]
pub(super) struct Tokenizer {
    normal: Normal,
    pieces: Pieces,
    /// Stands for the space before a word.
    space: char,
    before: Vec<u32>,
    after: Vec<u32>,
}

/// A text as the model takes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Ids, with those that stand before and after each text.
    pub(super) ids: Vec<u32>,
    /// Whether the text was longer than the model takes.
    pub(super) cut: bool,
}

impl Tokenizer {
    /// Reads the file's bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(bytes).map_err(|error| {
            format!("it is no tokenizer with a unigram model that is read here: {error}")
        })?;
        let model = file.model;
        if !matches!(model.kind.as_deref(), None | Some("Unigram")) || model.byte_fallback {
            return Err(
                "its model is no unigram model without byte fallback, the only kind that is \
                        read here"
                    .to_owned(),
            );
        }
        let unknown = model.unk_id.ok_or("its model has no `unk_id`")?;
        let special =
            |id| id == unknown || file.added_tokens.iter().any(|a| a.special && a.id == id);
        let pieces = (0..)
            .zip(model.vocab)
            .filter(|(id, (piece, _))| !special(*id) && !piece.is_empty())
            .map(|(id, (piece, score))| (piece, id, score))
            .collect();
        let space = file.pre_tokenizer.and_then(|split| split.space());
        let frame = file.post_processor.map(Frame::sides).transpose()?;
        let (before, after) = frame.unwrap_or_default();
        Ok(Self {
            normal: file.normalizer.map(Normal::new).transpose()?.unwrap_or_default(),
            pieces: Pieces::new(pieces, unknown).ok_or("its pieces are too large")?,
            space: space.ok_or("its `pre_tokenizer` is no `Metaspace`, the only kind read here")?,
            before,
            after,
        })
    }

    /// The ids of a text, at most `most` of them. Looks at no more of a text than can matter.
    pub(super) fn encode(&self, prefix: &str, text: &str, most: usize) -> Tokens {
        let kept = text.floor_char_boundary(most.saturating_mul(BYTES));
        let mut cut = kept < text.len();
        let whole = format!("{prefix}{}", text.get(..kept).unwrap_or_default());
        let room = most.saturating_sub(self.after.len());
        let mut ids = self.before.clone();
        let mut spaced = String::new();
        for word in self.normal.apply(&whole).split_whitespace() {
            spaced.clear();
            spaced.push(self.space);
            spaced.push_str(word);
            self.pieces.split(&spaced, &mut ids);
            if ids.len() > room {
                ids.truncate(room);
                cut = true;
                break;
            }
        }
        ids.extend(&self.after);
        Tokens { ids, cut }
    }
}

impl Split {
    /// The character that stands for a space.
    fn space(&self) -> Option<char> {
        match self.kind.as_str() {
            "Metaspace" => Some(self.replacement.unwrap_or('\u{2581}')),
            "Sequence" => {
                let known = |inner: &Self| ["Metaspace", "WhitespaceSplit"].contains(&&*inner.kind);
                let all = self.pretokenizers.iter().all(known);
                let last = self.pretokenizers.last().filter(|last| last.kind == "Metaspace");
                last.filter(|_| all).map(|last| last.replacement.unwrap_or('\u{2581}'))
            }
            _ => None,
        }
    }
}

impl Frame {
    /// The ids that stand before a text, and those after it.
    fn sides(self) -> Result<(Vec<u32>, Vec<u32>), String> {
        if let (Some(cls), Some(sep)) = (&self.cls, &self.sep) {
            return Ok((vec![cls.1], vec![sep.1]));
        }
        if self.kind != "TemplateProcessing" {
            return Err(format!("its `post_processor` is `{}`, which is not read here", self.kind));
        }
        let (mut before, mut after, mut passed) = (Vec::new(), Vec::new(), false);
        for part in &self.single {
            match part {
                Part::Sequence {} => passed = true,
                Part::SpecialToken { id } => {
                    let special = self.special_tokens.get(id);
                    let special = special.ok_or_else(|| format!("it has no token `{id}`"))?;
                    let side = if passed { &mut after } else { &mut before };
                    side.extend(&special.ids);
                }
            }
        }
        Ok((before, after))
    }
}
