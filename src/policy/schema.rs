//! The catalog in, Cedar's view of it out: the schema that policies are checked against, as text
//! for a reviewer, and for each tool the fixed parts of a decision.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::{
    Entity, EntityAttrEvaluationError, EntityId, EntityTypeName, EntityUid, RestrictedExpression,
};

use super::shape::{Shape, quote};
use super::slice::Situations;
use super::{Error, Names};
use crate::admission::Caller;
use crate::call::{FileFacts, Session};
use crate::catalog::{Profile, Risk, Runtime, Tier, Tool};

/// What is known of a tool before it is called.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Digest of the tool that this was made from.
    pub(super) digest: String,
    pub(super) action: EntityUid,
    pub(super) resource: EntityUid,
    /// The action with its groups.
    pub(super) entity: Entity,
    /// The readable part of its arguments.
    pub(super) shape: Shape,
    /// `context.sandbox`.
    pub(super) sandbox: RestrictedExpression,
    /// Places of the policies whose scope can match this tool.
    pub(super) policies: Vec<usize>,
}

/// How every schema begins: the callers.
pub(super) const CALLERS: &str = "\
namespace Switchboard {
  // Who calls: `Switchboard::Caller::\"uid:1000\"`.
  entity Role;
  entity Tenant;
  entity Caller in [Role, Tenant] = { name: __cedar::String, tenant: __cedar::String };

";
const APPROVING: &str = "
  // Who asked for the approval.
  type Asked = { name: __cedar::String, tenant: __cedar::String, roles: Set<__cedar::String> };

  // `decide` is for the calls of others, `decide-own` for one's own.
  action \"decide\", \"decide-own\" appliesTo {
    principal: Caller, resource: Source,
    context: {
      approve: __cedar::Bool, caller: Asked, tool: __cedar::String, risk: __cedar::String,
      conversation: __cedar::String, egress_hosts: Set<__cedar::String>,
      secrets: Set<__cedar::String>
    }
  };
}
";
const COMMON: &str = "\
  // The conversation or run that the call belongs to: empty, without calls and taint, when the
  // caller named none. `calls` of it were recorded before; `taint` is what their replies brought in.
  type Session = {
    tenant: __cedar::String, conversation: __cedar::String, calls: __cedar::Long,
    taint: Set<__cedar::String>
  };

  // The envelope that the tool runs in. Sizes are bytes, times milliseconds.
  type Sandbox = {
    profile: __cedar::String, image: __cedar::String, tier: __cedar::String,
    runtime: __cedar::String, wall_ms: __cedar::Long, memory: __cedar::Long,
    cpu_millis: __cedar::Long, processes: __cedar::Long, output: __cedar::Long,
    disk: __cedar::Long, egress_hosts: Set<__cedar::String>, egress_ports: Set<__cedar::Long>,
    secrets: Set<__cedar::String>
  };

  // The files that the call brings; `bytes` of all together.
  type Files = {
    count: __cedar::Long, bytes: __cedar::Long, media_types: Set<__cedar::String>
  };

  action \"risk:read\", \"risk:write\", \"risk:destructive\", \"risk:outbound\";
";

/// The schema of a catalog, in Cedar's syntax. `shapes` belong to `tools`, one by one; `operations`
/// are the groups of single operations that policies name: thousands that none names would cost a
/// start its time.
pub(super) fn print(
    tools: &[Arc<Tool>],
    shapes: &[Shape],
    operations: &BTreeSet<String>,
) -> String {
    let mut out = format!("{CALLERS}{COMMON}");
    let sources = sources(tools, &mut out);
    for source in &sources {
        out.push_str("  action ");
        quote(&group_of_source(source), &mut out);
        out.push_str(";\n");
    }
    let groups: BTreeSet<String> =
        tools.iter().filter_map(|tool| group_of_operation(tool)).collect();
    for group in groups.intersection(operations) {
        out.push_str("  action ");
        quote(group, &mut out);
        out.push_str(";\n");
    }
    for (tool, shape) in tools.iter().zip(shapes) {
        print_tool(tool, shape, operations, &mut out);
    }
    out.push_str("}\n");
    out
}

