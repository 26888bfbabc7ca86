//! All that is known in memory of one tenant's versions: columns for the scope, and an index for
//! each layer. Versions and chunks are known by their place, in the order of recording. A question
//! goes to a [`Mask`] first, which says what may be found at all.

use std::collections::HashMap;

use jiff::Timestamp;

use super::entry::{Entry, What};
use super::postings::{Postings, Size, index};
use super::rows::micros;
use super::tags::{OWN, Tags};
use super::triggers::Triggers;
use super::vectors::{Code, Vectors};
use super::words::{self, Bag};
use crate::memory::{Compare, Entity, Filter, Kind, Scope, State};

/// The part of all versions up to which a mask is also a list.
const FEW: usize = 12;

/// One tenant's versions.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    seqs: Vec<i64>,
    columns: Vec<Columns>,
    /// Collection and owner, by their number in the columns.
    spaces: Vec<(String, String)>,
    by_space: HashMap<(String, String), u32>,
    /// Chunks and words of each of them.
    sizes: Vec<Size>,
    /// How often something of each of them was changed.
    changes: Vec<u64>,
    /// First chunk of each version; they stand together.
    first: Vec<u32>,
    /// Version and place in it, by chunk.
    chunks: Vec<(u32, u32)>,
    pub(super) tags: Tags,
    triggers: Triggers,
    entities: HashMap<String, Vec<(u32, u32)>>,
    entity_kinds: HashMap<String, u32>,
    words: Postings,
    pub(super) vectors: HashMap<i64, Vectors>,
    pub(super) images: HashMap<i64, Vectors>,
}

/// What decides whether a version is in a scope; times in microseconds.
#[derive(Debug, Clone, Copy)]
struct Columns {
    from: i64,
    to: i64,
    recorded: i64,
    /// `i64::MAX` for one that has not ended.
    ended: i64,
    space: u32,
    kind: Kind,
    /// `None` for one that was erased.
    state: Option<State>,
}

/// What may be found, by place of the version.
#[derive(Debug, Default)]
pub(super) struct Mask {
    may: Vec<bool>,
    /// The places, where they are few, in order.
    few: Option<Vec<u32>>,
    /// The spaces that the scope may look into, where those are not all.
    spaces: Option<Vec<bool>>,
}

impl Mask {
    pub(super) fn has(&self, place: usize) -> bool {
        self.may.get(place).copied().unwrap_or(false)
    }
}

impl Shelf {
    /// Adds a version, which was recorded after all others here.
    pub(super) fn add(&mut self, entry: Entry) {
        let place = u32::try_from(self.seqs.len()).unwrap_or(u32::MAX);
        let space = self.space(entry.collection, entry.owner);
        self.count(space);
        self.seqs.push(entry.seq);
        self.columns.push(Columns {
            from: entry.from,
            to: entry.to,
            recorded: entry.recorded,
            ended: entry.ended,
            space,
            kind: entry.kind,
            state: Some(entry.state),
        });
        let facets = entry.facets;
        let [source, _, _, kind, origin] = OWN;
        let own = [
            (source, facets.source.as_str()),
            (kind, entry.kind_name.as_str()),
            (origin, entry.origin.as_str()),
        ];
        self.tags.add(place, &facets.metadata, &own);
        for trigger in &facets.triggers {
            self.triggers.add(place, trigger);
        }
        for Entity { kind, value } in &facets.entities {
            let next = u32::try_from(self.entity_kinds.len()).unwrap_or(u32::MAX);
            let kind = *self.entity_kinds.entry(words::name(kind)).or_insert(next);
            let known = self.entities.entry(words::name(value)).or_default();
            // Those of this version stand at the end.
            let mut own = known.iter().rev().take_while(|(_, at)| *at == place);
            if !own.any(|(own, _)| *own == kind) {
                known.push((kind, place));
            }
        }
        self.first.push(u32::try_from(self.chunks.len()).unwrap_or(u32::MAX));
        for (ordinal, bag) in &entry.chunks {
            self.chunks.push((place, *ordinal));
            self.words.add(bag);
            if let Some(size) = self.sizes.get_mut(index(space)) {
                size.grow(bag.length);
            }
        }
        for vector in entry.vectors {
            self.keep(entry.seq, vector.what, vector.id, &vector.code);
        }
    }

