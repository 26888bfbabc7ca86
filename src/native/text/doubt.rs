//! Whether a call in a text may only be shown: a text and what was found in it in, the reason to doubt
//! that it is meant out.

use std::sync::LazyLock;

use regex::Regex;

use super::find::after_thinking;
use super::found::{Found, What};
use super::lead;

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
        | <(observation|tool_response|tool_result|function_results|function_result)>
        | ✿(result|return)✿ \s* [:：]? \s* [^\s✿] )
        | <[|｜]tool[▁_]outputs?[▁_]begin[|｜]>";
    Regex::new(words).ok()
});

/// What opens an answer to the user, where nothing is called any more.
static ANSWER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?imx) ^ [\ \t>*_\#\d.]*
        ( (final|finished)[\ _-]?(answer|response|output)
        | (最终|最終)(的な)?(答案|回答|答え|答复) | 최종\ ?(답변|답) | (endgültige|finale|abschließende)\ antwort
        | réponse\ finale | respuesta\ final | resposta\ final | risposta\ finale
        | (окончательный|итоговый|финальный)\ ответ )
        [*_\ \t]* ( [:：–—-] | \r?$ )
        | < (final_)?answer > | < final >";
    Regex::new(words).ok()
});

/// Whether a final answer in words stands beside a call: outside of all that was found.
pub(super) fn answers(text: &str, found: &[Found]) -> bool {
    if !found.iter().any(|one| matches!(one.what, What::Calls { .. })) {
        return false;
    }
    let mut from = after_thinking(text);
    let mut says = false;
    for (at, end) in found.iter().map(|one| (one.at, one.end)).chain([(text.len(), text.len())]) {
        let between = text.get(from..at).unwrap_or_default();
        // Behind a call in the same line nothing opens.
        let first = from == after_thinking(text);
        let below = || between.split_once('\n').map_or("", |(_, below)| below);
        let lines = if first { between } else { below() };
        says |= ANSWER.as_ref().is_none_or(|words| words.is_match(lines));
        from = end;
    }
    says
}

/// Why a call may not be meant; `None` where it is.
pub(super) fn of(text: &str, found: &Found) -> Option<&'static str> {
    if found.is_whole(text) {
        return None;
    }
    let before = text.get(after_thinking(text)..found.at).unwrap_or_default();
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
    if says(&BEFORE, sentence) || lead::shows(before, sentence) {
        return Some("it is announced as something that is not to be run");
    }
    if let Some(why) = inside(before, after) {
        return Some(why);
    }
    let (line, below) = after.split_once('\n').unwrap_or((after, ""));
    if !found.fenced && !found.marked {
        let rest = line.trim_matches(|c: char| c.is_whitespace() || ".,;:!".contains(c));
        if !rest.is_empty() {
            return Some("text follows it in its line");
        }
    }
    let next = if line.trim().is_empty() { below } else { line };
    says(&AFTER, first_sentence(next)).then_some("what follows says that it is not to be run")
}

/// What a call stands inside of, so that it may be shown or switched off.
fn inside(before: &str, after: &str) -> Option<&'static str> {
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    let comments = ["//", "#", "--", ";", "%", "/*", "REM ", "rem "];
    let url = |at: usize| line.get(..at).is_some_and(|before| before.ends_with(':'));
    let comment = comments.iter().any(|mark| line.starts_with(mark))
        || line.rfind("//").is_some_and(|at| !url(at))
        || line.ends_with(['#', ';', '%']);
    let open = before.rfind("/*").is_some_and(|at| {
        let rest = before.get(at..).unwrap_or_default();
        !rest.contains("*/") && after.contains("*/")
    });
    if comment || open {
        return Some("it stands in a comment");
    }
    if before.trim_end().ends_with(['(', '（', '[', '［', '<']) {
        return Some("it stands in brackets, as a remark or the target of a link does");
    }
    let assigned = line.ends_with('=') && !line.ends_with("==");
    assigned.then_some("it is given to a name, as in a program")
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
