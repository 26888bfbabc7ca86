//! Units and questions for the memory's bench, made from a seed: vectors that stand as those of a
//! sentence model do, texts out of the labelled set's sentences, tenants, lines and intervals. Files
//! out, which ours and the peer read; and the exact answers.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::daemon::ROOT;

pub const DIMENSIONS: usize = 384;
pub const TENANTS: u64 = 20;
pub const LINES: u64 = 10;
/// Hits of a question.
pub const TOP: usize = 20;
/// Days over which units begin to hold, from 2020-01-01.
const DAYS: u64 = 2200;
/// The end of what is open.
pub const OPEN: u32 = u32::MAX;
const CLUSTERS: usize = 600;

/// What decides whether a unit may be found, and its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub tenant: u32,
    pub line: u32,
    /// First day on which it holds.
    pub from: u32,
    /// First day on which it does not.
    pub to: u32,
    pub text: String,
}

/// One question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    pub tenant: u32,
    pub line: u32,
    /// The day asked about.
    pub day: u32,
    pub text: String,
}

/// How narrow questions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Tenant and validity.
    Tenant,
    /// Line, too.
    Narrow,
}

impl Width {
    pub const ALL: [Self; 2] = [Self::Tenant, Self::Narrow];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Narrow => "narrow",
        }
    }

    fn takes(self, row: &Row, asked: &Asked) -> bool {
        row.tenant == asked.tenant
            && row.from <= asked.day
            && asked.day < row.to
            && (self == Self::Tenant || row.line == asked.line)
    }
}

/// The files of one run.
#[derive(Debug, Clone)]
pub struct Files(PathBuf);

impl Files {
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Units one after the other, with their vectors.
    pub fn units(&self) -> impl Iterator<Item = (Row, Vec<f32>)> + use<> {
        self.pairs("units")
    }

    /// Questions, with their vectors.
    pub fn questions(&self) -> Vec<(Asked, Vec<f32>)> {
        self.pairs("questions").collect()
    }

    fn pairs<T: for<'a> Deserialize<'a>>(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (T, Vec<f32>)> + use<T> {
        let rows = BufReader::new(File::open(self.path(&format!("{name}.jsonl"))).unwrap());
        let mut vectors = BufReader::new(File::open(self.path(&format!("{name}.f32"))).unwrap());
        rows.lines().map(move |line| {
            let mut bytes = vec![0; DIMENSIONS * 4];
            vectors.read_exact(&mut bytes).unwrap();
            let (numbers, _) = bytes.as_chunks();
            let vector = numbers.iter().map(|four| f32::from_le_bytes(*four)).collect();
            (serde_json::from_str(&line.unwrap()).unwrap(), vector)
        })
    }

    /// Makes `units` units and `questions` questions.
    pub fn make(&self, units: usize, questions: usize) {
        let (space, words) = (Space::new(), Words::new());
        let mut dice = Dice(20_261_130);
        let mut out = Pair::new(self, "units");
        let mut picked = Vec::new();
        for number in 0..units {
            let vector = space.unit(&mut dice);
            let from = dice.below(DAYS) as u32;
            let ends = dice.below(10) < 3;
            let row = Row {
                tenant: dice.below(TENANTS) as u32,
                line: dice.below(LINES) as u32,
                from,
                to: if ends { from + 30 + dice.below(700) as u32 } else { OPEN },
                text: words.text(&mut dice, number),
            };
            out.write(&row, &vector);
            // Questions ask for what is near some unit, on a day on which it holds.
            if number * questions / units != (number + 1) * questions / units {
                let last = row.to.min(DAYS as u32 + 100);
                let day = from + dice.below(u64::from(last.saturating_sub(from).max(1))) as u32;
                let text = row.text.chars().take(60).collect();
                let asked = Asked { tenant: row.tenant, line: row.line, day, text };
                picked.push((asked, space.near(&mut dice, &vector)));
            }
        }
        out.end();
        let mut out = Pair::new(self, "questions");
        for (asked, vector) in &picked {
            out.write(asked, vector);
        }
        out.end();
    }

    /// The numbers of the units nearest to each question, by every vector that may be found.
    pub fn exact(&self, width: Width) -> Vec<Vec<u64>> {
        let questions = self.questions();
        let mut best: Vec<Vec<(f32, u64)>> = vec![Vec::new(); questions.len()];
        for (number, (row, vector)) in (0..).zip(self.units()) {
            for ((asked, question), best) in questions.iter().zip(&mut best) {
                if width.takes(&row, asked) {
                    best.push((dot(&vector, question), number));
                    if best.len() >= TOP * 20 {
                        cut(best);
                    }
                }
            }
        }
        let numbers = |mut best: Vec<(f32, u64)>| {
            cut(&mut best);
            best.into_iter().map(|(_, number)| number).collect()
        };
        best.into_iter().map(numbers).collect()
    }
}

fn cut(best: &mut Vec<(f32, u64)>) {
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    best.truncate(TOP);
}

/// The part of the exact answers that another one has.
pub fn overlap(exact: &[Vec<u64>], found: &[Vec<u64>]) -> f64 {
    assert_eq!(exact.len(), found.len());
    let mut parts = 0.0;
    for (exact, found) in exact.iter().zip(found) {
        let common = exact.iter().filter(|one| found.contains(one)).count();
        parts += if exact.is_empty() { 1.0 } else { common as f64 / exact.len() as f64 };
    }
    parts / exact.len() as f64
}

/// Rows and vectors of one kind, side by side.
struct Pair(BufWriter<File>, BufWriter<File>);

impl Pair {
    fn new(files: &Files, name: &str) -> Self {
        let open =
            |end| BufWriter::new(File::create(files.path(&format!("{name}.{end}"))).unwrap());
        Self(open("jsonl"), open("f32"))
    }

