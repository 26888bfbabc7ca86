//! There and back: for any schema and any arguments that fit it, what a model that obeys the export
//! writes comes back as what was meant.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Dialect, checks, export, model, restore, schema};
use crate::schema::tests::tool;

/// A schema and how to make values of it.
#[derive(Debug, Clone)]
enum Kind {
    Text,
    Whole,
    Real,
    Flag,
    Listed(Vec<Value>),
    Null(Box<Kind>),
    List(Box<Kind>),
    Tuple(Vec<Kind>),
    Map(Box<Kind>),
    Anything,
    Object(Vec<(String, Kind, bool)>, Option<bool>),
    /// Objects that a constant tells apart.
    Cases(Vec<Vec<(String, Kind, bool)>>),
    Either(Box<Kind>),
    Tree,
    Parts(Vec<(String, Kind, bool)>, Vec<(String, Kind, bool)>),
}

const KEYS: [&str; 14] = [
    "a",
    "b",
    "id",
    "filter[name]",
    "$top",
    "名称",
    "From<",
    "From>",
    "a b",
    "a_b",
    "1st",
    "@x",
    "~/",
    "",
];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(&KEYS[..]).prop_map(str::to_owned),
        1 => "[a-z\\[\\]<>é\"\n.]{1,8}",
        1 => "x{62,70}",
    ]
}

fn fields(kind: BoxedStrategy<Kind>) -> impl Strategy<Value = Vec<(String, Kind, bool)>> {
    prop::collection::vec((key(), kind, any::<bool>()), 1..5).prop_map(|mut all| {
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|(name, ..)| seen.insert(name.clone()));
        all
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    let value = prop_oneof![
        Just(json!("x")),
        Just(json!("auto")),
        Just(json!("1")),
        Just(json!(1)),
        Just(json!(2.5)),
        Just(json!(true)),
        Just(json!(null)),
        Just(json!("")),
        Just(json!(-3)),
    ];
    let leaf = prop_oneof![
        Just(Kind::Text),
        Just(Kind::Whole),
        Just(Kind::Real),
        Just(Kind::Flag),
        Just(Kind::Anything),
        Just(Kind::Tree),
        prop::collection::vec(value, 1..4).prop_map(Kind::Listed),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            inner.clone().prop_map(|one| Kind::Null(one.into())),
            inner.clone().prop_map(|one| Kind::List(one.into())),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Kind::Tuple),
            inner.clone().prop_map(|one| Kind::Map(one.into())),
            inner.clone().prop_map(|one| Kind::Either(one.into())),
            (fields(inner.clone()), any::<Option<bool>>())
                .prop_map(|(all, open)| Kind::Object(all, open)),
            (fields(inner.clone()), any::<Option<bool>>())
                .prop_map(|(all, open)| Kind::Object(all, open)),
            prop::collection::vec(fields(inner.clone()), 2..4).prop_map(Kind::Cases),
            (fields(inner.clone()), fields(inner)).prop_map(|(one, mut other)| {
                other.retain(|(name, ..)| one.iter().all(|(known, ..)| known != name));
                Kind::Parts(one, other)
            }),
        ]
    })
}

fn object(fields: &[(String, Kind, bool)]) -> Map<String, Value> {
    let members: Map<String, Value> =
        fields.iter().map(|(name, kind, _)| (name.clone(), kind.schema())).collect();
    let required: Vec<&String> =
        fields.iter().filter(|(.., required)| *required).map(|(name, ..)| name).collect();
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("object"));
    map.insert("properties".to_owned(), Value::Object(members));
    map.insert("required".to_owned(), json!(required));
    map
}

