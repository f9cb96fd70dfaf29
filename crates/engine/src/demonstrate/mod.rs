//! The method's query: a procedure and a library in, a demonstration out.

pub mod demonstration;

pub use demonstration::{Choice, Demonstration, Interval, Similarity, Source, Step};
