use proptest::prelude::*;

use super::*;

/// Two points and what GeographicLib's own documentation and test data give for the way between them.
const KNOWN: [(Point, Point, f64); 7] = [
    ((40.6, -73.8), (51.6, -0.5), 5_551_759.400_319),
    ((-41.32, 174.81), (40.96, -5.50), 19_959_679.267_354),
    ((35.60777, -139.44815), (-11.17491, -69.95921), 8_935_244.560_481_831),
    // A quarter of a meridian, a degree of the equator, over the pole to the antipode, and nearly so.
    ((0.0, 0.0), (90.0, 123.0), 10_001_965.729_312),
    ((0.0, 179.5), (0.0, -179.5), 111_319.490_793),
    ((0.0, 0.0), (0.0, 180.0), 20_003_931.458_625),
    ((0.0, 0.0), (0.5, 179.5), 19_936_288.578_965),
];

#[test]
fn known_geodesics_come_out_to_the_micrometre() {
    for (from, to, expected) in KNOWN {
        let found = metres(from, to);
        assert!((found - expected).abs() < 2e-6, "{from:?} to {to:?}: {found}");
        assert!((metres(to, from) - found).abs() < 1e-6);
    }
    assert!(metres((12.5, -180.0), (12.5, 180.0)) < 1e-9);
    assert!(metres((90.0, 10.0), (90.0, -100.0)) < 1e-9);
}

#[test]
fn what_is_no_point_is_refused_and_told() {
    for point in [(0.0, 0.0), (90.0, 180.0), (-90.0, -180.0), (-0.0, 179.999)] {
        assert_eq!(check(point), Ok(()));
    }
    assert!(matches!(check((90.01, 0.0)), Err(Error::Latitude(_))));
    assert!(matches!(check((f64::NAN, 0.0)), Err(Error::Latitude(_))));
    assert!(matches!(check((0.0, f64::NAN)), Err(Error::Longitude(_))));
    assert!(matches!(check((0.0, f64::INFINITY)), Err(Error::Longitude(_))));
}

#[test]
fn what_is_wrong_with_coordinates_is_told() {
    let swapped = check((121.47, 31.23)).unwrap_err().to_string();
    assert!(swapped.contains("`121.47`") && swapped.contains("swapped"), "{swapped}");
    assert!(!check((1e9, 0.0)).unwrap_err().to_string().contains("swapped"));
    assert!(check((0.0, 180.5)).unwrap_err().to_string().contains("-180 to 180"));
    assert_eq!(check_metres(0.0), Ok(()));
    assert_eq!(check_metres(f64::INFINITY), Ok(()));
    assert!(check_metres(-1.0).is_err() && check_metres(f64::NAN).is_err());
}

/// A point so far away, by the direct problem: what the boxes are held against.
fn away(from: Point, azimuth: f64, metres: f64) -> Point {
    use geographiclib_rs::DirectGeodesic;
    let (latitude, longitude): (f64, f64) = EARTH.direct(from.0, from.1, azimuth, metres);
    (latitude, longitude)
}

fn held(boxes: &[Bounds], point: Point) -> bool {
    boxes.iter().any(|bounds| bounds.has(point))
}

fn sane(boxes: &[Bounds]) -> bool {
    matches!(boxes.len(), 1 | 2)
        && boxes.iter().all(|one| {
            one.south <= one.north
                && one.west <= one.east
                && check((one.south, one.west)).is_ok()
                && check((one.north, one.east)).is_ok()
        })
}

#[test]
fn a_box_is_cut_at_the_180th_meridian_and_opens_at_a_pole() {
    let boxes = around((-17.0, 179.9), 50_000.0);
    assert_eq!(boxes.len(), 2);
    assert!(sane(&boxes) && held(&boxes, (-17.0, -179.8)) && held(&boxes, (-17.0, 180.0)));
    assert!(held(&boxes, (-17.0, -180.0)) && !held(&boxes, (-17.0, 0.0)));
    let boxes = around((89.9, 20.0), 12_000.0);
    assert!(sane(&boxes) && held(&boxes, (89.999, -160.0)) && held(&boxes, (90.0, 77.0)));
    assert!(!held(&boxes, (89.0, 20.0)));
    let boxes = around((-90.0, 0.0), 1.0);
    assert!(sane(&boxes) && held(&boxes, (-90.0, 99.0)));
    for everywhere in [2.1e7, f64::INFINITY] {
        let boxes = around((10.0, 10.0), everywhere);
        assert!(sane(&boxes) && held(&boxes, (-90.0, -180.0)) && held(&boxes, (90.0, 180.0)));
    }
    assert!(held(&around((31.0, 121.0), 0.0), (31.0, 121.0)));
}

