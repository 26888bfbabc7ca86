//! The real runner, driven over yamux the way the daemon drives it.

mod harness;
mod ending;
mod streams;
mod walls;