/// The schema of the policies that say who may approve.
pub(super) fn print_approvers(tools: &[Arc<Tool>]) -> String {
    let mut out = CALLERS.to_owned();
    sources(tools, &mut out);
    out.push_str(APPROVING);
    out
}

/// Names the sources of the tools. An enumeration makes a misspelt source an error at load; Cedar
/// wants it to have a member.
fn sources<'t>(tools: &'t [Arc<Tool>], out: &mut String) -> BTreeSet<&'t str> {
    let sources: BTreeSet<&str> = tools.iter().map(|tool| tool.source.as_str()).collect();
    out.push_str("  entity Source");
    for (index, source) in sources.iter().enumerate() {
        out.push_str(if index == 0 { " enum [" } else { ", " });
        quote(source, out);
    }
    out.push_str(if sources.is_empty() { ";\n" } else { "];\n" });
    sources
}

fn print_tool(tool: &Tool, shape: &Shape, operations: &BTreeSet<String>, out: &mut String) {
    out.push_str("\n  action ");
    quote(&tool.name, out);
    out.push_str(" in [");
    quote(group_of_risk(tool.risk), out);
    out.push_str(", ");
    quote(&group_of_source(&tool.source), out);
    if let Some(group) = group_of_operation(tool).filter(|group| operations.contains(group)) {
        out.push_str(", ");
        quote(&group, out);
    }
    out.push_str("] appliesTo {\n    principal: Caller, resource: Source,\n    context: { input: ");
    shape.print(out);
    out.push_str(", session: Session, sandbox: Sandbox, files: Files");
    out.push_str(", attended: __cedar::Bool }\n  };\n");
}

/// The group of a risk class. The colon keeps it apart from every tool's name.
pub(super) fn group_of_risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Read => "risk:read",
        Risk::Write => "risk:write",
        Risk::Destructive => "risk:destructive",
        Risk::Outbound => "risk:outbound",
    }
}

fn group_of_source(source: &str) -> String {
    format!("source:{source}")
}

/// The beginning of the group of an operation; its full id follows, however its tool is called.
pub(super) const OPERATION: &str = "operation:";

fn group_of_operation(tool: &Tool) -> Option<String> {
    tool.operation.as_ref().map(|operation| format!("{OPERATION}{operation}"))
}

/// The action of a tool, itself first, then its groups.
pub(super) fn actions(tool: &Tool, names: &Names) -> Vec<EntityUid> {
    let groups = [group_of_risk(tool.risk).to_owned(), group_of_source(&tool.source)];
    let all = std::iter::once(tool.name.clone()).chain(groups).chain(group_of_operation(tool));
    all.map(|id| uid(&names.action, &id)).collect()
}

/// The fixed parts of a tool's decisions.
pub(super) fn prepare(
    tool: &Tool,
    shape: Shape,
    names: &Names,
    situations: &Situations,
) -> Result<Prepared, Error> {
    let actions = actions(tool, names);
    let action = uid(&names.action, &tool.name);
    let resource = uid(&names.source, &tool.source);
    Ok(Prepared {
        digest: tool.digest.clone(),
        policies: situations.of_tool(&actions, &resource),
        resource,
        entity: Entity::new_no_attrs(action.clone(), actions.into_iter().skip(1).collect()),
        action,
        shape,
        sandbox: envelope(&tool.profile)?,
    })
}