    fn space(&mut self, collection: String, owner: String) -> u32 {
        let key = (collection, owner);
        if let Some(known) = self.by_space.get(&key) {
            return *known;
        }
        let number = u32::try_from(self.spaces.len()).unwrap_or(u32::MAX);
        self.spaces.push(key.clone());
        self.sizes.push(Size::default());
        self.changes.push(0);
        self.by_space.insert(key, number);
        number
    }

    fn count(&mut self, space: u32) {
        if let Some(changes) = self.changes.get_mut(index(space)) {
            *changes += 1;
        }
    }

    /// How often something was changed in collections.
    pub(super) fn changes(&self, collections: &[String]) -> u64 {
        let spaces = self.spaces.iter().zip(&self.changes);
        let named = spaces.filter(|((collection, _), _)| collections.contains(collection));
        named.map(|(_, changes)| changes).sum()
    }

    /// Keeps a vector of one of its versions.
    pub(super) fn keep(&mut self, seq: i64, what: What, id: i64, code: &Code) {
        let Some(place) = self.place(seq) else { return };
        if let Some(space) = self.columns.get(index(place)).map(|columns| columns.space) {
            self.count(space);
        }
        let make = || Vectors::new(code.dimensions());
        match what {
            What::Chunk { ordinal, model } => {
                if let Some(chunk) = self.chunk(place, ordinal) {
                    self.vectors.entry(model).or_insert_with(make).add(chunk, id, code);
                }
            }
            What::Image { model } => {
                self.images.entry(model).or_insert_with(make).add(place, id, code);
            }
        }
    }

    fn chunk(&self, place: u32, ordinal: u32) -> Option<u32> {
        let from = *self.first.get(index(place))?;
        let mut own = (from..).map_while(|at| Some((at, self.chunks.get(index(at))?)));
        own.find(|(_, (of, own))| *of != place || *own == ordinal)
            .filter(|(_, (of, _))| *of == place)
            .map(|(at, _)| at)
    }

    /// Changes what can change of a version.
    pub(super) fn amend(&mut self, seq: i64, state: State, ended: i64) {
        let place = self.place(seq);
        let columns = place.and_then(|place| self.columns.get_mut(index(place)));
        if let Some(columns) = columns.filter(|columns| columns.state.is_some()) {
            (columns.state, columns.ended) = (Some(state), ended);
            let space = columns.space;
            self.count(space);
        }
    }

    /// Takes a version out of everything that is found; `bags` are the words of its chunks.
    pub(super) fn erase(&mut self, seq: i64, bags: &[(u32, Bag)]) {
        let Some(place) = self.place(seq) else { return };
        let space = self.columns.get(index(place)).map_or(u32::MAX, |columns| columns.space);
        for (ordinal, bag) in bags {
            if let Some(chunk) = self.chunk(place, *ordinal) {
                self.words.remove(chunk, bag);
                if let Some(size) = self.sizes.get_mut(index(space)) {
                    size.shrink(bag.length);
                }
            }
        }
        if let Some(columns) = self.columns.get_mut(index(place)) {
            columns.state = None;
        }
        self.count(space);
    }

    /// Place of a version.
    pub(super) fn place(&self, seq: i64) -> Option<u32> {
        self.seqs.binary_search(&seq).ok().and_then(|place| u32::try_from(place).ok())
    }

    /// The version at a place.
    pub(super) fn seq(&self, place: u32) -> Option<i64> {
        self.seqs.get(index(place)).copied()
    }

