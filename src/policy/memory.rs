//! Who may do what with the memory: policies of their own, in the folder `memory`, beside the access
//! lists of the collections. A [`Wish`] of a caller in, its [`Permit`] out. Knows of collections only
//! what a [`Shelf`] tells.

mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cedar_policy::{
    Authorizer, Context, Decision as Cedar, Entities, Entity, EntityTypeName, EntityUid, PolicySet,
    Request, Schema,
};

use super::files::{Files, MEMORY, sentence};
use super::schema::{self, CALLERS, uid};
use super::{Decision, Error, Finding, Names, Ruling, Severity};
use crate::admission::Caller;

use wish::VERBS;
pub(crate) use wish::listed;
pub use wish::{Shelf, Verb, Wish, Work};

/// What a caller may do, and where. Only this room makes one, and the memory does nothing without.
#[derive(Debug, Clone)]
pub struct Permit {
    caller: Caller,
    verb: Verb,
    grants: Vec<Access>,
    /// What may be written.
    works: BTreeSet<Work>,
    /// What may be read beside it.
    reads: Vec<Access>,
    decision: Option<Decision>,
}

/// A collection in which something is permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Its name.
    pub collection: String,
    /// Only for what the caller wrote itself.
    pub own: bool,
}

impl Permit {
    /// The permit to ask what became of one's own writes, for which no policy is needed.
    pub fn receipt(caller: Caller) -> Self {
        Self::new(caller, Verb::Receipt, Vec::new(), None)
    }

    fn new(caller: Caller, verb: Verb, grants: Vec<Access>, decision: Option<Decision>) -> Self {
        Self { caller, verb, grants, works: BTreeSet::new(), reads: Vec::new(), decision }
    }

    /// Who may.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Do what.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Where.
    pub fn grants(&self) -> &[Access] {
        &self.grants
    }

    /// Whether it holds for a unit of this collection and owner.
    pub fn covers(&self, collection: &str, owner: &str) -> bool {
        self.grants.iter().any(|grant| {
            grant.collection == collection && (!grant.own || owner == self.caller.name)
        })
    }

    /// Whether this may be written.
    pub fn admits(&self, work: &Work) -> bool {
        self.works.contains(work)
    }

    /// Where one who writes may read what it writes about.
    pub fn reads(&self) -> &[Access] {
        &self.reads
    }

    /// What policy said.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }
}

/// Why nothing is permitted. It looks the same for what is not there.
#[derive(Debug, Clone, thiserror::Error)]
#[error("there is no collection{} that you may {}", quoted(name), verb.as_str())]
pub struct Refused {
    /// The collection that was named, where one was.
    pub name: Option<String>,
    /// What was wanted.
    pub verb: Verb,
    /// What policy said.
    pub decision: Decision,
}

fn quoted(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default()
}

/// One set of the policies on the memory, checked against one set of collections.
pub struct Keepers {
    authorizer: Authorizer,
    names: Names,
    layer: EntityTypeName,
    collection: EntityTypeName,
    schema: Schema,
    policies: PolicySet,
    shelves: BTreeMap<String, Shelf>,
    version: String,
    findings: Vec<Finding>,
}

