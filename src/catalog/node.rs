//! One JSON value from any text format, by serde. Unlike `serde_json::Value` it refuses duplicate
//! keys, takes keys that are not text, and keeps TOML dates as text.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// Marks a number in `serde_json` built with `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";
/// Marks a date in `toml`.
const DATE: &str = "$__toml_private_datetime";

/// A value read with the rules above.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node(pub(super) Value);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node(Value::Number(value.into())))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Node, E> {
        number(&value.to_string())
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Node, E> {
        number(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        let number = Number::from_f64(value)
            .ok_or_else(|| E::custom(format!("`{value}` has no place in JSON")))?;
        Ok(Node(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node(Value::String(value)))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(Node(item)) = seq.next_element()? {
            items.push(item);
        }
        items.shrink_to_fit();
        Ok(Node(Value::Array(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut object = Map::new();
        while let Some(Key(key)) = map.next_key()? {
            if object.is_empty() && key == NUMBER {
                return number(&map.next_value::<String>()?);
            }
            if object.is_empty() && key == DATE {
                return Ok(Node(Value::String(map.next_value()?)));
            }
            let Node(value) = map.next_value()?;
            if object.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
        }
        Ok(Node(Value::Object(object)))
    }
}

fn number<E: Error>(text: &str) -> Result<Node, E> {
    text.parse::<Number>().map(|number| Node(Value::Number(number))).map_err(E::custom)
}

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyReader)
    }
}

struct KeyReader;

impl Visitor<'_> for KeyReader {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is text, a number or a boolean")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Key, E> {
        Ok(Key(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Key, E> {
        Ok(Key(value))
    }
}
