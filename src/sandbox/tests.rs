//! Tests of the sandbox room. `live`, `worker`, `ends` and `egress` run against the machine's Docker
//! engine and the images of `sandbox-images/build.sh`; `broken` against engines that misbehave.

mod broken;
mod egress;
mod ends;
mod figures;
mod live;
mod parts;
mod pool;
mod secrets;
mod veil;
mod worker;
