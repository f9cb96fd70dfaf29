//! Scoring candidate sequences: the trait, and average similarity.
