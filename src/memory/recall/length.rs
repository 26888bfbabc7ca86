//! Length fairness: a text that says the same again and again has no more in it. BM25 already makes
//! long text pay for its length; what it does not see is a passage that repeats itself to gain words.

use std::collections::HashSet;

/// Characters of a passage that are looked at.
const LOOKED: usize = 8192;
/// Characters that make a shingle: a few words of English, a clause of Chinese.
const SHINGLE: usize = 12;
/// Share of shingles that may repeat before it costs anything: forms, tables and lists repeat too.
const FREE: f64 = 0.3;

/// What a passage keeps of its score for words, 0..1: 1 up to 30 % repeated, then what is not repeated.
pub(super) fn fairness(text: &str) -> f64 {
    let chars: Vec<char> = text.chars().filter(|one| one.is_alphanumeric()).take(LOOKED).collect();
    let windows = chars.len().saturating_sub(SHINGLE - 1);
    if windows < SHINGLE {
        return 1.0;
    }
    let own: HashSet<&[char]> = chars.windows(SHINGLE).collect();
    let share = float(own.len()) / float(windows);
    (share + FREE).min(1.0)
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
