//! How values compare.

use std::cmp::Ordering;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::evidence::compare::{Operator, Refused, compare};
use crate::evidence::derive::{How, derive};
use crate::evidence::read::{Expect, Type, read};
use crate::evidence::unit;
use crate::evidence::value::Value;

fn value(text: &str) -> Value {
    read(text, &Expect::default(), &zone()).unwrap()
}

fn set(text: &str) -> Value {
    let expect = Expect { kind: Some(Type::Set), ..Expect::default() };
    read(text, &expect, &zone()).unwrap()
}

fn zone() -> TimeZone {
    TimeZone::get("Asia/Shanghai").unwrap()
}

fn holds(left: &Value, operator: Operator, right: &Value) -> Result<bool, Refused> {
    compare(left, operator, right, &zone()).map(|compared| compared.holds)
}

#[test]
fn values_of_one_kind_compare_exactly() {
    let cases = [
        ("15,000 EUR", ">", "10000 EUR"),
        ("0.1 kg", "=", "100 g"),
        ("5公斤", "=", "10斤"),
        ("3尺", "=", "1 m"),
        ("1 ft", "=", "12 in"),
        ("212 °F", "=", "100 °C"),
        ("-40 °F", "=", "-40 °C"),
        ("1 lb", "<", "0.4535923701 kg"),
        ("1 lb", ">", "0.4535923699 kg"),
        ("90 min", "=", "1.5 h"),
        ("36 km/h", "=", "10 m/s"),
        ("1 kWh", "=", "3.6 MJ"),
        ("1500 W·h", "<", "1.6 kW·h"),
        ("100 N·cm", "=", "1 N·m"),
        ("12 lbf·in", "=", "1 ft·lb"),
        ("60 L/min", "=", "3.6 m³/h"),
        ("1 g/cm³", "=", "1000 kg/m³"),
        ("8 Mbit/s", "=", "1 MB/s"),
        ("2 years", "=", "24 months"),
        ("5%", "<", "5.0000001%"),
        ("0.30000000000000004", "!=", "0.3"),
        ("2026-03-01", "before", "2026-03-02"),
        ("2026-03-01T23:00:00+08:00", "=", "2026-03-01"),
        ("2026-03-01T17:00:00Z", "after", "2026-03-01"),
        ("Delivered ", "=", "delivered"),
        ("15 kg", "within", "10..20 kg"),
        ("20 kg", "within", "10..20 kg"),
        ("yes", "!=", "no"),
    ];
    for (left, operator, right) in cases {
        let operator = Operator::parse(operator).unwrap();
        let compared = compare(&value(left), operator, &value(right), &zone()).unwrap();
        assert!(compared.holds, "{}", compared.why);
    }
    assert!(holds(&value("CN"), Operator::In, &set("CN、HK")).unwrap());
    assert!(holds(&value("500 g"), Operator::In, &set("[\"0.5 kg\", \"1 kg\"]")).unwrap());
    assert!(holds(&set("HK, CN"), Operator::Equal, &set("CN, HK")).unwrap());
    assert!(holds(&set("HK"), Operator::In, &set("CN, HK")).unwrap());
    assert!(!holds(&value("21 kg"), Operator::Within, &value("10..20 kg")).unwrap());
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let long = "1234567890123456789012345678";
    let (far, near) = (format!("{long} mi"), format!("{long} nm"));
    let cases = [
        ("5 kg", Operator::Less, "5 m", "measures"),
        ("1 month", Operator::Less, "31 d", "measures"),
        ("5 EUR", Operator::Less, "5 USD", "currencies"),
        ("5", Operator::Less, "5 kg", "of one kind"),
        ("5%", Operator::Less, "0.05", "of one kind"),
        ("5 N·m", Operator::Less, "6 J", "measures"),
        ("a", Operator::Less, "b", "does not compare a text"),
        ("5", Operator::Before, "6", "does not compare a number"),
        ("5", Operator::In, "6", "a set on the right"),
        ("5", Operator::Within, "6", "a range on the right"),
        (&far, Operator::Less, &near, "exactly"),
    ];
    for (left, operator, right, message) in cases {
        let refused = holds(&value(left), operator, &value(right)).unwrap_err().to_string();
        assert!(refused.contains(message), "{left} {operator} {right}: {refused}");
    }
}

#[test]
fn a_value_is_worked_out_of_others() {
    let made = |how, all: &[&str]| {
        let all: Vec<Value> = all.iter().map(|text| value(text)).collect();
        let all: Vec<&Value> = all.iter().collect();
        derive(how, &all, &zone()).map(|value| value.to_string())
    };
    assert_eq!(made(How::Elapsed, &["2026-02-27", "2026-03-01"]).unwrap(), "2 d");
    assert_eq!(made(How::Elapsed, &["2026-01-01", "2027-01-01"]).unwrap(), "365 d");
    assert_eq!(made(How::Later, &["2026-01-31", "1 month"]).unwrap(), "2026-02-28");
    assert_eq!(made(How::Later, &["2026-01-31", "2 weeks"]).unwrap(), "2026-02-14");
    assert_eq!(made(How::Sum, &["1 kg", "500 g", "1 g"]).unwrap(), "1.501 kg");
    assert_eq!(made(How::Difference, &["10 EUR", "0.01 EUR"]).unwrap(), "9.99 EUR");
    assert_eq!(
        made(How::Product, &["5%", "300 EUR"]).unwrap().parse::<String>().unwrap(),
        "15 EUR"
    );
    assert!(made(How::Sum, &["1 kg", "1 m"]).is_err());
    assert!(made(How::Later, &["2026-01-31", "1 h"]).is_err());
    assert!(made(How::Product, &["2 kg", "2 kg"]).is_err());
}

