//! Stub.
pub use super::plain::handle as spread;
pub use super::plain::handle as fill;
pub use super::plain::handle as top;
pub use super::plain::handle as squeeze;
pub use super::plain::handle as drizzle;
