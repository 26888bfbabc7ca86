//! Runs over a real store, a real pipeline with containers, a real memory, and a model that says what a
//! test has written down.

mod answers;
mod approvals;
mod bounds;
mod kit;
mod log;
mod opening;
mod plans;
mod restart;
mod rules;
mod words;