impl std::fmt::Debug for Keepers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keepers").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Keepers {
    /// Reads `memory/*.cedar` below `root`. One policy that cannot be used refuses the set; without any
    /// policy nothing is permitted, and a warning says so.
    pub fn load(root: &Path, shelves: Vec<Shelf>) -> Result<Self, Error> {
        Self::build(Files::read(root, MEMORY)?, shelves)
    }

    /// What a reviewer should know of the policies; what refuses them too.
    pub fn review(root: &Path, shelves: &[Shelf]) -> Result<Vec<Finding>, Error> {
        let mut files = Files::read(root, MEMORY)?;
        let schema = schema()?;
        // What refuses it is among the findings.
        drop(files.check(schema, &[]));
        strangers(&mut files, shelves);
        Ok(files.findings)
    }

    fn build(mut files: Files, shelves: Vec<Shelf>) -> Result<Self, Error> {
        let wrong = |error: &dyn std::error::Error| Error::Schema { reason: error.to_string() };
        let schema = schema()?;
        files.check(schema.clone(), &[])?;
        strangers(&mut files, &shelves);
        let policies = PolicySet::from_policies(std::mem::take(&mut files.policies))
            .map_err(|error| wrong(&error))?;
        let name = |text: &str| text.parse::<EntityTypeName>().map_err(|error| wrong(&error));
        Ok(Self {
            authorizer: Authorizer::new(),
            names: Names::new()?,
            layer: name("Switchboard::Layer")?,
            collection: name("Switchboard::Collection")?,
            schema,
            policies,
            version: files.version(&format!("{shelves:?}")),
            shelves: shelves.into_iter().map(|shelf| (shelf.name.clone(), shelf)).collect(),
            findings: files.findings,
        })
    }

    /// SHA-256 in hex over the files and the access lists.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The warnings, one line each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let warnings = self.findings.iter().filter(|found| found.severity == Severity::Warning);
        warnings.map(|found| format!("{}: {}", found.location(), found.sentence()))
    }

    /// Decides. Where collections are named, each has to be permitted; else those that are make the
    /// permit, and none refuses it, but for Stats and Forget, which then find nothing.
    pub fn permit(&self, caller: &Caller, wish: &Wish<'_>) -> Result<Permit, Box<Refused>> {
        let named = wish.named();
        let all = named.is_empty();
        let (mut grants, mut reasons, mut denied) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let wanted: BTreeSet<&str> = match all {
            true => self.shelves.keys().map(String::as_str).collect(),
            false => named.into_iter().collect(),
        };
        for name in wanted {
            match self.grant(caller, wish, name) {
                Ok((own, ids)) => {
                    grants.push(Access { collection: name.to_owned(), own });
                    reasons.extend(ids);
                }
                Err(ids) if all => denied.extend(ids),
                Err(ids) => return Err(Box::new(self.refused(wish, Some(name), ids))),
            }
        }
        let finds_nothing = matches!(wish, Wish::Stats | Wish::Forget { .. });
        if grants.is_empty() && !finds_nothing {
            return Err(Box::new(self.refused(wish, None, denied)));
        }
        let decision = Some(self.decision(Ruling::Permit, reasons));
        Ok(Permit::new(caller.clone(), wish.verb(), grants, decision))
    }

    /// Decides about what is to be written, each on its own: [`Permit::admits`] tells which may be.
    pub fn permit_works(&self, caller: &Caller, wanted: BTreeSet<Work>) -> Permit {
        let (mut works, mut grants) = (BTreeSet::new(), BTreeSet::new());
        let (mut reasons, mut denied) = (BTreeSet::new(), BTreeSet::new());
        for work in wanted {
            match self.grant(caller, &Wish::Remember(&work), &work.collection) {
                Ok((_, ids)) => {
                    grants.insert(work.collection.clone());
                    works.insert(work);
                    reasons.extend(ids);
                }
                Err(ids) => denied.extend(ids),
            }
        }
        let reading =
            Wish::Read { verb: Verb::Get, collections: &[], held: false, archived: false };
        let reads = self.permit(caller, &reading).map(|permit| permit.grants).unwrap_or_default();
        let decision = match works.is_empty() {
            true => self.decision(Ruling::Deny, denied),
            false => self.decision(Ruling::Permit, reasons),
        };
        let everywhere = |collection| Access { collection, own: false };
        let grants = grants.into_iter().map(everywhere).collect();
        let permit = Permit::new(caller.clone(), Verb::Remember, grants, Some(decision));
        Permit { works, reads, ..permit }
    }

    /// Verbs that a caller may use in a collection, at least for its own units and in some form.
    pub fn verbs(&self, caller: &Caller, collection: &str) -> Vec<Verb> {
        let shelf = self.shelves.get(collection);
        let Some(shelf) = shelf else { return Vec::new() };
        let named = [collection.to_owned()];
        let may = |verb: &Verb| {
            let wish = match verb {
                Verb::Remember => {
                    // What is written decides; the list alone tells here.
                    return listed(&shelf.write, caller);
                }
                Verb::Forget => Wish::Forget { erase: false },
                Verb::Review => Wish::Review { collections: &named, decide: false },
                Verb::Consolidate => Wish::Consolidate { collections: &named, apply: false },
                Verb::Stats => Wish::Stats,
                verb => {
                    let (held, archived) = (false, false);
                    Wish::Read { verb: *verb, collections: &named, held, archived }
                }
            };
            self.grant(caller, &wish, collection).is_ok()
        };
        Verb::DECIDED.into_iter().filter(may).collect()
    }

    fn decision(&self, ruling: Ruling, ids: BTreeSet<String>) -> Decision {
        let policies = ids.into_iter().collect();
        Decision { ruling, policies, version: self.version.clone(), approval: None }
    }

    fn refused(&self, wish: &Wish<'_>, name: Option<&str>, ids: BTreeSet<String>) -> Refused {
        let decision = self.decision(Ruling::Deny, ids);
        Refused { name: name.map(str::to_owned), verb: wish.verb(), decision }
    }

    /// Whether a collection's list and the policies permit it, and by which; whether only for one's
    /// own units. Else those that forbid it.
    fn grant(
        &self,
        caller: &Caller,
        wish: &Wish<'_>,
        name: &str,
    ) -> Result<(bool, BTreeSet<String>), BTreeSet<String>> {
        let shelf = self.shelves.get(name).ok_or_else(BTreeSet::new)?;
        let mut denied = BTreeSet::new();
        for own in shelf.tries(wish, caller) {
            match self.ask(caller, wish, shelf, own) {
                Ok(ids) => return Ok((own, ids)),
                Err(ids) => denied.extend(ids),
            }
        }
        Err(denied)
    }

    fn ask(
        &self,
        caller: &Caller,
        wish: &Wish<'_>,
        shelf: &Shelf,
        own: bool,
    ) -> Result<BTreeSet<String>, BTreeSet<String>> {
        let asked = self.request(caller, wish, shelf, own).inspect_err(|error| {
            tracing::warn!(%error, "a request to the memory cannot be put before the policies");
        });
        let (request, entities) = asked.map_err(|_unasked| BTreeSet::new())?;
        let response = self.authorizer.is_authorized(&request, &self.policies, &entities);
        let failed = response.diagnostics().errors().next().is_some();
        let ids = response.diagnostics().reason().map(ToString::to_string).collect();
        // A policy that cannot be evaluated permits nothing.
        if failed || response.decision() == Cedar::Deny { Err(ids) } else { Ok(ids) }
    }

    fn request(
        &self,
        caller: &Caller,
        wish: &Wish<'_>,
        shelf: &Shelf,
        own: bool,
    ) -> Result<(Request, Entities), Box<dyn std::error::Error>> {
        let (names, resource) = (&self.names, uid(&self.collection, &shelf.name));
        let pairs = wish.context(own).into_iter().map(|(name, value)| (name.to_owned(), value));
        let request = Request::new(
            uid(&names.caller, &caller.name),
            uid(&names.action, wish.verb().as_str()),
            resource.clone(),
            Context::from_pairs(pairs)?,
            Some(&self.schema),
        )?;
        let principals = schema::principals(caller, names);
        let principal = schema::principal(caller, &principals, names)?;
        let layer: EntityUid = uid(&self.layer, shelf.layer);
        let collection = Entity::new_no_attrs(resource, [layer].into());
        // The schema brings the actions with their groups.
        let entities = Entities::from_entities([principal, collection], Some(&self.schema))?;
        Ok((request, entities))
    }
}

fn schema() -> Result<Schema, Error> {
    let text = format!("{CALLERS}{VERBS}");
    let parsed = Schema::from_cedarschema_str(&text);
    parsed.map(|(schema, _)| schema).map_err(|error| Error::Schema { reason: sentence(&error) })
}

/// Warns of collections that a policy names and that there are not.
fn strangers(files: &mut Files, shelves: &[Shelf]) {
    let mut found = Vec::new();
    for policy in &files.policies {
        let id: &str = policy.id().as_ref();
        for literal in policy.entity_literals() {
            let name = literal.id().unescaped();
            let known = shelves.iter().any(|shelf| shelf.name == name);
            if literal.type_name().to_string() != "Switchboard::Collection" || known {
                continue;
            }
            let (file, line) =
                files.place(id).map_or((MEMORY, None), |place| (&*place.file, Some(place.line)));
            let message = format!("there is no collection `{name}`");
            let finding = Finding::new(Severity::Warning, "unknown-name", message);
            let mend = "declare it in `memory/*.toml`, or take the name of one that is";
            found.push(finding.at(file, line).of(id).mend(mend));
        }
    }
    found.sort();
    found.dedup();
    files.findings.extend(found);
}
