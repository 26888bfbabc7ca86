//! An object of JSON text in, its members out, each of them named once. Where one name stands twice, two readers
//! could take two different values for it.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The members of a text's object.
pub(crate) fn parse(text: &str) -> serde_json::Result<Map<String, Value>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = read(&mut reader)?;
    reader.end()?;
    Ok(members)
}

/// The same, as a field of something larger.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    from.deserialize_map(Members)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            if members.contains_key(&name) {
                let name: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!("`{name}` is given twice: give it once")));
            }
            let value = access.next_value()?;
            members.insert(name, value);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_name_is_given_once() {
        let twice = parse(r#"{"n": 1, "\u006e": 2}"#).unwrap_err().to_string();
        assert!(twice.contains("`n` is given twice"), "{twice}");
        let whole = parse(r#" {"n": 9007199254740993, "t": ["a"], "m": null} "#).unwrap();
        assert_eq!(whole["n"].to_string(), "9007199254740993");
        assert!(parse("[]").is_err() && parse("{} {}").is_err());
    }
}
