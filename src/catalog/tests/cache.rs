//! The cache of what documents gave: the same tools as from the files, and never anything else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::policies::{Policies, image};
use crate::catalog::{Cache, Catalog};

const DOCUMENT: &str = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://a.example'}]\npaths:
  /a: {get: {operationId: a, parameters: [{name: x, in: query, schema: {$ref: 'part.yaml#/X'}}]}}
  /b: {get: {operationId: b, parameters: [{name: x, in: query, schema: {$ref: 'missing.yaml#/X'}}]}}
  /c: {post: {operationId: c, requestBody: {content: {application/json: {schema: {type: object, required: [n], properties: {n: {type: number, multipleOf: 0.10}}}}}}}}\n";

struct Kept {
    policies: Policies,
    folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let policies = Policies::new();
        policies.write("sandbox/plain.toml", "image = 'shell'\n");
        policies.write("openapi/s.toml", "document = 'openapi/d.yaml'\nprofile = 'plain'\n");
        policies.write("openapi/d.yaml", DOCUMENT);
        policies.write("openapi/part.yaml", "X: {type: string, maxLength: 3}\n");
        Self { policies, folder: tempfile::tempdir().unwrap() }
    }

    fn cache(&self) -> Cache {
        Cache::open(&self.folder.path().join("cache")).unwrap()
    }

    fn load(&self) -> Catalog {
        Catalog::load_cached(self.policies.root(), &image, None, Some(&self.cache()))
    }

    fn file(&self) -> PathBuf {
        let entries = fs::read_dir(self.folder.path().join("cache")).unwrap();
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        let [only] = paths.as_slice() else { panic!("{paths:?}") };
        only.clone()
    }

    /// Whether the next load leaves the file as it is, which it only does when it believes it.
    fn believed(&self) -> bool {
        let before = stamp(&self.file());
        let fresh = Catalog::load(self.policies.root(), &image);
        assert_eq!(self.load().digest(), fresh.digest(), "whatever is in the cache");
        stamp(&self.file()) == before
    }
}

/// The file itself, not what is in it: a new one is always another.
fn stamp(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_second_load_gives_the_same_tools_and_the_same_problems() {
    let kept = Kept::new();
    let first = kept.load();
    let second = kept.load();
    assert!(kept.believed());
    assert_eq!(first.digest(), second.digest());
    assert_eq!(first.problems(), second.problems());
    assert_eq!(second.tools().len(), 2);
    for (one, two) in first.tools().iter().zip(second.tools()) {
        assert_eq!(format!("{one:?}"), format!("{two:?}"), "numbers keep their spelling too");
    }
    let mode = fs::metadata(kept.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_change_of_any_file_that_counts_is_seen() {
    let kept = Kept::new();
    kept.load();
    assert!(kept.believed());
    kept.policies.write("openapi/part.yaml", "X: {type: string, maxLength: 4}\n");
    assert!(!kept.believed(), "a file that the document refers to");
    assert!(kept.believed());
    kept.policies.write("openapi/missing.yaml", "X: {type: string}\n");
    assert!(!kept.believed(), "a file that was not there");
    assert_eq!(kept.load().tools().len(), 3);
    let source = "document = 'openapi/d.yaml'\nprofile = 'plain'\nprefix = 'p.'\n";
    kept.policies.write("openapi/s.toml", source);
    assert!(!kept.believed(), "the source's own settings");
    kept.policies.write("openapi/d.yaml", &DOCUMENT.replace("/c:", "/cc:"));
    assert!(!kept.believed(), "the document");
}

#[test]
fn a_damaged_file_is_made_again() {
    let kept = Kept::new();
    kept.load();
    let good = fs::read(kept.file()).unwrap();
    let mut cases = vec![Vec::new(), b"x".to_vec(), good[..good.len() / 2].to_vec()];
    for at in [0, 30, 100, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        cases.push(bad);
    }
    for bad in cases {
        fs::write(kept.file(), &bad).unwrap();
        assert!(!kept.believed(), "{} bytes", bad.len());
        assert!(kept.believed());
    }
}

#[test]
fn what_somebody_else_could_have_written_is_not_read() {
    let kept = Kept::new();
    kept.load();
    fs::set_permissions(kept.file(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!kept.believed());
    let (file, aside) = (kept.file(), kept.folder.path().join("aside"));
    fs::rename(&file, &aside).unwrap();
    symlink(&aside, &file).unwrap();
    kept.load();
    assert!(!fs::symlink_metadata(&file).unwrap().is_symlink(), "a link is replaced, not followed");
    let open = kept.folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Cache::open(&open).is_err());
}

#[test]
fn a_name_recalls_what_was_kept_under_the_same_key_only() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(&folder.path().join("deep/cache")).unwrap();
    assert_eq!(cache.recall("a", "1"), None);
    cache.keep("a", "1", b"one\ntwo\n");
    cache.keep("../a", "1", b"other");
    assert_eq!(cache.recall("a", "1").as_deref(), Some(&b"one\ntwo\n"[..]));
    assert_eq!(cache.recall("../a", "1").as_deref(), Some(&b"other"[..]));
    assert_eq!(cache.recall("a", "2"), None);
    cache.keep("a", "2", b"");
    assert_eq!(cache.recall("a", "2").as_deref(), Some(&b""[..]));
    assert_eq!(cache.recall("a", "1"), None, "one for each name");
}
