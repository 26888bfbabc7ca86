//! Names with numbers in a text, such as `B-0413` and `ORD-10034`: they are exact as values are, and stand in
//! evidence or come from nowhere.

use std::sync::LazyLock;

use regex::Regex;

/// Fewest bytes of one, and fewest digits in it.
const SHORT: (usize, usize) = (4, 2);

/// A Latin name, with digits and hyphens in it.
static NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*").ok());

/// The names with numbers in a text, each with where it begins; not `H2O`.
pub(crate) fn ids(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = NAME.as_ref().map(|form| form.find_iter(text)).into_iter().flatten();
    words.map(|word| (word.start(), word.as_str())).filter(|(start, word)| {
        let before = text.get(..*start).and_then(|text| text.chars().next_back());
        let digits = word.chars().filter(char::is_ascii_digit).count();
        word.len() >= SHORT.0
            && digits >= SHORT.1
            && !before.is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

/// A text without what parts the pieces of a name, in small letters.
pub(super) fn joined(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a name stands in a text that is joined, and not as the beginning of a longer number.
pub(super) fn stands_in(text: &str, id: &str) -> bool {
    let id = joined(id);
    text.match_indices(&id).any(|(at, _)| {
        let next = text.get(at + id.len()..).and_then(|rest| rest.chars().next());
        !(id.ends_with(|c: char| c.is_ascii_digit()) && next.is_some_and(|c| c.is_ascii_digit()))
    })
}

/// The numbers of a text, as they are written.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() >= SHORT.1)
}

/// Whether a text is one name with a number in it.
pub(crate) fn is_id(text: &str) -> bool {
    ids(text).any(|(start, word)| start == 0 && word.len() == text.len())
}

/// Whether a number of a name stands in none of some texts: `order 10034` has that of `ORD-10034`.
pub(crate) fn is_from_nowhere<'t>(
    id: &str,
    known: &(impl Iterator<Item = &'t str> + Clone),
) -> bool {
    let stands = |run: &str| known.clone().any(|text| runs(text).any(|other| other == run));
    !runs(id).all(stands)
}
