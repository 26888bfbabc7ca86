//! A seccomp profile as the engine wants it: [`Seccomp`] in, JSON text out. What is allowed is not
//! decided here.

use serde_json::{Value, json};

use crate::catalog::{Seccomp, SeccompRule};

/// The machine types that images are built for. The engine takes the one that it runs on, and no
/// second one beside it: a call of another instruction set kills the process.
const MACHINES: [&str; 2] = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"];

/// The text for `seccomp=` among a container's security options.
pub(super) fn spell(profile: &Seccomp) -> String {
    let machines: Vec<Value> = MACHINES
        .iter()
        .map(|machine| json!({ "architecture": machine, "subArchitectures": [] }))
        .collect();
    let rules: Vec<Value> = profile.rules.iter().map(rule).collect();
    json!({
        // The error is EPERM where no other is named.
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": machines,
        "syscalls": rules,
    })
    .to_string()
}

fn rule(rule: &SeccompRule) -> Value {
    let conditions: Vec<Value> = rule
        .conditions
        .iter()
        .map(|condition| {
            json!({
                "index": condition.argument,
                "op": "SCMP_CMP_MASKED_EQ",
                "value": condition.mask,
                "valueTwo": condition.value,
            })
        })
        .collect();
    match rule.errno {
        None => json!({ "names": rule.calls, "action": "SCMP_ACT_ALLOW", "args": conditions }),
        Some(errno) => json!({
            "names": rule.calls, "action": "SCMP_ACT_ERRNO", "errnoRet": errno, "args": conditions,
        }),
    }
}
