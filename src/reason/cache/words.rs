//! The words by which two questions are held against each other: those without a meaning of their own,
//! those that turn a meaning round, those that are one word in two spellings. Tables only.

/// What a word does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// Nothing.
    Nothing,
    /// It says how something is asked, denied or meant; the number of each such mark counts.
    Marks(&'static str),
    /// It is another spelling of this word.
    Means(&'static str),
}

use Does::{Marks, Means, Nothing};

/// What people begin an English question with, in words; the longer ones first.
pub(super) const OPENERS: &[&[&str]] = &[
    &["could", "you", "please", "tell", "me"],
    &["can", "you", "please", "tell", "me"],
    &["could", "you", "tell", "me"],
    &["can", "you", "tell", "me"],
    &["would", "you", "tell", "me"],
    &["i", "would", "like", "to", "know"],
    &["i'd", "like", "to", "know"],
    &["i", "want", "to", "know"],
    &["i", "need", "to", "know"],
    &["do", "you", "know"],
    &["please", "tell", "me"],
    &["tell", "me"],
    &["let", "me", "know"],
    &["please"],
    &["hello"],
    &["hey"],
    &["hi"],
    &["excuse", "me"],
];

/// English words. What is not here has a meaning of its own.
pub(super) fn english(word: &str) -> Option<Does> {
    Some(match word {
        "a" | "an" | "the" | "is" | "are" | "am" | "be" | "being" | "do" | "does" | "has"
        | "have" | "having" | "of" | "in" | "on" | "at" | "for" | "i" | "me" | "my" | "we"
        | "us" | "our" | "you" | "your" | "it" | "its" | "what" | "which" | "how" | "there"
        | "please" | "about" | "and" | "that's" | "what's" | "kindly" => Nothing,
        "not" | "never" | "no" | "none" | "neither" | "nor" | "nothing" | "nobody" | "without"
        | "except" | "unless" | "excluding" => Marks(negation(word)),
        "can" | "could" | "may" | "might" | "able" | "allowed" | "permitted" | "possible" => {
            Marks("may")
        }
        "must" | "should" | "shall" | "ought" | "need" | "needs" | "required" => Marks("must"),
        "will" | "would" => Marks("will"),
        "did" | "was" | "were" | "had" | "been" => Marks("past"),
        "when" => Marks("when"),
        "where" => Marks("where"),
        "why" => Marks("why"),
        "who" | "whom" | "whose" => Marks("who"),
        "many" | "much" => Marks("many"),
        "often" => Marks("often"),
        "he" | "him" | "his" => Marks("he"),
        "she" | "her" | "hers" => Marks("she"),
        "they" | "them" | "their" | "theirs" => Marks("they"),
        "this" | "these" => Marks("this"),
        "that" | "those" => Marks("that"),
        other => Means(same(other)?),
    })
}

fn negation(word: &str) -> &'static str {
    match word {
        "not" => "not",
        "never" => "never",
        "without" => "without",
        "except" | "excluding" => "except",
        "unless" => "unless",
        "neither" | "nor" => "nor",
        _ => "none",
    }
}

/// English words that are one in two spellings, or so near that they are never told apart.
fn same(word: &str) -> Option<&'static str> {
    Some(match word {
        "biggest" | "largest" | "greatest" => "largest",
        "big" | "large" => "large",
        "littlest" | "smallest" => "smallest",
        "highest" | "maximum" | "maximal" | "max" => "maximum",
        "lowest" | "minimum" | "minimal" | "min" => "minimum",
        "purchase" | "purchases" | "buy" | "buys" => "buy",
        "fix" | "mend" | "repair" => "repair",
        "begin" | "begins" | "start" | "starts" => "start",
        "quick" | "quickly" | "fast" => "fast",
        "telephone" | "phone" => "phone",
        "photo" | "picture" | "photograph" => "photo",
        "allow" | "permit" => "allow",
        "colour" | "color" => "colour",
        "e-mail" | "email" => "email",
        _ => return None,
    })
}

/// Words after which `to` only joins a verb.
pub(super) const BEFORE_TO: &[&str] = &[
    "how",
    "able",
    "need",
    "needs",
    "want",
    "way",
    "like",
    "possible",
    "allowed",
    "required",
    "ought",
    "permitted",
];

