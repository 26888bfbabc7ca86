//! Two policies in; whether whatever the one matches is matched by the other too. Says no when in
//! doubt, and says when it is in doubt.

use cedar_policy::{PrincipalConstraint, pst};

use super::Rule;
use super::parts::{Conjunct, conjuncts};
use crate::catalog::Tool;
use crate::policy::Names;
use crate::policy::schema::actions;

/// Whether one policy covers another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Covers {
    /// In every call.
    Always,
    /// Their scopes nest, and their conditions look at the same things; a person must compare.
    Perhaps,
    /// There is a call that only the other matches, or nothing that says otherwise.
    No,
}

/// Whether `wide` matches every call of `tools` that `narrow` matches.
pub(super) fn covers<'t>(
    wide: &Rule,
    narrow: &Rule,
    tools: impl Iterator<Item = &'t Tool>,
    names: &Names,
) -> Covers {
    if !principal(&wide.scope.principal, &narrow.scope.principal)
        || !action(wide, narrow, tools, names)
    {
        return Covers::No;
    }
    if wide.body.is_none() || narrow.body.is_none() {
        return Covers::No;
    }
    let given = conjuncts(narrow);
    let mut covers = Covers::Always;
    for needed in conjuncts(wide) {
        if given.iter().any(|known| implies(known, &needed)) {
            continue;
        }
        // Two ranges of one number, of which neither side is in doubt.
        if given.iter().any(|known| same_number(known, &needed)) {
            return Covers::No;
        }
        let operand = needed.operand().filter(|operand| !matches!(***operand, pst::Expr::Var(_)));
        let related = operand.is_some() && given.iter().any(|known| known.operand() == operand);
        if !related {
            return Covers::No;
        }
        covers = Covers::Perhaps;
    }
    covers
}

fn principal(wide: &PrincipalConstraint, narrow: &PrincipalConstraint) -> bool {
    use PrincipalConstraint as P;
    match (wide, narrow) {
        // Every principal is a caller.
        (P::Any | P::Is(_), _) => true,
        (P::In(group) | P::IsIn(_, group), P::In(other) | P::IsIn(_, other) | P::Eq(other)) => {
            group == other
        }
        (P::Eq(one), P::Eq(other)) => one == other,
        _ => false,
    }
}

/// By the names of the groups, not by the tools that happen to be in them: a group may grow.
fn action<'t>(
    wide: &Rule,
    narrow: &Rule,
    mut tools: impl Iterator<Item = &'t Tool>,
    names: &Names,
) -> bool {
    use cedar_policy::{ActionConstraint as A, ResourceConstraint as R};
    let resource = match (&wide.scope.resource, &narrow.scope.resource) {
        (R::Any | R::Is(_), _) => true,
        (
            R::Eq(one) | R::In(one) | R::IsIn(_, one),
            R::Eq(other) | R::In(other) | R::IsIn(_, other),
        ) => one == other,
        _ => false,
    };
    let within = |uid: &cedar_policy::EntityUid, groups: &[cedar_policy::EntityUid]| {
        groups.contains(uid)
            || tools.any(|tool| {
                let actions = actions(tool, names);
                actions.first() == Some(uid) && actions.iter().any(|own| groups.contains(own))
            })
    };
    resource
        && match (&wide.scope.action, &narrow.scope.action) {
            (A::Any, _) => true,
            (_, A::Any) => false,
            (A::Eq(one), A::Eq(other)) => one == other,
            (A::Eq(one), A::In(others)) => others.iter().all(|other| other == one),
            (A::In(groups), A::Eq(one)) => within_all(std::slice::from_ref(one), groups, within),
            (A::In(groups), A::In(others)) => within_all(others, groups, within),
        }
}

fn within_all(
    uids: &[cedar_policy::EntityUid],
    groups: &[cedar_policy::EntityUid],
    mut within: impl FnMut(&cedar_policy::EntityUid, &[cedar_policy::EntityUid]) -> bool,
) -> bool {
    // One tool is looked for among all; a list of several is compared by name only.
    match uids {
        [only] => within(only, groups),
        _ => uids.iter().all(|uid| groups.contains(uid)),
    }
}

/// Whether `known` being met means that `needed` is.
fn implies(known: &Conjunct, needed: &Conjunct) -> bool {
    if known.wanted == needed.wanted && known.expression == needed.expression {
        return true;
    }
    match (bound(known), bound(needed)) {
        (Some((what, low, high)), Some((other, least, most))) => {
            what == other && low >= least && high <= most
        }
        _ => false,
    }
}

/// Whether both bound the same thing by numbers.
fn same_number(one: &Conjunct, other: &Conjunct) -> bool {
    matches!((bound(one), bound(other)), (Some((what, ..)), Some((other, ..))) if what == other)
}

/// The numbers that a comparison lets through, both ends included.
fn bound(part: &Conjunct) -> Option<(&pst::Expr, i128, i128)> {
    use pst::BinaryOp as B;
    let pst::Expr::BinaryOp { op, left, right } = &*part.expression else { return None };
    let pst::Expr::Literal(pst::Literal::Long(limit)) = &**right else { return None };
    let limit = i128::from(*limit);
    let (low, high) = match (op, part.wanted) {
        (B::Less, true) | (B::GreaterEq, false) => (i128::MIN, limit - 1),
        (B::LessEq, true) | (B::Greater, false) => (i128::MIN, limit),
        (B::Greater, true) | (B::LessEq, false) => (limit + 1, i128::MAX),
        (B::GreaterEq, true) | (B::Less, false) => (limit, i128::MAX),
        (B::Eq, true) | (B::NotEq, false) => (limit, limit),
        _ => return None,
    };
    Some((&**left, low, high))
}
