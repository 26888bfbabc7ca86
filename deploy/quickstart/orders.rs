//! The order service of the quickstart: orders of a small shop, held in memory, the same at every
//! start. HTTP on 127.0.0.1 in, JSON out; see `policies/openapi/orders.openapi.yaml`. It knows
//! nothing of Switchboard, and checks nobody's identity.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::Offset};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

const DEFAULT_PORT: u16 = 18080;
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// When the first order was placed.
const OPENED: &str = "2026-01-05T08:15:00Z";

/// Customers, and how many orders each has: 40 over 8.
const CUSTOMERS: [(&str, &str, usize); 8] = [
    ("C-1001", "Lisbon", 9),
    ("C-1002", "Rotterdam", 7),
    ("C-1003", "Graz", 6),
    ("C-1004", "Bergen", 5),
    ("C-1005", "Turin", 5),
    ("C-1006", "Ghent", 4),
    ("C-1007", "Aarhus", 3),
    ("C-1008", "Cork", 1),
];

/// Stock-keeping unit, name, price in euro cents.
const GOODS: [(&str, &str, u32); 7] = [
    ("KB-87", "Keyboard, 87 keys", 8_900),
    ("MS-02", "Mouse, wireless", 3_450),
    ("HS-11", "Headset, USB-C", 12_900),
    ("MN-27", "Monitor, 27 inch", 24_990),
    ("DK-04", "Docking station", 17_900),
    ("CB-20", "Cable, USB-C, 2 m", 1_290),
    ("ST-01", "Laptop stand", 4_590),
];

/// Orders that are packed in one batch, with the same cartons and on the same line.
const BATCH: u32 = 8;

/// Where an order stands, in the order in which it gets there; `Cancelled` ends it early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Pending,
    Paid,
    Packed,
    Shipped,
    Delivered,
    Cancelled,
}

const STEPS: [Status; 5] =
    [Status::Pending, Status::Paid, Status::Packed, Status::Shipped, Status::Delivered];

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    ChangedMind,
    OrderedByMistake,
    FoundCheaper,
    TooSlow,
}

#[derive(Debug, Clone, Serialize)]
struct Item {
    sku: &'static str,
    name: &'static str,
    quantity: u32,
    unit_price_cents: u32,
}

#[derive(Debug, Clone, Serialize)]
struct Event {
    #[serde(serialize_with = "as_text")]
    at: Timestamp,
    status: Status,
    note: String,
}

#[derive(Debug, Clone, Serialize)]
struct Order {
    order_id: String,
    customer_id: &'static str,
    status: Status,
    #[serde(serialize_with = "as_text")]
    placed_at: Timestamp,
    ship_to: &'static str,
    /// What it was packed in.
    batch: String,
    currency: &'static str,
    total_cents: u32,
    items: Vec<Item>,
    #[serde(skip)]
    history: Vec<Event>,
}

fn as_text<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancellation {
    reason: Reason,
    #[serde(default)]
    note: String,
}

#[derive(Debug, Default)]
struct Filter {
    status: Option<Status>,
    since: Option<Date>,
    limit: Option<usize>,
}

type Orders = Arc<Mutex<BTreeMap<String, Order>>>;

/// The answer to a caller's mistake, in the form of RFC 9457.
#[derive(Debug)]
struct Problem(StatusCode, String);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        let title = status.canonical_reason().unwrap_or_default();
        let body = json!({"title": title, "status": status.as_u16(), "detail": detail});
        answer(status, "application/problem+json", &body)
    }
}

fn answer(status: StatusCode, kind: &'static str, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn ok(body: &impl Serialize) -> Response {
    answer(StatusCode::OK, "application/json", body)
}

/// The shop's orders, newest last; every number follows from the order's place in the list.
fn seed() -> BTreeMap<String, Order> {
    let opened = OPENED.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let mut left = CUSTOMERS;
    let mut orders = BTreeMap::new();
    let mut number = 0_u32;
    while left.iter().any(|(_, _, orders)| *orders > 0) {
        for (customer, city, count) in left.iter_mut().filter(|(_, _, count)| *count > 0) {
            *count -= 1;
            let order = make(number, customer, city, opened);
            orders.insert(order.order_id.clone(), order);
            number += 1;
        }
    }
    orders
}

fn make(number: u32, customer_id: &'static str, ship_to: &'static str, opened: Timestamp) -> Order {
    let goods = GOODS.iter().cycle().skip(usize::try_from(number * 3).unwrap_or_default());
    let items: Vec<Item> = (0..=number % 3)
        .zip(goods)
        .map(|(line, &(sku, name, unit_price_cents))| Item {
            sku,
            name,
            quantity: 1 + (number + line) % 2,
            unit_price_cents,
        })
        .collect();
    let placed_at = opened + SignedDuration::from_mins(i64::from(number) * 1_987);
    // Old orders are done, the newest few are still on their way; every eleventh was cancelled.
    let reached =
        5_usize.saturating_sub(usize::try_from(number.saturating_sub(31) / 2).unwrap_or(4));
    let mut history: Vec<Event> = STEPS
        .iter()
        .take(reached.max(1))
        .zip([0, 4, 190, 1_150, 3_480])
        .map(|(status, minutes)| Event {
            at: placed_at + SignedDuration::from_mins(minutes),
            status: *status,
            note: String::new(),
        })
        .collect();
    if number % 11 == 10 {
        history.truncate(2);
        history.push(Event {
            at: placed_at + SignedDuration::from_mins(95),
            status: Status::Cancelled,
            note: "changed_mind".to_owned(),
        });
    }
    Order {
        order_id: format!("ORD-{}", 10_001 + number),
        customer_id,
        status: history.last().map_or(Status::Pending, |event| event.status),
        placed_at,
        ship_to,
        batch: format!("B-{:04}", 412 + number / BATCH),
        currency: "EUR",
        total_cents: items.iter().map(|item| item.quantity * item.unit_price_cents).sum(),
        items,
        history,
    }
}

