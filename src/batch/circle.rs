//! Which calls wait for which in, the circles among them out.

use std::collections::{BTreeSet, VecDeque};

/// The shortest circle through each call that lies on one, each once, from its first call on. `needs`
/// has for each call those that it waits for.
pub(crate) fn find(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let circles: BTreeSet<Vec<usize>> =
        (0..needs.len()).filter_map(|call| through(call, needs)).collect();
    circles.into_iter().collect()
}

/// The shortest way from a call back to itself, begun with the lowest call on it.
fn through(start: usize, needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let of = |call: usize| needs.get(call).map(Vec::as_slice).unwrap_or_default();
    let mut before: Vec<Option<usize>> = vec![None; needs.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(call) = queue.pop_front() {
        for next in of(call) {
            if *next == start {
                let mut circle = vec![call];
                while let Some(earlier) = circle.last().and_then(|last| *before.get(*last)?) {
                    circle.push(earlier);
                }
                circle.reverse();
                let least = circle.iter().enumerate().min_by_key(|(_, call)| **call)?.0;
                circle.rotate_left(least);
                return Some(circle);
            }
            if let Some(slot @ None) = before.get_mut(*next) {
                *slot = Some(call);
                queue.push_back(*next);
            }
        }
    }
    None
}
