//! What an engine says of itself, held against profiles.

use bollard::models::{Runtime as Named, SystemInfo};

use super::live::profile;
use crate::catalog::{Profile, Runtime};
use crate::sandbox::abilities::Abilities;

fn info() -> SystemInfo {
    let runtimes = ["runc", "runsc"].map(|name| (name.to_owned(), Named::default()));
    SystemInfo {
        memory_limit: Some(true),
        swap_limit: Some(true),
        cpu_cfs_quota: Some(true),
        pids_limit: Some(true),
        runtimes: Some(runtimes.into()),
        ..SystemInfo::default()
    }
}

#[test]
fn a_runtime_that_the_engine_does_not_have_is_named_with_those_it_has() {
    let has = |runtime| Abilities::of(&info()).check(&Profile { runtime, ..profile("shell") });
    assert_eq!(has(Runtime::Runc), Ok(()));
    assert_eq!(has(Runtime::Runsc), Ok(()));
    let told = has(Runtime::Kata).unwrap_err();
    assert!(told.contains("no runtime `kata`; it has runc, runsc"), "{told}");
}

#[test]
fn each_limit_that_the_kernel_lacks_refuses_every_profile() {
    type Change = fn(&mut SystemInfo);
    let without: [(&str, Change); 4] = [
        ("memory", |info| info.memory_limit = Some(false)),
        ("swap", |info| info.swap_limit = Some(false)),
        ("processor time", |info| info.cpu_cfs_quota = Some(false)),
        ("processes", |info| info.pids_limit = Some(false)),
    ];
    for (limit, change) in without {
        let mut info = info();
        change(&mut info);
        let told = Abilities::of(&info).check(&profile("shell")).unwrap_err();
        assert!(told.contains(&format!("does not limit {limit}")), "{told}");
    }
    // An engine that does not say is asked by the limits that each container reads back.
    assert_eq!(Abilities::of(&SystemInfo::default()).check(&profile("shell")), Ok(()));
}
