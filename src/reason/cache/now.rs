//! Whether a question is about now: about what may be another answer a minute later. Words in, yes or no
//! out. In doubt it is: such a question is answered anew, which costs time and is never wrong.

use unicode_normalization::UnicodeNormalization;

/// English words, and such of several words, that make a question one about now.
const ENGLISH: &[&str] = &[
    "now",
    "right now",
    "nowadays",
    "by now",
    "until now",
    "at the moment",
    "at this moment",
    "this moment",
    "at present",
    "presently",
    "at this time",
    "currently",
    "current",
    "today",
    "today's",
    "tonight",
    "tomorrow",
    "yesterday",
    "this morning",
    "this afternoon",
    "this evening",
    "this week",
    "this month",
    "this quarter",
    "this year",
    "this hour",
    "this minute",
    "last hour",
    "last minute",
    "last night",
    "last week",
    "last month",
    "last quarter",
    "last year",
    "next hour",
    "next week",
    "next month",
    "next quarter",
    "next year",
    "ago",
    "so far",
    "to date",
    "up to date",
    "as of now",
    "latest",
    "newest",
    "most recent",
    "recent",
    "recently",
    "lately",
    "just",
    "already",
    "still",
    "yet",
    "live",
    "real-time",
    "real time",
    "realtime",
    "immediately",
    "instant",
    "instantly",
    "upcoming",
    "ongoing",
    "in progress",
    "what time",
    "what day",
    "what date",
    "soon",
    "these days",
    "to this day",
    "up to now",
    "till now",
    "thus far",
    "as yet",
    "as we speak",
    "no longer",
    "any longer",
    "any more",
    "anymore",
    "in stock",
    "out of stock",
    "overdue",
    "outstanding",
    "status",
    "online",
    "offline",
];

/// Words before a length of time, or before the name of one, that begin or end it now: `past` in "the past
/// 24 hours".
const NEAR: &[&str] = &["last", "past", "previous", "next", "coming", "following", "this", "these"];

/// Lengths of time, and names of days and months, of which a plural has an `s`.
const SPANS: &[&str] = &[
    "second",
    "minute",
    "min",
    "hour",
    "day",
    "night",
    "morning",
    "afternoon",
    "evening",
    "weekday",
    "weekend",
    "week",
    "fortnight",
    "month",
    "quarter",
    "season",
    "year",
    "decade",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Most words between the two, such as `24`, `couple of` and `three full`.
const BETWEEN: usize = 3;

/// Chinese words of the kind. They are looked for anywhere, since nothing stands between words.
const CHINESE: &[&str] = &[
    "现在",
    "现时",
    "目前",
    "当前",
    "当下",
    "眼下",
    "此刻",
    "此时",
    "这会儿",
    "这时候",
    "如今",
    "今天",
    "今日",
    "今早",
    "今晨",
    "今晚",
    "今夜",
    "今年",
    "今后",
    "明天",
    "明日",
    "明早",
    "明晚",
    "明年",
    "后天",
    "昨天",
    "昨日",
    "昨晚",
    "前天",
    "去年",
    "本周",
    "本月",
    "本季",
    "本年",
    "这周",
    "这个星期",
    "这星期",
    "这个月",
    "这个季度",
    "上周",
    "上个星期",
    "上个月",
    "上季度",
    "下周",
    "下个星期",
    "下个月",
    "下季度",
    "刚刚",
    "刚才",
    "方才",
    "最新",
    "最近",
    "近期",
    "近来",
    "近日",
    "实时",
    "即时",
    "立刻",
    "马上",
    "正在",
    "进行中",
    "至今",
    "迄今",
    "截至",
    "截止到",
    "还没",
    "尚未",
    "仍然",
    "依然",
    "已经",
    "几点",
    "几号",
    "过去",
    "这几",
    "近几",
    "前几",
    "这两",
    "近两",
    "近一",
    "近三",
    "近半",
    "近年",
    "未来",
    "接下来",
    "大前天",
    "大后天",
    "今儿",
    "明儿",
    "昨儿",
    "这阵子",
    "眼前",
    "这一周",
    "上一周",
    "下一周",
    "上一季度",
    "下一季度",
    "稍后",
    "库存",
    "有货",
    "缺货",
    "逾期",
    "状态",
    "进度",
];

/// Words that only look like one of those: `现在` in `出现在`, "to appear in".
const OTHERS: &[&str] = &["出现在", "体现在", "表现在", "呈现在", "展现在", "实现在"];

/// Whether a question is about now, by the built-in words and by `more`.
pub(super) fn asked(question: &str, more: &[String]) -> bool {
    let mut text: String = folded(question);
    for other in OTHERS {
        text = text.replace(other, " ");
    }
    let more = more.iter().map(|word| folded(word));
    CHINESE.iter().any(|word| text.contains(word))
        || ENGLISH.iter().any(|word| has(&text, word))
        || more.into_iter().any(|word| has(&text, word.trim()))
        || is_near(&text)
}

/// Whether a text speaks of a time that begins or ends now.
fn is_near(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_span = |word: &&str| {
        SPANS.contains(word) || word.strip_suffix('s').is_some_and(|one| SPANS.contains(&one))
    };
    words.iter().enumerate().filter(|(_, word)| NEAR.contains(word)).any(|(at, _)| {
        let behind = words.iter().skip(at + 1).take(BETWEEN + 1);
        behind.copied().any(|word| is_span(&word))
    })
}

fn folded(text: &str) -> String {
    let plain = text.nfkc().flat_map(char::to_lowercase);
    let plain: String = plain.map(|one| if one == '\u{2019}' { '\'' } else { one }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a word stands in a text; as a whole word where its script has spaces.
fn has(text: &str, word: &str) -> bool {
    let inside = |one: Option<char>| one.is_some_and(|one| one.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|text| text.chars().next());
        let starts = word.starts_with(|one: char| one.is_ascii_alphanumeric());
        let ends = word.ends_with(|one: char| one.is_ascii_alphanumeric());
        !((starts && inside(before)) || (ends && inside(after)))
    })
}
