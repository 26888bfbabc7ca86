use proptest::prelude::*;

use crate::memory::embed::calibration::Calibration;
use crate::memory::embed::vector::level;

#[test]
fn a_score_goes_through_its_points_and_stays_beyond_them() {
    let line = Calibration::new(&[[-0.1, 0.0], [0.2, 0.35], [1.0, 1.0]]).unwrap();
    for (cosine, score) in
        [(-1.0, 0.0), (-0.1, 0.0), (0.05, 0.175), (0.2, 0.35), (0.6, 0.675), (1.0, 1.0), (1.1, 1.0)]
    {
        assert!((line.score(cosine) - score).abs() < 1e-6, "{cosine}");
    }
    assert_eq!(line.score(f32::NAN), 0.0);
}

#[test]
fn points_that_fall_or_leave_their_range_are_refused() {
    let wrong: [&[[f32; 2]]; 6] = [
        &[[0.5, 0.5]],
        &[[0.5, 0.5], [0.5, 0.6]],
        &[[0.6, 0.5], [0.5, 0.6]],
        &[[0.5, 0.6], [0.6, 0.5]],
        &[[0.0, 0.0], [1.5, 1.0]],
        &[[0.0, 0.0], [f32::NAN, 1.0]],
    ];
    for points in wrong {
        let told = Calibration::new(points).unwrap_err();
        assert!(told.contains("both rising"), "{points:?}: {told}");
    }
    assert_eq!(Calibration::new(&[]).unwrap().score(0.4), 0.4);
}

proptest! {
    #[test]
    fn a_higher_cosine_never_has_a_lower_score(
        steps in prop::collection::vec((0.01_f32..0.2, 0.0_f32..0.2), 2..6),
        a in -1.0_f32..1.0,
        b in -1.0_f32..1.0,
    ) {
        let mut at = [-0.5, 0.0];
        let points: Vec<_> = steps.iter().map(|(x, y)| {
            at = [at[0] + x, at[1] + y];
            at
        }).collect();
        let line = Calibration::new(&points).unwrap();
        prop_assert!(line.score(a.min(b)) <= line.score(a.max(b)) + 1e-6);
    }
}

#[test]
fn a_vector_gets_the_length_one_or_is_refused() {
    assert_eq!(level(vec![3.0, 4.0]).unwrap(), [0.6, 0.8]);
    let large = level(vec![f32::MAX, f32::MAX]).unwrap();
    assert!((large[0] - 0.707_106_77).abs() < 1e-6);
    level(vec![0.0, 0.0]).unwrap_err();
    level(vec![f32::NAN, 1.0]).unwrap_err();
    level(vec![f32::INFINITY, 1.0]).unwrap_err();
}
