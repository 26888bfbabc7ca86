//! Names of tools: legal, stable, never shared; and what a call's name resolves to.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::read;
use crate::catalog::openapi::is_legal;

fn names(paths: &str) -> Vec<(String, String)> {
    let document = format!("openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\npaths:\n{paths}");
    let (found, report) = read(&document);
    assert!(report.skipped.is_empty(), "{report:#?}");
    found.into_iter().map(|one| (one.operation, one.name)).collect()
}

fn with_ids(ids: &[&str]) -> Vec<String> {
    let paths: String = ids
        .iter()
        .enumerate()
        .map(|(index, id)| format!("  /p{index}: {{get: {{operationId: {id:?}}}}}\n"))
        .collect();
    names(&paths).into_iter().map(|(_, name)| name).collect()
}

fn all_good(names: &[String]) {
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| is_legal(name)), "{names:?}");
}

#[test]
fn operations_without_id_are_named_by_method_and_path() {
    let paths = "  /user-groups/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], get: {}, delete: {}}
  /user_groups/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], get: {}}
  /: {get: {}}\n";
    let first = names(paths);
    all_good(&first.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>());
    let second = names(&format!("  /aaa: {{get: {{}}}}\n{paths}"));
    assert_eq!(second.len(), 5);
    assert!(first.iter().all(|pair| second.contains(pair)));
}

#[test]
fn ids_that_look_alike_after_cleaning_stay_apart() {
    let ids = [
        "repos/get",
        "repos.get",
        "repos_get",
        "Repos_Get",
        "仓库/获取",
        "仓库/删除",
        "repos__get",
        "repos get",
    ];
    let all = with_ids(&ids);
    all_good(&all);
    assert_eq!(all[0], "repos__get");
    assert_eq!(all[2], "repos_get");
    let mut fewer = ids.to_vec();
    fewer.remove(4);
    let rest = with_ids(&fewer);
    assert_eq!(rest[4], all[5], "a name does not depend on its neighbours");
}

#[test]
fn long_ids_are_cut_without_merging() {
    let all = with_ids(&[
        "admin/tenant-workspaces/members/create-guest-invitation-with-attachments-and-permissions",
        "admin/tenant-workspaces/members/delete-guest-invitation-with-attachments-and-permissions",
        "orgs/custom-properties-for-repos-create-or-update-organization-definitions",
        "orgs/custom-properties-for-repos-create-or-update-organization-definition",
    ]);
    all_good(&all);
}

#[test]
fn operations_that_share_an_id_both_stay() {
    let all = with_ids(&["same", "same", "other"]);
    all_good(&all);
    assert_eq!(all[2], "other");
}

proptest! {
    #[test]
    fn any_two_ids_have_two_legal_names(a in "\\PC{1,90}", b in "[a-z_/.-]{1,12}") {
        use crate::catalog::openapi::name_of;
        prop_assert!(is_legal(&name_of("", &a)) && is_legal(&name_of("pre.", &b)));
        if a != b {
            prop_assert_ne!(name_of("", &a), name_of("", &b));
        }
        let slashed = b.replace(['_', '.'], "/");
        if slashed != b {
            prop_assert_ne!(name_of("", &slashed), name_of("", &b));
        }
    }
}
