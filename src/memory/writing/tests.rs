//! The write path, the review and the upkeep against a real store.

mod cover;
mod crash;
mod flow;
mod inbox;
mod keyed;
mod kit;
mod lineage;
mod models;
mod notes;
mod refusals;
mod review;
mod upkeep;
mod vectors;
