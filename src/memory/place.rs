//! Geodesy on WGS 84: coordinates in, distances in metres, boxes to search in and rings out. Points are
//! (latitude, longitude) in degrees. Boxes are never too small, at a pole and at the 180th meridian too.
//! Knows no store.

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::LazyLock;

use geographiclib_rs::{Geodesic, InverseGeodesic};

mod ring;
#[cfg(test)]
mod tests;

pub use ring::Ring;

/// Degrees north and degrees east.
pub type Point = (f64, f64);

/// Added to each side of a box, in degrees: some 0.1 mm, far more than the rounding of what made it.
const MARGIN: f64 = 1e-9;

static EARTH: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// Why coordinates or an area are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No latitude.
    #[error("latitude `{0}` is not from -90 to 90 degrees{hint}", hint = swapped(*.0))]
    Latitude(f64),
    /// No longitude.
    #[error("longitude `{0}` is not from -180 to 180 degrees; east is positive")]
    Longitude(f64),
    /// No distance.
    #[error("`{0}` is no distance: give metres, 0 or more")]
    Metres(f64),
    /// Too few or too many points.
    #[error("an area is a ring of 3 to {most} different points, not {given}", most = ring::MOST)]
    Points {
        /// How many there are.
        given: usize,
    },
    /// Two ways round are equally short.
    #[error(
        "the edge after point {edge} of the ring spans 180 degrees of longitude, so both ways round are \
         equally short: add a point between its ends"
    )]
    Halfway {
        /// Place of its first point, from 0.
        edge: usize,
    },
}

fn swapped(latitude: f64) -> &'static str {
    if latitude.abs() <= 180.0 { "; are latitude and longitude swapped?" } else { "" }
}

/// Coordinates from south-west to north-east, edges included. `west` is never more than `east`: what
/// crosses the 180th meridian is two boxes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Least latitude.
    pub south: f64,
    /// Least longitude.
    pub west: f64,
    /// Greatest latitude.
    pub north: f64,
    /// Greatest longitude.
    pub east: f64,
}

impl Bounds {
    /// Whether a point lies inside or on the edge.
    pub fn has(&self, (latitude, longitude): Point) -> bool {
        (self.south..=self.north).contains(&latitude)
            && (self.west..=self.east).contains(&longitude)
    }
}

/// Refuses what is no point on the Earth; not-a-number too.
pub fn check((latitude, longitude): Point) -> Result<(), Error> {
    if !(-90.0..=90.0).contains(&latitude) {
        return Err(Error::Latitude(latitude));
    }
    if !(-180.0..=180.0).contains(&longitude) {
        return Err(Error::Longitude(longitude));
    }
    Ok(())
}

/// Refuses what is no distance. Infinity is one: everywhere.
pub fn check_metres(metres: f64) -> Result<(), Error> {
    if metres >= 0.0 { Ok(()) } else { Err(Error::Metres(metres)) }
}

/// Length of the shortest way between two points on the ellipsoid, in metres, to some nanometres.
pub fn metres((latitude, longitude): Point, to: Point) -> f64 {
    EARTH.inverse(latitude, longitude, to.0, to.1)
}

/// One or two boxes that hold every point at most so many metres away; exact at the sides but for
/// some millimetres a kilometre.
///
/// The reduced latitudes of two points and a longitude no less than theirs make a sphere on which they
/// are at most `metres / b` apart, `b` being the lesser half axis: so the cap on that sphere bounds them.
pub fn around((latitude, longitude): Point, metres: f64) -> Vec<Bounds> {
    let shrink = 1.0 - EARTH.f;
    let reach = metres.max(0.0) / (EARTH.a * shrink);
    let reduced = (shrink * latitude.to_radians().tan()).atan();
    let degrees = |reduced: f64| (reduced.tan() / shrink).atan().to_degrees();
    let (low, high) = (reduced - reach, reduced + reach);
    // A cap that holds a pole, or just reaches it, has every longitude.
    let pole = FRAC_PI_2 - MARGIN.to_radians();
    let south = if low <= -pole { -90.0 } else { degrees(low) - MARGIN };
    let north = if high >= pole { 90.0 } else { degrees(high) + MARGIN };
    let half = if low <= -pole || high >= pole {
        PI
    } else {
        (reach.sin() / reduced.cos()).clamp(-1.0, 1.0).asin()
    };
    let half = half.to_degrees() * (1.0 + 1e-12) + MARGIN;
    cut((south, north), (longitude - half, longitude + half))
}

/// Boxes of a range of longitudes that can reach beyond the 180th meridian, on either side.
fn cut((south, north): (f64, f64), (west, east): (f64, f64)) -> Vec<Bounds> {
    let (south, north) = (south.max(-90.0), north.min(90.0));
    let piece = |west: f64, east: f64| Bounds { south, west, north, east };
    if east - west < 360.0 {
        let turns = ((west + 180.0) / 360.0).floor() * 360.0;
        let (west, east) = (west - turns, east - turns);
        if east < 180.0 {
            return vec![piece(west, east)];
        }
        // The rest goes one margin further: shifting by a turn has rounded it.
        return vec![piece(west, 180.0), piece(-180.0, east - 360.0 + MARGIN)];
    }
    vec![piece(-180.0, 180.0)]
}
