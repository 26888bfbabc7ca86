//! What a model sees of a long result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{plain, printed, reply_of};
use super::{Ask, Page, Unread, page, view};
use crate::call::Call;
use crate::catalog::{SummaryField, Tool};
use crate::normalize::Reply;
use crate::tokens;

fn tool(fields: &[&str]) -> Tool {
    let mut tool = plain();
    tool.summary_fields = fields.iter().map(|text| SummaryField::parse(text).unwrap()).collect();
    tool
}

fn wish(max_tokens: u32, full: bool) -> Call {
    Call { max_tokens, full, ..Call::new("probe", "{}") }
}

/// The reply of `tool` that gave `data`, whole and as it is shown.
fn shown(tool: &Tool, data: &Value, call: &Call) -> (Reply, Option<Reply>) {
    let whole = reply_of(tool.clone(), printed(data.to_string()));
    let view = view(&whole, Some(tool), call);
    (whole, view)
}

fn data(fields: &[&str], data: &Value) -> Value {
    let (whole, view) = shown(&tool(fields), data, &wish(0, false));
    view.unwrap_or(whole).data
}

fn png(length: usize) -> (Vec<u8>, String) {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend((0..length).map(|n| u8::try_from(n * 7 % 251).unwrap()));
    let text = STANDARD.encode(&bytes);
    (bytes, text)
}

fn orders(count: usize) -> Value {
    let order = |n: usize| {
        json!({"id": 9_007_199_254_740_993_u64 + n as u64, "state": "shipped", "lines": [
            {"sku": format!("A-{n}"), "note": "packed with care"}]})
    };
    json!({"total": count, "orders": (0..count).map(order).collect::<Vec<_>>()})
}

#[test]
fn a_summary_keeps_the_structure_of_what_it_selects() {
    let value = json!({"z": 1, "orders": [{"id": 1, "b": {"x": 1, "y": 2}}, {"id": 2}], "a": 0});
    for (fields, expected) in [
        (&["$.a", "$.z"][..], json!({"z": 1, "a": 0})),
        (&["$.orders[*].id"], json!({"orders": [{"id": 1}, {"id": 2}]})),
        (&["$.orders[1].id", "$.a"], json!({"orders": [{"id": 2}], "a": 0})),
        (&["$..x"], json!({"orders": [{"b": {"x": 1}}]})),
        (&["$.orders[0]", "$.orders[0].id"], json!({"orders": [{"id": 1, "b": {"x": 1, "y": 2}}]})),
        (&["$.orders[0].id", "$.orders[0]"], json!({"orders": [{"id": 1, "b": {"x": 1, "y": 2}}]})),
    ] {
        assert_eq!(data(fields, &value).to_string(), expected.to_string(), "{fields:?}");
    }
}

#[test]
fn a_view_says_how_much_there_is_and_changes_nothing_else() {
    let value = orders(3);
    let (whole, view) = shown(&tool(&["$.total", "$.none"]), &value, &wish(0, false));
    let mut reply = view.unwrap();
    assert_eq!(reply.data, json!({"total": 3}));
    let view = reply.metadata.view.take().unwrap();
    assert_eq!((view.summary, view.left_out, view.handles), (true, 0, 0));
    assert_eq!(view.full_bytes, value.to_string().len());
    assert_eq!(view.full_tokens, tokens::count(&value.to_string()));
    assert_eq!(view.tokens, tokens::count(&reply.data.to_string()));
    assert_eq!(view.unmatched, ["$.none"]);
    reply.data = whole.data.clone();
    assert_eq!(reply.to_json(), whole.to_json());
}