#[test]
fn no_name_stands_for_two_units() {
    let mut seen = std::collections::BTreeMap::new();
    for one in unit::all() {
        for name in std::iter::once(&one.symbol).chain(one.names) {
            let before = seen.insert(*name, one.symbol);
            assert!(before.is_none(), "{name} is {before:?} and {}", one.symbol);
            assert_eq!(unit::find(name).map(|unit| unit.symbol), Some(one.symbol), "{name}");
        }
    }
}

fn decimal() -> impl Strategy<Value = Decimal> {
    (-1_000_000_000_000_i64..1_000_000_000_000, 0_u32..7)
        .prop_map(|(n, scale)| Decimal::new(n, scale))
}

/// Values of one kind, whose order is total.
fn comparable() -> impl Strategy<Value = Vec<Value>> {
    let kinds = prop_oneof![
        Just(vec![""]),
        Just(vec!["EUR"]),
        Just(vec!["kg", "g", "lb", "oz", "jin", "t"]),
        Just(vec!["m", "chi", "ft", "mi", "nmi", "cun"]),
        Just(vec!["degC", "degF", "K"]),
        Just(vec!["month", "year", "quarter"]),
    ];
    kinds.prop_flat_map(|units| {
        proptest::collection::vec((decimal(), proptest::sample::select(units)), 3).prop_map(|all| {
            let value = |(number, unit): (Decimal, &str)| match unit {
                "" => Value::Number { number },
                "EUR" => Value::Money { number, currency: unit.to_owned() },
                unit => Value::Quantity { number, unit: unit.to_owned() },
            };
            all.into_iter().map(value).collect()
        })
    })
}

proptest! {
    #[test]
    fn comparisons_turn_round(all in comparable()) {
        let (a, b) = (&all[0], &all[1]);
        let is = |operator| holds(a, operator, b).unwrap();
        let back = |operator| holds(b, operator, a).unwrap();
        prop_assert_eq!(is(Operator::Less), back(Operator::More));
        prop_assert_eq!(is(Operator::AtMost), back(Operator::AtLeast));
        prop_assert_eq!(is(Operator::Equal), back(Operator::Equal));
        prop_assert_eq!(is(Operator::Equal), !is(Operator::NotEqual));
        prop_assert_eq!(is(Operator::Less), !is(Operator::AtLeast));
        prop_assert!(!(is(Operator::Less) && back(Operator::Less)));
        prop_assert!(holds(a, Operator::Equal, a).unwrap());
    }

    #[test]
    fn comparisons_carry_over(all in comparable()) {
        let mut sorted = all;
        sorted.sort_by(|a, b| match (holds(a, Operator::Less, b), holds(a, Operator::Equal, b)) {
            (Ok(true), _) => Ordering::Less,
            (_, Ok(true)) => Ordering::Equal,
            _ => Ordering::Greater,
        });
        let (a, b, c) = (&sorted[0], &sorted[1], &sorted[2]);
        prop_assert!(holds(a, Operator::AtMost, b).unwrap());
        prop_assert!(holds(b, Operator::AtMost, c).unwrap());
        prop_assert!(holds(a, Operator::AtMost, c).unwrap());
    }

    #[test]
    fn a_unit_and_back_is_the_same(number in decimal(), from in 0_usize..200, to in 0_usize..200) {
        let units: Vec<_> = unit::all().collect();
        let from = units[from % units.len()];
        let same: Vec<_> = units.iter().filter(|one| one.dimension == from.dimension).collect();
        let to = same[to % same.len()];
        if let Some(there) = unit::convert(number, from, to) {
            prop_assert_eq!(unit::convert(there, to, from), Some(number));
            prop_assert_eq!(unit::order((number, from), (there, to)), Some(Ordering::Equal));
        }
    }

    #[test]
    fn a_value_is_read_as_it_is_written(all in comparable()) {
        for one in all {
            let expect = Expect { machine: true, ..Expect::default() };
            prop_assert_eq!(read(&one.to_string(), &expect, &zone()).unwrap(), one);
        }
    }

    #[test]
    fn nothing_that_is_read_or_scanned_breaks(text in "\\PC{0,40}") {
        drop(read(&text, &Expect::default(), &zone()));
        let normal = crate::evidence::read::normal(&text);
        for spot in crate::evidence::scan::scan(&normal, &Expect::default(), &zone()) {
            prop_assert!(normal.get(spot.start..spot.end).is_some());
        }
        crate::evidence::scan::holds(&text, &text, &zone());
    }

    #[test]
    fn numerals_and_signs_in_any_order_do_not_break(text in "[0-9一二两十百千万亿零点.,%元克a-c -]{0,16}") {
        drop(read(&text, &Expect::default(), &zone()));
    }
}
