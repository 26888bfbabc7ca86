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
];

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
