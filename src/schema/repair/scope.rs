//! What a schema says of one place: references and `allOf` followed, alternatives kept apart.
//! A place's schemas and its value in, a [`Scope`] out. Changes nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::schema::reader::join;
use crate::schema::reference::pointer_of;
use crate::schema::validator::{Compiled, is_sensitive};

/// Most schemas that are followed for one place.
const MAX_FACETS: usize = 256;

/// One schema that applies to a place.
#[derive(Clone)]
pub(super) struct Node<'s> {
    pub(super) schema: &'s Map<String, Value>,
    /// Where it stands in the tool's schema.
    pub(super) pointer: String,
}

/// All that applies to one place.
pub(super) struct Scope<'s> {
    /// Schemas that apply for certain.
    pub(super) facets: Vec<Node<'s>>,
    /// Groups of schemas of which one applies.
    pub(super) unions: Vec<Vec<Node<'s>>>,
}

/// The schema at the root.
pub(super) fn root(compiled: &Compiled) -> Vec<Node<'_>> {
    at(compiled, "").into_iter().collect()
}

fn at<'s>(compiled: &'s Compiled, pointer: &str) -> Option<Node<'s>> {
    let schema = compiled.schema().pointer(pointer)?.as_object()?;
    Some(Node { schema, pointer: pointer.to_owned() })
}

impl<'s> Node<'s> {
    fn child(&self, keyword: &str) -> Option<Self> {
        self.schema
            .get(keyword)?
            .as_object()
            .map(|schema| Self { schema, pointer: join(&self.pointer, keyword) })
    }

    fn children(&self, keyword: &str) -> Vec<Self> {
        let Some(items) = self.schema.get(keyword).and_then(Value::as_array) else {
            return Vec::new();
        };
        let base = join(&self.pointer, keyword);
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                item.as_object()
                    .map(|schema| Self { schema, pointer: join(&base, &index.to_string()) })
            })
            .collect()
    }

    fn referred(&self, compiled: &'s Compiled) -> Option<Self> {
        let reference = self.schema.get("$ref")?.as_str()?;
        at(compiled, &pointer_of(reference)?)
    }

    /// The subschema that `if` selects for `value`.
    fn conditional(&self, compiled: &Compiled, value: &Value) -> Option<Self> {
        self.schema.get("if")?;
        let holds = match self.schema.get("if") {
            Some(Value::Bool(flag)) => *flag,
            _ => compiled.fits(&join(&self.pointer, "if"), value),
        };
        self.child(if holds { "then" } else { "else" })
    }
}