    fn write(&mut self, row: &impl Serialize, vector: &[f32]) {
        serde_json::to_writer(&mut self.0, row).unwrap();
        self.0.write_all(b"\n").unwrap();
        for number in vector {
            self.1.write_all(&number.to_le_bytes()).unwrap();
        }
    }

    fn end(mut self) {
        self.0.flush().unwrap();
        self.1.flush().unwrap();
    }
}

/// `SplitMix64`: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Nearly normal, with variance 1: the sum of four evenly spread numbers.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|part| (bits >> (part * 16)) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 1.732
    }
}

/// Where vectors stand. As with sentence models, all lie in one narrow cone (cosines of unrelated
/// texts are about .80, of related ones .90), in clusters, and most of what tells them apart is in
/// few directions.
struct Space {
    common: Vec<f32>,
    clusters: Vec<Vec<f32>>,
}

impl Space {
    fn new() -> Self {
        let mut dice = Dice(7);
        let common = random(&mut dice, false);
        let clusters = (0..CLUSTERS).map(|_| random(&mut dice, true)).collect();
        Self { common, clusters }
    }

    fn unit(&self, dice: &mut Dice) -> Vec<f32> {
        // Some subjects are much more usual than others.
        let place = dice.below(CLUSTERS as u64) * dice.below(CLUSTERS as u64) / CLUSTERS as u64;
        let cluster = &self.clusters[place as usize];
        let own = random(dice, true);
        let parts = self.common.iter().zip(cluster).zip(&own);
        normalised(parts.map(|((all, some), own)| 0.89 * all + 0.33 * some + 0.31 * own).collect())
    }

    /// A question about a unit: about as near as right answers are.
    fn near(&self, dice: &mut Dice, unit: &[f32]) -> Vec<f32> {
        let own = random(dice, true);
        normalised(unit.iter().zip(&own).map(|(unit, own)| unit + 0.3 * own).collect())
    }
}

/// A direction; with `few`, later numbers matter less.
fn random(dice: &mut Dice, few: bool) -> Vec<f32> {
    let scale = |place: usize| if few { 1.0 / (1.0 + place as f32 / 48.0) } else { 1.0 };
    normalised((0..DIMENSIONS).map(|place| dice.normal() * scale(place)).collect())
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let ((left, _), (right, _)) = (left.as_chunks::<16>(), right.as_chunks::<16>());
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    sums.iter().sum()
}

/// Sentences of the labelled set, by language.
struct Words([Vec<String>; 2]);

impl Words {
    fn new() -> Self {
        let path = Path::new(ROOT).join("tests/fixtures/memory/units.jsonl");
        let mut sentences = [Vec::new(), Vec::new()];
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let unit: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = unit["text"].as_str().unwrap_or_default();
            for sentence in
                text.split_inclusive(['。', ';', '；']).flat_map(|s| s.split_inclusive(". "))
            {
                let chinese = sentence.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
                if sentence.chars().count() > 8 {
                    sentences[usize::from(chinese)].push(sentence.trim().to_owned());
                }
            }
        }
        Self(sentences)
    }

    /// Some sentences of one language, twenty to sixty words, and a number of its own.
    fn text(&self, dice: &mut Dice, number: usize) -> String {
        let chinese = dice.below(2) == 1;
        let sentences = &self.0[usize::from(chinese)];
        let wanted = 20 + dice.below(30) as usize;
        let mut text = format!("No {:05}-{:02}. ", number / 37, number % 37);
        let mut words = 0;
        while words < wanted {
            let sentence = &sentences[dice.below(sentences.len() as u64) as usize];
            // A Chinese word has about two characters.
            words +=
                if chinese { sentence.chars().count() / 2 } else { sentence.split(' ').count() };
            text.push_str(sentence);
            text.push(' ');
        }
        text
    }
}
