//! A seccomp profile as the engine wants it: [`Seccomp`] in, JSON text out. What is allowed is not
//! decided here.

use serde_json::{Value, json};

use crate::catalog::{Runtime, Seccomp, SeccompRule};

/// The machine types that images are built for. The engine takes the one that it runs on, and no
/// second one beside it: a call of another instruction set kills the process.
const MACHINES: [&str; 2] = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"];

/// The call that a C library tries first, falling back on an older one only after ENOSYS. gVisor's
/// kernel lacks it and says so, so it is asked.
const LACKING: &str = "clone3";

/// The text for `seccomp=` among a container's security options.
///
/// The gVisor of Debian 12 knows no other error than EPERM. There the calls that shall fail with
/// another one fail with it, but for [`LACKING`].
pub(super) fn spell(profile: &Seccomp, runtime: Runtime) -> String {
    let machines: Vec<Value> = MACHINES
        .iter()
        .map(|machine| json!({ "architecture": machine, "subArchitectures": [] }))
        .collect();
    let rules: Vec<Value> = profile.rules.iter().filter_map(|entry| rule(entry, runtime)).collect();
    json!({
        // The error is EPERM where no other is named.
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": machines,
        "syscalls": rules,
    })
    .to_string()
}

fn rule(rule: &SeccompRule, runtime: Runtime) -> Option<Value> {
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
    let allow =
        |names: Value| json!({ "names": names, "action": "SCMP_ACT_ALLOW", "args": conditions });
    match (rule.errno, runtime) {
        (None, _) => Some(allow(json!(rule.calls))),
        (Some(_), Runtime::Runsc) => {
            rule.calls.iter().any(|call| call == LACKING).then(|| allow(json!([LACKING])))
        }
        (Some(errno), Runtime::Runc | Runtime::Kata) => Some(json!({
            "names": rule.calls, "action": "SCMP_ACT_ERRNO", "errnoRet": errno, "args": conditions,
        })),
    }
}