#[test]
fn a_result_that_is_shown_whole_has_no_view() {
    let none = |fields: &[&str], value: &Value, call: &Call| {
        assert!(shown(&tool(fields), value, call).1.is_none(), "{fields:?} {call:?}");
    };
    none(&[], &orders(50), &wish(0, false));
    none(&[], &orders(2), &wish(10_000, false));
    none(&["$.total"], &orders(50), &wish(0, true));
    none(&["$.total"], &json!("text"), &wish(0, false));
    // Nothing selected says nothing: then the whole is shown, and which expressions missed.
    let (whole, view) = shown(&tool(&["$.items[*].id"]), &json!({"items": []}), &wish(0, false));
    let view = view.unwrap();
    assert_eq!(view.data, whole.data);
    assert_eq!(view.metadata.view.unwrap().unmatched, ["$.items[*].id"]);
    let mut failed = printed(orders(3).to_string());
    failed.end = crate::sandbox::End::Exited(1);
    let tool = tool(&["$.total"]);
    let failed = reply_of(tool.clone(), failed);
    assert!(
        super::view(&failed, Some(&tool), &wish(0, false)).is_none(),
        "an error is not summed up"
    );
}

/// The value shortened, after the rules that hold for any have been held against it.
fn short(value: &Value, budget: u32) -> Value {
    let (whole, view) = shown(&tool(&[]), value, &wish(budget, false));
    let Some(view) = view else { return whole.data };
    let facts = view.metadata.view.unwrap();
    let least = usize::try_from(budget.max(32)).unwrap();
    assert!(tokens::count(&view.data.to_string()) <= least, "{budget}: {}", view.data);
    assert!(facts.left_out > 0 && facts.full_tokens > least);
    let again: Value = serde_json::from_str(&view.data.to_string()).unwrap();
    assert_eq!(again, view.data);
    view.data
}

#[test]
fn an_array_keeps_its_first_items_and_says_how_many_are_left_out() {
    let value = orders(200);
    for budget in [100, 300, 1000, 4000] {
        let view = short(&value, budget);
        assert_eq!(view["total"], 200);
        let items = view["orders"].as_array().unwrap();
        let (more, kept) = items.split_last().unwrap();
        let more = &more["$more"];
        assert_eq!(more["pointer"], "/data/orders");
        assert_eq!(more["first"], kept.len());
        assert_eq!(more["items"], 200 - kept.len());
        assert_eq!(kept[0]["id"].to_string(), "9007199254740993");
        let whole = kept.iter().zip(value["orders"].as_array().unwrap());
        assert!(whole.take(kept.len() - 1).all(|(shown, full)| shown == full), "{view}");
        let used = tokens::count(&view.to_string());
        assert!(
            budget < 200 || used * 10 >= usize::try_from(budget).unwrap() * 7,
            "{used}/{budget}"
        );
    }
}

#[test]
fn a_summary_that_is_too_long_points_into_the_full_result() {
    let tool = tool(&["$.orders[?@.state == 'open'].id"]);
    let mut value = orders(400);
    for order in value["orders"].as_array_mut().unwrap().iter_mut().skip(1).step_by(2) {
        order["state"] = json!("open");
    }
    let (_, view) = shown(&tool, &value, &wish(200, false));
    let view = view.unwrap();
    let items = view.data["orders"].as_array().unwrap();
    let more = &items.last().unwrap()["$more"];
    let kept = items.len() - 1;
    assert_eq!(more["items"], 200 - kept);
    assert_eq!(more["first"], kept * 2 + 1, "{more}");
}

#[test]
fn text_is_cut_at_a_word_and_says_how_much_is_missing() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    let view = short(&json!({"body": text}), 120);
    let body = view["body"].as_str().unwrap();
    let (start, marker) = body.split_once('…').unwrap();
    assert!(text.starts_with(start) && start.len() > 200, "{body}");
    assert!(start.split(' ').all(|word| text.split(' ').any(|known| known == word)), "{start}");
    let from = start.chars().count();
    assert_eq!(marker, format!("[{} more characters: /data/body from {from}]", 4500 - from));

    let text = "日本語の文章です。".repeat(200);
    let view = short(&json!([text]), 100);
    let body = view[0].as_str().unwrap();
    assert!(body.contains("more characters: /data/0 from "), "{body}");
    let text = "a\u{301}".repeat(900);
    let view = short(&json!(text), 90);
    let start = view.as_str().unwrap().split('…').next().unwrap();
    assert!(start.ends_with('\u{301}') && start.chars().count().is_multiple_of(2), "{start}");
}

