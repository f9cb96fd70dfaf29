//! Stub.
pub use super::plain::handle as wash;