fn envelope(profile: &Profile) -> Result<RestrictedExpression, Error> {
    let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
    // A limit beyond 63 bits is no limit; the largest number says so to a policy that compares.
    let size =
        |value: u64| RestrictedExpression::new_long(i64::try_from(value).unwrap_or(i64::MAX));
    let wall = u64::try_from(profile.limits.wall.as_millis()).unwrap_or(u64::MAX);
    let rules = profile.egress.as_deref().unwrap_or_default();
    let hosts = rules.iter().map(|rule| text(&rule.host));
    let ports = rules.iter().map(|rule| size(u64::from(rule.port)));
    let secrets = profile.secrets.iter().map(|secret| text(&secret.name));
    let attributes = BTreeMap::from([
        ("profile", text(&profile.name)),
        ("image", text(&profile.image)),
        ("tier", text(tier(profile.tier))),
        ("runtime", text(runtime(profile.runtime))),
        ("wall_ms", size(wall)),
        ("memory", size(profile.limits.memory)),
        ("cpu_millis", size(u64::from(profile.limits.cpu_millis))),
        ("processes", size(u64::from(profile.limits.processes))),
        ("output", size(profile.limits.output)),
        ("disk", size(profile.limits.disk)),
        ("egress_hosts", RestrictedExpression::new_set(hosts)),
        ("egress_ports", RestrictedExpression::new_set(ports)),
        ("secrets", RestrictedExpression::new_set(secrets)),
    ]);
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
    RestrictedExpression::new_record(attributes)
        .map_err(|error| Error::Schema { reason: error.to_string() })
}

/// What of `context.session` can differ from one call of a caller to the next.
pub(super) fn session(
    conversation: &str,
    session: &Session,
) -> [(&'static str, RestrictedExpression); 3] {
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let calls = i64::try_from(session.calls).unwrap_or(i64::MAX);
    let taint = session.taint.iter().map(|label| text(label.as_str()));
    [
        ("conversation", text(conversation)),
        ("calls", RestrictedExpression::new_long(calls)),
        ("taint", RestrictedExpression::new_set(taint)),
    ]
}

/// `context.files` of a call.
pub(super) fn files(files: &[&FileFacts]) -> Result<RestrictedExpression, Error> {
    let size =
        |value: u64| RestrictedExpression::new_long(i64::try_from(value).unwrap_or(i64::MAX));
    let types = files.iter().map(|file| file.media_type.clone());
    RestrictedExpression::new_record([
        ("count".to_owned(), size(u64::try_from(files.len()).unwrap_or(u64::MAX))),
        ("bytes".to_owned(), size(files.iter().map(|file| file.bytes).sum())),
        (
            "media_types".to_owned(),
            RestrictedExpression::new_set(types.map(RestrictedExpression::new_string)),
        ),
    ])
    .map_err(|error| Error::Schema { reason: error.to_string() })
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Call => "call",
        Tier::Worker => "worker",
    }
}

fn runtime(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Runc => "runc",
        Runtime::Runsc => "runsc",
        Runtime::Kata => "kata",
    }
}

impl Names {
    /// The types of Switchboard's entities.
    pub(super) fn new() -> Result<Self, Error> {
        let name = |text: &str| {
            text.parse::<EntityTypeName>()
                .map_err(|error| Error::Schema { reason: error.to_string() })
        };
        Ok(Self {
            caller: name("Switchboard::Caller")?,
            role: name("Switchboard::Role")?,
            tenant: name("Switchboard::Tenant")?,
            action: name("Switchboard::Action")?,
            source: name("Switchboard::Source")?,
        })
    }
}

/// The caller, then its tenant and roles.
pub(super) fn principals(caller: &Caller, names: &Names) -> Vec<EntityUid> {
    let mut all = vec![uid(&names.caller, &caller.name), uid(&names.tenant, &caller.tenant)];
    all.extend(caller.roles.iter().map(|role| uid(&names.role, role)));
    all
}

/// The caller's own entity, whose [`principals`] these are.
pub(super) fn principal(
    caller: &Caller,
    principals: &[EntityUid],
    names: &Names,
) -> Result<Entity, Box<EntityAttrEvaluationError>> {
    let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
    let attributes = HashMap::from([
        ("name".to_owned(), text(&caller.name)),
        ("tenant".to_owned(), text(&caller.tenant)),
    ]);
    let parents = principals.iter().skip(1).cloned().collect();
    Entity::new(uid(&names.caller, &caller.name), attributes, parents).map_err(Box::new)
}

/// The entity `Type::"id"`.
pub(super) fn uid(of: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(of.clone(), EntityId::new(id))
}
