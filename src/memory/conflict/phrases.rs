//! Phrases of bounds, such as `at most` and `不超过`: a text in lower case in, the same with one mark in
//! the place of each out. Which of the phrases a text can hold is found at once, before any is looked
//! for.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

/// Marks that stand for phrases of bounds.
pub(super) const MOST: char = '\u{e000}';
pub(super) const LEAST: char = '\u{e001}';
pub(super) const NEARLY: char = '\u{e002}';
/// The same behind the number.
pub(super) const OR_LESS: char = '\u{e003}';
pub(super) const OR_MORE: char = '\u{e004}';
pub(super) const OR_SO: char = '\u{e005}';

/// Phrases that a mark stands for.
struct Phrases {
    mark: char,
    /// English ones, between borders of words; words of which each of them holds one.
    english: &'static str,
    signs: &'static [&'static str],
    /// Others, which stand anywhere.
    others: &'static str,
    other_signs: &'static [&'static str],
}

/// In the order in which they are looked for.
const PHRASES: [Phrases; 6] = [
    Phrases {
        mark: MOST,
        english: r"(?:(?:must|may|shall|should|can|do|does|will)? ?(?:not|never|cannot) (?:to )?exceed(?:ing)?|no more than|not more than|no longer than|no later than|at most|up to|not over|less than|fewer than|maximum of|max\. of)",
        signs: &["exceed", " than", "at most", "up to", "not over", "maximum of", "max. of"],
        others: r"[≤<]=?|不得超过|不能超过|不应超过|不超过|不高于|不得高于|不大于|不多于|不长于|至多|最多|低于|少于|小于",
        other_signs: &[
            "≤", "<", "超过", "高于", "大于", "多于", "长于", "至多", "最多", "低于", "少于",
            "小于",
        ],
    },
    Phrases {
        mark: LEAST,
        english: r"(?:no less than|not less than|no fewer than|at least|minimum of|more than|not below|over)",
        signs: &[" than", "at least", "minimum of", "not below", "over"],
        others: r"[≥>]=?|不得少于|不得低于|不少于|不低于|不小于|不短于|至少|最少|起码|高于|超过|多于|大于",
        other_signs: &[
            "≥", ">", "少于", "低于", "小于", "短于", "至少", "最少", "起码", "高于", "超过",
            "多于", "大于",
        ],
    },
    Phrases {
        mark: NEARLY,
        english: r"(?:approximately|approx\.?|about|around|roughly|circa|nearly|almost)",
        signs: &["approx", "about", "around", "roughly", "circa", "nearly", "almost"],
        others: "大约|大概|约为|约|≈",
        other_signs: &["约", "大概", "≈"],
    },
    Phrases {
        mark: OR_LESS,
        english: "or (?:less|fewer|below|lower|under)",
        signs: &["or "],
        others: "以内|之内|以下|及以下",
        other_signs: &["以内", "之内", "以下"],
    },
    Phrases {
        mark: OR_MORE,
        english: "or (?:more|above|higher|over|longer)",
        signs: &["or "],
        others: "以上|及以上|起步",
        other_signs: &["以上", "起步"],
    },
    Phrases {
        mark: OR_SO,
        english: "or so",
        signs: &["or so"],
        others: "左右|上下",
        other_signs: &["左右", "上下"],
    },
];

/// A rule for all it has to find, and one for texts without its English words: borders of words take
/// long where a text has other letters than those of ASCII.
#[derive(Debug)]
pub(super) struct Rule {
    whole: Option<Regex>,
    others: Option<Regex>,
}

impl Rule {
    pub(super) fn new(english: &str, others: &str) -> Self {
        let whole = Regex::new(&format!(r"\b{english}\b|{others}")).ok();
        Self { whole, others: Regex::new(others).ok() }
    }

    pub(super) fn of(&self, english: bool) -> Option<&Regex> {
        if english { self.whole.as_ref() } else { self.others.as_ref() }
    }
}

/// The rules of the phrases, and what tells which of them have something to find in a text.
#[derive(Debug)]
struct Marks {
    rules: [Rule; PHRASES.len()],
    signs: AhoCorasick,
    /// For each sign a bit of [`Marks::bit`].
    bits: Vec<u16>,
}

static MARKS: LazyLock<Option<Marks>> = LazyLock::new(Marks::new);

/// The text with its marks.
pub(super) fn marked(text: String) -> String {
    match MARKS.as_ref() {
        Some(marks) => marks.put(text),
        None => text,
    }
}

impl Marks {
    fn new() -> Option<Self> {
        let own = |(at, phrases): (usize, &Phrases)| {
            let english = phrases.signs.iter().map(move |sign| (*sign, Self::bit(at, true)));
            let others = phrases.other_signs.iter().map(move |sign| (*sign, Self::bit(at, false)));
            english.chain(others).collect::<Vec<_>>()
        };
        let signs: Vec<(&str, u16)> = PHRASES.iter().enumerate().flat_map(own).collect();
        let bits = signs.iter().map(|(_, bit)| *bit).collect();
        let signs = AhoCorasick::new(signs.iter().map(|(sign, _)| *sign)).ok()?;
        let rules = PHRASES.map(|phrases| Rule::new(phrases.english, phrases.others));
        Some(Self { rules, signs, bits })
    }

    const fn bit(at: usize, english: bool) -> u16 {
        1 << (2 * at + english as usize)
    }

    fn put(&self, mut text: String) -> String {
        let found = self.signs.find_overlapping_iter(&text);
        let bits = found.filter_map(|sign| self.bits.get(sign.pattern().as_usize()));
        let bits = bits.fold(0, |bits, bit| bits | bit);
        for (at, (rule, phrases)) in self.rules.iter().zip(&PHRASES).enumerate() {
            let (english, others) = (Self::bit(at, true), Self::bit(at, false));
            if bits & (english | others) != 0
                && let Some(rule) = rule.of(bits & english != 0)
                && let Cow::Owned(marked) = rule.replace_all(&text, format!(" {} ", phrases.mark))
            {
                text = marked;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, MOST, NEARLY, OR_LESS, OR_MORE, OR_SO, marked};

    #[test]
    fn each_phrase_is_seen_by_its_signs() {
        let all = [
            (
                MOST,
                "must not exceed|never exceeding|cannot exceed|no more than|not more than|no longer than|no later than|at most|up to|not over|less than|fewer than|maximum of|max. of|≤|<=|不得超过|不能超过|不应超过|不超过|不高于|不得高于|不大于|不多于|不长于|至多|最多|低于|少于|小于",
            ),
            (
                LEAST,
                "at least|minimum of|more than|not below|over|≥|>=|不短于|至少|最少|起码|高于|超过|多于|大于",
            ),
            (
                NEARLY,
                "approximately|approx.|approx|about|around|roughly|circa|nearly|almost|大约|大概|约为|约|≈",
            ),
            (OR_LESS, "or less|or fewer|or below|or lower|or under|以内|之内|以下|及以下"),
            (OR_MORE, "or more|or above|or higher|or longer|以上|及以上|起步"),
            (OR_SO, "or so|左右|上下"),
        ];
        for (mark, phrases) in all {
            for phrase in phrases.split('|') {
                for (before, after) in [("x ", " 5"), ("压力 ", " 五"), ("", "")] {
                    let text = marked(format!("{before}{phrase}{after}"));
                    assert!(text.contains(mark), "`{phrase}` in `{text}`");
                }
            }
        }
        assert_eq!(marked("overall, 5 for thanks".to_owned()), "overall, 5 for thanks");
    }
}
