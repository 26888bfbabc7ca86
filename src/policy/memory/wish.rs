//! What can be wished of the memory, and what policies see of a collection. Decides nothing.

use cedar_policy::RestrictedExpression;

use crate::admission::Caller;

/// What the schema has beside the callers.
pub(super) const VERBS: &str = "
  // Who answers for what a collection holds.
  entity Layer enum [\"curated\", \"notes\"];
  entity Collection in [Layer];

  action \"read\", \"write\";

  // `own`: only what the caller wrote itself is asked for.
  action \"recall\", \"context\", \"get\", \"list\", \"explain\" in [\"read\"] appliesTo {
    principal: Caller, resource: Collection,
    context: { own: __cedar::Bool, held: __cedar::Bool, archived: __cedar::Bool }
  };
  action \"stats\" in [\"read\"] appliesTo {
    principal: Caller, resource: Collection, context: { own: __cedar::Bool }
  };
  action \"remember\" in [\"write\"] appliesTo {
    principal: Caller, resource: Collection,
    context: { source: __cedar::String, kind: __cedar::String, origin: __cedar::String }
  };
  action \"forget\" in [\"write\"] appliesTo {
    principal: Caller, resource: Collection,
    context: { own: __cedar::Bool, erase: __cedar::Bool }
  };
  action \"consolidate\" in [\"write\"] appliesTo {
    principal: Caller, resource: Collection, context: { apply: __cedar::Bool }
  };
  action \"review\" appliesTo {
    principal: Caller, resource: Collection, context: { decide: __cedar::Bool }
  };
}
";

/// What is done with the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named as the method of the service")]
pub enum Verb {
    Remember,
    /// What became of one's own write; no policy is asked.
    Receipt,
    Recall,
    Context,
    Get,
    List,
    Forget,
    Review,
    Explain,
    Consolidate,
    Stats,
}

impl Verb {
    /// Those that policies decide.
    pub const DECIDED: [Self; 10] = [
        Self::Remember,
        Self::Recall,
        Self::Context,
        Self::Get,
        Self::List,
        Self::Forget,
        Self::Review,
        Self::Explain,
        Self::Consolidate,
        Self::Stats,
    ];

    /// The name of its action.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Remember => "remember",
            Self::Receipt => "receipt",
            Self::Recall => "recall",
            Self::Context => "context",
            Self::Get => "get",
            Self::List => "list",
            Self::Forget => "forget",
            Self::Review => "review",
            Self::Explain => "explain",
            Self::Consolidate => "consolidate",
            Self::Stats => "stats",
        }
    }
}

/// A collection as far as policies see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    /// Its name.
    pub name: String,
    /// `curated` or `notes`.
    pub layer: &'static str,
    /// Whether a caller sees only its own units.
    pub own: bool,
    /// Who may read: `any`, `caller:NAME`, `role:NAME` or `tenant:NAME`.
    pub read: Vec<String>,
    /// Who may write.
    pub write: Vec<String>,
    /// Who may review, and forget what others wrote.
    pub review: Vec<String>,
}

/// What policies see of a unit that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    /// The collection.
    pub collection: String,
    /// What the draft names as its source.
    pub source: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its origin, said or by default.
    pub origin: &'static str,
}

/// What a caller wants to do.
#[derive(Debug, Clone, Copy)]
pub enum Wish<'w> {
    /// Write a unit.
    Remember(&'w Work),
    /// Recall, Context, Get, List or Explain.
    Read {
        /// Which of them.
        verb: Verb,
        /// Where; empty for every collection that the caller may read so.
        collections: &'w [String],
        /// Also what is held.
        held: bool,
        /// Also what is archived.
        archived: bool,
    },
    /// Hide or erase units, wherever that is permitted.
    Forget {
        /// For ever, with their history.
        erase: bool,
    },
    /// See what waits for a reviewer, or decide it.
    Review {
        /// Where; empty for everywhere that is permitted.
        collections: &'w [String],
        /// Decide, not only see.
        decide: bool,
    },
    /// Upkeep.
    Consolidate {
        /// Where; empty for everywhere that is permitted.
        collections: &'w [String],
        /// Change something, not only tell.
        apply: bool,
    },
    /// See how much there is.
    Stats,
}

impl Wish<'_> {
    /// What is done.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Remember(_) => Verb::Remember,
            Self::Read { verb, .. } => *verb,
            Self::Forget { .. } => Verb::Forget,
            Self::Review { .. } => Verb::Review,
            Self::Consolidate { .. } => Verb::Consolidate,
            Self::Stats => Verb::Stats,
        }
    }

    /// The attributes of the context; `own` where only one's own units are asked for.
    pub(super) fn context(&self, own: bool) -> Vec<(&'static str, RestrictedExpression)> {
        let flag = RestrictedExpression::new_bool;
        let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
        match self {
            Self::Remember(Work { source, kind, origin, .. }) => {
                vec![("source", text(source)), ("kind", text(kind)), ("origin", text(origin))]
            }
            Self::Read { held, archived, .. } => {
                vec![("own", flag(own)), ("held", flag(*held)), ("archived", flag(*archived))]
            }
            Self::Forget { erase } => vec![("own", flag(own)), ("erase", flag(*erase))],
            Self::Review { decide, .. } => vec![("decide", flag(*decide))],
            Self::Consolidate { apply, .. } => vec![("apply", flag(*apply))],
            Self::Stats => vec![("own", flag(own))],
        }
    }

    /// The collections that are named.
    pub(super) fn named(&self) -> Vec<&str> {
        match self {
            Self::Remember(work) => vec![work.collection.as_str()],
            Self::Read { collections, .. }
            | Self::Review { collections, .. }
            | Self::Consolidate { collections, .. } => {
                collections.iter().map(String::as_str).collect()
            }
            Self::Forget { .. } | Self::Stats => Vec::new(),
        }
    }
}

impl Shelf {
    /// For whose units policy is asked: for everybody's first, then for one's own; as far as the
    /// collection's lists permit it.
    pub(super) fn tries(&self, wish: &Wish<'_>, caller: &Caller) -> Vec<bool> {
        let may = |list: &[String]| listed(list, caller);
        let both = |all: bool, own: bool| {
            [(false, all), (true, own)].into_iter().filter_map(|(own, may)| may.then_some(own))
        };
        match wish {
            Wish::Remember(_) | Wish::Consolidate { .. } => both(may(&self.write), false),
            Wish::Review { .. } => both(may(&self.review), false),
            Wish::Read { .. } | Wish::Stats => both(!self.own && may(&self.read), may(&self.read)),
            Wish::Forget { .. } => both(may(&self.review), may(&self.write)),
        }
        .collect()
    }
}

/// Whether a list of a collection names the caller.
pub(crate) fn listed(list: &[String], caller: &Caller) -> bool {
    list.iter().any(|entry| match entry.split_once(':') {
        None => entry == "any",
        Some(("caller", name)) => name == caller.name,
        Some(("role", name)) => caller.roles.iter().any(|role| role == name),
        Some(("tenant", name)) => name == caller.tenant,
        Some(_) => false,
    })
}
