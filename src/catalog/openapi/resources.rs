//! Schemas that name themselves (`$id`, and `id` of old drafts) and what lies in each: a reference in,
//! the place that it means from where it stands out. Nothing is fetched by such a name.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::document::{Document, Version};
use super::refs::{Spot, split};
use crate::pointer;

/// Keywords whose members are values, not schemas.
const DATA: [&str; 5] = ["example", "examples", "default", "enum", "const"];
/// Keywords whose members are named as their author likes.
const NAMED: [&str; 8] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
    "schemas",
    "variables",
];
/// Stands for the place of a file inside the document's folder.
const FOLDER: &str = "https://document.invalid/";
/// Most anchors of one resource that a `$dynamicRef` may lead to.
const MAX_ANCHORS: usize = 256;
/// Name of `$recursiveAnchor`, which no anchor can have.
pub(super) const RECURSIVE: &str = "$recursiveAnchor";

/// A place: file and pointer.
pub(super) type Place = (usize, String);

/// The schemas of a document that have a name of their own.
#[derive(Debug, Default)]
pub(super) struct Resources {
    /// Their URIs, by file and pointer.
    roots: HashMap<usize, HashMap<String, Url>>,
    /// By `$id`, then by `id` as it is written and as a whole URI.
    named: HashMap<String, Vec<Place>>,
    old: HashMap<String, Vec<Place>>,
    /// The files that were read, by where they are.
    files: HashMap<String, usize>,
    /// The anchors that a `$dynamicRef` may lead to, by the resource that they lie in.
    dynamic: HashMap<Place, Vec<(String, String)>>,
}

