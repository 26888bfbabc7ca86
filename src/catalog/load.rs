//! Reads the policies folder: `seccomp/*.toml`, `sandbox/*.toml`, `tools/*.toml` and `openapi/*.toml` in, a
//! [`Catalog`] out. A broken file costs its own tools only, or nothing when its last good state is
//! known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::build::{self, Tooling};
use super::cache::Cache;
use super::file::{Fault, nearest, read_text};
use super::openapi::{ImportReport, Origin};
use super::seccomp::{self, Seccomp};
use super::{Catalog, Problem, Profile, Tool, ceiling, manifest, openapi, profile, source};

/// Tells the id of an image by its name; `None` for an image that is not built.
pub type Images<'i> = &'i dyn Fn(&str) -> Option<String>;

/// Tells whether what a profile needs beside its file can be had, such as the values of its secrets;
/// the reason when it cannot.
pub type Usable<'u> = &'u dyn Fn(&Arc<Profile>) -> Result<(), (&'static str, String)>;

/// One load on its way.
struct Load<'l> {
    root: &'l Path,
    images: Images<'l>,
    previous: Option<(&'l Catalog, Usable<'l>)>,
    cache: Option<&'l Cache>,
    catalog: Catalog,
    /// Names of the tools so far.
    taken: BTreeSet<String>,
    /// Profiles by name, with the id of their image.
    profiles: BTreeMap<String, (Arc<Profile>, String)>,
    /// Seccomp profiles by name.
    seccomp: BTreeMap<String, Arc<Seccomp>>,
}

impl Catalog {
    /// Reads a policies folder. Never fails as a whole: see [`Catalog::problems`].
    ///
    /// Reads and parses every file, so it takes as long as the largest document: call it where
    /// blocking is allowed.
    pub fn load(root: &Path, images: Images<'_>) -> Self {
        Self::load_with(root, images, None)
    }

