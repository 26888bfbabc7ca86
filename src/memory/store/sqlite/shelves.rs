//! The indexes of all tenants. What one tenant has cannot be found by, or change the ranking of,
//! another: each has a [`Shelf`] of its own.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::entry::Event;
use super::shelf::Shelf;

/// Changes that are made before those who ask get their turn again.
const TURN: usize = 64;

/// Shelves by tenant.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelves(Arc<RwLock<HashMap<String, Shelf>>>);

impl Shelves {
    /// Makes changes, in order.
    pub(super) fn apply(&self, events: Vec<Event>) {
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            // Whoever panicked while reading has changed nothing.
            let mut shelves = self.0.write().unwrap_or_else(PoisonError::into_inner);
            for event in events.by_ref().take(TURN) {
                change(&mut shelves, event);
            }
        }
    }

    /// Looks into one tenant's shelf; `None` when the tenant has nothing.
    pub(super) fn look<T>(&self, tenant: &str, look: impl FnOnce(&Shelf) -> T) -> Option<T> {
        let shelves = self.0.read().unwrap_or_else(PoisonError::into_inner);
        shelves.get(tenant).map(look)
    }
}

fn change(shelves: &mut HashMap<String, Shelf>, event: Event) {
    match event {
        Event::Add(entry) => {
            if !shelves.contains_key(&entry.tenant) {
                shelves.insert(entry.tenant.clone(), Shelf::default());
            }
            if let Some(shelf) = shelves.get_mut(&entry.tenant) {
                shelf.add(*entry);
            }
        }
        Event::Amend { tenant, seq, state, ended } => {
            if let Some(shelf) = shelves.get_mut(&tenant) {
                shelf.amend(seq, state, ended);
            }
        }
        Event::Erase { tenant, gone, models } => {
            if let Some(shelf) = shelves.get_mut(&tenant) {
                gone.iter().for_each(|(seq, bags)| shelf.erase(*seq, bags));
                models.iter().for_each(|model| drop(shelf.images.remove(model)));
            }
        }
        Event::Embed { tenant, seq, vector } => {
            if let Some(shelf) = shelves.get_mut(&tenant) {
                shelf.keep(seq, vector.what, vector.id, &vector.code);
            }
        }
        Event::Forget { model } => {
            for shelf in shelves.values_mut() {
                shelf.vectors.remove(&model);
            }
        }
    }
}
