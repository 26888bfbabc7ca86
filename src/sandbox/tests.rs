//! Tests of the sandbox room. `live`, `worker`, `ends`, `kill`, `filter` and `egress` run against the
//! machine's Docker engine and the images of `sandbox-images/build.sh`; `gvisor` against a second
//! engine; `broken` against engines that misbehave.

mod abilities;
mod broken;
mod egress;
mod ends;
mod exchange;
mod figures;
mod filter;
mod gvisor;
mod kill;
mod live;
mod parts;
mod pool;
mod secrets;
mod veil;
mod worker;
