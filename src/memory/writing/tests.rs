//! The write path, the review and the upkeep against a real store.

mod crash;
mod flow;
mod inbox;
mod kit;
mod lineage;
mod models;
mod refusals;
mod review;
mod upkeep;
mod vectors;
