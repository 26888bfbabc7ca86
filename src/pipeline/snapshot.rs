//! What is in force at one moment: catalog, compiled schemas and policies that were loaded together.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use moka::sync::Cache;

use crate::admission::Caller;
use crate::call::Dialect;
use crate::catalog::{
    self, Catalog, Exported, Exports, Index, Problem, Search, SearchFound, Tool, Usable,
};
use crate::policy::{self, Approvers, Policies};
use crate::schema::Schemas;

/// The cache's name of the catalogs whose schemas were compiled.
const COMPILED: &str = "schemas";
/// Callers of whom it is remembered which tools they may know.
const CALLERS: u64 = 1024;

/// Catalog, schemas and policies of one load. A call sees one snapshot from start to end.
#[derive(Debug)]
pub struct Snapshot {
    /// The tools.
    pub catalog: Catalog,
    /// Their compiled schemas.
    pub schemas: Schemas,
    /// The policies, type-checked against those schemas.
    pub policies: Policies,
    /// The policies that say who may approve.
    pub approvers: Approvers,
    /// Tools that were left out because their schema does not compile.
    pub unusable: Vec<Problem>,
    /// The policies that decide beside the active ones, without effect.
    pub(super) candidate: Option<Arc<Policies>>,
    /// By all that policies can read of a caller: whether it may know the tool at each place.
    shown: Cache<Caller, Arc<[bool]>>,
    /// Made for the first search, or before.
    index: OnceLock<Index>,
    /// Of each tool, counted when it is first told.
    tokens: Box<[OnceLock<u32>]>,
    /// Tools in the terms of model hosts, once they were told so.
    exports: Exports,
}

impl Snapshot {
    /// Loads the policies folder. A broken manifest or document is a problem of the result, and
    /// keeps what `previous` had of it, and so does a profile that is not usable; broken policies are an error, so that nothing is ever
    /// decided by fewer of them than were written.
    pub fn load(
        folder: &Path,
        images: &dyn Fn(&str) -> Option<String>,
        previous: Option<(&Self, Usable<'_>)>,
    ) -> Result<Self, policy::Error> {
        Self::load_cached(folder, images, previous, None)
    }

    /// As [`Snapshot::load`]; what has not changed since an earlier load is taken from the cache.
    pub fn load_cached(
        folder: &Path,
        images: &dyn Fn(&str) -> Option<String>,
        previous: Option<(&Self, Usable<'_>)>,
        cache: Option<&catalog::Cache>,
    ) -> Result<Self, policy::Error> {
        let last = previous.map(|(last, usable)| (&last.catalog, usable));
        let catalog = Catalog::load_cached(folder, images, last, cache);
        let (schemas, failed) = compile(&catalog, previous.map(|(last, _)| &last.schemas), cache);
        let unusable: Vec<Problem> = failed
            .iter()
            .map(|(tool, why)| Problem {
                file: catalog.get(tool).map(|tool| tool.source.clone()).unwrap_or_default(),
                place: tool.clone(),
                message: why.clone(),
                fatal: false,
            })
            .collect();
        let catalog = catalog.without(&failed);
        let policies = Policies::load_cached(folder, catalog.tools(), cache)?;
        let approvers = Approvers::load(folder, catalog.tools())?;
        let shown = Cache::new(CALLERS);
        let tokens = catalog.tools().iter().map(|_| OnceLock::new()).collect();
        let (candidate, index) = (None, OnceLock::new());
        Ok(Self {
            catalog,
            schemas,
            policies,
            approvers,
            unusable,
            candidate,
            shown,
            index,
            tokens,
            exports: Exports::default(),
        })
    }

    /// Whether the caller may be told of the tool. Asks policy about all tools at once, the first
    /// time that a caller asks.
    pub fn shows(&self, caller: &Caller, tool: &Tool) -> bool {
        let place = self.catalog.place(&tool.name);
        place.is_some_and(|place| self.shown(caller).get(place) == Some(&true))
    }

    /// Whether the caller may be told of the tool at each place of the catalog.
    fn shown(&self, caller: &Caller) -> Arc<[bool]> {
        self.shown
            .get_with_by_ref(caller, || self.policies.sees(caller, self.catalog.tools()).into())
    }

    /// The tools that the caller may be told of, by name, and the catalog's digest.
    pub fn tools_for(&self, caller: &Caller) -> (Vec<Arc<Tool>>, String) {
        let shown = self.shown(caller);
        let tools = self.catalog.tools().iter().zip(&*shown).filter(|(_, shown)| **shown);
        (tools.map(|(tool, _)| Arc::clone(tool)).collect(), self.catalog.digest().to_owned())
    }

    /// The words of the tools. Made once, which takes some 20 µs a tool.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self.catalog.tools()))
    }

    /// Finds those of the tools that the caller may be told of, and that are wanted, that fit a question.
    pub fn search(
        &self,
        caller: &Caller,
        (query, limit): (&str, usize),
        wanted: &dyn Fn(&Tool) -> bool,
    ) -> SearchFound {
        let shown = self.shown(caller);
        self.index().search(&Search {
            query,
            limit,
            seen: &|place| shown.get(place) == Some(&true),
            wanted: &|place| self.catalog.tools().get(place).is_some_and(|tool| wanted(tool)),
        })
    }

    /// A tool in a dialect. Made when it is first asked for, and kept while this snapshot is in force as
    /// far as there is room.
    pub fn exported(&self, tool: &Tool, dialect: Dialect) -> Arc<Exported> {
        self.exports.of(tool, dialect)
    }

    /// About how many tokens the definition of a tool costs a model.
    pub fn tokens(&self, tool: &Tool) -> u32 {
        let place = self.catalog.place(&tool.name);
        let slot = place.and_then(|place| self.tokens.get(place));
        slot.map_or_else(|| tool.tokens(), |slot| *slot.get_or_init(|| tool.tokens()))
    }

    /// Everything in the policies folder that could not be used.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.catalog.problems().iter().chain(&self.unusable)
    }
}

/// The validators of a catalog, and the tools whose schemas do not compile. Of a catalog that was
/// compiled before, only that is remembered, and each validator is made on first use. A reload has
/// those of the tools that stay.
fn compile(
    catalog: &Catalog,
    previous: Option<&Schemas>,
    cache: Option<&catalog::Cache>,
) -> (Schemas, Vec<(String, String)>) {
    let (tools, digest) = (catalog.tools(), catalog.digest());
    let known = cache.and_then(|cache| cache.recall(COMPILED, digest));
    let known = known.filter(|_| previous.is_none());
    if let Some(Ok(failed)) =
        known.map(|bytes| serde_json::from_slice::<Vec<(String, String)>>(&bytes))
    {
        return (Schemas::trust(tools), failed);
    }
    let (schemas, failed) = match previous {
        Some(previous) => Schemas::compile_reusing(tools, previous),
        None => Schemas::compile(tools),
    };
    if let (Some(cache), Ok(bytes)) = (cache, serde_json::to_vec(&failed)) {
        cache.keep(COMPILED, digest, &bytes);
    }
    (schemas, failed)
}
