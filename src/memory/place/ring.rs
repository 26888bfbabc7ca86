//! Areas as closed rings of points: what is inside, what boxes hold it. Edges are
//! straight in latitude and longitude, as in GeoJSON, the shorter way round the Earth.

use super::{Bounds, Error, MARGIN, Point, check, cut};

/// Points of a ring, at most.
pub(super) const MOST: usize = 10_000;
/// Degrees from an edge within which a point is on it: some 0.1 mm.
const NEAR: f64 = 1e-9;

/// An area on the Earth. A ring that goes round a pole holds the pole on its smaller side, whichever
/// way it turns; any other holds none.
#[derive(Debug, Clone, PartialEq)]
pub struct Ring {
    edges: Vec<Edge>,
    north: bool,
    round: bool,
}

/// From one point to the next; `turn` is the way in longitude, positive to the east.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    from: Point,
    turn: f64,
    to: f64,
}

impl Ring {
    /// An area of these points; the last one may repeat the first.
    pub fn new(points: &[Point]) -> Result<Self, Error> {
        points.iter().try_for_each(|point| check(*point))?;
        let mut points: Vec<Point> = points.iter().copied().map(one_name).collect();
        points.dedup();
        if points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        if !(3..=MOST).contains(&points.len()) {
            return Err(Error::Points { given: points.len() });
        }
        let edges = edges(&points)?;
        let turns: f64 = edges.iter().map(|edge| edge.turn).sum();
        let round = turns.abs() > 180.0;
        // Twice the area above the equator less that below, on a sphere: whose side is smaller.
        let height: f64 = edges.iter().map(Edge::height).sum();
        // A ring that goes round twice holds what it winds about an odd number of times.
        let odd = (turns / 360.0).round() % 2.0 != 0.0;
        Ok(Self { edges, north: odd && height * turns.signum() >= 0.0, round })
    }

    /// Whether a point lies inside or on the edge.
    pub fn has(&self, point: Point) -> bool {
        let point = one_name(point);
        if self.edges.iter().any(|edge| edge.near(point)) {
            return true;
        }
        // Each edge between the point and the north pole changes sides.
        let crossed = self.edges.iter().filter(|edge| edge.above(point)).count();
        (crossed % 2 == 1) != self.north
    }

    /// One or two boxes that hold the whole area.
    pub fn bounds(&self) -> Vec<Bounds> {
        let latitudes = self.edges.iter().map(|edge| edge.from.0);
        let south = latitudes.clone().fold(90.0, f64::min) - MARGIN;
        let north = latitudes.fold(-90.0, f64::max) + MARGIN;
        if self.edges.iter().any(|edge| is_pole(edge.from)) {
            // A pole has any longitude.
            return cut((south, north), (-180.0, 180.0));
        }
        if self.round {
            let (south, north) = if self.north { (south, 90.0) } else { (-90.0, north) };
            return cut((south, north), (-180.0, 180.0));
        }
        let (mut at, mut west, mut east) = (0.0_f64, 0.0_f64, 0.0_f64);
        for edge in &self.edges {
            at += edge.turn;
            west = west.min(at);
            east = east.max(at);
        }
        let start = self.edges.first().map_or(0.0, |edge| edge.from.1);
        cut((south, north), (start + west - MARGIN, start + east + MARGIN))
    }
}

/// At a pole every longitude is the same point: an edge to it runs along the meridian of its other
/// end, and one more edge turns on the spot.
fn edges(points: &[Point]) -> Result<Vec<Edge>, Error> {
    let mut found = Vec::with_capacity(points.len() + 1);
    let last = points.iter().rev().find(|point| !is_pole(**point));
    let mut meridian = last.map_or(0.0, |point| point.1);
    let next = points.iter().skip(1).chain(points.first());
    for (at, (from, to)) in points.iter().zip(next).enumerate() {
        let start = if is_pole(*from) {
            if !is_pole(*to) {
                // Which way it turns makes no difference there.
                found.push(Edge::between((from.0, meridian), (from.0, to.1)));
                meridian = to.1;
            }
            (from.0, meridian)
        } else {
            meridian = from.1;
            *from
        };
        let end = if is_pole(*to) { (to.0, meridian) } else { *to };
        let edge = Edge::between(start, end);
        if edge.turn.abs() >= 180.0 {
            return Err(Error::Halfway { edge: at });
        }
        meridian = end.1;
        found.push(edge);
    }
    Ok(found)
}

fn is_pole(point: Point) -> bool {
    point.0.abs() >= 90.0
}

/// The 180th meridian has two names; compared exactly, they would be two.
fn one_name((latitude, longitude): Point) -> Point {
    (latitude, if longitude <= -180.0 { 180.0 } else { longitude })
}

/// The way from one longitude to another, the shorter way round: -180 exclusive to 180.
fn turn(from: f64, to: f64) -> f64 {
    let way = to - from;
    if way > 180.0 {
        way - 360.0
    } else if way <= -180.0 {
        way + 360.0
    } else {
        way
    }
}

impl Edge {
    fn between(from: Point, to: Point) -> Self {
        Self { from, turn: turn(from.1, to.1), to: to.0 }
    }

    /// The integral of the sine of the latitude over the longitude.
    fn height(&self) -> f64 {
        let (from, to) = (self.from.0.to_radians(), self.to.to_radians());
        let mean = if (to - from).abs() < 1e-9 {
            f64::midpoint(from, to).sin()
        } else {
            (from.cos() - to.cos()) / (to - from)
        };
        self.turn.to_radians() * mean
    }

    /// How far along the edge a longitude lies, in degrees east of its beginning; on each of the turns
    /// that can matter.
    fn along(&self, longitude: f64) -> [f64; 3] {
        let way = turn(self.from.1, longitude);
        [way - 360.0, way, way + 360.0]
    }

    /// Whether it passes between a point and the north pole.
    fn above(&self, (latitude, longitude): Point) -> bool {
        // Half open, so that a meridian through a corner meets one of its two edges.
        let (low, high) = if self.turn < 0.0 { (self.turn, 0.0) } else { (0.0, self.turn) };
        self.along(longitude).into_iter().any(|way| {
            low <= way
                && way < high
                && self.from.0 + (self.to - self.from.0) * (way / self.turn) > latitude
        })
    }

    /// Whether a point lies on it.
    fn near(&self, (latitude, longitude): Point) -> bool {
        if latitude.abs() >= 90.0 {
            return (self.from.0 - latitude).abs() < NEAR || (self.to - latitude).abs() < NEAR;
        }
        let (x, y) = (self.turn, self.to - self.from.0);
        let length = x * x + y * y;
        self.along(longitude).into_iter().any(|way| {
            let (px, py) = (way, latitude - self.from.0);
            let part =
                if length > 0.0 { ((px * x + py * y) / length).clamp(0.0, 1.0) } else { 0.0 };
            (px - part * x).hypot(py - part * y) < NEAR
        })
    }
}