impl Kind {
    fn schema(&self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Whole => json!({"type": "integer", "description": "a number"}),
            Self::Real => json!({"type": "number"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Listed(values) => json!({"enum": values}),
            Self::Anything => json!({}),
            Self::Tree => json!({"$ref": "#/$defs/tree"}),
            Self::Null(inner) => {
                let mut inner = inner.schema();
                match inner.get("type").cloned() {
                    Some(Value::String(name)) => {
                        inner["type"] = json!([name, "null"]);
                        inner
                    }
                    _ => json!({"anyOf": [inner, {"type": "null"}]}),
                }
            }
            Self::List(inner) => json!({"type": "array", "items": inner.schema()}),
            Self::Tuple(all) => {
                let positions: Vec<Value> = all.iter().map(Self::schema).collect();
                json!({"type": "array", "prefixItems": positions, "items": false})
            }
            Self::Map(inner) => json!({"type": "object", "additionalProperties": inner.schema()}),
            Self::Object(fields, open) => {
                let mut map = object(fields);
                map.extend(open.map(|open| ("additionalProperties".to_owned(), json!(open))));
                Value::Object(map)
            }
            Self::Cases(cases) => {
                let branch = |(index, fields): (usize, &Vec<(String, Kind, bool)>)| {
                    let mut map = object(fields);
                    map["properties"]["case"] = json!({"const": format!("c{index}")});
                    map["required"].as_array_mut().unwrap().push(json!("case"));
                    Value::Object(map)
                };
                json!({"oneOf": cases.iter().enumerate().map(branch).collect::<Vec<_>>()})
            }
            Self::Either(inner) => {
                json!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": inner.schema()}]})
            }
            Self::Parts(one, other) => json!({"allOf": [object(one), object(other)]}),
        }
    }

    fn value(&self, random: &mut Random) -> Value {
        match self {
            Self::Text => ["", "x", "7", "{\"a\":1}", "null", "[1]"][random.below(6)].into(),
            Self::Whole => [json!(0), json!(-4), json!(12_345_678_901_234_567_890_u64)]
                [random.below(3)]
            .clone(),
            Self::Real => [json!(0.5), json!(3), json!(-1e30)][random.below(3)].clone(),
            Self::Flag => json!(random.below(2) == 1),
            Self::Listed(values) => values[random.below(values.len())].clone(),
            Self::Anything => [json!("t"), json!(1), json!({"a b": 1}), json!([true]), json!(null)]
                [random.below(5)]
            .clone(),
            Self::Tree => tree(random, 5),
            Self::Null(inner) => {
                if random.below(3) == 0 {
                    Value::Null
                } else {
                    inner.value(random)
                }
            }
            Self::List(inner) => (0..random.below(3)).map(|_| inner.value(random)).collect(),
            Self::Tuple(all) => all.iter().map(|one| one.value(random)).collect(),
            Self::Map(inner) => {
                let keys = ["k", "a b", "From<"].iter().take(random.below(4));
                Value::Object(keys.map(|key| ((*key).to_owned(), inner.value(random))).collect())
            }
            Self::Object(fields, _) => Value::Object(filled(fields, random)),
            Self::Cases(cases) => {
                let index = random.below(cases.len());
                let mut map = filled(&cases[index], random);
                map.insert("case".to_owned(), json!(format!("c{index}")));
                Value::Object(map)
            }
            Self::Either(inner) => match random.below(2) {
                0 => json!(true),
                _ => json!([inner.value(random)]),
            },
            Self::Parts(one, other) => {
                let mut map = filled(other, random);
                map.extend(filled(one, random));
                Value::Object(map)
            }
        }
    }
}

fn filled(fields: &[(String, Kind, bool)], random: &mut Random) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, kind, required) in fields {
        if *required || random.below(2) == 0 {
            map.insert(name.clone(), kind.value(random));
        }
    }
    map
}

fn tree(random: &mut Random, depth: usize) -> Value {
    let mut node = json!({"n o": random.below(9)});
    if depth > 0 && random.below(4) > 0 {
        node["kids"] = (0..1 + random.below(2)).map(|_| tree(random, depth - 1)).collect();
    }
    node
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// A value whose objects have no members that are null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, member)| !member.is_null());
            Value::Object(
                kept.map(|(name, member)| (name.clone(), without_nulls(member))).collect(),
            )
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_an_obedient_model_writes_comes_back_as_it_was_meant(
        root in fields(kind().boxed()),
        case in any::<Option<bool>>(),
        seed in any::<u64>(),
    ) {
        let mut own = Kind::Object(root.clone(), case).schema();
        own["$defs"] = json!({"tree": {"type": "object", "required": ["n o"], "properties": {
            "n o": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}});
        let meant = Kind::Object(root, case).value(&mut Random(seed));
        let full = jsonschema::draft202012::new(&own).unwrap();
        // Parts of one object can ask for what no value has.
        prop_assume!(full.is_valid(&meant));
        let tool = tool(own);
        for dialect in Dialect::ALL {
            let export = export(&tool, dialect);
            prop_assert_eq!(checks::check(&export.definition, dialect), Vec::<String>::new());
            let as_is = restore(&tool, dialect, meant.clone());
            prop_assert_eq!(&as_is, &meant, "{} changed a valid call", dialect);
            let Some(written) = model::write(&export, dialect, &meant) else {
                prop_assert!(!export.losses.is_empty(), "{} {} cannot be said", dialect, meant);
                continue;
            };
            let told = schema(&export);
            if dialect != Dialect::Plain || export.losses.is_empty() {
                prop_assert!(model::fits(&told, &told, &written), "{} {} {}", dialect, told, written);
            }
            let back = restore(&tool, dialect, written.clone());
            // Local servers cannot be told of null in place of a member; that is a loss.
            let (back, meant) = match dialect {
                Dialect::Plain if !export.losses.is_empty() => (without_nulls(&back), without_nulls(&meant)),
                _ => (back, meant.clone()),
            };
            prop_assert_eq!(&back, &meant, "{}: {} of {}", dialect, written, export.definition);
        }
    }
}
