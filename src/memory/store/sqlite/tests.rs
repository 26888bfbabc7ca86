//! Parts of the embedded store that its face cannot be asked for alone.

use super::vectors::{Code, Vectors};

#[test]
fn many_vectors_are_shared_out_and_none_is_lost() {
    let mut seed = 9_u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(seed >> 48).unwrap()) / 32_768.0 - 1.0
    };
    let mut vectors = Vectors::new(8);
    for place in 0..70_000 {
        let vector: Vec<f32> = (0..8).map(|_| number()).collect();
        vectors.add(place, i64::from(place), &Code::new(&vector));
    }
    let question = Code::new(&[1.0, -0.5, 0.25, 0.0, 0.75, -1.0, 0.1, 0.3]);
    let places = |mut found: Vec<super::vectors::Candidate>| {
        found.sort_by_key(|candidate| candidate.id);
        found.iter().map(|candidate| candidate.place).collect::<Vec<_>>()
    };
    let shared = places(vectors.best(&question, 50, &|place| place % 3 == 0));
    let alone = places(vectors.best_of(&question, 50, &mut (0..70_000).step_by(3)));
    assert_eq!(shared.len(), 50);
    // Of equal scores at the end either may stay.
    let common = shared.iter().filter(|place| alone.contains(place)).count();
    assert!(common >= 48, "{common}");
}