fn read_filter(query: Option<&str>) -> Result<Filter, Problem> {
    let mut filter = Filter::default();
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let bad = |what: &str| {
            let detail = format!("`{name}` must be {what}, and is `{value}`");
            Problem(StatusCode::BAD_REQUEST, detail)
        };
        match name.as_ref() {
            "status" => {
                let status = serde_json::from_value(json!(value));
                filter.status = Some(status.map_err(|_error| bad("a status of an order"))?);
            }
            "since" => {
                let day = value.parse().map_err(|_error| bad("a day such as 2026-02-01"))?;
                filter.since = Some(day);
            }
            "limit" => match value.parse() {
                Ok(limit) if (1..=MAX_LIMIT).contains(&limit) => filter.limit = Some(limit),
                Ok(_) | Err(_) => return Err(bad("a whole number from 1 to 100")),
            },
            _ => {
                let detail = format!("there is no parameter `{name}`");
                return Err(Problem(StatusCode::BAD_REQUEST, detail));
            }
        }
    }
    Ok(filter)
}

async fn list_customer_orders(
    State(orders): State<Orders>,
    Path(customer): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = read_filter(query.as_deref())?;
    if !CUSTOMERS.iter().any(|(id, _, _)| *id == customer) {
        return Err(missing("customer", &customer));
    }
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let matching: Vec<&Order> = orders
        .values()
        .rev()
        .filter(|order| order.customer_id == customer)
        .filter(|order| filter.status.is_none_or(|status| order.status == status))
        .filter(|order| filter.since.is_none_or(|day| placed_on(order) >= day))
        .collect();
    let total = matching.len();
    let limit = filter.limit.unwrap_or(DEFAULT_LIMIT);
    let page: Vec<&Order> = matching.into_iter().take(limit).collect();
    Ok(ok(&json!({"customer_id": customer, "total": total, "orders": page})))
}

fn placed_on(order: &Order) -> Date {
    Offset::UTC.to_datetime(order.placed_at).date()
}

async fn get_order(
    State(orders): State<Orders>,
    Path(order): Path<String>,
) -> Result<Response, Problem> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.get(&order).map(ok).ok_or_else(|| missing("order", &order))
}

async fn list_batch_orders(
    State(orders): State<Orders>,
    Path(batch): Path<String>,
) -> Result<Response, Problem> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let packed: Vec<&Order> = orders.values().filter(|order| order.batch == batch).collect();
    if packed.is_empty() {
        return Err(missing("batch", &batch));
    }
    Ok(ok(&json!({"batch": batch, "total": packed.len(), "orders": packed})))
}

async fn get_order_history(
    State(orders): State<Orders>,
    Path(order): Path<String>,
) -> Result<Response, Problem> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let found = orders.get(&order).ok_or_else(|| missing("order", &order))?;
    Ok(ok(&json!({"order_id": order, "events": found.history})))
}

async fn cancel_order(
    State(orders): State<Orders>,
    Path(order): Path<String>,
    body: Bytes,
) -> Result<Response, Problem> {
    let asked: Cancellation = serde_json::from_slice(&body)
        .map_err(|error| Problem(StatusCode::BAD_REQUEST, error.to_string()))?;
    let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    let found = orders.get_mut(&order).ok_or_else(|| missing("order", &order))?;
    if !matches!(found.status, Status::Pending | Status::Paid) {
        let detail = format!("order `{order}` is {} and cannot be cancelled", json!(found.status));
        return Err(Problem(StatusCode::CONFLICT, detail.replace('"', "")));
    }
    let reason = json!(asked.reason).as_str().unwrap_or_default().to_owned();
    let note = [reason, asked.note].join(" ").trim_end().to_owned();
    found.status = Status::Cancelled;
    found.history.push(Event { at: Timestamp::now(), status: Status::Cancelled, note });
    Ok(ok(found))
}

fn missing(what: &str, id: &str) -> Problem {
    Problem(StatusCode::NOT_FOUND, format!("there is no {what} `{id}`"))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = match std::env::args().nth(1).map(|port| port.parse::<u16>()) {
        None => DEFAULT_PORT,
        Some(Ok(port)) => port,
        Some(Err(error)) => return Err(std::io::Error::other(format!("not a port: {error}"))),
    };
    let app = Router::new()
        .route("/customers/{customer_id}/orders", get(list_customer_orders))
        .route("/orders/{order_id}", get(get_order))
        .route("/orders/{order_id}/history", get(get_order_history))
        .route("/orders/{order_id}/cancel", post(cancel_order))
        .route("/batches/{batch}/orders", get(list_batch_orders))
        .fallback(|uri: Uri| async move { missing("path", uri.path()) })
        .with_state(Arc::new(Mutex::new(seed())));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    writeln!(std::io::stdout(), "orders: listening on http://{}", listener.local_addr()?)?;
    // Without this a small answer can wait 40 ms for the peer's delayed acknowledgement. A socket
    // that refuses the option still works.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    axum::serve(listener, app).await
}