/// Chinese words, the longer ones first, as they are looked for from left to right. What is not here has
/// a meaning of its own.
pub(super) const CHINESE: &[(&str, Does)] = &[
    ("能不能告诉我", Nothing),
    ("可不可以告诉我", Nothing),
    ("麻烦帮我查一下", Nothing),
    ("我想了解一下", Nothing),
    ("帮我查一下", Nothing),
    ("请问一下", Nothing),
    ("我想问一下", Nothing),
    ("你能告诉我", Nothing),
    ("我想知道", Nothing),
    ("我想了解", Nothing),
    ("想问一下", Nothing),
    ("请告诉我", Nothing),
    ("告诉我", Nothing),
    ("请问", Nothing),
    ("麻烦", Nothing),
    ("帮我", Nothing),
    ("你好", Nothing),
    ("一下", Nothing),
    ("是什么时候", Marks("when")),
    ("什么时候", Marks("when")),
    ("什么时间", Marks("when")),
    ("哪一天", Marks("when")),
    ("何时", Marks("when")),
    ("是什么原因", Marks("why")),
    ("什么原因", Marks("why")),
    ("为什么", Marks("why")),
    ("为何", Marks("why")),
    ("为啥", Marks("why")),
    ("什么地方", Marks("where")),
    ("在哪里", Marks("where")),
    ("在哪儿", Marks("where")),
    ("哪里", Marks("where")),
    ("哪儿", Marks("where")),
    ("在哪", Marks("where")),
    ("多长时间", Marks("long")),
    ("多久", Marks("long")),
    ("是多少", Marks("many")),
    ("有多少", Marks("many")),
    ("多少", Marks("many")),
    ("是谁", Marks("who")),
    ("谁", Marks("who")),
    ("怎么样", Marks("state")),
    ("怎样了", Marks("state")),
    ("怎么办", Nothing),
    ("怎么", Nothing),
    ("怎样", Nothing),
    ("如何", Nothing),
    ("是什么", Nothing),
    ("有哪些", Nothing),
    ("哪一个", Nothing),
    ("哪些", Nothing),
    ("哪个", Nothing),
    ("什么", Nothing),
    ("是不是", Nothing),
    ("有没有", Means("有")),
    ("能不能", Marks("may")),
    ("可不可以", Marks("may")),
    ("会不会", Marks("will")),
    ("要不要", Marks("must")),
    ("是否", Nothing),
    ("能否", Marks("may")),
    ("可否", Marks("may")),
    ("不可以", Marks("may not")),
    ("不能", Marks("may not")),
    ("不可", Marks("may not")),
    ("禁止", Marks("may not")),
    ("不得", Marks("may not")),
    ("可以", Marks("may")),
    ("能够", Marks("may")),
    ("允许", Marks("may")),
    ("应该", Marks("must")),
    ("应当", Marks("must")),
    ("必须", Marks("must")),
    ("没有", Marks("none")),
    ("不是", Marks("not")),
    ("除了", Marks("except")),
    ("除外", Marks("except")),
    ("不", Marks("not")),
    ("没", Marks("none")),
    ("无", Marks("none")),
    ("未", Marks("not")),
    ("非", Marks("not")),
    ("吗", Nothing),
    ("呢", Nothing),
    ("吧", Nothing),
    ("的", Nothing),
    ("是", Nothing),
    ("请", Nothing),
];

/// Units, in every spelling that is one: behind a number they belong to it.
pub(super) fn unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "%" | "percent" | "per cent" => "%",
        "¥" | "元" | "块" | "块钱" | "人民币" | "yuan" | "rmb" | "cny" => "cny",
        "$" | "usd" | "dollar" | "dollars" | "美元" => "usd",
        "€" | "eur" | "euro" | "euros" | "欧元" => "eur",
        "£" | "gbp" | "pounds sterling" | "英镑" => "gbp",
        "kg" | "kilogram" | "kilograms" | "kilo" | "kilos" | "公斤" | "千克" => "kg",
        "g" | "gram" | "grams" | "克" => "g",
        "t" | "ton" | "tons" | "tonne" | "tonnes" | "吨" => "t",
        "mm" | "millimetre" | "millimetres" | "millimeter" | "millimeters" | "毫米" => "mm",
        "cm" | "centimetre" | "centimetres" | "centimeter" | "centimeters" | "厘米" => "cm",
        "m" | "metre" | "metres" | "meter" | "meters" | "米" => "m",
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" | "公里" | "千米" => {
            "km"
        }
        "s" | "second" | "seconds" | "秒" | "秒钟" => "s",
        "min" | "mins" | "minute" | "minutes" | "分钟" => "min",
        "h" | "hour" | "hours" | "小时" | "个小时" => "h",
        "day" | "days" | "天" => "d",
        "week" | "weeks" | "周" | "星期" | "个星期" => "week",
        "month" | "months" | "个月" => "month",
        "year" | "years" | "年" => "year",
        "bar" | "巴" => "bar",
        "l" | "litre" | "litres" | "liter" | "liters" | "升" => "l",
        "°c" | "celsius" | "摄氏度" => "°c",
        _ => return None,
    })
}

/// Powers of ten that a word behind a number multiplies it by.
pub(super) fn power(word: &str) -> Option<usize> {
    Some(match word {
        "hundred" | "百" => 2,
        "thousand" | "千" => 3,
        "万" => 4,
        "million" | "百万" => 6,
        "千万" => 7,
        "亿" => 8,
        "billion" | "十亿" => 9,
        _ => return None,
    })
}

/// The month that a word is, from 1.
pub(super) fn month(word: &str) -> Option<u32> {
    Some(match word {
        "january" | "jan" => 1,
        "february" | "feb" => 2,
        "march" | "mar" => 3,
        "april" | "apr" => 4,
        "may" => 5,
        "june" | "jun" => 6,
        "july" | "jul" => 7,
        "august" | "aug" => 8,
        "september" | "sep" | "sept" => 9,
        "october" | "oct" => 10,
        "november" | "nov" => 11,
        "december" | "dec" => 12,
        _ => return None,
    })
}