#[test]
fn large_members_share_what_small_ones_leave() {
    let long = "word ".repeat(2000);
    let value = json!({"long": long, "id": 7, "other": long, "name": "small"});
    let view = short(&value, 400);
    assert_eq!((&view["id"], &view["name"]), (&json!(7), &json!("small")));
    let [a, b] = ["long", "other"].map(|name| view[name].as_str().unwrap().len());
    assert!(a > 400 && a.abs_diff(b) < 40, "{a} {b}");
    let keys: Vec<&String> = view.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["long", "id", "other", "name"]);

    let wide: Value =
        (0..5000).map(|n| (format!("key{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    let view = short(&wide, 200);
    let kept = view.as_object().unwrap().len() - 1;
    assert_eq!(view["$more"]["members"], 5000 - kept);
    assert_eq!(
        (&view["$more"]["first"], &view["$more"]["pointer"]),
        (&json!(kept), &json!("/data"))
    );
}

#[test]
fn the_members_left_out_of_a_summary_are_found_at_their_place_in_the_whole() {
    let member = |n: usize| (format!("key{n}"), json!({"keep": n % 2 == 1, "n": n}));
    let wide: Value = (0..600).map(member).collect::<serde_json::Map<_, _>>().into();
    let (_, view) = shown(&tool(&["$[?@.keep == true]"]), &wide, &wish(200, false));
    let view = view.unwrap().data;
    let kept = view.as_object().unwrap().len() - 1;
    let marker = &view["$more"];
    assert_eq!(marker["members"], 300 - kept, "{view}");
    assert_eq!(marker["first"], 2 * kept + 1, "{view}");
    assert!(view.get(format!("key{}", 2 * kept - 1)).is_some());
}

#[test]
fn what_lies_deep_collapses() {
    let mut value = json!(["end of it all, told at some length so that it does not fit"]);
    for _ in 0..50 {
        value = json!({"in": value, "beside": "some words at every level"});
    }
    let view = short(&value, 150);
    assert!(view.to_string().contains("\"$more\":{\"members\":2"), "{view}");
    assert_eq!(short(&json!([[[["x".repeat(4000)]]]]), 1).to_string().matches("more").count(), 1);
}

#[test]
fn binary_content_has_a_handle_in_its_place() {
    let (bytes, text) = png(3000);
    let value = json!({"name": "logo", "image": text, "list": [1, {"a/b": text}]});
    let (whole, view) = shown(&tool(&[]), &value, &wish(0, false));
    let view = view.unwrap();
    let handle = &view.data["image"]["$binary"];
    assert_eq!(
        (&handle["pointer"], &handle["media_type"], &handle["bytes"]),
        (&json!("/data/image"), &json!("image/png"), &json!(bytes.len()))
    );
    assert_eq!(view.data["list"][1]["a/b"]["$binary"]["pointer"], "/data/list/1/a~1b");
    assert_eq!((&view.data["name"], &view.data["list"][0]), (&json!("logo"), &json!(1)));
    assert_eq!(view.metadata.view.unwrap().handles, 2);

    let reply = serde_json::from_str(&whole.to_json()).unwrap();
    let mut asked = ask("/data/list/1/a~1b");
    (asked.decode, asked.bytes) = (true, 1000);
    let mut got = Vec::new();
    loop {
        let page = page(&reply, &asked).unwrap();
        assert_eq!((page.total, page.media_type.as_str()), (bytes.len(), "image/png"));
        got.extend(page.content);
        asked.first = page.next_first;
        if page.next_first == 0 {
            break;
        }
    }
    assert_eq!(got, bytes);
}

#[test]
fn only_what_is_surely_binary_is_replaced() {
    let (_, long) = png(3000);
    let random = STANDARD.encode(vec![0x5a; 3000]);
    let one = |value: &str, schema: Value| {
        let mut tool = tool(&[]);
        tool.output_schema = Some(schema);
        let (_, view) = shown(&tool, &json!({"v": value}), &wish(0, false));
        view.map(|view| view.data["v"]["$binary"]["media_type"].clone())
    };
    let declared = |how: Value| json!({"properties": {"v": how}});
    assert_eq!(one(&random, json!({})), None, "it could be anything");
    assert_eq!(one(&"word ".repeat(600), declared(json!({"format": "byte"}))), None, "not base64");
    assert_eq!(one(long.get(..1000).unwrap(), json!({})), None, "short");
    assert_eq!(one(&long, json!({})), Some(json!("image/png")));
    let wrapped = long.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap());
    assert_eq!(one(&wrapped.collect::<Vec<_>>().join("\r\n"), json!({})), Some(json!("image/png")));
    assert_eq!(one(&random, declared(json!({"format": "byte"}))), Some(json!("text/plain")));
    let media = json!({"contentEncoding": "base64", "contentMediaType": "audio/ogg"});
    assert_eq!(one(&random, declared(media)), Some(json!("audio/ogg")));
    let by_ref = json!({"$defs": {"b": {"anyOf": [{"type": "null"}, {"format": "binary"}]}},
        "allOf": [{"properties": {"v": {"$ref": "#/$defs/b"}}}]});
    assert_eq!(one(&random, by_ref), Some(json!("text/plain")));
    assert_eq!(one(&random, declared(json!({"$ref": "#/properties/v"}))), None);
    let url = format!("data:font/woff2;base64,{random}");
    assert_eq!(one(&url, json!({})), Some(json!("font/woff2")));
    assert_eq!(one(&format!("data:,{}", "x".repeat(2000)), json!({})), None);
    let (_, view) = shown(&tool(&[]), &json!({"v": long}), &wish(0, true));
    assert!(view.is_none(), "the whole was asked for");
}

fn ask(pointer: &str) -> Ask {
    Ask {
        pointer: pointer.to_owned(),
        first: 0,
        count: 0,
        bytes: 1 << 20,
        max_tokens: 0,
        decode: false,
    }
}

/// All pages put together, of arrays and objects.
fn all_pages(reply: &Value, mut asked: Ask) -> (Vec<Value>, usize) {
    let (mut rows, mut pages) = (Vec::new(), 0);
    loop {
        let page = page(reply, &asked).unwrap();
        pages += 1;
        assert!(page.json.len() <= asked.bytes + 64, "{}", page.json.len());
        match serde_json::from_str(&page.json).unwrap() {
            Value::Array(items) => rows.extend(items),
            Value::Object(members) => rows.extend(members.into_iter().map(|(k, v)| json!([k, v]))),
            Value::String(text) => rows.extend(text.chars().map(|c| json!(c.to_string()))),
            other => rows.push(other),
        }
        asked.first = page.next_first;
        if page.next_first == 0 {
            return (rows, pages);
        }
    }
}

#[test]
fn pages_put_together_are_the_whole() {
    let text = "äöü€ 日本 \"quoted\"\n".repeat(40);
    let reply = json!({"data": {"orders": orders(60)["orders"], "text": text, "n": 1}});
    let orders = reply["data"]["orders"].as_array().unwrap();
    for (bytes, tokens, count) in [(1 << 20, 0, 7), (900, 0, 0), (1 << 20, 150, 0), (700, 90, 3)] {
        let asked = Ask { bytes, max_tokens: tokens, count, ..ask("/data/orders") };
        let (rows, pages) = all_pages(&reply, asked);
        assert!(&rows == orders && pages > 5, "{bytes} {tokens} {count}: {pages}");
        let asked = Ask { bytes, max_tokens: tokens, count: count * 9, ..ask("/data/text") };
        let (rows, _) = all_pages(&reply, asked);
        let joined: String = rows.iter().map(|c| c.as_str().unwrap()).collect();
        assert_eq!(joined, text);
    }
    for text in [format!(" {}", "x".repeat(3000)), format!("a{}", "\u{301}".repeat(2000))] {
        let reply = json!({ "data": text });
        let (rows, _) = all_pages(&reply, Ask { max_tokens: 32, ..ask("/data") });
        assert_eq!(rows.len(), text.chars().count());
    }
    let (rows, _) = all_pages(&reply, Ask { count: 1, ..ask("/data") });
    assert_eq!(rows.len(), 3);
    assert_eq!(page(&reply, &ask("/data/n")).unwrap().json, "1");
    assert_eq!(page(&reply, &ask("")).unwrap().json, reply.to_string());
}

#[test]
fn an_item_that_is_too_long_for_a_page_is_shortened() {
    let reply = json!({"data": [{"text": "word ".repeat(5000), "id": 1}, {"id": 2}]});
    let first = page(&reply, &Ask { max_tokens: 100, ..ask("/data") }).unwrap();
    assert!(first.json.contains("more characters: /data/0/text from"), "{}", first.json);
    assert!(tokens::count(&first.json) <= 100, "{}", first.json);
    assert_eq!((first.total, first.next_first), (2, 1));
    let second = page(&reply, &Ask { first: 1, ..ask("/data") }).unwrap();
    assert_eq!((second.json.as_str(), second.next_first), ("[{\"id\":2}]", 0));
    let cut = page(&reply, &Ask { bytes: 2000, ..ask("/data/0") }).unwrap();
    assert!(cut.json.contains("/data/0/text from") && cut.json.len() < 2000, "{}", cut.json);
    assert_eq!(cut.next_first, 1);
}

#[test]
fn a_question_that_leads_nowhere_is_told_how_far_it_led() {
    let reply = json!({"data": {"items": [1, 2], "b": "x"}});
    let wrong =
        |asked: Ask| -> Unread { page(&reply, &asked).map(|page: Page| page.json).unwrap_err() };
    let refused = wrong(ask("/data/items/7/id"));
    assert_eq!(refused.field, "pointer");
    assert_eq!(refused.message, "leads nowhere; at `/data/items` is an array of 2 items");
    assert!(wrong(ask("/data/itms")).message.ends_with("an object with `items`, `b`"));
    assert!(wrong(ask("data")).message.contains("starts with"));
    assert_eq!(wrong(Ask { first: 3, ..ask("/data/items") }).field, "first");
    assert_eq!(
        wrong(Ask { first: 2, ..ask("/data/b") }).message,
        "lies beyond the end; there are 1"
    );
    assert_eq!(wrong(Ask { decode: true, ..ask("/data/b") }).field, "decode");
    assert_eq!(wrong(Ask { decode: true, ..ask("/data/items") }).field, "decode");
    assert_eq!(page(&reply, &Ask { first: 2, ..ask("/data/items") }).unwrap().json, "[]");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,300}".prop_map(Value::from),
        "[a-z ]{0,900}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::Array),
            prop::collection::vec(("[a-z/~$]{0,12}", inner), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_shown_within_any_budget(value in any_value(), budget in 1_u32..800) {
        let first = short(&value, budget);
        prop_assert_eq!(first, short(&value, budget));
    }

    #[test]
    fn any_value_is_read_again_in_pages(value in any_value(), bytes in 300_usize..3000) {
        let reply = json!({"data": value});
        if let Value::Array(items) = &reply["data"] {
            let (rows, _) = all_pages(&reply, Ask { bytes, ..ask("/data") });
            prop_assert_eq!(rows.len(), items.len());
        }
    }
}
