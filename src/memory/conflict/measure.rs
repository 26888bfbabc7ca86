//! Units of measure: a number and the name of a unit in, a value in the dimension's own unit out.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A value with its dimension.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    /// In the dimension's own unit.
    pub(super) value: f64,
    pub(super) dimension: String,
    /// The unit as it is known here.
    pub(super) unit: &'static str,
}

/// A unit: its spellings, dimension, and value and zero in the dimension's own unit.
struct Unit(&'static [&'static str], &'static str, f64, f64);

/// Longest spellings of one unit come first nowhere: the longest match of all counts.
const UNITS: &[Unit] = &[
    Unit(
        &["mm", "millimeter", "millimeters", "millimetre", "millimetres", "毫米"],
        "length",
        1e-3,
        0.0,
    ),
    Unit(
        &["cm", "centimeter", "centimeters", "centimetre", "centimetres", "厘米", "公分"],
        "length",
        1e-2,
        0.0,
    ),
    Unit(&["m", "meter", "meters", "metre", "metres", "米"], "length", 1.0, 0.0),
    Unit(
        &["km", "kilometer", "kilometers", "kilometre", "kilometres", "公里", "千米"],
        "length",
        1e3,
        0.0,
    ),
    Unit(&["um", "µm", "μm", "micron", "microns", "微米"], "length", 1e-6, 0.0),
    Unit(&["inch", "inches", "英寸"], "length", 0.0254, 0.0),
    Unit(&["ft", "foot", "feet", "英尺"], "length", 0.3048, 0.0),
    Unit(&["mile", "miles", "英里"], "length", 1609.344, 0.0),
    Unit(&["mg", "毫克"], "mass", 1e-6, 0.0),
    Unit(&["g", "gram", "grams", "克"], "mass", 1e-3, 0.0),
    Unit(&["kg", "kilogram", "kilograms", "kilo", "kilos", "千克", "公斤"], "mass", 1.0, 0.0),
    Unit(&["t", "ton", "tons", "tonne", "tonnes", "吨"], "mass", 1e3, 0.0),
    Unit(&["lb", "lbs", "pound", "pounds", "磅"], "mass", 0.453_592_37, 0.0),
    Unit(&["oz", "ounce", "ounces", "盎司"], "mass", 0.028_349_523, 0.0),
    Unit(&["斤"], "mass", 0.5, 0.0),
    Unit(&["pa", "pascal", "帕"], "pressure", 1.0, 0.0),
    Unit(&["hpa"], "pressure", 100.0, 0.0),
    Unit(&["kpa", "千帕"], "pressure", 1e3, 0.0),
    Unit(&["mpa", "兆帕"], "pressure", 1e6, 0.0),
    Unit(&["bar", "bars", "巴"], "pressure", 1e5, 0.0),
    Unit(&["mbar", "毫巴"], "pressure", 100.0, 0.0),
    Unit(&["psi"], "pressure", 6_894.757, 0.0),
    Unit(&["atm", "大气压"], "pressure", 101_325.0, 0.0),
    Unit(&["°c", "℃", "celsius", "degrees celsius", "摄氏度", "度"], "temperature", 1.0, 273.15),
    Unit(
        &["°f", "℉", "fahrenheit", "degrees fahrenheit", "华氏度"],
        "temperature",
        5.0 / 9.0,
        255.372_222,
    ),
    Unit(&["kelvin"], "temperature", 1.0, 0.0),
    Unit(&["ms", "millisecond", "milliseconds", "毫秒"], "time", 1e-3, 0.0),
    Unit(&["s", "sec", "secs", "second", "seconds", "秒", "秒钟"], "time", 1.0, 0.0),
    Unit(&["min", "mins", "minute", "minutes", "分钟"], "time", 60.0, 0.0),
    Unit(&["h", "hr", "hrs", "hour", "hours", "小时", "个小时"], "time", 3600.0, 0.0),
    Unit(&["d", "day", "days", "天", "日"], "time", 86_400.0, 0.0),
    Unit(
        &["working day", "working days", "business day", "business days", "个工作日", "工作日"],
        "working days",
        1.0,
        0.0,
    ),
    Unit(&["week", "weeks", "周", "星期", "个星期"], "time", 604_800.0, 0.0),
    Unit(&["month", "months", "个月"], "months", 1.0, 0.0),
    Unit(&["quarter", "quarters", "季度", "个季度"], "months", 3.0, 0.0),
    Unit(&["year", "years", "yr", "yrs", "年"], "months", 12.0, 0.0),
    Unit(&["ml", "milliliter", "milliliters", "millilitres", "毫升"], "volume", 1e-3, 0.0),
    Unit(&["l", "liter", "liters", "litre", "litres", "升"], "volume", 1.0, 0.0),
    Unit(&["m3", "m³", "cubic meters", "cubic metres", "立方米", "立方"], "volume", 1e3, 0.0),
    Unit(&["gal", "gallon", "gallons", "加仑"], "volume", 3.785_411_8, 0.0),
    Unit(&["%", "percent", "per cent", "个百分点"], "share", 0.01, 0.0),
    Unit(&["‰"], "share", 0.001, 0.0),
    Unit(&["w", "watt", "watts", "瓦"], "power", 1.0, 0.0),
    Unit(&["kw", "kilowatt", "kilowatts", "千瓦"], "power", 1e3, 0.0),
    Unit(&["mw"], "power", 1e6, 0.0),
    Unit(&["hp", "horsepower", "马力"], "power", 745.7, 0.0),
    Unit(&["kwh", "千瓦时"], "energy", 1.0, 0.0),
    Unit(&["mv", "毫伏"], "voltage", 1e-3, 0.0),
    Unit(&["v", "volt", "volts", "伏", "伏特"], "voltage", 1.0, 0.0),
    Unit(&["kv", "千伏"], "voltage", 1e3, 0.0),
    Unit(&["ma", "毫安"], "current", 1e-3, 0.0),
    Unit(&["amp", "amps", "ampere", "amperes", "安", "安培"], "current", 1.0, 0.0),
    Unit(&["hz", "赫兹"], "frequency", 1.0, 0.0),
    Unit(&["khz"], "frequency", 1e3, 0.0),
    Unit(&["rpm", "转/分", "转每分钟"], "turns", 1.0, 0.0),
    Unit(&["nm", "n·m", "n.m", "newton meters", "牛米", "牛·米"], "torque", 1.0, 0.0),
    Unit(&["m/s", "米/秒"], "speed", 1.0, 0.0),
    Unit(&["km/h", "kph", "公里/小时"], "speed", 1.0 / 3.6, 0.0),
    Unit(&["l/min", "升/分钟", "升/分"], "flow", 1.0, 0.0),
    Unit(&["m3/h", "m³/h", "立方米/小时"], "flow", 1000.0 / 60.0, 0.0),
    Unit(&["kb"], "data", 1e3, 0.0),
    Unit(&["mb"], "data", 1e6, 0.0),
    Unit(&["gb"], "data", 1e9, 0.0),
    Unit(&["tb"], "data", 1e12, 0.0),
    Unit(&["usd", "dollar", "dollars", "美元", "us dollars"], "dollars", 1.0, 0.0),
    Unit(&["eur", "euro", "euros", "欧元", "€"], "euros", 1.0, 0.0),
    Unit(&["cny", "rmb", "yuan", "元", "人民币", "块"], "yuan", 1.0, 0.0),
    Unit(&["万元"], "yuan", 1e4, 0.0),
    Unit(&["db", "分贝"], "sound", 1.0, 0.0),
    Unit(&["mm2", "mm²", "平方毫米"], "area", 1e-6, 0.0),
    Unit(&["m2", "m²", "平方米", "square meters", "square metres"], "area", 1.0, 0.0),
];