    /// Places that the scope allows; `sets` are the versions that other conditions leave, each in order.
    pub(super) fn mask(&self, scope: &Scope, sets: &[Vec<i64>]) -> Mask {
        let test = Test::new(self, scope);
        let spaces = (!test.spaces.iter().all(|may| *may)).then(|| test.spaces.clone());
        let finish = |may| Mask { spaces, ..finish(may) };
        let own = |filter: &&Filter| !by_row(filter);
        let mut lists: Vec<Vec<u32>> =
            scope.filters.iter().filter(own).map(|filter| self.tags.meeting(filter)).collect();
        lists
            .extend(sets.iter().map(|set| set.iter().filter_map(|seq| self.place(*seq)).collect()));
        lists.sort_by_key(Vec::len);
        let mut may = vec![false; self.seqs.len()];
        let mut lists = lists.into_iter();
        let Some(first) = lists.next() else {
            for (may, columns) in may.iter_mut().zip(&self.columns) {
                *may = test.passes(columns);
            }
            return finish(may);
        };
        for place in first {
            if let (Some(may), Some(columns)) =
                (may.get_mut(index(place)), self.columns.get(index(place)))
            {
                *may = test.passes(columns);
            }
        }
        for list in lists {
            let mut meets = vec![false; self.seqs.len()];
            for place in list {
                if let Some(meets) = meets.get_mut(index(place)) {
                    *meets = true;
                }
            }
            may.iter_mut().zip(meets).for_each(|(may, meets)| *may &= meets);
        }
        finish(may)
    }

    /// Places in a mask, newest first, of versions before `before`.
    pub(super) fn newest(&self, mask: &Mask, before: Option<i64>, limit: usize) -> Vec<i64> {
        let end =
            before.map_or(self.seqs.len(), |before| self.seqs.partition_point(|seq| *seq < before));
        let seqs = self.seqs.iter().enumerate().take(end).rev();
        seqs.filter(|(place, _)| mask.has(*place)).take(limit).map(|(_, seq)| *seq).collect()
    }

    /// Whether a version is in a scope; conditions on metadata are not looked at.
    pub(super) fn test(&self, scope: &Scope) -> impl Fn(usize) -> bool {
        let test = Test::new(self, scope);
        move |place| self.columns.get(place).is_some_and(|columns| test.passes(columns))
    }

    /// Versions by their triggers.
    pub(super) fn by_trigger(
        &self,
        counts: &dyn Fn(usize) -> bool,
        question: &str,
    ) -> Vec<(u32, f64)> {
        self.triggers.find(question, counts)
    }

    /// Versions by how many of the entities they name.
    pub(super) fn by_entity(
        &self,
        counts: &dyn Fn(usize) -> bool,
        asked: &[Entity],
    ) -> Vec<(u32, f64)> {
        let mut found: HashMap<u32, f64> = HashMap::new();
        for Entity { kind, value } in asked {
            let wanted = words::name(kind);
            let number = self.entity_kinds.get(&wanted).copied();
            let known = self.entities.get(&words::name(value)).into_iter().flatten();
            let mut places: Vec<u32> = known
                .filter(|(kind, place)| {
                    (wanted.is_empty() || Some(*kind) == number) && counts(index(*place))
                })
                .map(|(_, place)| *place)
                .collect();
            places.sort_unstable();
            places.dedup();
            for place in places {
                *found.entry(place).or_default() += 1.0;
            }
        }
        found.into_iter().collect()
    }

    /// Chunks by their words. How rare a word is is counted where the scope may look, so that a score
    /// tells nothing of what is elsewhere.
    pub(super) fn by_words(&self, mask: &Mask, terms: &[String]) -> Vec<(usize, f32)> {
        let counts =
            |chunk: usize| self.chunks.get(chunk).is_some_and(|(of, _)| mask.has(index(*of)));
        let Some(spaces) = &mask.spaces else { return self.words.score(terms, &counts) };
        let open = |space: u32| spaces.get(index(space)).copied().unwrap_or(false);
        let mut size = Size::default();
        for (space, own) in (0_u32..).zip(&self.sizes) {
            if open(space) {
                size.join(*own);
            }
        }
        let has = |chunk: usize| {
            let of = self.chunks.get(chunk).and_then(|(of, _)| self.columns.get(index(*of)));
            of.is_some_and(|columns| columns.state.is_some() && open(columns.space))
        };
        self.words.score_in(terms, &counts, (size, &has))
    }

    /// The likeliest chunks by their vectors.
    pub(super) fn by_vector(
        &self,
        mask: &Mask,
        (model, question): (i64, &Code),
        keep: usize,
    ) -> Vec<super::vectors::Candidate> {
        let Some(vectors) = self.vectors.get(&model) else {
            return Vec::new();
        };
        let of = |chunk: usize| self.chunks.get(chunk).map(|(of, _)| index(*of));
        match &mask.few {
            Some(few) => {
                let mut chunks = few.iter().flat_map(|place| {
                    let from = self.first.get(index(*place)).copied().unwrap_or(u32::MAX);
                    (from..).take_while(|chunk| of(index(*chunk)) == Some(index(*place)))
                });
                vectors.best_of(question, keep, &mut chunks)
            }
            None => vectors.best(question, keep, &|chunk| of(chunk).is_some_and(|of| mask.has(of))),
        }
    }

