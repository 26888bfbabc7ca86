//! How a tool's requests are sent beside what they say: `[retry]` and `[pages]` of a manifest or source
//! in, rules that the sandboxed client follows out. What is not declared is sent once.

use serde::{Deserialize, Serialize};
pub use switchboard_runner::http::{Follow, Pages, Retry};

use super::is_header_name;
use crate::catalog::file::Fault;
use crate::catalog::units::Span;

/// Most attempts that can be declared.
const MAX_ATTEMPTS: u32 = 5;
/// Longest pause that can be declared, in milliseconds.
const MAX_PAUSE_MS: u64 = 60_000;
/// Most pages that can be declared.
const MAX_PAGES: u32 = 100;
/// Most items that can be declared.
const MAX_ITEMS: u64 = 100_000;

/// How requests are sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manner {
    /// How often; `None` for once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The header that carries a key, the same for all attempts of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_header: Option<String>,
    /// How further pages are fetched; `None` for the first alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
}

impl Manner {
    /// Whether nothing is declared.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// `[retry]`: only what is idempotent, or carries a key, is sent again: after no byte of an answer, and
/// after 429, 502, 503 and 504.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::catalog) struct RetryFile {
    /// Attempts in all, the first included: 1 to 5. Without `[retry]`: 1.
    attempts: u32,
    /// The first pause, doubled for each later one and shortened by up to a half at random; default
    /// 200 ms. `Retry-After` can ask for more. A pause that the tool's time does not allow is not made.
    backoff: Option<Span>,
    /// The longest pause of our own choice; default 2 s.
    longest: Option<Span>,
    /// A header in which the upstream takes an idempotency key, for example `Idempotency-Key`.
    key_header: Option<String>,
}

/// `[pages]`: one of `link`, `url`, `cursor` and `number` says how the next page is found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::catalog) struct PagesFile {
    /// The `Link` header with `rel="next"`.
    #[serde(default)]
    link: bool,
    /// JSON Pointer of the next page's URL in the body.
    url: Option<String>,
    /// JSON Pointer of a cursor in the body, which is sent as `query`.
    cursor: Option<String>,
    query: Option<String>,
    /// The parameter of the query that counts pages.
    number: Option<String>,
    /// Number of the first page; default 1.
    first: Option<u64>,
    /// JSON Pointer of the array of items in the body; default empty: the body is the array.
    #[serde(default)]
    items: String,
    /// Pages at most, 1 to 100; default 10.
    max_pages: Option<u32>,
    /// Items after which no further page is fetched, 1 to 100000; default 1000.
    max_items: Option<u64>,
}

/// Checks what is declared for one tool. A retry that the tool may not make is left out.
pub(in crate::catalog) fn build(
    retry: Option<&RetryFile>,
    pages: Option<&PagesFile>,
    (method, idempotent): (&str, bool),
) -> Result<Manner, Fault> {
    let mut manner = Manner::default();
    if let Some(file) = retry {
        let rule = read_retry(file)?;
        manner.key_header.clone_from(&file.key_header);
        let may = idempotent || manner.key_header.is_some();
        manner.retry = Some(rule).filter(|rule| may && rule.attempts > 1);
    }
    if let Some(file) = pages {
        if method != "GET" {
            return Err(Fault::new("pages", format!("are fetched by GET, and this is a {method}")));
        }
        manner.pages = Some(read_pages(file)?);
    }
    Ok(manner)
}

fn read_retry(file: &RetryFile) -> Result<Retry, Fault> {
    if !(1..=MAX_ATTEMPTS).contains(&file.attempts) {
        let message = format!("is {}; 1 to {MAX_ATTEMPTS} are possible", file.attempts);
        return Err(Fault::new("retry.attempts", message));
    }
    let pause = |place: &str, span: Option<Span>, usual: u64| {
        let millis = span.map_or_else(|| u128::from(usual), |span| span.0.as_millis());
        match u64::try_from(millis) {
            Ok(millis) if (1..=MAX_PAUSE_MS).contains(&millis) => Ok(millis),
            _ => {
                Err(Fault::new(place, format!("is {millis} ms; 1 to {MAX_PAUSE_MS} are possible")))
            }
        }
    };
    if let Some(name) = &file.key_header {
        let own = ["authorization", "content-type", "cookie", "host", "content-length"];
        let taken = own.iter().any(|own| name.eq_ignore_ascii_case(own));
        if !is_header_name(name) || taken {
            return Err(Fault::new("retry.key_header", format!("`{name}` cannot carry a key")));
        }
    }
    Ok(Retry {
        attempts: file.attempts,
        backoff_ms: pause("retry.backoff", file.backoff, 200)?,
        longest_ms: pause("retry.longest", file.longest, 2000)?,
    })
}

fn read_pages(file: &PagesFile) -> Result<Pages, Fault> {
    let pointer = |place: &str, text: &str| match text.is_empty() || text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err(Fault::new(place, format!("`{text}` is no JSON Pointer; it starts with `/`"))),
    };
    let next = match (file.link, &file.url, &file.cursor, &file.number) {
        (true, None, None, None) => Follow::Link,
        (false, Some(url), None, None) => Follow::Url(pointer("pages.url", url)?),
        (false, None, Some(cursor), None) => {
            let missing = || Fault::new("pages.query", "is missing; the cursor is sent as that");
            let query = file.query.clone().ok_or_else(missing)?;
            Follow::Cursor { pointer: pointer("pages.cursor", cursor)?, query }
        }
        (false, None, None, Some(query)) => {
            Follow::Number { query: query.clone(), first: file.first.unwrap_or(1) }
        }
        _ => {
            let message = "name one of `link`, `url`, `cursor` and `number`";
            return Err(Fault::new("pages", message));
        }
    };
    let stray = |place, given: bool| match given {
        true => Err(Fault::new(place, "belongs to another way to the next page")),
        false => Ok(()),
    };
    stray("pages.query", file.query.is_some() && !matches!(next, Follow::Cursor { .. }))?;
    stray("pages.first", file.first.is_some() && !matches!(next, Follow::Number { .. }))?;
    let max_pages = file.max_pages.unwrap_or(10);
    if !(1..=MAX_PAGES).contains(&max_pages) {
        let message = format!("is {max_pages}; 1 to {MAX_PAGES} are possible");
        return Err(Fault::new("pages.max_pages", message));
    }
    let max_items = file.max_items.unwrap_or(1000);
    if !(1..=MAX_ITEMS).contains(&max_items) {
        let message = format!("is {max_items}; 1 to {MAX_ITEMS} are possible");
        return Err(Fault::new("pages.max_items", message));
    }
    Ok(Pages { next, items: pointer("pages.items", &file.items)?, max_pages, max_items })
}
