//! The CLIP family in Hugging Face's form: CLIP, SigLIP and SigLIP2.

pub mod normalize;
pub mod config;
pub mod text;
pub mod image;
