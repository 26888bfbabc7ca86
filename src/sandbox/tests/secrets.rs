//! Values of secrets as they are read, kept and changed.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::live::profile;
use crate::catalog::{HostPort, Origin, Placement, Profile, Secret};
use crate::sandbox::secrets::Vault;

fn secret(name: &str, from: Origin) -> Secret {
    Secret {
        name: name.to_owned(),
        from,
        hosts: vec![HostPort { host: "api.test".to_owned(), port: 443 }],
        place: Placement::Query("key".to_owned()),
        plain_http: false,
    }
}

fn with(secrets: Vec<Secret>) -> Arc<Profile> {
    let mut profile = profile("runner");
    profile.secrets = secrets;
    Arc::new(profile)
}

fn of_file(path: &Path) -> Arc<Profile> {
    with(vec![secret("orders_key", Origin::File(path.to_owned()))])
}

struct Mount {
    folder: tempfile::TempDir,
}

impl Mount {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    fn write(&self, text: &str) -> PathBuf {
        std::fs::write(self.path(), text).unwrap();
        self.path()
    }
}

#[test]
fn a_value_that_cannot_be_used_is_refused_with_what_where_and_how() {
    let mount = Mount::new();
    let long = "x".repeat(8193);
    for (text, reason) in [
        ("", "is empty"),
        ("\n", "is empty"),
        ("two\nlines-of-it\n", "line breaks"),
        ("value\twith-tab", "control characters"),
        ("schlüssel-schlüssel", "beyond ASCII"),
        (" value-with-space", "space"),
        ("short", "shorter than 8"),
        (&long, "longer than 8192"),
    ] {
        let path = mount.write(text);
        let told = Vault::default().keyring(&of_file(&path)).unwrap_err().to_string();
        assert!(told.contains(reason) && told.contains("`orders_key`"), "{text:?}: {told}");
        assert!(told.contains(path.to_str().unwrap()), "{told}");
    }
    for (from, reason) in [
        (Origin::File(mount.folder.path().join("none")), "cannot be read"),
        (Origin::File(mount.folder.path().to_owned()), "no regular file"),
        (Origin::Env("SWITCHBOARD_TEST_NOT_SET".to_owned()), "is not set"),
    ] {
        let told = Vault::default().keyring(&with(vec![secret("k", from)])).unwrap_err();
        assert!(told.to_string().contains(reason), "{told}");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_block() {
    let mount = Mount::new();
    let made = std::process::Command::new("mkfifo").arg(mount.path()).status().unwrap();
    assert!(made.success());
    let told = Vault::default().keyring(&of_file(&mount.path())).unwrap_err().to_string();
    assert!(told.contains("no regular file"), "{told}");
}

#[test]
fn a_changed_file_is_seen_by_the_next_call_and_a_broken_one_changes_nothing() {
    let mount = Mount::new();
    let profile = of_file(&mount.write("first-value\r\n"));
    let vault = Vault::default();
    let first = vault.keyring(&profile).unwrap();
    assert!(Arc::ptr_eq(&first, &vault.keyring(&profile).unwrap()));
    // The same value again is no change, so connections that are kept stay of use.
    mount.write("first-value");
    vault.furnish(std::slice::from_ref(&profile));
    assert!(Arc::ptr_eq(&first, &vault.keyring(&profile).unwrap()));

    mount.write("");
    assert!(Arc::ptr_eq(&first, &vault.keyring(&profile).unwrap()));
    std::fs::remove_file(mount.path()).unwrap();
    vault.furnish(std::slice::from_ref(&profile));
    assert!(Arc::ptr_eq(&first, &vault.keyring(&profile).unwrap()));
    assert!(vault.lacking().is_empty());

    mount.write("other-value");
    let second = vault.keyring(&profile).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
}

#[test]
fn a_mounted_secret_is_followed_through_its_links() {
    let mount = Mount::new();
    let root = mount.folder.path();
    for (folder, text) in [("1", "first-value"), ("2", "other-value")] {
        std::fs::create_dir(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join("key"), text).unwrap();
    }
    symlink("1", root.join("..data")).unwrap();
    symlink("..data/key", root.join("key")).unwrap();
    let (vault, profile) = (Vault::default(), of_file(&mount.path()));
    let first = vault.keyring(&profile).unwrap();
    symlink("2", root.join("..new")).unwrap();
    std::fs::rename(root.join("..new"), root.join("..data")).unwrap();
    assert!(!Arc::ptr_eq(&first, &vault.keyring(&profile).unwrap()));
}

#[test]
fn what_is_missing_is_named_until_it_is_there() {
    let mount = Mount::new();
    let (vault, profile) = (Vault::default(), of_file(&mount.path()));
    vault.furnish(std::slice::from_ref(&profile));
    let [line] = &vault.lacking()[..] else { panic!("{:?}", vault.lacking()) };
    assert!(line.contains("profile `runner`: secret `orders_key`: file"), "{line}");
    mount.write("value-at-last");
    assert!(vault.lacking().is_empty());
    vault.keyring(&profile).unwrap();
}

#[test]
fn a_value_that_no_profile_has_any_more_is_forgotten() {
    let mount = Mount::new();
    let profile = of_file(&mount.write("first-value"));
    let vault = Vault::default();
    vault.keyring(&profile).unwrap();
    vault.furnish(&[]);
    std::fs::remove_file(mount.path()).unwrap();
    assert!(vault.keyring(&profile).is_err());
}

#[test]
fn nothing_prints_a_value() {
    let mount = Mount::new();
    let profile = of_file(&mount.write("first-value"));
    let vault = Vault::default();
    let keyring = vault.keyring(&profile).unwrap();
    let printed = format!("{vault:?} {keyring:?} {profile:?} {}", serde_json::json!(*profile));
    assert!(!printed.contains("first-value"), "{printed}");
}
