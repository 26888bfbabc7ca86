//! What must hold of any batch.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::of;
use crate::batch::{Because, Progress, Step};

/// Which of the calls before it each call uses; call numbers are shuffled afterwards.
fn graphs() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<usize>)> {
    (1_usize..24).prop_flat_map(|count| {
        let needs: Vec<_> = (0..count)
            .map(|call| proptest::collection::btree_set(0..call.max(1), 0..call.min(4) + 1))
            .collect();
        let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        (needs, order).prop_map(|(needs, order)| {
            let needs = needs.into_iter().enumerate().map(|(call, needs): (usize, BTreeSet<_>)| {
                needs.into_iter().filter(|need| *need < call).collect()
            });
            (needs.collect(), order)
        })
    })
}

/// The calls of a graph at their shuffled places: names and arguments.
fn calls(needs: &[Vec<usize>], order: &[usize]) -> Vec<(String, Value)> {
    let mut calls = vec![(String::new(), Value::Null); needs.len()];
    for (call, needs) in needs.iter().enumerate() {
        let mut arguments = Map::new();
        for need in needs {
            let reference = json!({"$ref": format!("c{need}#/value/{need}")});
            arguments.insert(format!("a{need}"), json!([{"in": reference}]));
        }
        calls[order[call]] = (format!("c{call}"), Value::Object(arguments));
    }
    calls
}

/// The number in a call's name, which is its place before the shuffle.
fn number(name: &str) -> usize {
    name.trim_start_matches('c').parse().unwrap()
}

proptest! {
    #[test]
    fn calls_run_after_what_they_use_and_get_its_values(
        (needs, order) in graphs(),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 64),
        parallel in 1_usize..5,
    ) {
        let calls = calls(&needs, &order);
        let named: Vec<(&str, Value)> =
            calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        let (plan, faults) = of(&named);
        prop_assert!(faults.iter().all(Vec::is_empty), "{:?}", faults);
        let result = |call: usize| {
            let number = number(&calls[call].0);
            let mut value = vec![Value::Null; number];
            value.push(json!(format!("result {number}")));
            json!({ "value": value })
        };
        let (mut results, mut running, mut picks) =
            (vec![None; calls.len()], Vec::new(), picks.into_iter().cycle());
        let mut progress = Progress::new(&plan);
        loop {
            while running.len() < parallel {
                match progress.advance() {
                    Some(Step::Run(call)) => running.push(call),
                    Some(Step::Skip(call, because)) => prop_assert!(false, "{call} {because:?}"),
                    None => break,
                }
            }
            if running.is_empty() {
                break;
            }
            // Whichever ends first.
            let at = picks.next().unwrap().index(running.len());
            let call = running.swap_remove(at);
            let filled = plan.fill(call, &|from| results[from].as_ref()).unwrap();
            let own = number(&calls[call].0);
            let filled: Value = filled.map_or(json!({}), |text| serde_json::from_str(&text).unwrap());
            for need in &needs[own] {
                prop_assert_eq!(&filled[format!("a{need}")], &json!([{"in": format!("result {need}")}]));
            }
            results[call] = Some(result(call));
            progress.end(call, true);
        }
        prop_assert!(results.iter().all(Option::is_some), "every call ran");
    }

    #[test]
    fn a_failure_leaves_out_all_that_use_it_and_nothing_else(
        (needs, order) in graphs(),
        failing in proptest::collection::vec(any::<bool>(), 24),
    ) {
        let calls = calls(&needs, &order);
        let named: Vec<(&str, Value)> =
            calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        let (plan, _) = of(&named);
        let own = |call: usize| number(&calls[call].0);
        // Numbers before the shuffle are in the order of dependency.
        let mut good = vec![true; needs.len()];
        for call in 0..needs.len() {
            good[call] = !failing[call] && needs[call].iter().all(|need| good[*need]);
        }
        let mut progress = Progress::new(&plan);
        while let Some(step) = progress.advance() {
            match step {
                Step::Run(call) => {
                    prop_assert!(needs[own(call)].iter().all(|need| good[*need]));
                    progress.end(call, !failing[own(call)]);
                }
                Step::Skip(call, Because::Failed(from)) => {
                    prop_assert!(!good[own(call)] && !good[own(from)]);
                    progress.end(call, false);
                }
                Step::Skip(call, because) => prop_assert!(false, "{call} {because:?}"),
            }
        }
    }

    #[test]
    fn a_circle_anywhere_is_refused(
        (needs, order) in graphs(),
        length in 1_usize..6,
        start in any::<prop::sample::Index>(),
    ) {
        let mut needs = needs;
        let first = start.index(needs.len());
        let length = length.min(needs.len() - first);
        // first uses first+1, ..., the last uses first.
        for step in 0..length {
            let (call, next) = (first + step, first + (step + 1) % length);
            if !needs[call].contains(&next) {
                needs[call].push(next);
            }
        }
        let calls = calls(&needs, &order);
        let named: Vec<(&str, Value)> =
            calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        let (_, faults) = of(&named);
        for step in 0..length {
            prop_assert!(!faults[order[first + step]].is_empty(), "{:?}", faults);
        }
    }
}
