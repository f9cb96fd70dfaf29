//! Stub.
pub use super::plain::handle as fry;
pub use super::plain::handle as simmer;
pub use super::plain::handle as warm;
pub use super::plain::handle as melt;
pub use super::plain::handle as pour;
pub use super::plain::handle as flip;
