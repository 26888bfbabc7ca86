//! How values are read.

use jiff::tz::TimeZone;

use crate::evidence::read::{Expect, Type, Unread, normal, read};
use crate::evidence::scan::{holds, scan};

fn shown(text: &str) -> String {
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    match read(text, &Expect::default(), &zone) {
        Ok(value) => format!("{} {value}", value.kind()),
        Err(unread) => match unread {
            Unread::Ambiguous { one, two, .. } => format!("ambiguous {one} {two}"),
            Unread::Part { .. } => "part".to_owned(),
            Unread::Calendar { .. } => "calendar".to_owned(),
            Unread::Unit { .. } => "unit".to_owned(),
            Unread::Number { .. } => "number".to_owned(),
            Unread::Long { .. } => "long".to_owned(),
            Unread::Kind { .. } => "kind".to_owned(),
            Unread::Empty => "empty".to_owned(),
        },
    }
}

/// A text, and how it is read.
const WRITTEN: [(&str, &str); 76] = [
    ("15,000", "a number 15000"),
    ("-15,000.50", "a number -15000.50"),
    ("１５０００", "a number 15000"),
    ("1.5万", "a number 15000"),
    ("一万五千", "a number 15000"),
    ("一万五", "a number 15000"),
    ("3万5千", "a number 35000"),
    ("两千零五", "a number 2005"),
    ("一亿二千万", "a number 120000000"),
    ("壹仟贰佰", "a number 1200"),
    ("二〇二六", "a number 2026"),
    ("三点一四", "a number 3.14"),
    ("十五", "a number 15"),
    ("eight thousand", "a number 8000"),
    ("two hundred and fifty", "a number 250"),
    ("twenty-five thousand", "a number 25000"),
    ("15k", "a number 15000"),
    ("2.5 million", "a number 2500000"),
    ("1.234.567", "a number 1234567"),
    ("1.234,56", "a number 1234.56"),
    ("1,234.56", "a number 1234.56"),
    ("0.125", "a number 0.125"),
    ("5 kg", "a quantity 5 kg"),
    ("5公斤", "a quantity 5 kg"),
    ("三千克", "a quantity 3 kg"),
    ("3斤", "a quantity 3 jin"),
    ("五两", "a quantity 5 liang"),
    ("2.5 m²", "a quantity 2.5 m2"),
    ("30天", "a quantity 30 d"),
    ("3个月", "a quantity 3 month"),
    ("7 working days", "a quantity 7 workday"),
    ("-5 °C", "a quantity -5 degC"),
    ("2起", "a quantity 2 cases"),
    ("5 N·m", "a quantity 5 N·m"),
    ("5 N⋅m", "a quantity 5 N·m"),
    ("5 Nm", "a quantity 5 N·m"),
    ("5 nm", "a quantity 5 nm"),
    ("90 km/h", "a quantity 90 km/h"),
    ("90公里/小时", "a quantity 90 km/h"),
    ("2.5 kW·h", "a quantity 2.5 kWh"),
    ("2.5 KWH", "a quantity 2.5 kWh"),
    ("750 W·h", "a quantity 750 Wh"),
    ("7.8 g/cm³", "a quantity 7.8 g/cm3"),
    ("6.5 L/100 km", "a quantity 6.5 L/100km"),
    ("100 Mbit/s", "a quantity 100 Mbit/s"),
    ("12 MB/s", "a quantity 12 MB/s"),
    ("3 Mpa", "a quantity 3 MPa"),
    ("5in", "a quantity 5 in"),
    ("¥8,000", "an amount of money 8000 CNY"),
    ("8000元", "an amount of money 8000 CNY"),
    ("1.5万元", "an amount of money 15000 CNY"),
    ("八千块", "an amount of money 8000 CNY"),
    ("人民币15000元", "an amount of money 15000 CNY"),
    ("CNY 300", "an amount of money 300 CNY"),
    ("15,000 EUR", "an amount of money 15000 EUR"),
    ("$5", "an amount of money 5 USD"),
    ("5%", "a percentage 5%"),
    ("百分之五", "a percentage 5%"),
    ("5 percent", "a percentage 5%"),
    ("千分之三", "a percentage 0.3%"),
    ("2026-03-01", "a date 2026-03-01"),
    ("2026年3月1日", "a date 2026-03-01"),
    ("1 March 2026", "a date 2026-03-01"),
    ("March 1st, 2026", "a date 2026-03-01"),
    ("25/12/2026", "a date 2026-12-25"),
    ("04/04/2026", "a date 2026-04-04"),
    ("2026-03-01T09:00:00+08:00", "an instant 2026-03-01T01:00:00Z"),
    ("2026-03-01 09:00", "an instant 2026-03-01T01:00:00Z"),
    ("2026-03-01T09:00[America/New_York]", "an instant 2026-03-01T14:00:00Z"),
    ("yes", "a yes or no yes"),
    ("否", "a yes or no no"),
    ("delivered", "a text delivered"),
    ("PX-200", "a text PX-200"),
    ("[\"CN\", \"HK\"]", "a set {CN, HK}"),
    ("10..20 kg", "a range 10 kg to 20 kg"),
    ("10至20公斤", "a range 10 kg to 20 kg"),
];