fn latitude() -> impl Strategy<Value = f64> {
    prop_oneof![
        -90.0..=90.0_f64,
        89.0..=90.0_f64,
        -90.0..=-89.9_f64,
        Just(90.0),
        Just(-90.0),
        Just(0.0)
    ]
}

fn longitude() -> impl Strategy<Value = f64> {
    prop_oneof![
        -180.0..=180.0_f64,
        179.0..=180.0_f64,
        -180.0..=-179.5_f64,
        Just(180.0),
        Just(-180.0)
    ]
}

fn reach() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1000.0_f64, 0.0..300_000.0_f64, 0.0..20_100_000.0_f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_is_near_enough_is_in_a_box(
        latitude in latitude(), longitude in longitude(), reach in reach(),
        azimuth in prop_oneof![-180.0..180.0_f64, Just(0.0), Just(90.0), Just(180.0), 89.0..91.0_f64],
        part in prop_oneof![Just(1.0), 0.0..1.0_f64],
    ) {
        let boxes = around((latitude, longitude), reach);
        prop_assert!(sane(&boxes));
        let point = away((latitude, longitude), azimuth, reach * part);
        prop_assert!(held(&boxes, point), "{:?} not in {:?}", point, boxes);
    }

    #[test]
    fn a_box_is_no_larger_than_what_is_near_enough_but_for_a_little(
        latitude in -80.0..80.0_f64, longitude in longitude(), reach in 10.0..500_000.0_f64,
    ) {
        let from = (latitude, longitude);
        let span: f64 = around(from, reach).iter().map(|one| one.east - one.west).sum();
        let rise = around(from, reach).iter().map(|one| one.north - one.south).fold(0.0, f64::max);
        let rim: Vec<Point> = (0..720).map(|step| away(from, f64::from(step) / 2.0, reach)).collect();
        let east = rim.iter().map(|point| {
            let way = (point.1 - longitude).rem_euclid(360.0);
            if way > 180.0 { way - 360.0 } else { way }
        }).fold(0.0, f64::max);
        let most = rim.iter().map(|point| point.0).fold(-90.0, f64::max);
        let least = rim.iter().map(|point| point.0).fold(90.0, f64::min);
        prop_assert!(span <= 2.0 * east * 1.02 + 1e-8, "{} for {}", span, 2.0 * east);
        prop_assert!(rise <= (most - least) * 1.02 + 1e-8, "{} for {}", rise, most - least);
    }

    /// A star about a middle: a point is inside when it is nearer the middle than the edge is.
    #[test]
    fn inside_a_star_is_nearer_its_middle_than_its_edge(
        middle in (-60.0..60.0_f64, longitude()),
        rays in proptest::collection::vec(0.5..20.0_f64, 3..30),
        probes in proptest::collection::vec((0.0..360.0_f64, 0.0..25.0_f64), 20),
        shift in 0usize..30, turned in any::<bool>(),
    ) {
        let count = rays.len();
        let wrap = |longitude: f64| (longitude + 180.0).rem_euclid(360.0) - 180.0;
        let corner = |at: usize| {
            let angle = 2.0 * PI * f64::from(u32::try_from(at % count).unwrap())
                / f64::from(u32::try_from(count).unwrap());
            (rays[at % count] * angle.sin(), rays[at % count] * angle.cos())
        };
        let mut points: Vec<Point> = (0..count)
            .map(|at| corner(at + shift))
            .map(|(y, x)| (middle.0 + y, wrap(middle.1 + x)))
            .collect();
        if turned { points.reverse(); }
        let ring = Ring::new(&points).unwrap();
        let boxes = ring.bounds();
        prop_assert!(sane(&boxes));
        for (angle, far) in probes {
            let angle = angle.to_radians();
            let (y, x) = (far * angle.sin(), far * angle.cos());
            // The triangle of the middle and two corners in whose angle the point lies.
            let sector = angle / (2.0 * PI) * f64::from(u32::try_from(count).unwrap());
            let at = (0..count)
                .find(|at| f64::from(u32::try_from(*at + 1).unwrap()) > sector)
                .unwrap_or(count - 1);
            let ((ay, ax), (by, bx)) = (corner(at), corner(at + 1));
            let side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
            if side.abs() < 1e-6 { continue; }
            let point = (middle.0 + y, wrap(middle.1 + x));
            if point.0.abs() > 89.0 { continue; }
            prop_assert_eq!(ring.has(point), side > 0.0, "{:?} of {:?}", point, points);
            if ring.has(point) { prop_assert!(held(&boxes, point)); }
        }
    }

    /// A ring about a pole: a point is inside when it is nearer the pole than the edge on its meridian.
    #[test]
    fn inside_a_ring_round_a_pole_is_nearer_the_pole(
        heights in proptest::collection::vec(20.0..89.0_f64, 3..40),
        start in longitude(), south in any::<bool>(), turned in any::<bool>(),
        probes in proptest::collection::vec((longitude(), -90.0..=90.0_f64), 20),
    ) {
        let count = f64::from(u32::try_from(heights.len()).unwrap());
        let step = 360.0 / count;
        let sign = if south { -1.0 } else { 1.0 };
        let wrap = |longitude: f64| (longitude + 180.0).rem_euclid(360.0) - 180.0;
        let mut points: Vec<Point> = heights.iter().enumerate()
            .map(|(at, height)| (sign * height, wrap(start + step * f64::from(u32::try_from(at).unwrap()))))
            .collect();
        if turned { points.reverse(); }
        let ring = Ring::new(&points).unwrap();
        let boxes = ring.bounds();
        for (longitude, latitude) in probes {
            let part = (longitude - start).rem_euclid(360.0) / step;
            let at = (0..heights.len())
                .find(|at| f64::from(u32::try_from(*at + 1).unwrap()) > part)
                .unwrap_or(heights.len() - 1);
            let part = part - f64::from(u32::try_from(at).unwrap());
            let (low, high) = (heights[at], heights[(at + 1) % heights.len()]);
            let edge = low + (high - low) * part;
            if (latitude * sign - edge).abs() < 1e-6 { continue; }
            let inside = latitude * sign > edge;
            prop_assert_eq!(ring.has((latitude, longitude)), inside);
            if inside { prop_assert!(held(&boxes, (latitude, longitude))); }
        }
    }
}

