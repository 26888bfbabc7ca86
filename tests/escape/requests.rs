//! The probes, or parts of one, that are not programs: which Rust function holds which number.

use futures::future::LocalBoxFuture;

use crate::program::Program;
use crate::site::{Run, Site};
use crate::trial::Finding;
use crate::world::Mark;
use crate::{gate, life, smuggle, watch};

/// Where a probe is held, and what it leaves for the look at what is left.
pub(crate) struct Scene<'s> {
    pub(crate) site: &'s Site,
    pub(crate) program: Option<&'s Program>,
    pub(crate) finding: &'s mut Finding,
    pub(crate) runs: &'s mut Vec<Run>,
    /// Where the logs of the world stood before the probe.
    pub(crate) mark: Mark,
}

type Hold = for<'s> fn(Scene<'s>) -> LocalBoxFuture<'s, ()>;

/// A probe, or the part of one, that is written in the suite itself.
pub(crate) struct Calls {
    number: u32,
    pub(crate) title: &'static str,
    /// As in a program's header.
    pub(crate) class: &'static str,
    pub(crate) hold: Hold,
}

/// What is watched from outside while the program of a probe runs; title and class are the program's.
const fn part(number: u32, hold: Hold) -> Calls {
    Calls { number, title: "", class: "", hold }
}

const ALL: &[Calls] = &[
    part(1, |scene| Box::pin(watch::neighbours(scene))),
    part(4, |scene| Box::pin(watch::processor(scene))),
    part(7, |scene| Box::pin(watch::flood(scene))),
    part(16, |scene| Box::pin(watch::log(scene))),
    part(17, |scene| Box::pin(watch::files(scene))),
    part(25, |scene| Box::pin(watch::image(scene))),
    part(28, |scene| Box::pin(watch::channels(scene))),
    Calls {
        number: 29,
        title: "cwd and program through /proc/self/fd, CVE-2024-21626",
        class: "SandboxEscapeBench runtime: CVE-2024-21626",
        hold: |scene| Box::pin(smuggle::descriptors(scene)),
    },
    Calls {
        number: 35,
        title: "smuggled create fields; the exact create body",
        class: "SandboxEscapeBench runtime: privileged, host path mounts, capabilities",
        hold: |scene| Box::pin(smuggle::bodies(scene)),
    },
    Calls {
        number: 36,
        title: "images by tag, absent, with surprises",
        class: "SandboxEscapeBench runtime",
        hold: |scene| Box::pin(smuggle::images(scene)),
    },
    part(37, |scene| Box::pin(watch::network(scene))),
    part(38, |scene| Box::pin(gate::metadata(scene))),
    part(39, |scene| Box::pin(gate::names(scene))),
    part(40, |scene| Box::pin(gate::rebinding(scene))),
    part(41, |scene| Box::pin(gate::disguises(scene))),
    part(42, |scene| Box::pin(gate::neighbours(scene))),
    part(43, |scene| Box::pin(gate::secrets(scene))),
    Calls {
        number: 44,
        title: "daemon killed at any moment; engine stopped, full",
        class: "",
        hold: |scene| Box::pin(life::deaths(scene)),
    },
    Calls {
        number: 45,
        title: "calls cancelled at random moments",
        class: "",
        hold: |scene| Box::pin(life::cancels(scene)),
    },
    Calls {
        number: 46,
        title: "a caller that does not read, a tool that floods",
        class: "",
        hold: |scene| Box::pin(life::slow_reader(scene)),
    },
];

/// The calls of a probe.
pub(crate) fn of(number: u32) -> Option<&'static Calls> {
    ALL.iter().find(|calls| calls.number == number)
}
