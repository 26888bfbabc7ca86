//! Probes that are hostile calls, configurations or surroundings and not programs, and what is watched
//! from outside while a program runs.

use futures::future::LocalBoxFuture;

use crate::program::Program;
use crate::site::{Run, Site};
use crate::trial::Finding;

type Hold = for<'s> fn(
    &'s Site,
    Option<&'s Program>,
    &'s mut Finding,
    &'s mut Vec<Run>,
) -> LocalBoxFuture<'s, ()>;

/// A probe, or the part of one, that is written in the suite itself.
pub(crate) struct Calls {
    number: u32,
    pub(crate) title: &'static str,
    pub(crate) hold: Hold,
}

const ALL: &[Calls] = &[];

/// The calls of a probe.
pub(crate) fn of(number: u32) -> Option<&'static Calls> {
    ALL.iter().find(|calls| calls.number == number)
}
