//! Contexts under a budget.
