//! Terms by number, so that indexes compare no text and hold none. A number is a hash of 64 bits under a
//! key that each process picks anew: of a million terms two share one in one of thirty million processes,
//! and nobody outside can make them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

/// Words of which one thread remembers the term.
const REMEMBERED: usize = 1 << 14;
const SLOTS: u64 = 1 << 14;

static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

thread_local! {
    /// Numbers of words and of their terms, each where the word's number says.
    static KNOWN: RefCell<Vec<(u64, u64)>> = RefCell::new(vec![(0, 0); REMEMBERED]);
}

/// The number of a term.
pub(in crate::memory::store) fn number(term: &str) -> u64 {
    KEY.hash_one(term)
}

/// The number of a word's term, which `reduce` makes.
pub(in crate::memory::store) fn number_of(word: &str, reduce: impl FnOnce(&str) -> String) -> u64 {
    let own = number(word);
    KNOWN.with_borrow_mut(|known| {
        let at = usize::try_from(own % SLOTS).unwrap_or_default();
        match known.get_mut(at) {
            Some((word, term)) if *word == own => *term,
            Some(slot) => {
                *slot = (own, number(&reduce(word)));
                slot.1
            }
            None => number(&reduce(word)),
        }
    })
}

/// Maps by numbers of terms.
pub(super) type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<Plain>>;

/// Numbers that are hashes already.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