#[test]
fn values_are_read_as_people_write_them() {
    for (text, wanted) in WRITTEN {
        assert_eq!(shown(text), wanted, "{text}");
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_with_both() {
    let cases = [
        ("1.234", "ambiguous 1.234 1234"),
        ("1.234 kg", "ambiguous 1.234 1234"),
        ("15,00", "ambiguous 15.00 1500"),
        ("03/04/2026", "ambiguous 2026-04-03 2026-03-04"),
        ("3.4.2026", "ambiguous 2026-04-03 2026-03-04"),
        ("03/04/26", "part"),
        ("7月1日", "part"),
        ("2026年7月", "part"),
        ("2026-02-30", "calendar"),
        ("31/31/2026", "calendar"),
        ("5 florps", "unit"),
        ("5 EUR/kg", "unit"),
        ("5 EUR/100 g", "unit"),
        ("5 EUR per kg", "unit"),
        ("5元每公斤", "unit"),
        ("5 kg·m2", "unit"),
        ("5 s⁻¹", "unit"),
        ("5 m^2", "unit"),
        ("5 mPa", "unit"),
        ("5 Mbar", "unit"),
        ("5 mWh", "unit"),
        ("¥5 USD", "unit"),
        ("3个百分点", "unit"),
        ("1,00,000", "number"),
        ("1,2.3,4", "number"),
        ("12345678901234567890123456789.5", "long"),
        ("  ", "empty"),
    ];
    for (text, wanted) in cases {
        assert_eq!(shown(text), wanted, "{text}");
    }
}

#[test]
fn what_a_program_wrote_has_a_dot_before_its_fraction() {
    let expect = |unit| Expect { kind: None, unit, machine: true };
    let value = |text, unit| read(text, &expect(unit), &TimeZone::UTC).unwrap().to_string();
    assert_eq!(value("1.234", ""), "1.234");
    assert_eq!(value("1.234", "kg"), "1.234 kg");
    assert_eq!(value("1e3", "%"), "1000%");
    assert_eq!(value("8900.00", "EUR"), "8900.00 EUR");
}

#[test]
fn a_value_of_another_kind_than_wanted_is_refused() {
    let wanted = |text, kind| {
        let expect = Expect { kind: Some(kind), unit: "", machine: false };
        read(text, &expect, &TimeZone::UTC)
    };
    assert!(matches!(wanted("5 kg", Type::Money), Err(Unread::Kind { .. })));
    assert!(matches!(wanted("5", Type::Quantity), Err(Unread::Kind { .. })));
    let day = wanted("2026-03-01T23:30:00Z", Type::Date).unwrap();
    assert_eq!(day.to_string(), "2026-03-01");
    assert_eq!(wanted("5", Type::Text).unwrap().kind(), "a text");
}

#[test]
fn values_are_found_in_running_text() {
    let found = |text: &str| -> Vec<String> {
        let text = normal(text);
        let spots = scan(&text, &Expect::default(), &TimeZone::UTC);
        spots.iter().map(|spot| text.get(spot.start..spot.end).unwrap().to_owned()).collect()
    };
    assert_eq!(found("a transfer of 15,000 EUR on 2026-07-01."), ["15,000 EUR", "2026-07-01"]);
    assert_eq!(found("那如果是 8000 呢"), ["8000"]);
    assert_eq!(found("那如果是八千元呢"), ["八千元"]);
    assert_eq!(found("and if it were eight thousand?"), ["eight thousand"]);
    assert_eq!(found("order ORD-2026-0013 of PX-200 v1.2"), Vec::<String>::new());
    assert_eq!(found("一下子，万一不行，one of them"), Vec::<String>::new());
    assert_eq!(found("15000 in one transfer"), ["15000"]);
    assert_eq!(found("at -5 °C, at most 20 kg"), ["-5 °C", "20 kg"]);
}

#[test]
fn a_spelling_stands_in_a_text_only_whole() {
    let cases = [
        ("a transfer of 15000 EUR", "15000 EUR", true),
        ("a transfer of 15000 EUR", "15000", false),
        ("a transfer of 15000 EUR", "5000 EUR", false),
        ("part PX-200 is out", "200", false),
        ("part PX-200 is out", "PX-200", true),
        ("at -5 °C", "5 °C", false),
        ("共1.5万元", "1.5", false),
        ("共1.5万元", "1.5万元", true),
        ("共１５０００元", "15000元", true),
        ("it was delivered", "delivered", true),
        ("it was undelivered", "delivered", false),
        ("{\"total\":1.234}", "1.234", true),
        ("holds 5 kW·h", "5 kW", false),
        ("holds 5 kW·h", "5 kW·h", true),
        ("costs 5 EUR per kg", "5 EUR", false),
        ("turns at 5 N·m", "5 N·m", true),
    ];
    for (text, spelled, wanted) in cases {
        assert_eq!(holds(text, spelled, &TimeZone::UTC), wanted, "{spelled} in {text}");
    }
}

#[test]
fn long_texts_are_scanned_through() {
    // A square of the length would take minutes here.
    for part in ["1-", "1 ", "1,", "一", "十", "A1.", "2026-", "$", "one "] {
        let text = part.repeat(20_000);
        assert!(!holds(&text, "7 kg", &TimeZone::UTC));
        let spots = scan(&text, &Expect::default(), &TimeZone::UTC);
        assert!(spots.windows(2).all(|two| two[0].end <= two[1].start), "{part}");
    }
}

/// A text and the values in it; `!` is behind what is refused, `of` before what a
/// plain number counts.
const FOUND: [(&str, &str); 76] = [
    ("turns at 5 N m", "5 N·m"),
    ("holds 5 kW h", "5 kWh"),
    ("holds 5 kW.h", "5 kWh"),
    ("holds 5 kW. H is heat", "5 kW"),
    ("5 ft lb of torque", "5 lbf·ft"),
    ("90 km / h wind", "90 km/h"),
    ("at 5 km per hour", "5 km/h"),
    ("5 kWh per 100 km", "5 kWh/100km"),
    ("5 kg / m", "5 kg / m!"),
    ("5 EUR / kg", "5 EUR / kg!"),
    ("5 EUR /kg", "5 EUR /kg!"),
    ("5 EUR/ kg", "5 EUR/ kg!"),
    ("5 EUR/100 g", "5 EUR/100 g!"),
    ("5 W/(m·K)", "5 W/!"),
    ("5 kg.m", "5 kg.m!"),
    ("5 s-1.", "5 s-1!"),
    ("5 m**2", "5 m**2!"),
    ("5 kg/m**3", "5 kg/m**3!"),
    ("5 m * s", "5 m * s!"),
    ("5 kg m⁻²", "5 kg m-2!"),
    ("5 N·m/rad", "5 N·m/rad!"),
    ("5 kg·m/s", "5 kg·m/s!"),
    ("5 EUR a kg", "5 EUR a kg!"),
    ("5 EUR each", "5 EUR each!"),
    ("5 EUR-per-kg", "5 EUR-per-kg!"),
    ("5 EUR a day", "5 EUR a day!"),
    ("is 15000 EUR a problem?", "15000 EUR"),
    ("up to 20 kg per parcel", "20 kg per parcel!"),
    ("5元一公斤", "5元一公斤!"),
    ("共5元一共", "5 CNY"),
    ("每六年一次", "6 year, 1 times"),
    ("5 元 / 公斤", "5 元 / 公斤!"),
    ("5 元 每 公斤", "5 元 每 公斤!"),
    ("每公斤5元", "每公斤5元!"),
    ("每件20元", "每件20元!"),
    ("每次15000元", "15000 CNY"),
    ("每笔转账超过15000元", "15000 CNY"),
    ("€5/kg", "€5/kg!"),
    ("CNY 5 per kg", "CNY 5 per kg!"),
    ("¥5/公斤", "¥5/公斤!"),
    ("$5k/yr", "$5k/yr!"),
    ("5% per year", "5% per year!"),
    ("5% p.a.", "5% p.a.!"),
    ("百分之五每年", "百分之五每年!"),
    ("5/kg", "5/kg!"),
    ("5 per kg", "5 per kg!"),
    ("5 mPa", "5 mPa!"),
    ("5 GPa", "5 GPa"),
    ("5 mWh", "5 mWh!"),
    ("5 gb", "5 gb!"),
    ("5 KG", "5 kg"),
    ("5 MM", "5 MM!"),
    ("5 MG", "5 MG!"),
    ("5 MN·m", "5 MN·m!"),
    ("5 mT", "5 mT!"),
    ("5 µT", "5 μT!"),
    ("5 mΩ", "5 mohm"),
    ("5 MΩ", "5 Mohm"),
    ("5kΩ", "5 kohm"),
    ("12°", "12°!"),
    ("5 mn EUR", "5000000 EUR"),
    ("5 florps", "5 of florps"),
    ("3箱", "3 of 箱"),
    ("3 nights", "3 of nights"),
    ("24/7", "24, 7"),
    ("2 days/3 nights", "2 d, 3 of nights"),
    ("5 kg / 11 lb", "5 kg, 11 lb"),
    ("5 m × 3 m", "5 m, 3 m"),
    ("5 kg CO2", "5 kg"),
    ("5 kg in boxes", "5 kg"),
    ("a 30-day return window", "30 d"),
    ("5-in-1", "5"),
    ("15000 in one transfer", "15000"),
    ("8000 呢", "8000"),
    ("转账15000需要审批吗", "15000"),
    ("2026 was good", "2026"),
];

#[test]
fn a_unit_is_read_whole_or_not_at_all() {
    for (text, wanted) in FOUND {
        let text = normal(text);
        let spots = scan(&text, &Expect::default(), &TimeZone::UTC);
        let told = spots.iter().map(|spot| match (&spot.found, spot.counted) {
            (Ok(value), Some(end)) => {
                format!("{value} of {}", text.get(spot.end..end).unwrap().trim())
            }
            (Ok(value), None) => value.to_string(),
            (Err(_), _) => format!("{}!", text.get(spot.start..spot.end).unwrap()),
        });
        assert_eq!(told.collect::<Vec<_>>().join(", "), wanted, "{text}");
    }
}
