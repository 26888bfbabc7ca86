//! Units of measure and currencies: a name as people write it in, its entry out. Factors are exact
//! fractions, so that a conversion is either exact or refused.

mod compound;
mod table;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use rust_decimal::Decimal;

/// A unit of measure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// As values carry it.
    pub(super) symbol: &'static str,
    /// What it measures.
    pub(super) dimension: &'static str,
    /// Mantissa and scale of the factor's numerator.
    numerator: (i64, u32),
    /// The factor's denominator.
    denominator: i64,
    /// Mantissa and scale of what is added before the factor.
    offset: (i64, u32),
    /// Other names; how their case is taken, says [`same`].
    pub(super) names: &'static [&'static str],
}

const fn of(
    symbol: &'static str,
    dimension: &'static str,
    numerator: (i64, u32),
    denominator: i64,
    names: &'static [&'static str],
) -> Unit {
    Unit { symbol, dimension, numerator, denominator, offset: (0, 0), names }
}

const fn warm(
    symbol: &'static str,
    numerator: i64,
    denominator: i64,
    offset: (i64, u32),
    names: &'static [&'static str],
) -> Unit {
    let dimension = "temperature";
    Unit { symbol, dimension, numerator: (numerator, 0), denominator, offset, names }
}

/// Currencies by ISO 4217, with the names that people write. `$` is the US dollar, `¥` and `元` are
/// the renminbi, unless another currency with the same sign is expected.
static CURRENCIES: [(&str, &[&str]); 14] = [
    ("CNY", &["元", "人民币", "元人民币", "块钱", "块", "圆", "¥", "RMB", "yuan"]),
    ("USD", &["美元", "美金", "$", "US$", "dollar", "dollars", "US dollars"]),
    ("EUR", &["欧元", "€", "euro", "euros"]),
    ("GBP", &["英镑", "£", "pounds sterling", "sterling"]),
    ("JPY", &["日元", "日圆", "円", "yen"]),
    ("HKD", &["港元", "港币", "HK$"]),
    ("TWD", &["新台币", "台币", "NT$"]),
    ("SGD", &["新加坡元", "新元", "S$"]),
    ("KRW", &["韩元", "₩", "won"]),
    ("CHF", &["瑞士法郎", "francs"]),
    ("AUD", &["澳元", "A$"]),
    ("CAD", &["加元", "C$"]),
    ("INR", &["卢比", "₹", "rupee", "rupees"]),
    ("RUB", &["卢布", "₽", "rouble", "roubles"]),
];

/// Other currencies that use a sign.
const SHARED: [(&str, &[&str]); 2] = [("$", &["HKD", "TWD", "SGD", "AUD", "CAD"]), ("¥", &["JPY"])];

/// All units of measure.
fn units() -> impl Iterator<Item = &'static Unit> {
    table::UNITS.iter().chain(compound::UNITS)
}

/// Whether two names are the same: Latin ones of three letters or more without regard to case, unless
/// their case tells two units apart, as in `mPa` and `MPa`, `Mbit/s` and `MB/s`.
pub(super) fn same(name: &str, known: &str) -> bool {
    if name == known {
        return true;
    }
    let bits = ["bps", "b/s", "B/s", "iB"].iter().any(|end| known.ends_with(end));
    let made = known.contains(['/', '·', 'Ω'])
        || known.contains(|c: char| c.is_ascii_uppercase())
        || known.ends_with("ohm");
    let milli = known.starts_with(['m', 'M']) && (made || known == "mbar");
    let begins = !milli || name.chars().next() == known.chars().next();
    known.len() > 2 && !bits && begins && name.eq_ignore_ascii_case(known)
}

/// Whether a name is that of a unit or currency but for its case, which tells it apart: `mPa`, `Gb`.
pub(super) fn is_in_other_case(name: &str) -> bool {
    // The article, and words that are short names of units too.
    let is_word = ["a", "in", "li", "mu"].iter().any(|word| name.eq_ignore_ascii_case(word));
    !is_word && names_at(name).any(|known| known.eq_ignore_ascii_case(name))
}

/// The unit of a symbol or name.
pub(super) fn find(name: &str) -> Option<&'static Unit> {
    let exact = units().find(|unit| unit.symbol == name);
    let named =
        |unit: &&Unit| same(name, unit.symbol) || unit.names.iter().any(|known| same(name, known));
    exact.or_else(|| units().find(named))
}

/// The currency of a code, name or sign; `wanted` settles a sign that several have.
pub(super) fn currency(name: &str, wanted: &str) -> Option<&'static str> {
    let shared = SHARED.iter().find(|(sign, _)| *sign == name);
    if let Some(code) = shared.and_then(|(_, codes)| codes.iter().find(|code| **code == wanted)) {
        return Some(code);
    }
    let named = |names: &[&str]| names.iter().any(|known| same(name, known));
    let found = CURRENCIES.iter().find(|(code, names)| same(name, code) || named(names));
    found.map(|(code, _)| *code)
}

