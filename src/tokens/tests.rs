//! The estimate against a real tokenizer. The numbers were counted with `o200k_base`.

use super::{Tally, count};

/// What it is, the text, its tokens.
const COUNTED: [(&str, &str, usize); 17] = [
    (
        "a record",
        "{\"id\":48213377,\"created_at\":\"2026-03-14T09:26:53.589Z\",\"status\":\"shipped\",\"customer\":{\"name\":\"Anna Keller\",\"email\":\"anna@example.com\"},\"amount\":1499.9,\"url\":\"https://api.example.com/v1/orders/48213377?expand=items\",\"active\":true,\"tags\":[\"gift\",\"late\"],\"note\":null}",
        86,
    ),
    (
        "indented",
        "{\n  \"orders\": [\n    {\n      \"order_id\": \"ORD-10001\",\n      \"total\": 12.5,\n      \"lines\": [\n        { \"sku\": \"A-1\", \"quantity\": 3 }\n      ]\n    }\n  ]\n}\n",
        56,
    ),
    (
        "prose",
        "This tool returns the most recent orders of a customer, with their numbers, amounts and the day on which each is expected to arrive. An order that was cancelled stays in the list for thirty days.",
        40,
    ),
    (
        "code",
        "fn count(text: &str) -> usize {\n    let mut chars = text.chars().peekable();\n    while let Some(run) = next_run(&mut chars) {\n        parts = parts.saturating_add(weigh(&run, last));\n    }\n}\n",
        55,
    ),
    (
        "log",
        "2026-01-14 08:15:42,113 INFO  [worker-3] com.example.Service - handled GET /items/4711 in 38 ms\n2026-01-14 08:15:42,977 WARN  [worker-1] com.example.Service - retried GET /items/12 after 503\n",
        73,
    ),
    (
        "base64",
        "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAGXRFWHRTb2Z0d2FyZQBBZG9iZSBJbWFnZVJlYWR5ccllPAAAAyJpVFh0WE1MOmNvbS5hZG9iZS54bXAAAAAAADw",
        86,
    ),
    ("hex", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43),
    ("numbers", "[-73.98,40.75,0.0031,1048576,-12.5,99,3.14159,271828,0,1,2,3]", 40),
    ("capitals", "PENDING, NOT_FOUND, INVALID_ARGUMENT, RATE LIMITED, SANDBOX UNAVAILABLE", 17),
    (
        "Chinese",
        "这个工具会返回客户最近的订单，包括订单编号、金额、状态和预计送达时间。如果没有找到任何订单，结果是一个空列表。",
        32,
    ),
    (
        "Japanese",
        "このツールは、お客様の最近の注文を返します。注文番号、金額、状態、お届け予定日が含まれます。",
        31,
    ),
    (
        "Korean",
        "이 도구는 고객의 최근 주문을 반환합니다. 주문 번호, 금액, 상태 및 예상 배송 시간이 포함됩니다.",
        26,
    ),
    (
        "Russian",
        "Этот инструмент возвращает последние заказы клиента, включая номер заказа, сумму, состояние и ожидаемое время доставки.",
        23,
    ),
    (
        "German",
        "Dieses Werkzeug liefert die letzten Bestellungen eines Kunden mit Bestellnummer, Betrag, Zustand und voraussichtlicher Lieferzeit.",
        25,
    ),
    (
        "Arabic",
        "تعيد هذه الأداة أحدث طلبات العميل، بما في ذلك رقم الطلب والمبلغ والحالة ووقت التسليم المتوقع.",
        25,
    ),
    (
        "Hindi",
        "यह उपकरण ग्राहक के नवीनतम ऑर्डर लौटाता है, जिसमें ऑर्डर संख्या, राशि, स्थिति और अनुमानित डिलीवरी समय शामिल है।",
        32,
    ),
    ("symbols", "🎉🚀 See you at 9 😀👍🏽 — ✓ ✗ → ⇒ ≤ ≥", 21),
];

#[test]
fn an_estimate_is_near_what_a_tokenizer_counts() {
    for (what, text, tokens) in COUNTED {
        let estimate = count(text);
        let most = tokens.div_ceil(3);
        assert!(estimate.abs_diff(tokens) <= most, "{what}: {estimate} for {tokens}");
    }
    let all = COUNTED.iter().map(|(_, text, _)| count(text)).sum::<usize>();
    let tokens = COUNTED.iter().map(|(_, _, tokens)| tokens).sum::<usize>();
    assert!(all.abs_diff(tokens) <= tokens / 20, "{all} for {tokens}");
}

#[test]
fn nothing_takes_no_token_and_more_text_never_takes_fewer() {
    assert_eq!(count(""), 0);
    assert_eq!(count("a"), 1);
    let text = COUNTED.map(|(_, text, _)| text).join("\n");
    let mut longest = 0;
    for (end, _) in text.char_indices().filter(|(at, _)| at % 64 == 0) {
        let tokens = count(text.get(..end).unwrap());
        assert!(tokens + 2 >= longest, "{tokens} after {longest}");
        longest = longest.max(tokens);
    }
}

#[test]
fn a_text_that_grows_counts_as_much_as_at_once() {
    let text = "Valve 17b: open it  slowly,\n\n then CHECK 40 Nm;; 压力不得超过 5 MPa。éèê --- \u{ac00}x\n  end";
    for step in 1..7 {
        let mut tally = Tally::default();
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).step_by(step);
        for end in ends {
            let part = text.get(..end).unwrap();
            assert_eq!(tally.count(part), count(part), "{part:?}");
        }
    }
}
