//! What a tool gives, for its description: providers take a schema of the arguments alone, and a model that
//! does not know which tool has the value it needs takes one whose name looks like it.

use serde_json::Value;

/// Most bytes of the names.
const NAMES: usize = 240;

/// The names of what a result has by the schema of it, those of lists and objects behind their own: `Gives
/// order_id, items (sku, quantity).`; `None` without a name.
pub(super) fn gives(schema: &Value) -> Option<String> {
    let mut told = String::new();
    for (name, inner) in names(schema, schema) {
        let inner: Vec<&str> = names(schema, inner).map(|(name, _)| name).collect();
        let one = match inner.is_empty() {
            true => name.to_owned(),
            false => format!("{name} ({})", inner.join(", ")),
        };
        // One that is too long is told without its own.
        let room = NAMES.saturating_sub(told.len());
        let Some(one) = [one.as_str(), name].into_iter().find(|one| one.len() <= room) else {
            told.push_str(", …");
            break;
        };
        told.push_str(if told.is_empty() { "" } else { ", " });
        told.push_str(one);
    }
    (!told.is_empty()).then(|| format!("Gives {told}."))
}

/// The properties of an object, or of the objects of a list.
fn names<'s>(root: &'s Value, schema: &'s Value) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let schema = resolved(root, schema);
    let schema = schema.get("items").map_or(schema, |items| resolved(root, items));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, inner)| (name.as_str(), inner))
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|target| root.pointer(target.strip_prefix('#')?));
    target.unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_told_by_its_names() {
        let text = json!({ "type": "string" });
        let order = json!({
            "$ref": "#/$defs/Order",
            "$defs": { "Order": { "type": "object", "properties": {
                "order_id": text,
                "items": { "type": "array", "items": { "properties": { "sku": text } } },
                "to": { "$ref": "#/$defs/To" },
            } }, "To": { "properties": { "city": text } } },
        });
        assert_eq!(gives(&order).unwrap(), "Gives order_id, items (sku), to (city).");
        let list = json!({ "type": "array", "items": { "properties": { "at": text } } });
        assert_eq!(gives(&list).unwrap(), "Gives at.");
        assert_eq!(gives(&json!({ "type": "object" })), None);
        assert_eq!(gives(&json!({ "$ref": "#/$defs/Nowhere" })), None);
        let many: serde_json::Map<String, Value> =
            (0..99).map(|number| (format!("property_{number}"), text.clone())).collect();
        let many = gives(&json!({ "properties": many })).unwrap();
        assert!(many.ends_with(", ….") && many.len() < NAMES + 20, "{many}");
    }
}
