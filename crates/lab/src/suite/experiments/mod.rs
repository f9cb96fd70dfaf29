//! The experiments of the paper beside its main table.

pub mod capture;
pub mod consistency;
pub mod localisation;