impl<'s> Scope<'s> {
    pub(super) fn of(compiled: &'s Compiled, nodes: &[Node<'s>], value: &Value) -> Self {
        let mut scope = Self { facets: Vec::new(), unions: Vec::new() };
        let mut seen = BTreeSet::new();
        let mut todo: Vec<Node<'s>> = nodes.iter().rev().cloned().collect();
        while let Some(node) = todo.pop() {
            if scope.facets.len() >= MAX_FACETS || !seen.insert(node.pointer.clone()) {
                continue;
            }
            todo.extend(node.referred(compiled));
            todo.extend(node.children("allOf"));
            todo.extend(node.conditional(compiled, value));
            for keyword in ["anyOf", "oneOf"] {
                let branches = node.children(keyword);
                if !branches.is_empty() {
                    scope.unions.push(branches);
                }
            }
            scope.facets.push(node);
        }
        scope
    }

    fn values_of(&self, keyword: &'static str) -> impl Iterator<Item = &'s Value> {
        self.facets.iter().filter_map(move |facet| facet.schema.get(keyword))
    }

    pub(super) fn sensitive(&self) -> bool {
        self.facets.iter().any(|facet| is_sensitive(facet.schema))
    }

    /// The types that the certain schemas allow.
    pub(super) fn types(&self) -> Types {
        let declared = self.values_of("type").map(Types::declared);
        let listed = self.options().map(|options| {
            options.iter().map(|option| Types::of(option)).fold(Types(0), Types::or)
        });
        declared.chain(listed).fold(Types::ANY, Types::and)
    }

    /// The values that `enum` or `const` list, of the first schema that has one.
    pub(super) fn options(&self) -> Option<Vec<&'s Value>> {
        let listed = self.values_of("enum").find_map(Value::as_array);
        let listed = listed.map(|options| options.iter().collect());
        listed.or_else(|| self.values_of("const").next().map(|one| vec![one]))
    }

    /// The default that a schema declares for the place.
    pub(super) fn default_value(&self) -> Option<&'s Value> {
        let read_only = self.values_of("readOnly").any(|flag| flag == &Value::Bool(true));
        self.values_of("default").next().filter(|default| !read_only && !default.is_null())
    }

    /// The names of the declared properties, in order.
    pub(super) fn names(&self) -> Vec<&'s str> {
        let mut names = Vec::new();
        let mut seen = BTreeSet::new();
        for properties in self.values_of("properties").filter_map(Value::as_object) {
            names.extend(properties.keys().map(String::as_str).filter(|name| seen.insert(*name)));
        }
        names
    }

    /// The names of properties that some alternative declares.
    pub(super) fn union_names(&self, compiled: &'s Compiled) -> BTreeSet<&'s str> {
        let branches: Vec<Node<'s>> = self.unions.iter().flatten().cloned().collect();
        let mut names = BTreeSet::new();
        let mut level = branches;
        for _ in 0..4 {
            if level.is_empty() {
                break;
            }
            let inner = Self::of(compiled, &level, &Value::Null);
            names.extend(inner.names());
            level = inner.unions.into_iter().flatten().collect();
        }
        names
    }

    pub(super) fn required(&self) -> BTreeSet<&'s str> {
        let lists = self.values_of("required").filter_map(Value::as_array);
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// Whether other properties than the declared ones are refused.
    pub(super) fn closed(&self) -> bool {
        ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .any(|keyword| self.values_of(keyword).any(|value| value == &Value::Bool(false)))
    }

    /// Whether the schema says outright that other properties are welcome.
    pub(super) fn open(&self) -> bool {
        !self.closed()
            && self
                .values_of("additionalProperties")
                .any(|value| value == &Value::Bool(true) || value.is_object())
    }

    /// The schemas of `patternProperties` for `key`.
    pub(super) fn patterned(&self, compiled: &Compiled, key: &str) -> Vec<Node<'s>> {
        let holders = self.facets.iter().filter_map(|facet| facet.child("patternProperties"));
        holders
            .flat_map(|holder| {
                holder
                    .schema
                    .keys()
                    .filter(|pattern| compiled.matches(pattern, key))
                    .filter_map(|pattern| holder.child(pattern))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The schemas that apply to the member `key`.
    pub(super) fn member(&self, compiled: &Compiled, key: &str) -> Vec<Node<'s>> {
        let mut nodes: Vec<Node<'s>> =
            self.facets.iter().filter_map(|facet| facet.child("properties")?.child(key)).collect();
        nodes.extend(self.patterned(compiled, key));
        if nodes.is_empty() {
            let extra = |facet: &Node<'s>| facet.child("additionalProperties");
            nodes.extend(self.facets.iter().filter_map(extra));
        }
        nodes
    }

    /// The schemas that apply to the item `index`.
    pub(super) fn item(&self, index: usize) -> Vec<Node<'s>> {
        self.facets
            .iter()
            .filter_map(|facet| {
                let listed = facet.schema.get("prefixItems").and_then(Value::as_array);
                match listed.and_then(|listed| listed.get(index)) {
                    Some(schema) => schema.as_object().map(|schema| Node {
                        schema,
                        pointer: format!("{}/prefixItems/{index}", facet.pointer),
                    }),
                    None => facet.child("items"),
                }
            })
            .collect()
    }
}

// === impl Types ===

/// A set of JSON types; whole numbers and fractions are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    const ANY: Self = Self(127);

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::FRACTION),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self(0),
        }
    }

    fn declared(value: &Value) -> Self {
        match value {
            Value::String(name) => Self::named(name),
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).map(Self::named).fold(Self(0), Self::or)
            }
            _ => Self::ANY,
        }
    }

    /// The type of one value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => match crate::schema::canon::whole(number.as_str()) {
                Some(_) => Self::INTEGER,
                None => Self::FRACTION,
            },
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether one of `other`'s types is in the set.
    pub(super) fn allow(self, other: Self) -> bool {
        self.and(other).0 != 0
    }
}
