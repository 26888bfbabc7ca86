//! A question evened out: text in, the same question without what only polite or grammatical words
//! add out. Triggers are kept in the same form, so that one question in two wordings is equal to it.

use unicode_normalization::UnicodeNormalization;

/// What people begin a question with; stripped again and again, so the longer ones stand first.
const OPENERS: [&str; 40] = [
    "could you please tell me",
    "can you please tell me",
    "could you tell me",
    "can you tell me",
    "would you tell me",
    "i would like to know",
    "i'd like to know",
    "i want to know",
    "do you know",
    "please tell me",
    "please help me",
    "let me know",
    "tell me",
    "please",
    "hello",
    "hey",
    "hi",
    "能不能告诉我",
    "可不可以告诉我",
    "你能告诉我",
    "可以告诉我",
    "能告诉我",
    "麻烦告诉我",
    "请告诉我",
    "告诉我",
    "我想了解一下",
    "我想知道",
    "我想了解",
    "我想问一下",
    "我想问",
    "想问一下",
    "请问一下",
    "请问",
    "请教一下",
    "麻烦帮我查一下",
    "帮我查一下",
    "麻烦",
    "帮我",
    "你好",
    "请",
];

/// Question words of Chinese, and what they ask for; the longer ones first. `?` marks what cannot
/// stand in a question itself.
const ASKING: [(&str, &str); 40] = [
    ("是什么时候", "?when"),
    ("什么时候", "?when"),
    ("什么时间", "?when"),
    ("哪一天", "?when"),
    ("何时", "?when"),
    ("是什么原因", "?why"),
    ("为什么", "?why"),
    ("为何", "?why"),
    ("为啥", "?why"),
    ("什么地方", "?where"),
    ("在哪里", "?where"),
    ("在哪儿", "?where"),
    ("哪里", "?where"),
    ("哪儿", "?where"),
    ("在哪", "?where"),
    ("是多少", "?many"),
    ("有多少", "?many"),
    ("多少个", "?many"),
    ("多少", "?many"),
    ("多大", "?many"),
    ("多久", "?long"),
    ("多长时间", "?long"),
    ("有哪些", ""),
    ("哪一个", ""),
    ("哪些", ""),
    ("哪个", ""),
    ("是什么", ""),
    ("怎么样", ""),
    ("怎么办", ""),
    ("怎么", ""),
    ("怎样", ""),
    ("如何", ""),
    ("什么", ""),
    ("是否", ""),
    ("有没有", ""),
    ("是不是", ""),
    ("能不能", ""),
    ("是谁", "?who"),
    ("谁", "?who"),
    ("应该", ""),
];

/// Particles at the end of a Chinese question.
const ENDINGS: [char; 7] = ['吗', '呢', '吧', '啊', '呀', '嘛', '么'];

/// English words that say what is asked for, not about what.
const ASKS: [(&str, &str); 10] = [
    ("when", "?when"),
    ("why", "?why"),
    ("where", "?where"),
    ("who", "?who"),
    ("whom", "?who"),
    ("whose", "?who"),
    ("many", "?many"),
    ("much", "?many"),
    ("often", "?many"),
    ("long", "?long"),
];

/// English words without a meaning of their own, sorted.
const FILLERS: [&str; 92] = [
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being",
    "but", "by", "can", "could", "did", "do", "does", "doing", "for", "from", "get", "had", "has",
    "have", "having", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is",
    "it", "its", "just", "kind", "many", "may", "me", "might", "much", "my", "of", "often", "on",
    "or", "our", "she", "should", "so", "some", "sort", "such", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "type", "us", "was", "we", "were",
    "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would",
    "you", "your", "yours", "s", "t",
];

/// One form of all spellings: compatibility forms, case, runs of white space.
pub(super) fn fold(text: &str) -> String {
    let plain: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut folded = String::with_capacity(plain.len());
    for word in plain.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// A question or a trigger in the form in which the two are compared: folded, without openers,
/// particles, fillers and punctuation at its ends; why, when, where, who and how many stay as marks,
/// since another one is another question.
pub fn normal(text: &str) -> String {
    let folded = fold(text);
    let mut marks: Vec<&'static str> = Vec::new();
    let kept = spell(without_openers(&folded), &mut marks);
    let mut words = content(&kept, &mut marks);
    if words.is_empty() {
        return folded;
    }
    marks.sort_unstable();
    marks.dedup();
    for mark in marks {
        words.push(' ');
        words.push_str(mark);
    }
    words
}

/// The words of a question for full text: those that say what it is about; all of them where none does.
pub(in crate::memory) fn words(text: &str) -> String {
    let folded = fold(text);
    let kept = spell(without_openers(&folded), &mut Vec::new());
    let words = content(&kept, &mut Vec::new());
    if words.is_empty() { folded } else { words }
}

/// How many different terms full text is asked for: words, and pairs of characters where a script has
/// no spaces.
pub(in crate::memory) fn terms(words: &str) -> usize {
    let mut terms = std::collections::HashSet::new();
    for word in words.split(|one: char| !one.is_alphanumeric()).filter(|one| !one.is_empty()) {
        let chars: Vec<char> = word.chars().collect();
        if word.is_ascii() || chars.len() < 2 {
            terms.insert(word.to_owned());
        } else {
            terms.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    terms.len()
}

fn without_openers(folded: &str) -> &str {
    let mut rest = folded;
    loop {
        rest = rest.trim_start_matches(|one: char| is_mark(one) || one.is_whitespace());
        let shorter = OPENERS.iter().find_map(|opener| {
            let after = rest.strip_prefix(opener)?;
            let whole = !opener.is_ascii() || !after.starts_with(|one: char| one.is_alphanumeric());
            (whole && !after.trim_matches(|one| is_mark(one) || one == ' ').is_empty())
                .then_some(after)
        });
        match shorter {
            Some(after) => rest = after,
            None => return rest,
        }
    }
}

/// Chinese question words become a gap, so that what stands before and after is not read as one word.
fn spell(text: &str, marks: &mut Vec<&'static str>) -> String {
    let ending = |one: char| is_mark(one) || one == ' ' || ENDINGS.contains(&one);
    let mut rest = text.trim_end_matches(ending);
    if rest.is_empty() {
        rest = text;
    }
    let mut kept = String::with_capacity(rest.len());
    while let Some(first) = rest.chars().next() {
        let asked = (!first.is_ascii())
            .then(|| ASKING.iter().find_map(|(word, mark)| Some((rest.strip_prefix(word)?, *mark))))
            .flatten();
        match asked {
            Some((after, mark)) => {
                kept.push(' ');
                marks.extend(Some(mark).filter(|mark| !mark.is_empty()));
                rest = after;
            }
            None => {
                kept.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    kept
}

fn content(text: &str, marks: &mut Vec<&'static str>) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let word = word.trim_end_matches(is_mark);
        let plain =
            word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s")).unwrap_or(word);
        if let Some((_, mark)) = ASKS.iter().find(|(ask, _)| *ask == plain) {
            marks.push(mark);
            continue;
        }
        if word.is_empty() || FILLERS.contains(&plain) {
            continue;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(plain);
    }
    kept
}

/// Punctuation that ends or begins a sentence. Others can be part of a name.
const fn is_mark(one: char) -> bool {
    matches!(
        one,
        '?' | '!' | '.' | ',' | ';' | ':' | '\u{3002}' | '\u{ff0c}' | '\u{3001}' | '\u{2026}'
    )
}

#[cfg(test)]
mod tests;
