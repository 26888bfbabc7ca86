//! What is worth keeping (M2): small talk, and facts that are only true now, are refused, with what to
//! write instead. A few plain rules, meant to be wrong rarely rather than to find everything. A turn of
//! a conversation (a unit with a `group`) is part of a record and always taken; a fact with a `valid_to`
//! says itself how long it holds.

use std::sync::LazyLock;

use regex::Regex;

use super::Faults;
use crate::memory::unit::{Draft, Kind};

/// Characters beyond which a text is more than a greeting or a single reading.
const SHORT: usize = 160;

/// Greetings, thanks and assent, one after the other and nothing else.
static TALK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let english = "hi|hiya|hello|hey|there|all|everyone|team|guys|good (?:morning|afternoon|evening|night|day)|\
        thanks?(?: you)?|thx|ty|cheers|much|so|very|a (?:lot|bunch|million)|many|for (?:your|the) help|\
        you'?re welcome|welcome|no (?:problem|worries)|np|ok(?:ay)?|k|sure|fine|great|cool|nice|perfect|\
        awesome|got it|understood|sounds good|will do|yes|yep|yeah|no|nope|please|bye|goodbye|\
        see you(?: later| soon| tomorrow)?|take care|have a (?:nice|good|great) (?:day|one|weekend|evening)|\
        how are you(?: doing)?(?: today)?|i'?m (?:fine|good|ok(?:ay)?)|and you|nice to (?:meet|see) you|\
        haha+|lol|hehe+|wow|oh|ah|hmm+|um+";
    let chinese = "你好|您好|大家好|各位好|嗨|哈喽|早上好|早安|早|上午好|中午好|下午好|晚上好|晚安|\
        谢谢|多谢|感谢|非常|十分|辛苦了?|麻烦了|不客气|不用谢|没事|没关系|没问题|好的?|好吧|行|可以|嗯+|哦+|\
        啊+|哈+|呵+|嘿+|收到|明白|知道|了解|懂|对|是的?|再见|拜拜|回头见|明天见|辛苦|您|你们?|大家|了|吧|呀|呢|的|啦|\
        最近怎么样|吃了吗|在吗|周末愉快|祝好";
    Regex::new(&format!(
        r"^[\s\pP\pS]*(?:(?:{english}|{chinese})\b[\s\pP\pS]*|(?:{chinese})[\s\pP\pS]*)+$"
    ))
    .ok()
});

/// Words that tie a statement to the moment in which it is read.
static NOW: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:right now|just now|at the moment|at this moment|currently|as of (?:now|right now)|this (?:minute|second|instant))\b|此刻|此时此刻|目前|现在|当前|眼下|这会儿|实时",
    )
    .ok()
});

/// What changes from hour to hour.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:stock (?:level|price|is|has|of)|in stock|share price|spot price|exchange rate|balance|queue(?: length)?|waiting time|weather|outside temperature|(?:cpu|memory|disk) (?:usage|load)|load average|users? (?:are )?online|online users|open tickets|battery (?:level|is)|traffic)\b|库存|余量|股价|现货价|汇率|余额|排队|等待时间|天气|气温|在线人数|使用率|占用率|剩余电量|电量|路况|待处理工单",
    )
    .ok()
});

/// A reading: a number, or what a queue or the weather is said to be.
static READING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\d|\b(?:sunny|raining|empty|full|sold out)\b|晴|下雨|售罄|缺货").ok()
});

/// Says what is not worth keeping.
pub(super) fn check(draft: &Draft, ends: bool, faults: &mut Faults) {
    let said = if draft.text.trim().is_empty() { &draft.value } else { &draft.text };
    let only_words = draft.facts.is_empty() && draft.tables.is_empty() && draft.images.is_empty();
    if !only_words || !draft.group.is_empty() || said.chars().count() > SHORT {
        return;
    }
    let text = said.trim().to_lowercase();
    if draft.key.is_empty() && draft.value.trim().is_empty() && is_talk(&text) {
        faults.say(
            "/text",
            "is small talk, which answers no later question; keep it in the conversation",
        );
    }
    let lasting = ends || draft.kind == Kind::Case;
    if !lasting && is_reading(&text) {
        faults.say(
            "/text",
            "is true only now; store how to look it up (which tool, which arguments), or send \
             `valid_to`, from when on it is not to be used",
        );
    }
}

fn matches(rule: &LazyLock<Option<Regex>>, text: &str) -> bool {
    rule.as_ref().is_some_and(|rule| rule.is_match(text))
}

fn is_talk(text: &str) -> bool {
    matches(&TALK, text)
}

fn is_reading(text: &str) -> bool {
    let sentences = text.split(['.', '!', '?', '。', '！', '？', '\n']);
    let long = sentences.filter(|part| part.chars().filter(|c| c.is_alphanumeric()).count() > 3);
    long.count() <= 2 && matches(&NOW, text) && matches(&VOLATILE, text) && matches(&READING, text)
}
