//! The CLIP family: CLIP, SigLIP and SigLIP2 in Hugging Face's form, MobileCLIP in OpenCLIP's.

pub mod colours;
mod transformer;
pub mod config;
pub mod text;
pub mod image;
mod convolution;
mod fastvit;
mod hybrid;
pub mod mobile;
