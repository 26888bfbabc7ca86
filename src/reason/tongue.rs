//! Whether an answer is in another script than its question: models that were trained on one language
//! fall back into it. Tells Chinese, Japanese and Korean from everything else, and nothing finer.

/// What the model is told.
pub(super) const REASON: &str = "the answer is in another language than the question: give the same \
     answer in the language of the question";

/// Letters that an answer must have before its language is told.
const ENOUGH: usize = 24;

/// Whether an answer is surely in another script than its question.
pub(super) fn foreign(question: &str, answer: &str) -> bool {
    let (asked_east, asked_west) = scripts(question);
    let (told_east, told_west) = scripts(answer);
    let eastern = asked_east > 0 && asked_east * 2 >= asked_west;
    let western = asked_east == 0 && asked_west > 0;
    // Names and numbers of another script may stand in any answer.
    (eastern && told_east == 0 && told_west >= ENOUGH)
        || (western && told_east >= ENOUGH && told_east > told_west)
}

/// Letters of East Asian scripts, and all others.
fn scripts(text: &str) -> (usize, usize) {
    let east = |c: &char| matches!(*c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    let (east, rest): (Vec<char>, Vec<char>) =
        text.chars().filter(|c| c.is_alphabetic()).partition(east);
    (east.len(), rest.len())
}