    /// As [`Catalog::load`]; a file that is broken now keeps what it gave to `previous`, and the
    /// problem says so. So does a profile that is not usable now, while the previous one is.
    pub fn load_with(
        root: &Path,
        images: Images<'_>,
        previous: Option<(&Self, Usable<'_>)>,
    ) -> Self {
        Self::load_cached(root, images, previous, None)
    }

    /// As [`Catalog::load_with`]; documents that have not changed are taken from the cache.
    pub fn load_cached(
        root: &Path,
        images: Images<'_>,
        previous: Option<(&Self, Usable<'_>)>,
        cache: Option<&Cache>,
    ) -> Self {
        let mut load = Load {
            root,
            images,
            previous,
            cache,
            catalog: Self::default(),
            taken: BTreeSet::new(),
            profiles: BTreeMap::new(),
            seccomp: BTreeMap::new(),
        };
        if root.is_dir() {
            load.read_seccomp();
            load.read_profiles();
            for (name, stem) in load.list("tools") {
                let tools = load.read_manifest(&name, &stem);
                load.keep_or_take(&name, tools);
            }
            for (name, stem) in load.list("openapi") {
                let tools = load.read_source(&name, &stem);
                load.keep_or_take(&name, tools);
            }
        } else {
            let message = format!("the policies folder `{}` is not there", root.display());
            load.problem("", Fault::new("", message), true);
        }
        load.catalog.index();
        if let Ok(count) = u32::try_from(load.catalog.problems.len()) {
            metrics::gauge!("switchboard_catalog_problems").set(count);
        }
        load.catalog
    }
}

impl Load<'_> {
    fn problem(&mut self, file: &str, fault: Fault, fatal: bool) {
        self.catalog.problems.push(Problem {
            file: fault.file.unwrap_or_else(|| file.to_owned()),
            place: fault.place,
            message: fault.message,
            fatal,
        });
    }

    /// The TOML files of a subfolder, sorted: path inside the root, and stem.
    fn list(&mut self, folder: &str) -> Vec<(String, String)> {
        let entries = match std::fs::read_dir(self.root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.problem(folder, Fault::new("", format!("cannot be read: {error}")), true);
                return Vec::new();
            }
        };
        let mut files: Vec<(String, String)> = entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                let stem = name.strip_suffix(".toml")?.to_owned();
                (!stem.starts_with('.')).then(|| (format!("{folder}/{name}"), stem))
            })
            .collect();
        files.sort();
        files
    }

    /// A default that stands in the folder replaces the one of the program, and does so when it is
    /// broken too: then nothing runs under it.
    fn read_seccomp(&mut self) {
        let files = self.list("seccomp");
        if !files.iter().any(|(_, stem)| stem == seccomp::DEFAULT) {
            let default = Arc::new(Seccomp::built_in());
            self.seccomp.insert(seccomp::DEFAULT.to_owned(), default);
        }
        for (name, stem) in files {
            let read =
                read_text(&self.root.join(&name)).and_then(|text| seccomp::parse(&stem, &text));
            let kept = self.previous.and_then(|(old, _)| old.seccomp.get(&name)).cloned();
            let profile = match read {
                Ok(profile) => Arc::new(profile),
                Err(fault) => {
                    self.problem(&name, explain(fault, kept.is_some()), true);
                    match kept {
                        Some(kept) => kept,
                        None => continue,
                    }
                }
            };
            self.catalog.seccomp.insert(name, Arc::clone(&profile));
            self.seccomp.insert(stem, profile);
        }
    }

    /// The operator's ceiling. A broken one leaves the last good one in force; without that no
    /// profile can be used, since nobody can tell whether it is too wide.
    fn read_ceiling(&mut self, name: &str) -> bool {
        let read = read_text(&self.root.join(name)).and_then(|text| ceiling::parse(&text));
        match read {
            Ok(ceiling) => self.catalog.ceiling = Some(Arc::new(ceiling)),
            Err(fault) => {
                self.catalog.ceiling = self.previous.and_then(|(old, _)| old.ceiling.clone());
                let kept = self.catalog.ceiling.is_some();
                self.problem(name, explain(fault, kept), true);
                return kept;
            }
        }
        true
    }

    fn read_profiles(&mut self) {
        let (own, files): (Vec<_>, Vec<_>) =
            self.list("sandbox").into_iter().partition(|(_, stem)| stem == ceiling::STEM);
        let known = own.first().is_none_or(|(name, _)| self.read_ceiling(name));
        for (name, stem) in files {
            if !known {
                let message = "cannot be used while sandbox/ceiling.toml cannot be read; mend that";
                self.problem(&name, Fault::new("ceiling", message), true);
                continue;
            }
            let read = read_text(&self.root.join(&name))
                .and_then(|text| profile::parse(&stem, &text, &self.seccomp))
                .and_then(|profile| match &self.catalog.ceiling {
                    Some(ceiling) => ceiling.check(&profile).map(|()| profile),
                    None => Ok(profile),
                });
            // What was in force may be wider than a ceiling that was lowered since.
            let kept = self.previous.and_then(|(old, _)| old.profiles.get(&name)).cloned();
            let low = self.catalog.ceiling.clone();
            let kept = kept.filter(|kept| low.is_none_or(|low| low.check(kept).is_ok()));
            let profile = match read.and_then(|profile| self.use_or_keep(profile, kept.as_ref())) {
                Ok(profile) => profile,
                Err(fault) => {
                    self.problem(&name, explain(fault, kept.is_some()), true);
                    match kept {
                        Some(kept) => kept,
                        None => continue,
                    }
                }
            };
            let image = (self.images)(&profile.image).unwrap_or_else(|| {
                let message = format!(
                    "names the image `{}`, which is not built; run sandbox-images/build.sh",
                    profile.image
                );
                self.problem(&name, Fault::new("image", message), false);
                String::new()
            });
            self.catalog.profiles.insert(name, Arc::clone(&profile));
            self.profiles.insert(stem, (profile, image));
        }
    }

    /// A profile that cannot be used is a fault only where an earlier one can.
    fn use_or_keep(
        &self,
        profile: Profile,
        kept: Option<&Arc<Profile>>,
    ) -> Result<Arc<Profile>, Fault> {
        let profile = Arc::new(profile);
        let (Some((_, usable)), Some(kept)) = (self.previous, kept) else {
            return Ok(profile);
        };
        match usable(&profile) {
            Err((place, reason)) if usable(kept).is_ok() => Err(Fault::new(place, reason)),
            Ok(()) | Err(_) => Ok(profile),
        }
    }

    fn finish(&self, tooling: Tooling, stem: &str) -> Result<Arc<Tool>, Fault> {
        let Some((profile, image)) = self.profiles.get(&tooling.profile) else {
            let wanted = &tooling.profile;
            let hint = match nearest(wanted, self.profiles.keys().map(String::as_str)).first() {
                Some(best) => format!("; did you mean `{best}`?"),
                None => format!("; write sandbox/{wanted}.toml"),
            };
            let message = format!("names `{wanted}`, which is no sandbox profile{hint}");
            return Err(Fault::new("profile", message));
        };
        build::finish(tooling, stem, profile, image).map(Arc::new)
    }

    fn read_manifest(&mut self, name: &str, stem: &str) -> Result<Vec<Arc<Tool>>, Fault> {
        let text = read_text(&self.root.join(name))?;
        let tooling = manifest::parse(self.root, stem, &text)?;
        Ok(vec![self.finish(tooling, stem)?])
    }

    fn read_source(&mut self, name: &str, stem: &str) -> Result<Vec<Arc<Tool>>, Fault> {
        let text = read_text(&self.root.join(name))?;
        let source::Parsed { tools: toolings, report, document } =
            source::parse(self.root, &text, self.cache.map(|cache| (cache, stem)))?;
        self.catalog.documents.extend(document.map(|document| (name.to_owned(), document)));
        self.check_parts(name, &report)?;
        let mut tools = Vec::new();
        for tooling in toolings {
            let place = tooling.operation.clone().unwrap_or_default();
            match self.finish(tooling, stem) {
                Ok(tool) => tools.push(tool),
                Err(fault) => {
                    let place = format!("{place}: {}", fault.place);
                    self.problem(name, Fault::new(place, fault.message), false);
                }
            }
        }
        self.report(name, &report);
        Ok(tools)
    }

    /// A file of a document that broke since is as a broken document: what was there before stays.
    fn check_parts(&mut self, name: &str, report: &ImportReport) -> Result<(), Fault> {
        let old = self.previous.map(|(old, _)| old).filter(|old| old.files.contains_key(name));
        let known = old.map(|old| old.broken.get(name));
        let is_new = |file: &String| {
            known.is_some_and(|known| known.is_none_or(|known| !known.contains(file)))
        };
        if let Some(part) = report.broken.iter().find(|part| is_new(&part.place)) {
            let message = format!("is a file of the document, and broken: {}", part.message);
            return Err(Fault::new(part.place.clone(), message));
        }
        let all = report.broken.iter().map(|part| part.place.clone()).collect();
        self.catalog.broken.insert(name.to_owned(), all);
        Ok(())
    }

    /// Every operation that was skipped is a problem; so is a document without any.
    fn report(&mut self, name: &str, report: &ImportReport) {
        for skipped in &report.skipped {
            let place = format!("{} {}", skipped.operation, skipped.place);
            self.problem(name, Fault::new(place, skipped.reason.clone()), false);
        }
        for remark in report.remarks.iter().filter(|remark| remark.place.contains("clude.")) {
            self.problem(name, Fault::new(remark.place.clone(), remark.message.clone()), false);
        }
        if report.operations == 0 {
            let message = format!(
                "the document has no callable operation ({} webhooks or callbacks ignored)",
                report.ignored
            );
            self.problem(name, Fault::new("document", message), false);
        }
    }

    /// Adds a file's tools, or those of its last good state.
    fn keep_or_take(&mut self, name: &str, read: Result<Vec<Arc<Tool>>, Fault>) {
        let tools = match read {
            Ok(tools) => tools,
            Err(fault) => {
                let kept = self.previous.and_then(|(old, _)| old.files.get(name)).cloned();
                let document = self.previous.and_then(|(old, _)| old.document_of(name));
                let document = document.map(|document| (name.to_owned(), document.to_owned()));
                self.catalog.documents.extend(document);
                let parts = self.previous.and_then(|(old, _)| old.broken.get(name)).cloned();
                self.catalog.broken.extend(parts.map(|parts| (name.to_owned(), parts)));
                self.problem(name, explain(fault, kept.is_some()), true);
                kept.unwrap_or_default()
            }
        };
        let whole = tools.len() == 1;
        let mut free = Vec::new();
        for tool in tools {
            if self.taken.insert(tool.name.clone()) {
                free.push(tool);
            } else {
                let message = format!(
                    "another tool is already called `{}`; rename one, or set `prefix`",
                    tool.name
                );
                self.problem(name, Fault::new(tool.name.clone(), message), whole);
            }
        }
        self.catalog.files.insert(name.to_owned(), free);
    }
}

fn explain(mut fault: Fault, kept: bool) -> Fault {
    if kept {
        fault.message.push_str("; the last good state of this file stays in use");
    }
    fault
}

/// Reports what an import of a document alone would give, without a policies folder: a path, or a
/// URL over HTTPS; or what a source's file in a policies folder gives, when it ends in `.toml`.
/// `server` is the base URL for it, where the document has none.
pub fn import(document: &str, server: Option<&str>) -> ImportReport {
    if let Some(folder) = Path::new(document).parent().filter(|_| document.ends_with(".toml")) {
        let read = read_text(Path::new(document))
            .and_then(|text| source::parse(&folder.join(".."), &text, None));
        return match read {
            Ok(parsed) => parsed.report,
            Err(fault) => ImportReport::failed(&fault.place, fault.message),
        };
    }
    let mut settings = openapi::Settings::default();
    settings.servers.server = server.map(str::to_owned);
    settings.servers.none_yet = true;
    let origin = match Origin::url(document) {
        None => Origin::File(document.into()),
        Some(Ok(url)) => {
            settings.servers.location = Some(url.to_string());
            Origin::Url(url)
        }
        Some(Err(message)) => return ImportReport::failed("", message),
    };
    openapi::read(&origin, &settings).report
}
