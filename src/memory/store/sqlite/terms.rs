//! Terms by number: one list for all tenants of the process, so that indexes compare numbers and no
//! text. It only grows; what is in it tells nothing of who wrote a term.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{LazyLock, PoisonError, RwLock};

/// Words of which one thread knows the number without asking the list.
const REMEMBERED: usize = 1 << 15;

static LIST: LazyLock<RwLock<HashMap<Box<str>, u32>>> = LazyLock::new(RwLock::default);

thread_local! {
    static KNOWN: RefCell<HashMap<Box<str>, u32>> = RefCell::default();
}

/// The number of a word, whose term `reduce` makes; a new one for a new term.
pub(in crate::memory::store) fn number_of(word: &str, reduce: impl FnOnce(&str) -> String) -> u32 {
    KNOWN.with_borrow_mut(|known| {
        if let Some(number) = known.get(word) {
            return *number;
        }
        let number = number(&reduce(word));
        if known.len() < REMEMBERED {
            known.insert(word.into(), number);
        }
        number
    })
}

/// The number of a term; a new one for a new term.
pub(super) fn number(term: &str) -> u32 {
    if let Some(number) = find(term) {
        return number;
    }
    // Whoever panicked has left the list as it was.
    let mut list = LIST.write().unwrap_or_else(PoisonError::into_inner);
    let next = u32::try_from(list.len()).unwrap_or(u32::MAX);
    *list.entry(term.into()).or_insert(next)
}

/// The number of a term that any text has.
pub(super) fn find(term: &str) -> Option<u32> {
    LIST.read().unwrap_or_else(PoisonError::into_inner).get(term).copied()
}

/// Maps by numbers that are given out one after the other.
pub(super) type ByNumber<T> = HashMap<u32, T, BuildHasherDefault<Spread>>;

/// Spreads numbers that follow each other over a table.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // 2^64 divided by the golden ratio.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}
