//! Whether a question changes a value of an earlier one and asks nothing else: its words are compared with
//! those of the earlier question. What it says beside is named.

use crate::evidence::read;

/// Words that tie a question to an earlier one, and say nothing of their own.
const TIES: &str = "a about actually again also although am amount an and another are as assume assuming at be \
    became become been but by can case change changed changes changing cost costs could date day did do does \
    else exactly for from given had has have he her high his how however i if imagine in instead is it its just \
    large let like long made make may me measured measures might more my now number of ok okay old on one ones \
    only or our paid pay please price rather s said same say second she should size so still sum suppose \
    supposing takes than thanks that the their them then there these they thing this those though time to too \
    took total turn us value was we weigh weighed weighs well were what whole with would yes you your";
/// The same in Chinese, by character.
const MARKS: &str = "那如果要是换成改为作假设若呢变又何怎样么会的话它他她们这个笔数额金只有多少则还可以吗能否需请问再算一下按和与而且但既然后同在对到了也就都其另外呀吧啊嘛即便当时候日期价格重量想知道";

/// The words of a question, changed values taken out, that tie it to nothing; none where it asks nothing
/// else. `known` are texts whose words it may repeat.
pub(super) fn beside(question: &str, known: &[&str]) -> Vec<String> {
    let folded: Vec<String> = known.iter().map(|text| read::normal(text).to_lowercase()).collect();
    let question = question.to_lowercase();
    let old: Vec<&str> = folded.iter().flat_map(|text| words(text)).collect();
    let is_old = |word: &str| {
        let near = |one: &str| {
            let (short, long) = if one.len() < word.len() { (one, word) } else { (word, one) };
            short.len() > 2 && long.starts_with(short) && long.len() - short.len() <= 3
        };
        TIES.split_whitespace().any(|one| one == word)
            || old.iter().any(|one| *one == word || near(one))
    };
    let mut found: Vec<String> = Vec::new();
    for word in words(&question) {
        if !is_old(word) && !found.iter().any(|one| one == word) {
            found.push(word.to_owned());
        }
    }
    let is_tied = |c: char| MARKS.contains(c) || folded.iter().any(|text| text.contains(c));
    let is_strange = |c: &char| c.is_alphabetic() && !is_latin(*c) && !is_tied(*c);
    let strange: String = question.chars().filter(is_strange).collect();
    found.extend((!strange.is_empty()).then_some(strange));
    found
}

const fn is_latin(c: char) -> bool {
    (c as u32) < 0x250
}

/// The Latin words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphabetic() && is_latin(c))).filter(|word| !word.is_empty())
}
