//! The real runner, driven over yamux the way the daemon drives it.

#[cfg(test)]
mod harness;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod files;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod walls;