impl Resources {
    /// The nearest resource that a place lies in; the empty pointer for the file itself.
    fn around<'p>(&self, file: usize, pointer: &'p str) -> &'p str {
        let Some(roots) = self.roots.get(&file) else {
            return "";
        };
        let mut at = pointer;
        while !at.is_empty() && !roots.contains_key(at) {
            at = at.rsplit_once('/').map_or("", |(shorter, _)| shorter);
        }
        at
    }

    fn base(&self, document: &Document, file: usize, pointer: &str) -> Option<Url> {
        let own = self.roots.get(&file).and_then(|roots| roots.get(self.around(file, pointer)));
        own.cloned().or_else(|| document.url_of(file))
    }

    fn gather(&mut self, (file, pointer): (usize, &mut String), base: &Url, value: &Value) {
        let end = pointer.len();
        match value {
            Value::Object(map) => {
                let named = NAMED.iter().any(|key| pointer.ends_with(key) && is_last(pointer, key));
                let own = if named { None } else { self.enter((file, pointer), base, map) };
                let base = own.as_ref().unwrap_or(base);
                for (key, member) in map {
                    if !(member.is_object() || member.is_array())
                        || !named && (DATA.contains(&key.as_str()) || key.starts_with("x-"))
                    {
                        continue;
                    }
                    pointer.push('/');
                    pointer.push_str(&pointer::escape(key));
                    self.gather((file, pointer), base, member);
                    pointer.truncate(end);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    self.gather((file, pointer), base, item);
                    pointer.truncate(end);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Enters what a schema says of itself; its URI, when it has one.
    fn enter(
        &mut self,
        (file, pointer): (usize, &str),
        base: &Url,
        map: &serde_json::Map<String, Value>,
    ) -> Option<Url> {
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let place = || (file, pointer.to_owned());
        let mut own = None;
        if let Some(id) = text("$id")
            && let Ok(url) = base.join(id)
        {
            match split(id) {
                ("", _) => self.old.entry(id.to_owned()).or_default().push(place()),
                _ => {
                    let roots = self.roots.entry(file).or_default();
                    roots.insert(pointer.to_owned(), url.clone());
                    self.named.entry(bare(&url)).or_default().push(place());
                    own = Some(url);
                }
            }
        }
        // In an old draft; a schema has more than a name.
        if let Some(id) = text("id").filter(|_| map.len() > 1 && own.is_none()) {
            self.old.entry(id.to_owned()).or_default().push(place());
            if let Ok(url) = base.join(id).map(|url| url.to_string())
                && url != id
            {
                self.old.entry(url).or_default().push(place());
            }
        }
        let within = own.as_ref().map_or_else(|| self.around(file, pointer), |_| pointer);
        let within = (file, within.to_owned());
        let recursive = map.get(RECURSIVE) == Some(&Value::Bool(true));
        for name in text("$dynamicAnchor").into_iter().chain(recursive.then_some(RECURSIVE)) {
            let all = self.dynamic.entry(within.clone()).or_default();
            all.push((name.to_owned(), pointer.to_owned()));
        }
        own
    }

    /// Leaves out the names that several schemas of a resource bear, and those of a resource that has
    /// more than anybody writes: each schema that is converted looks at all of them.
    fn settle(&mut self) {
        for all in self.dynamic.values_mut() {
            let mut times: HashMap<String, usize> = HashMap::new();
            all.iter().for_each(|(name, _)| *times.entry(name.clone()).or_default() += 1);
            all.retain(|(name, _)| times.get(name) == Some(&1));
            if all.len() > MAX_ANCHORS {
                all.clear();
            }
        }
    }
}

/// Whether a pointer's last part is `key`.
fn is_last(pointer: &str, key: &str) -> bool {
    pointer.rsplit('/').next() == Some(key)
}

/// A URI without its fragment.
fn bare(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.to_string()
}

/// The one place of a list.
fn only(places: Option<&Vec<Place>>) -> Option<&Place> {
    places.filter(|places| places.len() == 1)?.first()
}

impl Document {
    fn resources(&self) -> &Resources {
        self.resources.get_or_init(|| {
            let mut found = Resources::default();
            for file in 0..self.files.len() {
                if let Some(base) = self.url_of(file) {
                    found.files.insert(bare(&base), file);
                    found.gather((file, &mut String::new()), &base, self.root(file));
                }
            }
            found.settle();
            found
        })
    }

    /// Where a file is, as the base of what it refers to.
    fn url_of(&self, file: usize) -> Option<Url> {
        self.url(file, &Url::parse(FOLDER).ok()?)
    }

    /// What a reference means by the `$id`s around it and elsewhere; `None` where they say nothing.
    pub(super) fn by_id(&self, from: &Spot<'_>, text: &str) -> Option<Spot<'_>> {
        if !self.names_schemas {
            return None;
        }
        let all = self.resources();
        let (uri, fragment) = split(text);
        let (file, root) = if uri.is_empty() {
            let root = all.around(from.file, &from.pointer);
            (from.file, Some(root).filter(|root| !root.is_empty())?.to_owned())
        } else {
            let base = all.base(self, from.file, &from.pointer)?;
            let wanted = bare(&base.join(uri).ok()?);
            let found = only(all.named.get(&wanted))?;
            // No file may say that it is another one that was read.
            if all.files.get(&wanted).is_some_and(|file| *file != found.0) {
                return None;
            }
            found.clone()
        };
        let root = self.at(file, &root)?;
        self.inside(root, fragment)
    }

    /// What a reference that leads nowhere can only mean: a definition in a schema around it, or a
    /// schema with this `id` of an old draft.
    pub(super) fn by_old_id(&self, from: &Spot<'_>, text: &str) -> Option<Spot<'_>> {
        let (uri, fragment) = split(text);
        if uri.is_empty() && fragment.starts_with('/') {
            let folder = fragment.split('/').nth(1)?;
            let holds = |spot: &Spot<'_>| {
                let named = ["$schema", "$id", "id"].iter().any(|key| spot.text(key).is_some());
                named || ["definitions", "$defs"].contains(&folder)
            };
            let around = self.around(from).into_iter().filter(holds);
            return around.filter(|spot| !spot.pointer.is_empty()).find_map(|spot| {
                // Not by way of what merely looks like a name.
                spot.get(folder)?;
                self.inside(spot, fragment)
            });
        }
        let all = self.resources();
        if let Some((file, pointer)) = only(all.old.get(text)) {
            return self.at(*file, pointer);
        }
        let whole = || Some(all.base(self, from.file, &from.pointer)?.join(uri).ok()?.to_string());
        let found = only(all.old.get(uri)).cloned();
        let (file, pointer) = found.or_else(|| only(all.old.get(&whole()?)).cloned())?;
        self.inside(self.at(file, &pointer)?, fragment)
    }

    /// What a fragment means in a resource.
    fn inside<'a>(&'a self, root: Spot<'a>, fragment: &str) -> Option<Spot<'a>> {
        let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.walk(root, &fragment);
        }
        let (file, within) = (root.file, root.pointer);
        let all = self.resources();
        let mut found = self.anchors_of(file, &fragment).iter();
        let mut own = found.by_ref().filter(|pointer| all.around(file, pointer) == within);
        match (own.next(), own.next()) {
            (Some(one), None) => self.at(file, one),
            _ => None,
        }
    }

    /// The anchors of the resource that a place lies in, to which a `$dynamicRef` may lead; those that
    /// several schemas of it bear are none.
    pub(super) fn dynamic_anchors(&self, spot: &Spot<'_>) -> Vec<(&str, Place)> {
        if !self.is_dynamic {
            return Vec::new();
        }
        let all = self.resources();
        let within = (spot.file, all.around(spot.file, &spot.pointer).to_owned());
        let found = all.dynamic.get(&within).map_or(&[][..], Vec::as_slice);
        found.iter().map(|(name, pointer)| (name.as_str(), (spot.file, pointer.clone()))).collect()
    }

    /// Whether `$id` says what references mean before the file does.
    pub(super) fn goes_by_id(&self) -> bool {
        self.version == Version::V31
    }
}
