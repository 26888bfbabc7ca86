//! What is in force at one moment: catalog, compiled schemas and policies that were loaded together.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use moka::sync::Cache;

use crate::admission::Caller;
use crate::catalog::{self, Catalog, Problem, Tool, Usable};
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
    shown: Cache<Caller, Arc<HashSet<String>>>,
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
        Ok(Self { catalog, schemas, policies, approvers, unusable, candidate: None, shown })
    }

    /// Whether the caller may be told of the tool. Asks policy about all tools at once, the first
    /// time that a caller asks.
    pub fn shows(&self, caller: &Caller, tool: &Tool) -> bool {
        let shown = self.shown.get_with_by_ref(caller, || {
            let shown = |tool: &&Arc<Tool>| self.policies.visible(caller, tool);
            Arc::new(self.catalog.tools().iter().filter(shown).map(|t| t.name.clone()).collect())
        });
        shown.contains(&tool.name)
    }

    /// The tools that the caller may be told of, by name, and the catalog's digest.
    pub fn tools_for(&self, caller: &Caller) -> (Vec<Arc<Tool>>, String) {
        let shown = |tool: &&Arc<Tool>| self.shows(caller, tool);
        let tools = self.catalog.tools().iter().filter(shown).cloned().collect();
        (tools, self.catalog.digest().to_owned())
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
