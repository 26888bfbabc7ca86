//! Whether a call in a text may only be shown: a text and what was found in it in, the reason to doubt
//! that it is meant out.

use std::sync::LazyLock;

use regex::Regex;

use super::found::Found;

/// Words before a call that make it an example, a format, or something not to be done.
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?ix)
        \b( (for|an|as|this|another|following|simple)\ examples? | e\.?g | for\ instance | such\ as
          | illustrat\w+ | hypothetical\w* | syntax | format\ is | formats? \s* : | the\ format
          | you\ (can|could|may|might) | if\ you
          | would\ (be|have|look|do|run|call|send|delete|remove|write|use|mean)
          | never\ (run|call|send|execute|do|use)\w*
          | ((do|does|did|will|would|should|must|can)\ ?not | \w+n['’]t)
            \ (\w+\ )? (run|call|send|execute|do|use|make)\w*
          | not\ (run|call|send|execute)\w*
          | zum\ beispiel | beispiel\w* | par\ exemple | exemple | por\ ejemplo | ejemplo ) \b
        | \b (examples?|samples?) \s* (: | (of|call|json|is|would)\b | $)
        | \b (said|wrote|asked|says|quotes?|quoted|returned|ran|sent|called|used|executed|tried|received
            |got|gave|printed|logged|reads|contains|like\ this|looks?\ like
            |(tool|function|api|server|call|command)('s)?\ (outputs?|results?|responses?))
            \s* [:,]? \s* $
        | \b was\ (going|about)\ to \b
        | 例如 | 比如 | 示例 | 例子 | 举例 | 不要 | 不会 | 例えば | 예를";
    Regex::new(words).ok()
});

/// Words after a call that do the same.
static AFTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?ix)
        \b( (is|was)\ (only\ |just\ )? (an\ example|how|what|the\ format) | (an|the|my|this)\ example
          | would\ (be|have|look|do|run|call|send|delete|remove|write|use|mean)
          | ((do|does|did|will|would|should|must|can)\ ?not | \w+n['’]t)
            \ (\w+\ )? (run|call|send|execute|make)\w*
          | not\ (run|call|send|execute)\w* | illustrat\w+ | hypothetical\w* ) \b
        | 例如 | 示例";
    Regex::new(words).ok()
});

/// Bytes after a call in which such a result is looked for.
const MAX_AFTER: usize = 4096;

/// What a model writes above a result, which only the tool can give.
static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?imx) ^ [\ \t>*_\#]*
        ( (observation|(tool|function|api|action)[\ _](result|response|output|results)) [*_]* \s* [:：] \s* \S
        | <(observation|tool_response|tool_result|function_results|function_result)> )";
    Regex::new(words).ok()
});

/// Why a call may not be meant; `None` where it is.
pub(super) fn of(text: &str, found: &Found) -> Option<&'static str> {
    if found.is_whole(text) {
        return None;
    }
    let before = text.get(..found.at).unwrap_or_default();
    let after = text.get(found.end..).unwrap_or_default();
    let says = |words: &LazyLock<Option<Regex>>, text: &str| {
        // Without its words the rule cannot be applied, so everything is in doubt.
        words.as_ref().is_none_or(|words| words.is_match(text))
    };
    if says(&RESULT, after.get(..after.floor_char_boundary(MAX_AFTER)).unwrap_or(after)) {
        return Some("a result stands after it that no tool gave");
    }
    let sentence = last_sentence(before);
    if sentence.trim_end().ends_with(['?', '？']) {
        return Some("a question stands before it");
    }
    if says(&BEFORE, sentence) {
        return Some("it is announced as something that is not to be run");
    }
    let (line, below) = after.split_once('\n').unwrap_or((after, ""));
    if !found.fenced && !found.marked {
        let rest = line.trim_matches(|c: char| c.is_whitespace() || ".,;:!)".contains(c));
        if !rest.is_empty() {
            return Some("text follows it in its line");
        }
    }
    let next = if line.trim().is_empty() { below } else { line };
    says(&AFTER, first_sentence(next)).then_some("what follows says that it is not to be run")
}

/// The last sentence of the last line with text.
fn last_sentence(text: &str) -> &str {
    let line = text.trim_end().rsplit('\n').next().unwrap_or_default();
    let ends = [". ", "! ", "? ", "。", "！", "？"];
    let line = line.trim_end();
    let starts = ends.iter().filter_map(|end| Some(line.rfind(end)? + end.len()));
    // The end of the sentence itself is none before it.
    let start = starts.filter(|start| *start < line.len()).max();
    line.get(start.unwrap_or_default()..).unwrap_or(line)
}

/// The first sentence of the first line with text.
fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().split('\n').next().unwrap_or_default();
    let ends = [". ", "! ", "? ", "。", "！", "？"];
    let end = ends.iter().filter_map(|end| line.find(end)).min();
    line.get(..end.unwrap_or(line.len())).unwrap_or(line)
}