/// All spellings by their first bytes, and the unit of each.
struct Spellings {
    by_byte: Vec<Vec<&'static str>>,
    units: HashMap<&'static str, &'static Unit>,
}

static SPELLINGS: LazyLock<Spellings> = LazyLock::new(|| {
    let mut all = Spellings { by_byte: vec![Vec::new(); 256], units: HashMap::new() };
    for unit in UNITS {
        for spelling in unit.0 {
            all.units.entry(spelling).or_insert(unit);
            let first = spelling.bytes().next().map(usize::from).unwrap_or_default();
            all.by_byte.get_mut(first).into_iter().for_each(|known| known.push(spelling));
        }
    }
    all
});

/// The unit with which a text in lower case begins, and its bytes.
pub(super) fn unit(text: &str) -> Option<(&'static str, usize)> {
    let mut best: Option<(&'static str, usize)> = None;
    for spelling in SPELLINGS.by_byte.get(usize::from(text.bytes().next()?))? {
        let ends = text.strip_prefix(spelling).is_some_and(|rest| {
            let ascii = spelling.ends_with(|c: char| c.is_ascii_alphanumeric());
            !(ascii && rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        });
        if ends && best.is_none_or(|(_, length)| spelling.len() > length) {
            best = Some((spelling, spelling.len()));
        }
    }
    best
}

/// A number in a unit of this spelling.
pub(super) fn measure(value: f64, spelling: &str) -> Option<Measure> {
    let Unit(spellings, dimension, factor, zero) = SPELLINGS.units.get(spelling)?;
    let unit = spellings.first()?;
    Some(Measure { value: value * factor + zero, dimension: (*dimension).to_owned(), unit })
}

/// A text that is a number, with or without a unit behind it.
pub(super) fn parse(text: &str) -> Option<Measure> {
    let text = crate::mask::folded(text).to_lowercase();
    let text = text.trim().trim_start_matches(['+', '$']).replace(',', "");
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-')))
        .map_or(text.len(), |(at, _)| at);
    let (digits, rest) = text.split_at_checked(end)?;
    let value: f64 = digits.parse().ok()?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(Measure { value, dimension: String::new(), unit: "" });
    }
    let (spelling, length) = unit(rest)?;
    (length == rest.len()).then(|| measure(value, spelling)).flatten()
}
