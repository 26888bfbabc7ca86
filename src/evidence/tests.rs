//! Tests of the evidence, one file a behaviour.

mod checks;
mod compares;
mod fixtures;
mod follows;
mod made;
mod reads;
mod rules;
mod shape;
mod tampered;
