//! Units of measure and currencies: a name as people write it in, its entry out. Factors are exact
//! fractions, so that a conversion is either exact or refused.

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
    /// Other names; Latin ones without regard to case where they have three letters or more.
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

const MASS: &str = "mass";
const LENGTH: &str = "length";
const AREA: &str = "area";
const VOLUME: &str = "volume";
const TIME: &str = "time";
const CALENDAR: &str = "calendar time";
const SPEED: &str = "speed";
const PRESSURE: &str = "pressure";
const ENERGY: &str = "energy";
const POWER: &str = "power";
const DATA: &str = "data";
const VOLTAGE: &str = "voltage";
const CURRENT: &str = "current";
const FREQUENCY: &str = "frequency";

/// All units. The first of each dimension has the factor one.
static UNITS: [Unit; 92] = [
    of("kg", MASS, (1, 0), 1, &["公斤", "千克", "kgs", "kilogram", "kilograms", "kilo", "kilos"]),
    of("g", MASS, (1, 3), 1, &["克", "gram", "grams"]),
    of("mg", MASS, (1, 6), 1, &["毫克", "milligram", "milligrams"]),
    of("ug", MASS, (1, 9), 1, &["μg", "µg", "微克", "microgram", "micrograms"]),
    of("t", MASS, (1000, 0), 1, &["吨", "公吨", "tonne", "tonnes", "metric ton", "metric tons"]),
    of("lb", MASS, (45_359_237, 8), 1, &["lbs", "磅", "pound", "pounds"]),
    of("oz", MASS, (28_349_523_125, 12), 1, &["盎司", "ounce", "ounces"]),
    of("jin", MASS, (5, 1), 1, &["斤", "市斤"]),
    of("liang", MASS, (5, 2), 1, &["两", "市两"]),
    of("m", LENGTH, (1, 0), 1, &["米", "公尺", "meter", "meters", "metre", "metres"]),
    of("dm", LENGTH, (1, 1), 1, &["分米", "decimetre", "decimeter", "decimetres", "decimeters"]),
    of(
        "cm",
        LENGTH,
        (1, 2),
        1,
        &["厘米", "公分", "centimetre", "centimeter", "centimetres", "centimeters"],
    ),
    of(
        "mm",
        LENGTH,
        (1, 3),
        1,
        &["毫米", "millimetre", "millimeter", "millimetres", "millimeters"],
    ),
    of(
        "um",
        LENGTH,
        (1, 6),
        1,
        &["μm", "µm", "微米", "micron", "microns", "micrometre", "micrometres"],
    ),
    of("nm", LENGTH, (1, 9), 1, &["纳米", "nanometre", "nanometer", "nanometres", "nanometers"]),
    of(
        "km",
        LENGTH,
        (1000, 0),
        1,
        &["公里", "千米", "kilometre", "kilometer", "kilometres", "kilometers"],
    ),
    of("in", LENGTH, (254, 4), 1, &["英寸", "inch", "inches"]),
    of("ft", LENGTH, (3048, 4), 1, &["英尺", "foot", "feet"]),
    of("yd", LENGTH, (9144, 4), 1, &["码", "yard", "yards"]),
    of("mi", LENGTH, (1_609_344, 3), 1, &["英里", "mile", "miles"]),
    of("nmi", LENGTH, (1852, 0), 1, &["海里", "nautical mile", "nautical miles"]),
    of("li", LENGTH, (500, 0), 1, &["华里", "市里"]),
    of("zhang", LENGTH, (10, 0), 3, &["丈"]),
    of("chi", LENGTH, (1, 0), 3, &["尺", "市尺"]),
    of("cun", LENGTH, (1, 0), 30, &["寸", "市寸"]),
    of(
        "m2",
        AREA,
        (1, 0),
        1,
        &[
            "平方米",
            "平米",
            "sqm",
            "sq m",
            "square metre",
            "square meter",
            "square metres",
            "square meters",
        ],
    ),
    of("cm2", AREA, (1, 4), 1, &["平方厘米"]),
    of("mm2", AREA, (1, 6), 1, &["平方毫米"]),
    of(
        "km2",
        AREA,
        (1_000_000, 0),
        1,
        &["平方公里", "平方千米", "square kilometre", "square kilometres"],
    ),
    of("ha", AREA, (10_000, 0), 1, &["公顷", "hectare", "hectares"]),
    of("mu", AREA, (2000, 0), 3, &["亩", "市亩"]),
    of("ft2", AREA, (9_290_304, 8), 1, &["平方英尺", "sq ft", "square foot", "square feet"]),
    of("acre", AREA, (40_468_564_224, 7), 1, &["英亩", "acres"]),
    of("L", VOLUME, (1, 0), 1, &["l", "升", "公升", "litre", "liter", "litres", "liters"]),
    of(
        "mL",
        VOLUME,
        (1, 3),
        1,
        &["ml", "毫升", "millilitre", "milliliter", "millilitres", "milliliters"],
    ),
    of(
        "m3",
        VOLUME,
        (1000, 0),
        1,
        &["立方米", "立方", "cubic metre", "cubic meter", "cubic metres", "cubic meters"],
    ),
    of("cm3", VOLUME, (1, 3), 1, &["立方厘米", "cc"]),
    of("gal", VOLUME, (3_785_411_784, 9), 1, &["US gal", "US gallon", "US gallons"]),
    of("s", TIME, (1, 0), 1, &["秒", "秒钟", "sec", "secs", "second", "seconds"]),
    of("ms", TIME, (1, 3), 1, &["毫秒", "millisecond", "milliseconds"]),
    of("us", TIME, (1, 6), 1, &["μs", "µs", "微秒", "microsecond", "microseconds"]),
    of("min", TIME, (60, 0), 1, &["分钟", "mins", "minute", "minutes"]),
    of("h", TIME, (3600, 0), 1, &["小时", "个小时", "钟头", "hr", "hrs", "hour", "hours"]),
    of(
        "d",
        TIME,
        (86_400, 0),
        1,
        &["天", "日", "day", "days", "calendar day", "calendar days", "自然日"],
    ),
    of("wk", TIME, (604_800, 0), 1, &["周", "星期", "个星期", "week", "weeks"]),
    of("month", CALENDAR, (1, 0), 1, &["个月", "months"]),
    of("quarter", CALENDAR, (3, 0), 1, &["季度", "个季度", "quarters"]),
    of("year", CALENDAR, (12, 0), 1, &["年", "yr", "yrs", "years"]),
    of(
        "workday",
        "working time",
        (1, 0),
        1,
        &[
            "个工作日",
            "工作日",
            "workdays",
            "working day",
            "working days",
            "business day",
            "business days",
        ],
    ),
    warm("K", 1, 1, (0, 0), &["kelvin", "开尔文"]),
    warm("degC", 1, 1, (27_315, 2), &["°C", "℃", "摄氏度", "celsius", "degrees celsius", "度"]),
    warm("degF", 5, 9, (45_967, 2), &["°F", "℉", "华氏度", "fahrenheit", "degrees fahrenheit"]),
    of("m/s", SPEED, (1, 0), 1, &["米/秒", "米每秒", "mps"]),
    of("km/h", SPEED, (10, 0), 36, &["kph", "kmh", "公里/小时", "千米/时", "公里每小时"]),
    of("mph", SPEED, (44_704, 5), 1, &["英里/小时"]),
    of("kn", SPEED, (1852, 0), 3600, &["knot", "knots", "节"]),
    of("Pa", PRESSURE, (1, 0), 1, &["帕", "pascal", "pascals"]),
    of("kPa", PRESSURE, (1000, 0), 1, &["千帕"]),
    of("MPa", PRESSURE, (1_000_000, 0), 1, &["兆帕"]),
    of("bar", PRESSURE, (100_000, 0), 1, &["bars", "巴"]),
    of("mbar", PRESSURE, (100, 0), 1, &["hPa", "百帕"]),
    of("atm", PRESSURE, (101_325, 0), 1, &["标准大气压"]),
    of("psi", PRESSURE, (44_482_216_152_605, 5), 64_516, &[]),
    of("J", ENERGY, (1, 0), 1, &["焦耳", "焦", "joule", "joules"]),
    of("kJ", ENERGY, (1000, 0), 1, &["千焦"]),
    of("kWh", ENERGY, (3_600_000, 0), 1, &["千瓦时", "度电", "kilowatt hour", "kilowatt hours"]),
    of("cal", ENERGY, (4184, 3), 1, &["卡路里", "calorie", "calories"]),
    of("kcal", ENERGY, (4184, 0), 1, &["千卡", "大卡"]),
    of("W", POWER, (1, 0), 1, &["瓦", "瓦特", "watt", "watts"]),
    of("kW", POWER, (1000, 0), 1, &["千瓦", "kilowatt", "kilowatts"]),
    of("MW", POWER, (1_000_000, 0), 1, &["兆瓦", "megawatt", "megawatts"]),
    of("B", DATA, (1, 0), 1, &["字节", "byte", "bytes"]),
    of("kB", DATA, (1000, 0), 1, &["KB"]),
    of("MB", DATA, (1_000_000, 0), 1, &["兆字节", "megabyte", "megabytes"]),
    of("GB", DATA, (1_000_000_000, 0), 1, &["gigabyte", "gigabytes"]),
    of("TB", DATA, (1_000_000_000_000, 0), 1, &["terabyte", "terabytes"]),
    of("KiB", DATA, (1024, 0), 1, &[]),
    of("MiB", DATA, (1_048_576, 0), 1, &[]),
    of("GiB", DATA, (1_073_741_824, 0), 1, &[]),
    of("TiB", DATA, (1_099_511_627_776, 0), 1, &[]),
    of("V", VOLTAGE, (1, 0), 1, &["伏", "伏特", "volt", "volts"]),
    of("mV", VOLTAGE, (1, 3), 1, &["毫伏"]),
    of("kV", VOLTAGE, (1000, 0), 1, &["千伏"]),
    of("A", CURRENT, (1, 0), 1, &["安", "安培", "amp", "amps", "ampere", "amperes"]),
    of("mA", CURRENT, (1, 3), 1, &["毫安"]),
    of("Hz", FREQUENCY, (1, 0), 1, &["赫兹", "hertz"]),
    of("kHz", FREQUENCY, (1000, 0), 1, &["千赫"]),
    of("MHz", FREQUENCY, (1_000_000, 0), 1, &["兆赫"]),
    of(
        "pcs",
        "pieces",
        (1, 0),
        1,
        &["件", "个", "只", "台", "pc", "piece", "pieces", "item", "items", "unit", "units"],
    ),
    of("times", "occasions", (1, 0), 1, &["次"]),
    of("cases", "cases", (1, 0), 1, &["起", "例", "宗", "case", "complaint", "complaints", "投诉"]),
    of("persons", "persons", (1, 0), 1, &["人", "名", "位", "person", "people"]),
];

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

/// Whether two names are the same: Latin ones of three letters or more without regard to case.
fn same(name: &str, known: &str) -> bool {
    name == known || (known.len() > 2 && name.eq_ignore_ascii_case(known))
}

/// The unit of a symbol or name.
pub(super) fn find(name: &str) -> Option<&'static Unit> {
    let exact = UNITS.iter().find(|unit| unit.symbol == name);
    let named =
        |unit: &&Unit| same(name, unit.symbol) || unit.names.iter().any(|known| same(name, known));
    exact.or_else(|| UNITS.iter().find(named))
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
    let units = UNITS.iter().flat_map(|unit| std::iter::once(&unit.symbol).chain(unit.names));
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
    UNITS.iter()
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
