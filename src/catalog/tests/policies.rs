//! A policies folder for tests, empty at first.

use std::fs;
use std::path::Path;

use crate::catalog::{Catalog, Usable};

pub(super) struct Policies(tempfile::TempDir);

impl Policies {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tools", "openapi", "sandbox", "seccomp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    pub(super) fn load(&self) -> Catalog {
        Catalog::load(self.root(), &image)
    }

    /// As after a change: what is broken now stays as it was in `previous`.
    pub(super) fn reload(&self, previous: &Catalog) -> Catalog {
        let usable: Usable<'_> = &|_| Ok(());
        Catalog::load_with(self.root(), &image, Some((previous, usable)))
    }
}

/// The images that are built.
pub(super) fn image(name: &str) -> Option<String> {
    matches!(name, "python" | "shell").then(|| "sha256:1".to_owned())
}
