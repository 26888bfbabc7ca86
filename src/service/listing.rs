//! Tools as callers are told of them: a request in, those of its tools out that the caller may be told
//! of, in full or in short, by name or by what they do.

use tonic::{Request, Status};

use super::{Tools, arrival, status, wire};
use crate::call::{Code, Dialect};
use crate::catalog::{Hit, Risk, Tool};
use crate::pipeline::Snapshot;
use crate::proto::tools as proto;
use proto::Detail;
use proto::search_tools_response as found;

/// Bytes of a question.
const QUERY_BYTES: usize = 1024;
/// Sources that a search can name, and the tools that it gives: unasked, and at most.
const SOURCES: usize = 100;
const HITS: (u32, u32) = (10, 100);

/// How tools are told.
#[derive(Debug, Clone, Copy)]
struct Form {
    dialect: Option<Dialect>,
    compact: bool,
}

impl Form {
    fn of(detail: i32, dialect: i32) -> Result<Self, Status> {
        let compact = match Detail::try_from(detail) {
            Ok(Detail::Unspecified | Detail::Full) => false,
            Ok(Detail::Compact) => true,
            Err(_) => return Err(wrong("detail", format!("`{detail}` is not known"))),
        };
        Ok(Self { dialect: wire::dialect(dialect)?, compact })
    }

    fn tell(self, snapshot: &Snapshot, tool: &Tool) -> proto::Tool {
        let tokens = snapshot.tokens(tool);
        if !self.compact {
            let export = self.dialect.map(|dialect| snapshot.exported(tool, dialect));
            return proto::Tool { tokens, ..wire::tool_in(tool, export.as_deref()) };
        }
        let arguments = tool.arguments().map(|argument| proto::tool::Argument {
            name: argument.name.to_owned(),
            required: argument.required,
        });
        proto::Tool {
            name: tool.name.clone(),
            description: tool.lead().to_owned(),
            risk: proto::Risk::from(tool.risk).into(),
            source: tool.source.clone(),
            digest: tool.digest.clone(),
            tokens,
            arguments: arguments.collect(),
            ..proto::Tool::default()
        }
    }
}

impl Tools {
    /// A page of the tools, by name.
    pub(super) fn list(
        &self,
        request: Request<proto::ListToolsRequest>,
    ) -> Result<proto::ListToolsResponse, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let form = Form::of(asked.detail, asked.dialect)?;
        let size = if asked.page_size == 0 { 100 } else { asked.page_size.min(1000) };
        let size = usize::try_from(size).unwrap_or(1000);
        let snapshot = self.pipeline.snapshot();
        let (tools, catalog_digest) = snapshot.tools_for(&caller);
        let mut rest = tools
            .iter()
            .filter(|tool| tool.name.starts_with(&asked.name_prefix))
            .filter(|tool| tool.name > asked.page_token);
        let page: Vec<_> =
            rest.by_ref().take(size).map(|tool| form.tell(&snapshot, tool)).collect();
        let more = rest.next().is_some();
        let last = page.last().filter(|_| more).map(|tool| tool.name.clone());
        let next_page_token = last.unwrap_or_default();
        Ok(proto::ListToolsResponse { tools: page, next_page_token, catalog_digest })
    }

    /// One tool.
    pub(super) fn show(
        &self,
        request: Request<proto::GetToolRequest>,
    ) -> Result<proto::Tool, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let name = wire::named("name", asked.name)?;
        let form = Form { dialect: wire::dialect(asked.dialect)?, compact: false };
        let snapshot = self.pipeline.snapshot();
        let tool = snapshot.catalog.get(&name).filter(|tool| snapshot.shows(&caller, tool));
        tool.map(|tool| form.tell(&snapshot, tool)).ok_or_else(|| {
            status::not_found(Code::UnknownTool.as_str(), &format!("there is no tool `{name}`"))
        })
    }

    /// The tools that fit a question best.
    pub(super) async fn search(
        &self,
        request: Request<proto::SearchToolsRequest>,
    ) -> Result<proto::SearchToolsResponse, Status> {
        let caller = arrival::caller(&request)?;
        let asked = request.into_inner();
        let form = Form::of(asked.detail, asked.dialect)?;
        let risks = check(&asked)?;
        let limit = if asked.limit == 0 { HITS.0 } else { asked.limit.min(HITS.1) };
        let limit = usize::try_from(limit).unwrap_or_default();
        let snapshot = self.pipeline.snapshot();
        let search = move || {
            let found = snapshot.search(&caller, (&asked.query, limit), &|tool| {
                (asked.sources.is_empty() || asked.sources.contains(&tool.source))
                    && (risks.is_empty() || risks.contains(&tool.risk))
                    && tool.name.starts_with(&asked.name_prefix)
            });
            let tools = snapshot.catalog.tools();
            let hits = found.hits.into_iter().filter_map(|hit| {
                let tool = form.tell(&snapshot, tools.get(hit.place)?);
                Some(told(hit, tool))
            });
            proto::SearchToolsResponse {
                hits: hits.collect(),
                total: u32::try_from(found.total).unwrap_or(u32::MAX),
                catalog_digest: snapshot.catalog.digest().to_owned(),
            }
        };
        // A search over many tools, and the first one most of all, is more than other calls should
        // wait for.
        tokio::task::spawn_blocking(search).await.map_err(|error| {
            tracing::error!(panicked = error.is_panic(), "a search ended early");
            status::internal("")
        })
    }
}

/// What is wrong with a search, or the risks that it is for.
fn check(asked: &proto::SearchToolsRequest) -> Result<Vec<Risk>, Status> {
    let query = asked.query.trim();
    if query.is_empty() {
        return Err(wrong("query", "is empty; ListTools has all tools".to_owned()));
    }
    if asked.query.len() > QUERY_BYTES {
        let length = asked.query.len();
        return Err(wrong("query", format!("has {length} bytes; at most {QUERY_BYTES}")));
    }
    if asked.sources.len() > SOURCES {
        return Err(wrong("sources", format!("has more than {SOURCES} names")));
    }
    let risk = |wire: &i32| match proto::Risk::try_from(*wire) {
        Ok(proto::Risk::Read) => Ok(Risk::Read),
        Ok(proto::Risk::Write) => Ok(Risk::Write),
        Ok(proto::Risk::Destructive) => Ok(Risk::Destructive),
        Ok(proto::Risk::Outbound) => Ok(Risk::Outbound),
        Ok(proto::Risk::Unspecified) | Err(_) => {
            Err(wrong("risks", format!("`{wire}` is not known")))
        }
    };
    asked.risks.iter().map(risk).collect()
}

fn wrong(field: &str, what: String) -> Status {
    status::malformed(&[(field, what)])
}

fn told(hit: Hit, tool: proto::Tool) -> found::Hit {
    let matches = hit.matches.into_iter().map(|one| found::Match {
        word: one.word,
        found: one.found,
        how: one.how.as_str().to_owned(),
        fields: one.fields.iter().map(|field| field.as_str().to_owned()).collect(),
    });
    found::Hit { tool: Some(tool), score: f64::from(hit.score), matches: matches.collect() }
}