#[test]
fn the_edge_of_an_area_is_inside() {
    let square = [(10.0, 170.0), (10.0, -170.0), (20.0, -170.0), (20.0, 170.0)];
    let ring = Ring::new(&square).unwrap();
    for point in square {
        assert!(ring.has(point));
    }
    for inside in [(10.0, 180.0), (10.0, -180.0), (15.0, 170.0), (15.0, -175.0), (20.0, 179.0)] {
        assert!(ring.has(inside), "{inside:?}");
    }
    for outside in [(9.999_999, 180.0), (15.0, 169.999_999), (15.0, 0.0), (20.1, 175.0)] {
        assert!(!ring.has(outside), "{outside:?}");
    }
    assert_eq!(ring.bounds().len(), 2);
    // The last point may repeat the first.
    let mut closed = square.to_vec();
    closed.push(square[0]);
    assert_eq!(Ring::new(&closed).unwrap(), ring);
    // A slanted edge, met in its middle.
    let slanted = Ring::new(&[(0.0, 0.0), (3.0, 9.0), (9.0, 0.0)]).unwrap();
    assert!(slanted.has((1.0, 3.0)) && !slanted.has((0.999_99, 3.0)));
}

#[test]
fn a_corner_at_a_pole_has_every_longitude() {
    let sector = Ring::new(&[(60.0, -10.0), (60.0, 10.0), (90.0, 77.0)]).unwrap();
    assert!(sector.has((89.0, 0.0)) && sector.has((89.0, 10.0)) && sector.has((90.0, -150.0)));
    assert!(!sector.has((89.0, 11.0)) && !sector.has((59.0, 0.0)));
    assert!(held(&sector.bounds(), (90.0, -150.0)));
    let half = Ring::new(&[(-60.0, 0.0), (-60.0, 90.0), (-60.0, 179.0), (-90.0, 0.0)]).unwrap();
    assert!(half.has((-70.0, 100.0)) && !half.has((-70.0, -100.0)));
    let most = [(70.0, 0.0), (70.0, 100.0), (70.0, -160.0), (70.0, -60.0), (90.0, 0.0)];
    let most = Ring::new(&most).unwrap();
    assert!(most.has((80.0, 50.0)) && most.has((80.0, -70.0)) && !most.has((80.0, -30.0)));
}

#[test]
fn what_is_no_area_is_refused_and_told() {
    assert!(matches!(Ring::new(&[]), Err(Error::Points { given: 0 })));
    let flat = [(1.0, 1.0), (2.0, 2.0), (2.0, 2.0), (1.0, 1.0)];
    assert!(matches!(Ring::new(&flat), Err(Error::Points { given: 2 })));
    assert!(matches!(Ring::new(&[(1.0, 1.0), (95.0, 2.0), (3.0, 3.0)]), Err(Error::Latitude(_))));
    let halfway = Ring::new(&[(1.0, 0.0), (1.0, 90.0), (2.0, -90.0)]).unwrap_err();
    assert_eq!(halfway, Error::Halfway { edge: 1 });
    assert!(Ring::new(&vec![(1.0, 1.0); 20_000]).is_err());
}
