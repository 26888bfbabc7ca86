//! What is in force at one moment: catalog, compiled schemas and policies that were loaded together.

use std::path::Path;

use crate::catalog::{Catalog, Problem};
use crate::policy::{self, Policies};
use crate::schema::Schemas;

/// Catalog, schemas and policies of one load. A call sees one snapshot from start to end.
#[derive(Debug)]
pub struct Snapshot {
    /// The tools.
    pub catalog: Catalog,
    /// Their compiled schemas.
    pub schemas: Schemas,
    /// The policies, type-checked against those schemas.
    pub policies: Policies,
    /// Tools that were left out because their schema does not compile.
    pub unusable: Vec<Problem>,
}

impl Snapshot {
    /// Loads the policies folder. A broken manifest or document is a problem of the result, and
    /// keeps what `previous` had of it; broken policies are an error, so that nothing is ever
    /// decided by fewer of them than were written.
    pub fn load(
        folder: &Path,
        images: &dyn Fn(&str) -> Option<String>,
        previous: Option<&Self>,
    ) -> Result<Self, policy::Error> {
        let catalog = Catalog::load_with(folder, images, previous.map(|last| &last.catalog));
        let (schemas, failed) = match previous {
            Some(last) => Schemas::compile_reusing(catalog.tools(), &last.schemas),
            None => Schemas::compile(catalog.tools()),
        };
        let unusable: Vec<Problem> = failed
            .iter()
            .map(|(tool, why)| Problem {
                file: catalog
                    .get(tool)
                    .map(|tool| tool.source.clone())
                    .unwrap_or_default(),
                place: tool.clone(),
                message: why.clone(),
                fatal: false,
            })
            .collect();
        let catalog = catalog.without(&failed);
        let policies = Policies::load(folder, catalog.tools())?;
        Ok(Self {
            catalog,
            schemas,
            policies,
            unusable,
        })
    }

    /// Everything in the policies folder that could not be used.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.catalog.problems().iter().chain(&self.unusable)
    }
}
