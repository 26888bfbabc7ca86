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

const ALL: &[Calls] = &[
    Calls { number: 1, title: "", class: "", hold: |scene| Box::pin(watch::neighbours(scene)) },
    Calls { number: 4, title: "", class: "", hold: |scene| Box::pin(watch::processor(scene)) },
    Calls { number: 7, title: "", class: "", hold: |scene| Box::pin(watch::flood(scene)) },
    Calls { number: 16, title: "", class: "", hold: |scene| Box::pin(watch::log(scene)) },
    Calls { number: 17, title: "", class: "", hold: |scene| Box::pin(watch::files(scene)) },
    Calls { number: 25, title: "", class: "", hold: |scene| Box::pin(watch::image(scene)) },
    Calls { number: 28, title: "", class: "", hold: |scene| Box::pin(watch::channels(scene)) },
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
    Calls { number: 37, title: "", class: "", hold: |scene| Box::pin(watch::network(scene)) },
    Calls { number: 38, title: "", class: "", hold: |scene| Box::pin(gate::metadata(scene)) },
    Calls { number: 39, title: "", class: "", hold: |scene| Box::pin(gate::names(scene)) },
    Calls { number: 40, title: "", class: "", hold: |scene| Box::pin(gate::rebinding(scene)) },
    Calls { number: 41, title: "", class: "", hold: |scene| Box::pin(gate::disguises(scene)) },
    Calls { number: 42, title: "", class: "", hold: |scene| Box::pin(gate::neighbours(scene)) },
    Calls { number: 43, title: "", class: "", hold: |scene| Box::pin(gate::secrets(scene)) },
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
