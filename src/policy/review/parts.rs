//! A policy's conditions taken apart into parts that must all hold. Each is an expression and the
//! value that it must have, so that a part can be asked, compared and printed alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::{Policy, pst};
use serde_json::Value;

use super::Rule;
use crate::call::{Session, Taint};

/// One part of a policy's conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conjunct {
    pub(super) expression: Arc<pst::Expr>,
    /// What it must be for the policy to apply.
    pub(super) wanted: bool,
    /// Parts of one clause guard each other: one that is not met ends the clause.
    pub(super) clause: usize,
}

impl Conjunct {
    /// The part as a condition that is met.
    pub(super) fn text(&self) -> String {
        match self.wanted {
            true => self.expression.to_string(),
            false => format!("!({})", self.expression),
        }
    }

    /// A policy that is satisfied exactly when the part is met.
    pub(super) fn policy(&self) -> Option<Policy> {
        let clause = match self.wanted {
            true => pst::Clause::When(Arc::clone(&self.expression)),
            false => pst::Clause::Unless(Arc::clone(&self.expression)),
        };
        let body = pst::Template::new(
            "part",
            pst::Effect::Permit,
            pst::PrincipalConstraint::Any,
            pst::ActionConstraint::Any,
            pst::ResourceConstraint::Any,
        );
        let body = body.try_with_clauses([clause]).ok()?;
        Policy::from_pst(pst::Policy::Static(pst::StaticPolicy::try_from(body).ok()?)).ok()
    }

    /// The expression whose value the part looks at: the left side of a comparison.
    pub(super) fn operand(&self) -> Option<&Arc<pst::Expr>> {
        match &*self.expression {
            pst::Expr::BinaryOp { left, right, .. } => match &**left {
                // A list on the left is compared with something on the right.
                pst::Expr::Set(_) | pst::Expr::Literal(_) => Some(right),
                _ => Some(left),
            },
            pst::Expr::Like { expr, .. } => Some(expr),
            _ => None,
        }
    }
}

/// The parts of a policy, in the order in which they are evaluated.
pub(super) fn conjuncts(rule: &Rule) -> Vec<Conjunct> {
    let mut parts = Vec::new();
    let clauses = rule.body.iter().flat_map(|body| body.clauses().iter());
    for (clause, text) in clauses.enumerate() {
        match text {
            pst::Clause::When(expression) => split(expression, true, clause, &mut parts),
            pst::Clause::Unless(expression) => split(expression, false, clause, &mut parts),
        }
    }
    parts
}

/// `a && b` must hold in both; `a || b` must fail in both.
fn split(expression: &Arc<pst::Expr>, wanted: bool, clause: usize, parts: &mut Vec<Conjunct>) {
    match &**expression {
        pst::Expr::BinaryOp { op: pst::BinaryOp::And, left, right } if wanted => {
            split(left, wanted, clause, parts);
            split(right, wanted, clause, parts);
        }
        pst::Expr::BinaryOp { op: pst::BinaryOp::Or, left, right } if !wanted => {
            split(left, wanted, clause, parts);
            split(right, wanted, clause, parts);
        }
        pst::Expr::UnaryOp { op: pst::UnaryOp::Not, expr } => split(expr, !wanted, clause, parts),
        pst::Expr::Literal(pst::Literal::Bool(known)) if *known == wanted => {}
        _ => parts.push(Conjunct { expression: Arc::clone(expression), wanted, clause }),
    }
}

/// What a set of policies names: the values at which decisions change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) callers: BTreeSet<String>,
    pub(super) roles: BTreeSet<String>,
    pub(super) tenants: BTreeSet<String>,
    pub(super) texts: BTreeSet<String>,
    pub(super) numbers: BTreeSet<i64>,
    pub(super) decimals: BTreeSet<String>,
}

impl Named {
    /// What the policies name, scope and conditions.
    pub(super) fn of_rules<'r>(rules: impl Iterator<Item = &'r Rule>) -> Self {
        let mut named = Self::default();
        for rule in rules {
            if let Ok(json) = rule.policy.to_json() {
                named.read(json.get("principal").unwrap_or(&Value::Null));
                named.read(json.get("conditions").unwrap_or(&Value::Null));
            }
        }
        named
    }

    /// Conversations in which decisions can differ: none at all, and one with every label of taint
    /// that the policies name.
    pub(super) fn sessions(&self) -> Vec<(&'static str, Session)> {
        let known = |label: &Taint| self.texts.contains(label.as_str());
        let taint: BTreeSet<Taint> = Taint::ALL.into_iter().filter(known).collect();
        let tainted = (!taint.is_empty()).then_some(("tainted", Session { calls: 1, taint }));
        [("", Session::default())].into_iter().chain(tainted).collect()
    }

    fn read(&mut self, json: &Value) {
        match json {
            Value::Array(items) => items.iter().for_each(|item| self.read(item)),
            Value::Object(members) => {
                let entity = members.get("type").and_then(Value::as_str);
                if let (Some(of), Some(id)) = (entity, members.get("id").and_then(Value::as_str)) {
                    self.entity(of, id);
                    return;
                }
                for (key, value) in members {
                    match (key.as_str(), value) {
                        ("Value", Value::String(text)) => drop(self.texts.insert(text.clone())),
                        ("Value", Value::Number(number)) => self.numbers.extend(number.as_i64()),
                        ("Value", Value::Object(value)) if value.contains_key("__entity") => {
                            self.read(value.get("__entity").unwrap_or(&Value::Null));
                        }
                        ("decimal", Value::Array(items)) => {
                            let text = items.first().and_then(|item| item.get("Value"));
                            self.decimals.extend(text.and_then(Value::as_str).map(str::to_owned));
                        }
                        ("pattern", Value::Array(elements)) => self.pattern(elements),
                        _ => self.read(value),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn entity(&mut self, of: &str, id: &str) {
        let set = match of.rsplit("::").next() {
            Some("Caller") => &mut self.callers,
            Some("Role") => &mut self.roles,
            Some("Tenant") => &mut self.tenants,
            _ => return,
        };
        set.insert(id.to_owned());
    }

    /// A text that the pattern matches.
    fn pattern(&mut self, elements: &[Value]) {
        let piece = |element: &Value| match element {
            Value::Object(member) => {
                member.get("Literal").and_then(Value::as_str).unwrap_or("x").to_owned()
            }
            _ => "x".to_owned(),
        };
        self.texts.insert(elements.iter().map(piece).collect());
    }
}