/// Names by their first character in lower case.
type Names = BTreeMap<char, Vec<&'static str>>;

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let units = units().flat_map(|unit| std::iter::once(&unit.symbol).chain(unit.names));
    let money = CURRENCIES.iter().flat_map(|(code, names)| std::iter::once(code).chain(*names));
    let mut all = Names::new();
    for name in units.chain(money) {
        let first = name.chars().next().map(|c| c.to_ascii_lowercase());
        all.entry(first.unwrap_or_default()).or_default().push(name);
    }
    all
});

/// The names of units and currencies that a text can begin with.
pub(super) fn names_at(text: &str) -> impl Iterator<Item = &'static str> {
    let first = text.chars().next().map(|c| c.to_ascii_lowercase());
    let found = first.and_then(|c| NAMES.get(&c)).map(Vec::as_slice).unwrap_or_default();
    found.iter().copied()
}

/// The symbols of all units, for the tests.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Unit> {
    units()
}

impl Unit {
    /// Its name in a sentence, behind this number.
    pub(super) fn spoken(&self, number: Decimal, is_chinese: bool) -> String {
        const WORDS: [(&str, &str); 12] = [
            ("d", "day"),
            ("wk", "week"),
            ("month", "month"),
            ("quarter", "quarter"),
            ("year", "year"),
            ("workday", "working day"),
            ("h", "hour"),
            ("min", "minute"),
            ("pcs", "piece"),
            ("times", "time"),
            ("cases", "case"),
            ("persons", "person"),
        ];
        let chinese = self.names.iter().find(|name| !name.is_ascii()).filter(|_| is_chinese);
        let word = WORDS.iter().find(|(symbol, _)| *symbol == self.symbol);
        match (chinese, word) {
            (Some(name), _) => (*name).to_owned(),
            (None, Some((_, word))) if number == Decimal::ONE => (*word).to_owned(),
            (None, Some((_, word))) => format!("{word}s"),
            (None, None) => self.symbol.to_owned(),
        }
    }
}

// === exact arithmetic ===

/// A product without rounding.
pub(super) fn product(one: Decimal, two: Decimal) -> Option<Decimal> {
    let (one, two) = (one.normalize(), two.normalize());
    let mantissa = one.mantissa().checked_mul(two.mantissa())?;
    whole(mantissa, one.scale() + two.scale())
}

/// A sum without rounding.
pub(super) fn sum(one: Decimal, two: Decimal) -> Option<Decimal> {
    let (one, two) = (one.normalize(), two.normalize());
    let scale = one.scale().max(two.scale());
    let raise = |number: Decimal| {
        let factor = 10_i128.checked_pow(scale - number.scale())?;
        number.mantissa().checked_mul(factor)
    };
    whole(raise(one)?.checked_add(raise(two)?)?, scale)
}

/// A quotient, where it ends.
fn quotient(number: Decimal, divisor: Decimal) -> Option<Decimal> {
    let found = number.checked_div(divisor)?;
    (product(found, divisor)? == number).then_some(found)
}

/// A decimal of a mantissa and a scale that may be larger than it can hold.
fn whole(mut mantissa: i128, mut scale: u32) -> Option<Decimal> {
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    Decimal::try_from_i128_with_scale(mantissa, scale).ok()
}

impl Unit {
    fn numerator(&self) -> Decimal {
        Decimal::new(self.numerator.0, self.numerator.1)
    }

    fn denominator(&self) -> Decimal {
        Decimal::from(self.denominator)
    }

    fn offset(&self) -> Decimal {
        Decimal::new(self.offset.0, self.offset.1)
    }
}

/// Which of two quantities of one dimension is larger; `None` where that cannot be computed exactly.
pub(super) fn order(left: (Decimal, &Unit), right: (Decimal, &Unit)) -> Option<Ordering> {
    let (one, two) = (left.1, right.1);
    if one == two {
        return Some(left.0.cmp(&right.0));
    }
    // Both sides times both denominators: no division.
    let side = |number: Decimal, own: &Unit, other: &Unit| {
        let factor = product(own.numerator(), other.denominator())?;
        product(sum(number, own.offset())?, factor)
    };
    Some(side(left.0, one, two)?.cmp(&side(right.0, two, one)?))
}

/// A number of one unit in another one of the same dimension; `None` where it has no end.
pub(super) fn convert(number: Decimal, from: &Unit, to: &Unit) -> Option<Decimal> {
    if from == to {
        return Some(number);
    }
    let up = product(from.numerator(), to.denominator())?;
    let down = product(from.denominator(), to.numerator())?;
    let scaled = product(sum(number, from.offset())?, up)?;
    sum(quotient(scaled, down)?, -to.offset())
}