    /// The likeliest versions by the vectors of their images.
    pub(super) fn by_image(
        &self,
        mask: &Mask,
        (model, question): (i64, &Code),
        keep: usize,
    ) -> Vec<super::vectors::Candidate> {
        let images = self.images.get(&model);
        images.map_or_else(Vec::new, |all| all.best(question, keep, &|place| mask.has(place)))
    }

    /// Version and place in it of a chunk.
    pub(super) fn chunk_at(&self, chunk: usize) -> Option<(i64, u32)> {
        let (place, ordinal) = self.chunks.get(chunk)?;
        Some((self.seq(*place)?, *ordinal))
    }

    /// Versions of a collection, not ended, whose metadata field is spelled so.
    pub(super) fn spelled(&self, collection: &str, field: &str, value: &str) -> Vec<i64> {
        let here = |place: &u32| {
            self.columns.get(index(*place)).is_some_and(|columns| {
                let space = self.spaces.get(index(columns.space));
                columns.state.is_some()
                    && columns.ended == i64::MAX
                    && space.is_some_and(|(own, _)| own == collection)
            })
        };
        let places = self.tags.spelled(field, value).into_iter().filter(here);
        places.filter_map(|place| self.seq(place)).collect()
    }
}

fn finish(may: Vec<bool>) -> Mask {
    let all = may.iter().filter(|may| **may).count();
    let few = (all * FEW <= may.len()).then(|| {
        let places = may.iter().enumerate().filter(|(_, may)| **may);
        places.filter_map(|(place, _)| u32::try_from(place).ok()).collect()
    });
    Mask { may, few, spaces: None }
}

/// Whether a condition is answered by the rows of the file: nearly every version has another value.
pub(super) fn by_row(filter: &Filter) -> bool {
    let [_, source_id, group, ..] = OWN;
    filter.field == source_id || filter.field == group
}

/// Whether a condition of that kind can be looked up: equality with texts that are no instants.
pub(super) fn is_looked_up(filter: &Filter) -> bool {
    let plain = |value: &serde_json::Value| {
        value.as_str().is_some_and(|text| !text.is_empty() && text.parse::<Timestamp>().is_err())
    };
    filter.compare == Compare::Any && filter.values.iter().all(plain)
}

/// A scope, ready to be held against columns.
struct Test {
    spaces: Vec<bool>,
    kinds: Vec<Kind>,
    states: [bool; 4],
    as_of: i64,
    known_at: Option<i64>,
}

impl Test {
    fn new(shelf: &Shelf, scope: &Scope) -> Self {
        let allowed = |(collection, owner): &(String, String)| {
            scope.collections.iter().any(|owned| {
                owned.collection == *collection
                    && owned.owner.as_ref().is_none_or(|wanted| wanted == owner)
            })
        };
        Self {
            spaces: shelf.spaces.iter().map(allowed).collect(),
            kinds: scope.kinds.clone(),
            states: [true, scope.held, scope.quarantined, scope.archived],
            as_of: micros(scope.as_of),
            known_at: scope.known_at.map(micros),
        }
    }

    fn passes(&self, columns: &Columns) -> bool {
        let [active, held, quarantined, archived] = self.states;
        let state = match columns.state {
            Some(State::Active) => active,
            Some(State::Held) => held,
            Some(State::Quarantined) => quarantined,
            Some(State::Archived) => archived,
            Some(State::Rejected) | None => false,
        };
        let known = match self.known_at {
            None => columns.ended == i64::MAX,
            Some(at) => columns.recorded <= at && at < columns.ended,
        };
        state
            && known
            && columns.from <= self.as_of
            && self.as_of < columns.to
            && self.spaces.get(index(columns.space)).copied().unwrap_or(false)
            && (self.kinds.is_empty() || self.kinds.contains(&columns.kind))
    }
}
