//! Integration tests: one binary against the real daemon.
