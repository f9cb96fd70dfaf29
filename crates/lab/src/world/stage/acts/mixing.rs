//! Stub.
pub use super::plain::handle as mash;
pub use super::plain::handle as whisk;
pub use super::plain::handle as toss;
